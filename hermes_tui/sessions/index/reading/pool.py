"""A pool of read connections to the index, one thread at a time each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import apsw

from hermes_tui.platform.memory_tuning import give_back
from hermes_tui.sessions.index.reading.counting import prepare
from hermes_tui.sessions.index.schema import Damaged, IndexUnusable, broken, note_damage, open_reader, read_seal

__all__ = ["STEPS_A_LOOK", "Pool", "Stop"]

T = TypeVar("T")
Stop = Callable[[], bool]

_MOST = 4
"""Connections; more questions at once than this wait for each other. As long as one is open, SQLite keeps the files
of those that were closed open, too: they must not come and go."""
_CACHES = 4 << 20
"""Bytes, about, that SQLite may take in all, however many connections fill the cache of 1 MB that each has; what is
dropped, the system still has."""
STEPS_A_LOOK = 20_000
"""Steps of SQLite's machine between two looks at whether to stop: a millisecond or so. For each, this thread has to
wait for the others."""


class Pool:
    """Questions to one file, which may come, go and be replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problem = ""
        """Why the last question had no answer, one sentence without a full stop; empty when it had one."""
        self.damaged = False
        """It had none because the file is not what was written."""
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(_MOST)
        self._idle: list[apsw.Connection] = []
        self._file: tuple[int, int] | None = None

    def close(self) -> None:
        """Close what is open."""
        with self._lock:
            idle, self._idle, self._file = self._idle, [], None
        for connection in idle:
            connection.close()

    def rest(self) -> None:
        """Let go of the pages that the connections hold which nobody asks now: the system has them, too."""
        with self._lock:
            for connection in self._idle:
                connection.release_memory()
        give_back()  # they lay between what stays

    def ask(self, question: Callable[[apsw.Connection], T]) -> T:
        """Put a short question. Raises `IndexUnusable`."""
        try:
            with self._turns, self._lease() as connection:
                answer = question(connection)
        except apsw.Error as error:
            self.problem = f"it is damaged: {error}" if broken(error) else f"it cannot be read: {error}"
            self.damaged = broken(error)
            if self.damaged:
                self._note()
            raise (Damaged if self.damaged else IndexUnusable)(self.problem) from error
        except IndexUnusable as error:
            self.problem = str(error)
            self.damaged = isinstance(error, Damaged)
            if self.damaged:
                self._note()
            raise
        self.damaged, self.problem = False, ""
        return answer

    def _note(self) -> None:
        with suppress(OSError):  # where nothing can be written, no indexer can make it anew either
            note_damage(self._path)
            self.close()  # what is asked next sees the note, also whether an indexer is to be started

    def ask_until(self, question: Callable[[apsw.Connection], T], stop: Stop | None) -> T | None:
        """As `ask`; None where `stop` said so before there was an answer."""
        if stop is None:
            return self.ask(question)

        def stoppable(connection: apsw.Connection) -> T | None:
            connection.set_progress_handler(stop, STEPS_A_LOOK)
            try:
                return question(connection)
            except apsw.InterruptError:
                return None
            finally:
                connection.set_progress_handler(None)

        return None if stop() else self.ask(stoppable)

    @contextmanager
    def _lease(self) -> Iterator[apsw.Connection]:
        """A connection to the file as it now is; closed instead of kept when the question failed."""
        try:
            status = self._path.stat()
        except OSError as error:
            self.close()
            missing = isinstance(error, FileNotFoundError)
            raise IndexUnusable("there is none yet" if missing else f"it cannot be read: {error.strerror}") from error
        file = (status.st_dev, status.st_ino)
        if file != self._file:
            self.close()
            seal = read_seal(self._path)
            if seal is not None:
                status = self._path.stat()
                is_as_left = (seal.size, seal.modified) == (status.st_size, status.st_mtime_ns)
                # An indexer that began between the two looks has taken its seal away before it wrote.
                if not is_as_left and read_seal(self._path) == seal:
                    raise Damaged("something else has written to it")
            self._file = file
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            apsw.soft_heap_limit(_CACHES)
            connection = open_reader(self._path)
            prepare(connection)
        kept = False
        try:
            yield connection
            with self._lock:
                if file == self._file:
                    self._idle.append(connection)
                    kept = True
        finally:
            if not kept:
                connection.close()
