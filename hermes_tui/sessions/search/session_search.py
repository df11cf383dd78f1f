"""`session_search` (spec 003): one call for agents that finds, scrolls or browses.

The shape of the answer follows from the arguments, and its names are those of the document. It goes over the sessions
of every agent; what sub-agents did, and later parts of a conversation, count as part of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import TypeVar

from msgspec.structs import replace

from hermes_tui.errors import SessionNotFound, ValidationError
from hermes_tui.redact.redactor import Redactor
from hermes_tui.sessions.catalogue.options import ListOptions, matches
from hermes_tui.sessions.jsontext import json_text
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query.query import Query
from hermes_tui.sessions.search.details import WINDOW, Located, found_snippet, locate
from hermes_tui.sessions.search.excerpt import messages_around, name_of, shown_at_least, spoken
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
from session_adapters.model import Message, Role, SessionSummary, unified_id
from session_adapters.reading.searchable import flat
from session_adapters.text import TITLE_LENGTH, scrub

__all__ = ["LEAST", "SHAPES", "find_session", "masked", "masked_line", "session_search"]

S = TypeVar("S", bound=SessionSummary)

SHAPES = ((5, 3), (3, 2), (2, 1), (1, 1), (1, 0), (0, 0))
"""Messages on each side of a match, and from each end of its conversation: ever fewer, until they fit."""
LEAST = 160
"""Characters of a text, below which rather fewer are given."""
_FOUND, _BROWSED, _SCROLLED = 3, 10, 10
_MESSAGE, _RESULT = 90, 250
"""Bytes, at least, of a message and of a conversation but for their texts."""
_COLOURS = re.compile(r" ?\[[0-9;]{0,12}m")
_BREAKS = re.compile(r"(?<=[\w.+/=-]{8})(\\?) (?=\S{8})")
_ENTRIES = re.compile(r" (?=[\w.-]{1,40}: )")
_MORE_OF_INPUT = 2_000
"""Characters by which the input of a call may be longer than what is wanted of it, and is masked as a value."""
_SLACK = 20
"""Characters by which a text may be shorter that was cut: blanks at its end, and characters made of several."""


def session_search(
    manager: SessionManager,
    query: str = "",
    *,
    session_id: str = "",
    around_message_id: str | int | None = None,
    window: int | None = None,
    limit: int | None = None,
    agent: str | None = None,
    role: Role | None = None,
    since: datetime | date | None = None,
    sort: SortBy = "relevance",
    sees: Callable[[SessionSummary], bool] | None = None,
    hidden: Callable[[SessionSummary], bool] | None = None,
    redactor: Redactor | None = None,
    refresh: bool = True,
    budget: int | None = None,
    offset: int = 0,
) -> DiscoveredSessions | ScrolledMessages | BrowsedSessions:
    """What is known of past sessions: with `query` those in which it is said, or that of `session_id` alone; with
    `session_id` the messages around one of it (its last where none is named), `window` on each side; with neither the
    sessions that were active last.

    `since` leaves the sessions that began then or later. `sees` says which sessions may be shown at all, and `hidden`
    which few of them may not; `redactor` masks secrets, before anything is cut. Without `refresh` the stores are not
    looked at anew. `budget`: bytes that are wanted in all, `offset` characters further on in the message of a page;
    what can be no part of that is left out, or cut, and takes no time. Raises `HermesTuiError`.
    """
    for name, number in (("window", window), ("limit", limit)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
            raise ValidationError(f"{name} must be a whole number from 0 up, not {number!r}")
    if agent is not None and agent not in manager.agents:
        raise ValidationError(f"no agent is called {agent!r}; known are {', '.join(manager.agents)}")
    anchor = str(around_message_id) if around_message_id is not None else ""  # None: that of a title that was found
    if anchor and not session_id:
        raise ValidationError("around_message_id goes with the session_id of the session that has it")
    if refresh:
        manager.catalogue.refresh(None if agent is None else (agent,))

    def may(one: SessionSummary) -> bool:
        return agent in (None, one.agent) and (sees is None or sees(one)) and not (hidden is not None and hidden(one))

    shown = _Shown(redactor, budget, offset)
    summary = find_session(manager, session_id, may) if session_id else None
    if summary is not None and (anchor or not query.strip()):
        return shown.page(manager, summary, anchor, _SCROLLED if window is None else window)
    if not query.strip():
        begun = ListOptions(since=since, limit=None)
        listed = _BROWSED if limit is None else limit
        found = manager.searches.recent(lambda one: may(one) and matches(one, begun), listed)
        return BrowsedSessions(results=tuple(map(shown.entry, found)))
    options = SearchOptions(role=role, since=since, sort=sort, limit=_FOUND if limit is None else limit)
    wanted = sees if agent is None else lambda one: agent == one.agent and (sees is None or sees(one))
    chosen = wanted if summary is None else lambda one: one.unified_id == summary.unified_id
    answer = manager.searches.rank(query, options, chosen, hidden)
    if answer is None:
        return DiscoveredSessions()
    stores, asked, ranking = answer
    wide = WINDOW if window is None else window
    located = [locate(stores, asked, one, ranking.problems, size=wide) for one in ranking.chosen]
    size, ends = shown.shape_of(located, wide)
    return DiscoveredSessions(
        results=tuple(
            shown.conversation(stores, asked, found.total, one, wide, size, ends)
            for found, one in zip(ranking.chosen, located, strict=True)
        ),
        total=ranking.total,
        more=ranking.more,
        ranked=ranking.ranked,
        coverage=ranking.coverage.of_found(ranking.total),
        problems=tuple(ranking.problems),
    )


def find_session(
    manager: SessionManager, session_id: str, sees: Callable[[SessionSummary], bool] = lambda one: True
) -> SessionSummary:
    """The session of that id, `agent:native` or native alone where only one agent has it, by the list as it is
    known. Raises `SessionNotFound`, also for one that `sees` does not say."""
    agent, _, native = session_id.partition(":")
    named = manager.catalogue.summary(agent, native) if agent in manager.agents else None
    sessions = manager.catalogue.snapshot.sessions if named is None else (named,)
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


def masked(summary: S) -> S:
    """What a list shows of a session with secrets masked. Titles are cut, and half a key is not known for one: the
    word that may have been cut is left out."""
    title, preview = (
        _masked_line(text if len(text) < length - _SLACK else text.rpartition(" ")[0])
        for text, length in ((summary.title, TITLE_LENGTH), (summary.preview, 2 * TITLE_LENGTH))
    )
    return replace(summary, title=title, preview=preview, cwd=_masked_path(summary.cwd or "") or None)


@lru_cache(maxsize=1024)
def _masked_path(text: str) -> str:
    return Redactor().text(text)


@lru_cache(maxsize=4096)
def _masked_line(text: str) -> str:
    """The same texts are listed again and again."""
    return masked_line(text, Redactor())


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

    def __init__(self, redactor: Redactor | None, budget: int | None, offset: int) -> None:
        self._redactor, self._budget, self._offset = redactor, budget, offset
        self._longest = sys.maxsize if budget is None else budget

    def shape_of(self, located: Sequence[Located], window: int) -> tuple[int, int]:
        """How many messages around each match and of each end can be part of the answer."""
        if self._budget is None:
            return window, SHAPES[0][1]
        shapes = [(min(window, size), ends) for size, ends in SHAPES]
        for size, ends in shapes:
            there: list[Message] = []
            for found in located:
                around = [found.around[one] for one in _window(found.around, found.at, size)]
                # `[-0:]` would be all of them.
                said = [*spoken(found.first)[:ends], *spoken(found.last)[-ends or len(found.last) :]]
                there += [*around, *(one for one, _ in said if one not in around)]
            if self._fits(there, len(located) * _RESULT) or (size, ends) == shapes[-1]:
                break
        return size, ends

    def _fits(self, messages: Sequence[Message], more: int) -> bool:
        """Whether the messages may be part of the answer, each cut after some characters; so many are wanted from now
        on of each text."""
        if self._budget is None:
            return True
        lengths = sorted(len(_said(one)) for one in messages)
        left = self._budget - more - _MESSAGE * len(lengths)
        for number, length in enumerate(lengths):
            if length * (len(lengths) - number) > left:
                self._longest = max(0, left // (len(lengths) - number))
                return self._longest >= LEAST
            left -= length
        self._longest = self._budget
        return True

    def conversation(
        self, stores: CatalogueStores, query: Query, total: int, found: Located, window: int, size: int, ends: int
    ) -> DiscoveredSession:
        """A conversation in which `total` places were found: at most `window` messages on each side were asked for,
        `size` and `ends` are given."""
        summary, match, around, at, text, first, last = found
        started_by = unified_id(*stores.started_by(summary))
        summary = self._masked(summary)
        places, asked = _window(around, at, size), _window(around, at, window)
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
            match_count=total,
            snippet=found_snippet(query, summary, match, text, self._whole)[0],
            bookend_start=tuple(self.message(*one) for one in spoken(first)[:ends] if one[0] not in shown),
            messages=tuple(self.message(around[one], one, anchor=one == at) for one in places),
            bookend_end=tuple(
                self.message(*one) for one in spoken(last)[-ends or len(last) :] if one[0] not in shown
            ),
            messages_before=at - asked.start if at is not None else 0,
            messages_after=asked.stop - at - 1 if at is not None else 0,
        )

    def page(
        self, manager: SessionManager, summary: SessionSummary, message_id: str, window: int
    ) -> ScrolledMessages:
        """The messages around one."""
        source, name = manager.searches.source_of(summary)
        opened = manager.open(summary.agent, name, source, (message_id, window))
        around, at = messages_around(opened, message_id, window)
        summary = self._masked(summary)
        size = window
        while not self._fits([around[one] for one in _window(around, at, size)], 0) and size > 1:
            size = size * 2 // 3
        parent = summary.lineage_id or (summary.parent_id if summary.kind == "subagent" else None)
        return ScrolledMessages(
            session_id=summary.unified_id,
            agent=summary.agent,
            title=summary.title,
            around_message_id=name_of(around[at], at),
            window=window,
            messages=tuple(self.message(around[one], one, anchor=one == at) for one in _window(around, at, size)),
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
            message_count=None if summary.partial else summary.message_count,
            preview=summary.preview,
            source=summary.source,
            model=summary.model,
            cwd=summary.cwd,
            live=summary.live,
        )

    def message(self, message: Message, place: int, *, anchor: bool = False) -> QuotedMessage:
        """A message of a session."""
        result, said = message.tool_result, _said(message)
        longest = 2 * self._longest + self._offset if anchor else self._longest
        content, longest = shown_at_least(self._text, said, longest, longest * bool(anchor and self._offset))
        calls: list[str] = []
        for call in message.tool_calls:
            text = json_text(call.input)
            if self._redactor is not None and len(text) <= self._longest + _MORE_OF_INPUT:
                # By names and by lines; as text again, because an option may stand in the item before its secret.
                text = json_text(self._redactor.value(call.input))
            calls.append(f"{call.tool_name}: {self._text(text, self._longest)[: self._longest]}")
        return QuotedMessage(
            id=name_of(message, place),
            role=message.role,
            kind=message.kind,
            content=content[:longest],
            left_out=max(0, len(said) - longest, len(content) - longest),
            timestamp=message.timestamp,
            anchor=anchor,
            tool_name=result.tool_name if result is not None else "",
            tool_calls=tuple(calls),
            visibility=message.visibility,
        )

    def _masked(self, summary: SessionSummary) -> SessionSummary:
        return summary if self._redactor is None else masked(summary)

    def _whole(self, text: str) -> str:
        return text if self._redactor is None else self._redactor.text(text)

    def _text(self, text: str, longest: int) -> str:
        """What is wanted of a text."""
        return scrub(text[:longest] if self._redactor is None else self._redactor.beginning(text, longest))


def _said(message: Message) -> str:
    """What a message is quoted by."""
    result = message.tool_result
    said = message.content or (flat(result.output) if result is not None else "")
    return said or (message.thinking or "" if not message.tool_calls else "")


def _window(messages: Sequence[Message], at: int | None, size: int) -> range:
    """The places of the messages around one."""
    return range(0) if at is None else range(max(0, at - size), min(len(messages), at + size + 1))
