"""Search as you type: each query supersedes the one before.

What is known of the answer can be had at any moment.

A thread of its own searches; who shows the answer looks at `snapshot` when told, from any thread. There is no queue:
a snapshot replaces the one before it, and it never changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.background import Worker
from hermes_tui.platform.log import write_failure
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.query.query import Query, parse
from hermes_tui.sessions.search.details import details, glimpse
from hermes_tui.sessions.search.grouping import FoundConversation, FoundPart
from hermes_tui.sessions.search.incremental.answer import Known, LiveAnswer, broken_off
from hermes_tui.sessions.search.incremental.snapshot import (
    LivePart,
    LiveResult,
    LiveSnapshot,
    SnapshotView,
    live_part,
)
from hermes_tui.sessions.search.model import Result
from hermes_tui.sessions.search.stores import CatalogueStores

__all__ = ["LivePart", "LiveResult", "LiveSearch", "LiveSnapshot"]


class _Found(NamedTuple):
    """What is known of a session that was found; for one thread alone."""

    stores: CatalogueStores
    query: Query
    conversation: FoundConversation
    part: FoundPart


class LiveSearch:
    """Ask as often as you like; look at `snapshot` when `changed` is called."""

    def __init__(
        self,
        stores: Callable[[Query], CatalogueStores],
        index: Callable[[], SearchIndex | None],
        understand: Callable[[str], Query],
    ) -> None:
        """`stores` gives the sessions as they are known at a question, `understand` what was typed so far."""
        self._understand = understand
        self._stores = stores
        self._index = index
        self._condition = threading.Condition()
        self._asked: Query | None = None
        self._number = 0
        """Of the latest question."""
        self._worker = Worker[tuple[Query, int]]("live search", self._serve)
        self._known: Known | None = None
        """The last complete answer; for the searching thread alone."""
        self._picture = SnapshotView(LiveSnapshot(query=parse(""), done=True))
        self.changed: Callable[[], None] = lambda: None
        """Called from the searching thread after each new snapshot."""

    @property
    def snapshot(self) -> LiveSnapshot:
        """The latest. Of an earlier question until the first place for a new one is found or there is none."""
        return self._picture.snapshot

    def ask(self, question: str | Query) -> Query:
        """Search for what was typed so far; whatever was searched before is given up."""
        query = self._understand(question) if isinstance(question, str) else question
        with self._condition:
            self._number += 1
            self._asked = query
            self._worker.ask((query, self._number))
        self._worker.start()
        return query

    def wait(self, timeout: float | None = None) -> LiveSnapshot:
        """The complete answer to the latest question; what there is of it after `timeout` seconds."""
        with self._condition:
            self._condition.wait_for(
                lambda: self._worker.is_over or (self._asked is None and self.snapshot.done), timeout
            )
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
        parts = [live_part(one) for one in found.conversation.parts.values()]
        parts.sort(key=lambda one: (one.summary.updated_at, one.summary.session_id), reverse=True)
        first = found.part.summary
        return (
            *(one for one in parts if one.summary is first),
            *(one for one in parts if one.summary is not first and one.in_texts),
        )

    def _found(self, unified_id: str) -> _Found | None:
        """The very session that is shown: while more is found, or once its texts were compared, another part of its
        conversation may come to fit best."""
        picture = self._picture
        shared = picture.conversations.get(unified_id)
        if shared is None or picture.stores is None:
            return None
        conversation = shared.copy()
        part = next(one for one in conversation.parts.values() if one.summary.unified_id == unified_id)
        return _Found(picture.stores, picture.snapshot.query, conversation, part)

    def close(self) -> None:
        """Give up and end the thread."""
        with self._condition:
            self._worker.stop()
            self._number += 1
            self._condition.notify_all()
        self._worker.join()

    # The thread --------------------------------------------------------------------------------------------

    def _serve(self, request: tuple[Query, int] | None) -> None:
        if request is None:
            return
        query, number = request

        def superseded() -> bool:
            return self._number != number

        def publish(picture: SnapshotView) -> None:
            self._publish(picture, number)

        answer: LiveAnswer | None = None
        try:
            if query.empty:
                publish(SnapshotView(LiveSnapshot(query=query, done=True)))
                # Who empties the box, or has gone to it, may type next: do now what the first question waits for.
                stores = self._stores(query)
                stores.get_ready(self._index())
                _ = stores.kin
                return
            answer = LiveAnswer(query, self._stores(query), self._index(), superseded, publish, self._known)
            answer.run()
            self._known = answer.known or self._known
        except Exception as error:  # a bug must not end the search for the rest of the run
            if isinstance(error, HermesTuiError):
                failure = str(error)
            else:
                path = write_failure(error)
                where = f"details are in {path}" if path else "the log cannot be written"
                failure = f"unexpected error ({type(error).__name__}); {where}"
            if answer is not None:
                answer.break_off(failure)
            else:
                publish(SnapshotView(broken_off(LiveSnapshot(query=query), failure)))

    def _publish(self, picture: SnapshotView, number: int) -> None:
        with self._condition:
            if number != self._number:
                return
            self._picture = picture
            if picture.snapshot.done:
                self._asked = None
            self._condition.notify_all()
        self.changed()
