"""`session_search` (spec 003): one call for agents that finds, scrolls or browses.

The shape of the answer follows from the arguments, and its names are those of the document. It goes over the sessions
of every agent; what sub-agents did, and later parts of a conversation, count as part of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any, TypeVar

from msgspec.structs import replace

from hermes_tui.errors import SessionNotFound, ValidationError
from hermes_tui.redact import Redactor
from hermes_tui.sessions.catalogue.options import ListOptions, matches
from hermes_tui.sessions.jsontext import json_text
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query import Query
from hermes_tui.sessions.search.details import WINDOW, found_snippet, locate
from hermes_tui.sessions.search.excerpt import messages_around, name_of, spoken
from hermes_tui.sessions.search.grouping import FoundConversation
from hermes_tui.sessions.search.model import (
    BrowsedSession,
    BrowsedSessions,
    DiscoveredSession,
    DiscoveredSessions,
    QuotedMessage,
    ScrolledMessages,
    SearchOptions,
    SortBy,
)
from hermes_tui.sessions.search.stores import CatalogueStores
from session_adapters.model import Message, Problem, Role, SessionSummary, unified_id
from session_adapters.reading.searchable import flat
from session_adapters.text import TITLE_LENGTH, scrub

__all__ = ["find_session", "masked", "masked_line", "session_search"]

S = TypeVar("S", bound=SessionSummary)

_FOUND, _BROWSED, _SCROLLED, _BOOKEND = 3, 10, 10, 3
_COLOURS = re.compile(r" ?\[[0-9;]{0,12}m")
_BREAKS = re.compile(r"(?<=[\w.+/=-]{8})(\\?) (?=\S{8})")
_ENTRIES = re.compile(r" (?=[\w.-]{1,40}: )")
_MARGIN = 2_000
"""Characters behind those that are wanted, in which a secret may end."""
_SLACK = 20
"""Characters by which a text may be shorter that was cut: blanks at its end, and characters made of several."""


def session_search(
    manager: SessionManager,
    query: str = "",
    *,
    session_id: str = "",
    around_message_id: str | int = "",
    window: int | None = None,
    limit: int | None = None,
    agent: str | None = None,
    role: Role | None = None,
    since: datetime | date | None = None,
    sort: SortBy = "relevance",
    sees: Callable[[SessionSummary], bool] | None = None,
    redactor: Redactor | None = None,
    refresh: bool = True,
    longest: int | None = None,
) -> DiscoveredSessions | ScrolledMessages | BrowsedSessions:
    """What is known of past sessions: with `query` those in which it is said; with `session_id` the messages around
    one of it (its last where none is named), `window` on each side; with neither the sessions that were active last.

    `since` leaves the sessions that began then or later. `sees` says which sessions may be shown at all, `redactor`
    masks secrets, before anything is cut. Without `refresh` the stores are not looked at anew. `longest`: characters
    of each text that are wanted. Raises `HermesTuiError`.
    """
    for name, number in (("window", window), ("limit", limit)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
            raise ValidationError(f"{name} must be a whole number from 0 up, not {number!r}")
    if agent is not None and agent not in manager.agents:
        raise ValidationError(f"no agent is called {agent!r}; known are {', '.join(manager.agents)}")
    if refresh:
        manager.catalogue.refresh(None if agent is None else (agent,))

    def may(one: SessionSummary) -> bool:
        return agent in (None, one.agent) and (sees is None or sees(one))

    shown = _Shown(redactor, longest)
    if session_id:
        summary = find_session(manager, session_id, may)
        return shown.page(manager, summary, str(around_message_id), _SCROLLED if window is None else window)
    if not query.strip():
        begun = ListOptions(since=since, limit=None)
        listed = _BROWSED if limit is None else limit
        found = manager.searches.recent(lambda one: may(one) and matches(one, begun), listed)
        return BrowsedSessions(results=tuple(map(shown.entry, found)))
    options = SearchOptions(role=role, since=since, sort=sort, limit=_FOUND if limit is None else limit)
    answer = manager.searches.rank(query, options, may)
    if answer is None:
        return DiscoveredSessions()
    stores, asked, ranking = answer
    wide = WINDOW if window is None else window
    return DiscoveredSessions(
        results=tuple(shown.conversation(stores, asked, one, ranking.problems, wide) for one in ranking.chosen),
        total=ranking.total,
        ranked=ranking.ranked,
        coverage=str(ranking.coverage),
        problems=tuple(ranking.problems),
    )


def find_session(
    manager: SessionManager, session_id: str, sees: Callable[[SessionSummary], bool] = lambda one: True
) -> SessionSummary:
    """The session of that id, `agent:native` or native alone where only one agent has it, by the list as it is
    known. Raises `SessionNotFound`, also for one that `sees` does not say."""
    sessions = manager.catalogue.snapshot.sessions
    found = [one for one in sessions if session_id in (one.unified_id, one.session_id) and not one.gone and sees(one)]
    exact = [one for one in found if one.unified_id == session_id] or found
    if len(exact) != 1:
        which = (
            f"several agents have it: {', '.join(one.unified_id for one in exact[:5])}" if exact else "there is none"
        )
        raise SessionNotFound(
            f"no one session is meant by that session_id ({which}); session_search without arguments lists the last"
            " ones, as agent:id"
        )
    return exact[0]


def masked(summary: S, redactor: Redactor) -> S:
    """What a list shows of a session with secrets masked. Titles are cut, and half a key is not known for one: the
    word that may have been cut is left out."""
    title, preview = (
        masked_line(text if len(text) < length - _SLACK else text.rpartition(" ")[0], redactor)
        for text, length in ((summary.title, TITLE_LENGTH), (summary.preview, 2 * TITLE_LENGTH))
    )
    return replace(summary, title=title, preview=preview, cwd=redactor.text(summary.cwd or "") or None)


def masked_line(text: str, redactor: Redactor) -> str:
    """`text` with secrets masked, those too that show once its blanks are line ends again, and rests of colours gone,
    as they were before it was made one line."""
    plain = _COLOURS.sub("", text)
    others = [plain, _COLOURS.sub("", _COLOURS.sub(" ", text, count=1)), _ENTRIES.sub("\n  ", plain)]
    others += [f"{plain[: one.start()]}{one[1]}\n{plain[one.end() :]}" for one in _BREAKS.finditer(plain)]
    for other in others:
        if (found := redactor.text(other)) != other:
            text = " ".join(found.split())
    return redactor.text(text)


class _Shown:
    """Makes answers of sessions, with secrets masked where that is wanted."""

    def __init__(self, redactor: Redactor | None, longest: int | None) -> None:
        self._redactor = redactor
        self._longest = sys.maxsize if longest is None else longest

    def conversation(
        self,
        stores: CatalogueStores,
        query: Query,
        conversation: FoundConversation,
        problems: list[Problem],
        window: int,
    ) -> DiscoveredSession:
        """A conversation that was found."""
        summary, match, around, at, text, first, last = locate(stores, query, conversation, problems)
        started_by = unified_id(*stores.started_by(summary))
        summary = self._masked(summary)
        if text is not None:
            text = text._replace(prose=self._text(text.prose), tool=self._text(text.tool))
        places = _window(around, at, window)
        shown = around[places.start : places.stop]  # is not given again as a beginning or an end
        return DiscoveredSession(
            session_id=summary.unified_id,
            agent=summary.agent,
            title=summary.title,
            when=summary.updated_at,
            started_at=summary.created_at,
            source=summary.source,
            model=summary.model,
            cwd=summary.cwd,
            parent_session_id=started_by if started_by != summary.unified_id else None,
            matched_role=match and (match.role or ("session_title" if match.field == "title" else None)),
            match_message_id=name_of(around[at], at) if at is not None else None,
            match_count=conversation.total,
            snippet=found_snippet(query, summary, match, text)[0],
            bookend_start=tuple(self.message(*one) for one in spoken(first)[:_BOOKEND] if one[0] not in shown),
            messages=tuple(self.message(around[one], one, anchor=one == at) for one in places),
            bookend_end=tuple(self.message(*one) for one in spoken(last)[-_BOOKEND:] if one[0] not in shown),
            messages_before=at - places.start if at is not None else 0,
            messages_after=places.stop - at - 1 if at is not None else 0,
        )

    def page(
        self, manager: SessionManager, summary: SessionSummary, message_id: str, window: int
    ) -> ScrolledMessages:
        """The messages around one."""
        source, name = manager.searches.source_of(summary)
        around, at = messages_around(manager.open(summary.agent, name, source), message_id, window)
        summary = self._masked(summary)
        parent = summary.lineage_id or (summary.parent_id if summary.kind == "subagent" else None)
        return ScrolledMessages(
            session_id=summary.unified_id,
            agent=summary.agent,
            title=summary.title,
            around_message_id=name_of(around[at], at),
            window=window,
            messages=tuple(self.message(around[one], one, anchor=one == at) for one in _window(around, at, window)),
            messages_before=min(window, at),
            messages_after=min(window, len(around) - at - 1),
            when=summary.updated_at,
            source=summary.source,
            model=summary.model,
            cwd=summary.cwd,
            parent_session_id=None if parent is None else unified_id(summary.agent, parent),
        )

    def entry(self, summary: SessionSummary) -> BrowsedSession:
        """A session of the list."""
        summary = self._masked(summary)
        return BrowsedSession(
            session_id=summary.unified_id,
            agent=summary.agent,
            title=summary.title,
            started_at=summary.created_at,
            last_active=summary.updated_at,
            message_count=summary.message_count,
            preview=summary.preview,
            source=summary.source,
            model=summary.model,
            cwd=summary.cwd,
            live=summary.live,
        )

    def message(self, message: Message, place: int, *, anchor: bool = False) -> QuotedMessage:
        """A message of a session."""
        result = message.tool_result
        said = message.content or (flat(result.output) if result is not None else "")
        said = said or (message.thinking or "" if not message.tool_calls else "")
        content = self._text(said)
        return QuotedMessage(
            id=name_of(message, place),
            role=message.role,
            kind=message.kind,
            content=content[: self._longest],
            left_out=max(0, len(said) - self._longest, len(content) - self._longest),
            timestamp=message.timestamp,
            anchor=anchor,
            tool_name=result.tool_name if result is not None else "",
            tool_calls=tuple(f"{call.tool_name}: {self._call(call.input)}" for call in message.tool_calls),
            visibility=message.visibility,
        )

    def _call(self, value: Any) -> str:
        text = json_text(value)
        if self._redactor is not None and len(text) <= self._longest + _MARGIN:
            text = json_text(self._redactor.value(value))  # which knows secrets by their names, too
        return self._text(text)[: self._longest]

    def _masked(self, summary: SessionSummary) -> SessionSummary:
        return summary if self._redactor is None else masked(summary, self._redactor)

    def _text(self, text: str) -> str:
        """What is wanted of a text, and some more: a secret is masked where it is whole."""
        wanted = scrub(text[: self._longest + _MARGIN])
        if self._redactor is None:
            return wanted
        masked = self._redactor.text(wanted)
        return masked if len(wanted) == len(text) else masked[:-_MARGIN]


def _window(messages: Sequence[Message], at: int | None, size: int) -> range:
    """The places of the messages around one."""
    return range(0) if at is None else range(max(0, at - size), min(len(messages), at + size + 1))
