"""A search that keeps up with somebody who types: each question supersedes the one before, and what is known of the
answer can be had at any moment.

A thread of its own searches; who shows the answer looks at `snapshot` when told, from any thread. There is no queue:
a snapshot replaces the one before it, and it never changes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hermes_tui.errors import HermesTuiError
from hermes_tui.log import write_failure
from hermes_tui.sessions.index.reader import Index
from hermes_tui.sessions.query import Query, parse
from hermes_tui.sessions.search.discovery import RANKED, details, glimpse
from hermes_tui.sessions.search.gather import Conversation, Gathering, Part
from hermes_tui.sessions.search.hunt import Hunt
from hermes_tui.sessions.search.model import Coverage, Match, Result
from hermes_tui.sessions.search.stores import CatalogueStores
from session_adapters.model import Problem, SessionSummary

__all__ = ["LivePart", "LiveResult", "LiveSearch", "LiveSnapshot"]

_EVERY = 0.05
"""Seconds between two snapshots at least, while more is found. The first comes after as many, or before anything is
read, or when all is known."""
_REST = 4
"""Times as long as making one took, at least, is spent on searching before the next."""
_SHOWN = 100
"""Conversations in a snapshot; of more the newest."""


class LiveResult(Struct, frozen=True):
    """A conversation in a snapshot."""

    summary: SessionSummary
    """Its part with the best place."""
    match: Match | None
    """The place to open it at; None where only a filter or the title found it."""
    total: int
    """Places found by now."""
    score: float
    """How well it fits, from 0 to 1; 0 while it is not known."""


class LivePart(NamedTuple):
    """A session of a conversation in a snapshot."""

    summary: SessionSummary
    in_texts: bool
    """Something was found in its messages, not by its title or a filter alone."""
    messages: frozenset[str] = frozenset()
    """Ids of all messages with a match; empty where not all of them are known."""


class LiveSnapshot(Struct, frozen=True, kw_only=True):
    """What is known of the answer."""

    query: Query
    version: int = 0
    """One more with each snapshot of a search."""
    results: tuple[LiveResult, ...] = ()
    """The first `_SHOWN`, newest first, or the best first where `ranked`."""
    total: int = 0
    """Conversations found by now."""
    more: bool = False
    """There are more, older ones: only the newest were asked for."""
    ranked: bool = False
    done: bool = False
    """There will be no more."""
    coverage: Coverage = Coverage()
    problems: tuple[Problem, ...] = ()
    failure: str = ""
    """Why it broke off, in one sentence that is among the problems too; empty where it did not."""


class _Known(NamedTuple):
    """What is known of a session that was found; for one thread alone."""

    stores: CatalogueStores
    query: Query
    conversation: Conversation
    part: Part


class LiveSearch:
    """Ask as often as you like; look at `snapshot` when `changed` is called."""

    def __init__(self, stores: Callable[[Query], CatalogueStores], index: Callable[[], Index | None]) -> None:
        """`stores` gives the sessions as they are known at a question."""
        self._stores = stores
        self._index = index
        self._condition = threading.Condition()
        self._asked: Query | None = None
        self._number = 0
        """Of the latest question."""
        self._closed = False
        self._thread: threading.Thread | None = None
        self._conversations: tuple[CatalogueStores, dict[str, Conversation]] | None = None
        self.snapshot = LiveSnapshot(query=parse(""), done=True)
        """The latest. Of an earlier question until the first place for a new one is found or there is none."""
        self.changed: Callable[[], None] = lambda: None
        """Called from the searching thread after each new snapshot."""

    def ask(self, text: str) -> Query:
        """Search for what was typed so far; whatever was searched before is given up."""
        query = parse(text, typing=True)
        with self._condition:
            self._number += 1
            self._asked = query
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="live search", daemon=True)
                self._thread.start()
            self._condition.notify_all()
        return query

    def wait(self, timeout: float | None = None) -> LiveSnapshot:
        """The complete answer to the latest question; what there is of it after `timeout` seconds."""
        with self._condition:
            self._condition.wait_for(lambda: self._closed or (self._asked is None and self.snapshot.done), timeout)
            return self.snapshot

    def preview(self, unified_id: str) -> Result | None:
        """What there is to see of a session in the latest snapshot, read from its store: snippet, window, beginning
        and end. None where it is not in it any more."""
        found = self._found(unified_id)
        return details(found.stores, found.query, found.conversation, 0.0, [], found.part) if found else None

    def glimpse(self, unified_id: str) -> Result | None:
        """As `preview`, with the snippet alone, which takes less reading. Raises what reading does."""
        found = self._found(unified_id)
        return glimpse(found.stores, found.query, found.conversation, found.part) if found else None

    def parts(self, query: Query, unified_id: str) -> tuple[LivePart, ...]:
        """What to go through in the conversation of a session of the latest snapshot: that session, then, the newest
        first, the others with a match in their messages. Nothing is read; empty where it is not in it any more, or
        the snapshot is of another question."""
        found = self._found(unified_id)
        if found is None or found.query.tree != query.tree:
            return ()
        parts = [_live_part(one) for one in found.conversation.parts.values()]
        parts.sort(key=lambda one: (one.summary.updated_at, one.summary.session_id), reverse=True)
        first = found.part.summary
        return (
            *(one for one in parts if one.summary is first),
            *(one for one in parts if one.summary is not first and one.in_texts),
        )

    def _found(self, unified_id: str) -> _Known | None:
        """The very session that is shown: while more is found, or once its texts were compared, another part of its
        conversation may come to fit best."""
        with self._condition:
            current, query = self._conversations, self.snapshot.query
        shared = current[1].get(unified_id) if current else None
        if current is None or shared is None:
            return None
        conversation = shared.copy()
        part = next(one for one in conversation.parts.values() if one.summary.unified_id == unified_id)
        return _Known(current[0], query, conversation, part)

    def close(self) -> None:
        """Give up and end the thread."""
        with self._condition:
            self._closed = True
            self._number += 1
            self._condition.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    # The thread --------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._closed or self._asked is not None)
                if self._closed:
                    return
                query, number = self._asked, self._number
            if query is not None:
                try:
                    self._answer(query, number)
                except Exception as error:  # a bug must not end the search for the rest of the run
                    self._break_off(query, number, error)

    def _answer(self, query: Query, number: int) -> None:
        def superseded() -> bool:
            return self._number != number

        if query.empty:
            self._publish(LiveSnapshot(query=query, done=True), number, None)
            return
        stores = self._stores(query)
        gathering = Gathering()
        due = time.monotonic() + _EVERY
        version = 0

        def show(*, done: bool = False) -> None:
            nonlocal version, due
            version += 1
            began = time.monotonic()
            self._show(query, number, stores, gathering, hunt, version, done=done)
            ended = time.monotonic()
            due = ended + max(_EVERY, _REST * (ended - began))

        hunt = Hunt(stores, query, self._index(), stop=superseded, most=_SHOWN, before_reading=show)
        for found in hunt.run():
            if superseded():
                return
            gathering.add(found)
            if time.monotonic() >= due:
                show()
        if not superseded():
            show(done=True)

    def _break_off(self, query: Query, number: int, error: Exception) -> None:
        """Say why there will be no more; what was found by then stays."""
        failure = str(error)
        if not isinstance(error, HermesTuiError):
            path = write_failure(error)
            where = f"details are in {path}" if path else "the log cannot be written"
            failure = f"unexpected error ({type(error).__name__}); {where}"
        known = self.snapshot.query is query
        shown = self.snapshot if known else LiveSnapshot(query=query)
        problem = Problem(agent="hermes-tui", path="", reason=failure)
        snapshot = replace(
            shown, version=shown.version + 1, done=True, problems=(*shown.problems, problem), failure=failure
        )
        self._publish(snapshot, number, self._conversations if known else None)

    def _show(
        self,
        query: Query,
        number: int,
        stores: CatalogueStores,
        gathering: Gathering,
        hunt: Hunt,
        version: int,
        *,
        done: bool,
    ) -> None:
        conversations = gathering.newest_first()
        ranked = done and not hunt.more and len(conversations) <= RANKED and _have_places(conversations)
        if ranked and _is_scored(conversations):
            conversations = gathering.best_first(conversations, len(conversations))
        elif ranked:
            conversations = gathering.likely_first(conversations)
        chosen = conversations[:_SHOWN]
        snapshot = LiveSnapshot(
            query=query,
            version=version,
            results=tuple(_result(one) for one in chosen),
            total=len(conversations),
            more=hunt.more,
            ranked=ranked,
            done=done,
            coverage=replace(hunt.coverage, unpriced=stores.unpriced),
            problems=hunt.problems,
        )
        by_id = {part.summary.unified_id: one for one in chosen for part in one.parts.values()}
        self._publish(snapshot, number, (stores, by_id))

    def _publish(
        self,
        snapshot: LiveSnapshot,
        number: int,
        conversations: tuple[CatalogueStores, dict[str, Conversation]] | None,
    ) -> None:
        with self._condition:
            if number != self._number:
                return
            self.snapshot = snapshot
            self._conversations = conversations
            if snapshot.done:
                self._asked = None
            self._condition.notify_all()
        self.changed()


def _result(conversation: Conversation) -> LiveResult:
    part = conversation.best
    return LiveResult(part.summary, part.anchor, conversation.total, conversation.score)


def _live_part(part: Part) -> LivePart:
    places = [one for one in part.places if one.field != "title"]
    ids = frozenset(one.message_id for one in places)
    known = part.total == len(places) and "" not in ids
    return LivePart(part.summary, bool(places), ids if known else frozenset())


def _have_places(conversations: Sequence[Conversation]) -> bool:
    """Something was looked for in texts: what a filter alone finds fits all the same."""
    return any(part.total for one in conversations for part in one.parts.values())


def _is_scored(conversations: Sequence[Conversation]) -> bool:
    """All of them were read, so their order is known without another look."""
    return all(not part.unscored for one in conversations for part in one.parts.values())
