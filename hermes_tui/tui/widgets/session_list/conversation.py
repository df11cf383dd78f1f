"""A conversation of the list: its sessions as one row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from session_adapters.model import Cost, SessionSummary, TokenUsage

__all__ = ["Conversation", "ListRow", "Snippet", "called", "project_of"]


class Conversation:
    """The parts of one conversation, oldest first (mostly there is one), and what grew out of it."""

    __slots__ = ("_haystack", "activity", "children", "key", "parts", "pinned", "row", "tip")

    def __init__(self, parts: Sequence[SessionSummary]) -> None:
        # In tuples: of these the collector sees once that they hold nothing to look through.
        self.parts: Sequence[SessionSummary] = tuple(parts)
        self.tip: SessionSummary = parts[0]
        """The part that goes on."""
        if len(parts) > 1:
            self.parts = tuple(sorted(parts, key=lambda part: (part.created_at, part.updated_at, part.session_id)))
            # The newest of those that no other part continues.
            continued = {part.parent_id for part in self.parts if part.kind == "continuation"}
            leaves = [part for part in self.parts if part.session_id not in continued] or self.parts
            self.tip = max(leaves, key=lambda part: (part.live, part.updated_at, part.created_at))
        self.key = self.parts[0].unified_id
        """Unified id of the first part: stays the same when the conversation goes on in a new one."""
        self.children: Sequence[Conversation] = ()
        self.activity: datetime = self.tip.updated_at
        """Newest message in it or in anything that grew out of it."""
        self.pinned = any(part.pinned for part in self.parts)
        """The user pinned a part of it, or anything that grew out of it."""
        self.row: ListRow | None = None
        """The line that shows it with nothing below it, once there was one."""
        self._haystack = ""

    def is_just(self, parts: Sequence[SessionSummary]) -> bool:
        """Whether it is this one session, with nothing that grew out of it."""
        return len(parts) == len(self.parts) == 1 and parts[0] is self.parts[0] and not self.children

    @property
    def title(self) -> str:
        """The name that the user gave one of its parts, the latest first; else the tip's title, else the latest one
        that any part has."""
        if named := next((part.title for part in reversed(self.parts) if part.agent_title is not None), ""):
            return named
        return self.tip.title or next((part.title for part in reversed(self.parts) if part.title), "")

    @property
    def project(self) -> str:
        """That of the tip; empty where it has none."""
        return project_of(self.tip)

    @property
    def cost(self) -> Cost | None:
        """Sum over the parts that have one; an estimate as soon as one is, or one is missing beside others."""
        known = [part.cost for part in self.parts if part.cost is not None]
        if not known:
            return None
        if len(self.parts) == 1:
            return known[0]
        estimated = len(known) < len(self.parts) or any(cost.estimated for cost in known)
        return Cost(total_usd=sum(cost.total_usd for cost in known), estimated=estimated)

    @property
    def turns(self) -> int:
        """Sum over the parts."""
        return sum(part.turn_count for part in self.parts)

    @property
    def tokens(self) -> TokenUsage | None:
        """Sum over the parts that have a count."""
        known = [part.tokens for part in self.parts if part.tokens is not None]
        return sum(known, TokenUsage()) if known else None

    @property
    def partial(self) -> bool:
        """Counts are lower bounds."""
        return any(part.partial for part in self.parts)

    def holds(self, sessions: Collection[str]) -> bool:
        """Whether one of its parts is among these unified ids."""
        return any(part.unified_id in sessions for part in self.parts)

    @property
    def below(self) -> Iterator[Conversation]:
        """All that grew out of it, and out of that."""
        waiting = list(self.children)
        while waiting:
            one = waiting.pop()
            yield one
            waiting.extend(one.children)

    @property
    def haystack(self) -> str:
        """What `Forest.containing` looks in: titles, projects, the agent and ids, in lower case."""
        if not self._haystack:
            self._haystack = "\n".join(map(called, self.parts)).lower()
        return self._haystack


class Snippet(NamedTuple):
    """What stands below a conversation that a search has found."""

    text: str = ""
    """On one line, safe for a terminal."""
    marks: tuple[tuple[int, int], ...] = ()
    """Characters of it that are to be lit."""
    label: str = ""
    """What stands before it."""


class ListRow(NamedTuple):
    """One line of the list: a heading (without conversation), a conversation, or the snippet below one."""

    heading: str = ""
    conversation: Conversation | None = None
    guide: str = ""
    """Tree glyphs before the title, two columns per level."""
    unfolded: bool | None = None
    """None where there is nothing to unfold."""
    snippet: Snippet | None = None
    result: bool = False
    """Found by a search: it stands alone, without what it came from."""
    names: bool = False
    """Of a heading: it names the columns as well."""

    @property
    def key(self) -> str:
        """Identity over snapshots; empty for a heading."""
        return self.conversation.key if self.conversation else ""


def called(session: SessionSummary) -> str:
    """What a session is called: title, project, agent, id and what else it is known as, a line each. Not the title
    that it has from the rows of another."""
    title = "" if session.repeated and session.agent_title is None else session.title
    names = (session.session_id, session.known_as) if session.known_as else (session.session_id,)
    return "\n".join((title, project_of(session), session.agent, *names))


def project_of(session: SessionSummary) -> str:
    """The last part of its working directory; empty when it has none."""
    return session.cwd.rstrip("/").rpartition("/")[2] if session.cwd else ""
