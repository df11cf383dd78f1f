"""The rows of the session list, computed without a screen.

Sessions → conversations → rows.

`Forest` joins the parts of one conversation and hangs forks and helpers under where they came from; made once per
snapshot, in the reader's thread. `Forest.rows` lays it out for one filter and one set of unfolded conversations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from hermes_tui.clock import Clock
from hermes_tui.tui.widgets.session_list.family import first_part, hang, settle
from hermes_tui.tui.widgets.session_list.headings import Headings
from hermes_tui.tui.widgets.session_list.order import Order, grouped, sorted_by
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from hermes_tui.tui.widgets.states import State
from session_adapters.model import Cost, SessionSummary, TokenUsage

__all__ = [
    "Conversation",
    "Forest",
    "ListRow",
    "ListedPart",
    "Snippet",
    "called",
    "project_of",
]

_USUAL = Order()
_NO_STATES = ShownStates()


class Conversation:
    """The parts of one conversation, oldest first (mostly there is one), and what grew out of it."""

    __slots__ = ("_haystack", "activity", "children", "key", "parts", "pinned", "tip")

    def __init__(self, parts: Sequence[SessionSummary]) -> None:
        self.parts: list[SessionSummary] = (
            sorted(parts, key=lambda part: (part.created_at, part.updated_at, part.session_id))
            if len(parts) > 1
            else list(parts)
        )
        self.tip: SessionSummary = _tip(self.parts) if len(parts) > 1 else parts[0]
        self.key = self.parts[0].unified_id
        """Unified id of the first part: stays the same when the conversation goes on in a new one."""
        self.children: list[Conversation] = []
        self.activity: datetime = self.tip.updated_at
        """Newest message in it or in anything that grew out of it."""
        self.pinned = any(part.pinned for part in self.parts)
        """The user pinned a part of it, or anything that grew out of it."""
        self._haystack = ""

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
    def haystack(self) -> str:
        """What `Forest.containing` looks in: titles, projects, the agent and ids, in lower case."""
        if not self._haystack:
            self.prepare()
        return self._haystack

    def prepare(self) -> None:
        """Work out `haystack`."""
        self._haystack = "\n".join(map(called, self.parts)).lower()


class ListedPart(NamedTuple):
    """A session as a part of its conversation, which the list shows as a whole."""

    summary: SessionSummary
    number: int = 1
    of: int = 1
    whole: Cost | None = None
    """What all parts cost."""
    state: State | None = None
    """How it is, where that is known."""

    def __str__(self) -> str:
        return f"part {self.number} of {self.of}" if self.of > 1 else ""


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


class Forest:
    """All conversations of a snapshot, the pinned ones first, then the newest."""

    def __init__(self, sessions: Iterable[SessionSummary] = ()) -> None:
        by_id = {session.unified_id: session for session in sessions}
        groups: dict[str, list[SessionSummary]] = {}
        for session in by_id.values():
            groups.setdefault(first_part(session, by_id), []).append(session)
        home: dict[str, Conversation] = {}
        for parts in groups.values():
            conversation = Conversation(parts)
            for part in parts:
                home[part.unified_id] = conversation
        self.by_session = home
        """Unified id of any session → the conversation it is part of."""
        self.above: Mapping[str, Conversation] = hang(home)
        """Key of a fork or helper → the conversation it came from."""
        self.roots = [one for one in dict.fromkeys(home.values()) if one.key not in self.above]
        settle(self.roots)
        self._sorted: tuple[Order, Sequence[Conversation]] = (_USUAL, self.roots)
        """The roots in the order that was asked for last."""

    def __len__(self) -> int:
        return len(self.by_session)

    def part(self, unified: str) -> ListedPart | None:
        """The session of this unified id, if there is one."""
        home = self.by_session.get(unified)
        if home is None:
            return None
        at, summary = next((at, one) for at, one in enumerate(home.parts, 1) if one.unified_id == unified)
        return ListedPart(summary, at, len(home.parts), home.cost)

    def prepare(self, order: Order = _USUAL) -> Forest:
        """Work out what a search looks in, and the order of the list: in the thread that reads, not at the first key.
        Itself."""
        for conversation in self.newest:
            conversation.prepare()
        self._in_order(order)
        return self

    def _in_order(self, order: Order) -> Sequence[Conversation]:
        if self._sorted[0] != order:
            self._sorted = order, sorted_by(order, self.roots)
        return self._sorted[1]

    @cached_property
    def newest(self) -> Sequence[Conversation]:
        """All conversations, those that came from others among them, by when they themselves were active last."""
        every = dict.fromkeys(self.by_session.values())
        return sorted(every, key=lambda one: (one.tip.updated_at, one.key), reverse=True)

    def containing(self, words: Sequence[str]) -> Sequence[Conversation]:
        """Those of the newest that have all these characters (lower case) in a title, the project, the agent or an
        id."""
        found = self.newest
        for word in sorted(words, key=len, reverse=True):
            found = [one for one in found if word in one.haystack]
        return found

    def way_to(self, sessions: Iterable[str]) -> frozenset[str]:
        """Keys of the conversations that hold one of these sessions (unified ids), and of all above them."""
        found: set[str] = set()
        for unified in sessions:
            one = self.by_session.get(unified)
            while one is not None and one.key not in found:
                found.add(one.key)
                one = self.above.get(one.key)
        return frozenset(found)

    def rows(
        self,
        clock: Clock,
        unfolded: Collection[str] = (),
        only: Collection[str] | None = None,
        order: Order = _USUAL,
        states: ShownStates = _NO_STATES,
    ) -> list[ListRow]:
        """The lines to show, of the conversations with these keys alone where `only` is given. `states` are for
        headings that tell of them."""
        rows: list[ListRow] = []
        heading = ""
        roots = self._in_order(order)
        if only is not None:
            roots = [root for root in roots if root.key in only]
        for label, root in _under_headings(roots, clock, order, states):
            if label != heading:
                heading = label
                rows.append(ListRow(label, names=not rows))
            if root.children:
                _lay_out(rows, root, unfolded, only, order)
            else:
                rows.append(ListRow("", root))
        return rows


def _under_headings(
    roots: Iterable[Conversation], clock: Clock, order: Order, states: ShownStates
) -> Iterator[tuple[str, Conversation]]:
    """Each root with the heading that it stands under; what is pinned stands above the others in every order."""
    if order.is_usual:
        headings = Headings(clock)
        for root in roots:
            yield "pinned" if root.pinned else headings.of(root.activity), root
        return
    roots = list(roots)
    yield from (("pinned", root) for root in roots if root.pinned)
    for label, group in grouped(order, (root for root in roots if not root.pinned), clock, states).items():
        yield from ((label, root) for root in group)


def called(session: SessionSummary) -> str:
    """What a session is called: title, project, agent and id, a line each."""
    return "\n".join((session.title, project_of(session), session.agent, session.session_id))


def project_of(session: SessionSummary) -> str:
    """The last part of its working directory; empty when it has none."""
    return session.cwd.rstrip("/").rpartition("/")[2] if session.cwd else ""


def _tip(parts: Sequence[SessionSummary]) -> SessionSummary:
    """The part that goes on: the newest of those that no other part continues."""
    continued = {part.parent_id for part in parts if part.kind == "continuation"}
    leaves = [part for part in parts if part.session_id not in continued] or parts
    return max(leaves, key=lambda part: (part.live, part.updated_at, part.created_at))


def _lay_out(
    rows: list[ListRow], root: Conversation, unfolded: Collection[str], only: Collection[str] | None, order: Order
) -> None:
    """Append `root` and what is unfolded below it. A stack, not recursion: forks of forks may go deep."""
    stack: list[tuple[Conversation, str, str]] = [(root, "", "")]
    while stack:
        conversation, own, below = stack.pop()
        children: Sequence[Conversation] = conversation.children
        if only is not None:
            children = [child for child in children if child.key in only]
        opened = conversation.key in unfolded
        if opened:
            children = sorted_by(order, children)
        rows.append(ListRow(conversation=conversation, guide=own, unfolded=opened if children else None))
        last = len(children) - 1
        for index in range(last, -1, -1) if opened else ():
            end = index == last
            stack.append((children[index], below + ("└ " if end else "├ "), below + ("  " if end else "│ ")))
