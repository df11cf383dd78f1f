"""Writes long-term memory in the background, a few messages at a time.

Format: spec 001 «Batch Flow» and «Graceful Degradation».
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from hermes_tui.memory.longterm.memory import LongTermMemory
from hermes_tui.memory.longterm.protocols import EmbedderRefused
from hermes_tui.memory.message import HectorMessage

__all__ = ["BATCH_SIZE", "FLUSH_SECONDS", "MemoryBatches"]

BATCH_SIZE = 5
FLUSH_SECONDS = 30.0
"""A batch that is not full by then is written all the same."""
RETRY_SECONDS = 5.0
"""After which a batch that could not be written is tried again; twice as long each time, up to `LONGEST`."""
LONGEST = 300.0
MOST = 10_000
"""Messages that wait at most; of more those of the session that waits longest are given up, counted and said."""
BUSY = MOST // 2
PATIENCE = 30.0
"""Where more than `BUSY` wait and can be written, who adds more waits so many seconds at most."""

_log = logging.getLogger(__name__)


class MemoryBatches:
    """Messages of one agent on their way to long-term memory, by session and in order. They are in the session store
    already: what goes wrong here costs no message, and is tried again."""

    def __init__(
        self,
        memory: LongTermMemory,
        agent_id: str,
        *,
        batch_size: int = BATCH_SIZE,
        flush_seconds: float = FLUSH_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` in seconds, for the time that passes."""
        self._memory = memory
        self._agent_id = agent_id
        self._batch_size = max(1, batch_size)
        self._flush_seconds = flush_seconds
        self._retry_seconds = retry_seconds
        self._clock = clock
        self._changed = threading.Condition()
        self._pending: dict[str, list[HectorMessage]] = {}
        self._since: dict[str, float] = {}
        """When the oldest message of a session began to wait."""
        self._not_before = 0.0
        self._failures = 0
        self._over = False
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        self.stored = 0
        """Points that were written."""
        self.given_up = 0
        """Messages for which there was no room any more, or that the embedder refuses."""
        self.last_error = ""
        """Why the last attempt failed; empty after one that did not."""

    @property
    def waiting(self) -> int:
        """Messages that are not written yet."""
        with self._changed:
            return self._waiting

    @property
    def _waiting(self) -> int:
        return sum(map(len, self._pending.values()))

    def add(self, session_id: str, messages: Sequence[HectorMessage]) -> None:
        """Take messages, in order. Never raises for a store or an embedder, and waits for them only where they work
        and have fallen far behind (`BUSY`)."""
        with self._changed:
            if self._over or not messages:
                return
            self._pending.setdefault(session_id, []).extend(messages)
            self._since.setdefault(session_id, self._clock())
            # Where an embedder stays dead, memory must not fill up for ever: the first ones go, session by session.
            while (over := self._waiting - MOST) > 0:
                name = min(self._since, key=self._since.__getitem__)
                gone = self._pending[name][:over]
                del self._pending[name][:over]
                self.given_up += len(gone)
                _log.warning("long-term memory: %d messages of session %r are given up", len(gone), name)
                if not self._pending[name]:  # a session with nothing would be due for ever
                    del self._pending[name], self._since[name]
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memory-batches", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._over or self._failures or self._waiting <= BUSY, PATIENCE)

    def flush(self) -> bool:
        """Write everything that waits, full or not, in this thread; whether all of it was. The first session that
        cannot be written ends it."""
        with self._changed:
            sessions = list(self._pending)
        return all(self._write(session_id, whole=True) for session_id in sessions)

    def shutdown(self) -> bool:
        """Take nothing more, and flush; whether all of it was written."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        return self.flush()

    def _run(self) -> None:
        while True:
            with self._changed:
                pause: float | None = None  # not before something is added
                if self._pending:
                    now = self._clock()
                    is_full = any(len(messages) >= self._batch_size for messages in self._pending.values())
                    waited = now if is_full else min(self._since.values()) + self._flush_seconds
                    pause = max(0.01, waited - now, self._not_before - now)
                self._changed.wait_for(lambda: self._over or self._due() is not None, pause)
                if self._over:
                    return
                session_id = self._due()
            if session_id is not None:
                self._write(session_id, whole=False)

    def _due(self) -> str | None:
        """A session whose batch is full, or has waited long enough."""
        now = self._clock()
        if now < self._not_before:
            return None
        for session_id, messages in self._pending.items():
            if len(messages) >= self._batch_size or now - self._since[session_id] >= self._flush_seconds:
                return session_id
        return None

    def _write(self, session_id: str, *, whole: bool) -> bool:
        """The batches of a session: those that are full, or that waited, or with `whole` all. One thread at a time,
        so that their order is kept."""
        with self._writing:
            while True:
                with self._changed:
                    there = self._pending.get(session_id, [])
                    old = self._clock() - self._since.get(session_id, 0.0) >= self._flush_seconds
                    batch = there[: self._batch_size]
                if not batch or (len(batch) < self._batch_size and not whole and not old):
                    return True
                try:
                    stored = self._store(session_id, batch)
                except Exception as error:  # embedder and store may be the caller's own, and this thread must go on
                    self._failed(error)
                    return False
                self._written(session_id, batch, stored)

    def _store(self, session_id: str, batch: Sequence[HectorMessage]) -> int:
        """How many points were made. What an embedder refuses would otherwise be in the way for ever."""
        try:
            return self._memory.store(self._agent_id, session_id, batch)
        except EmbedderRefused as error:
            if len(batch) > 1:
                return sum(self._store(session_id, [one]) for one in batch)
            with self._changed:
                self.given_up += 1
            _log.warning("long-term memory: message %s is left out: %s", batch[0].message_id, error)
            return 0

    def _written(self, session_id: str, batch: Sequence[HectorMessage], stored: int) -> None:
        with self._changed:
            self.stored += stored
            self.last_error = ""
            self._failures, self._not_before = 0, 0.0
            there = self._pending.get(session_id, [])
            # What was given up meanwhile stood before these.
            left = [one for one in there if all(one is not written for written in batch)]
            if left:
                self._pending[session_id], self._since[session_id] = left, self._clock()
            else:
                self._pending.pop(session_id, None)
                self._since.pop(session_id, None)
            self._changed.notify_all()

    def _failed(self, error: Exception) -> None:
        with self._changed:
            self.last_error = str(error) or type(error).__name__
            pause = min(LONGEST, self._retry_seconds * 2**self._failures)
            self._failures = min(self._failures + 1, 16)  # 2**16 is far beyond `LONGEST`
            self._not_before = self._clock() + pause
            self._changed.notify_all()
        _log.warning("long-term memory: %s Tried again in %.0f s.", error, pause)
