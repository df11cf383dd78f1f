"""A Hector database on a PostgreSQL server; its driver is imported when needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import tzinfo
from typing import NamedTuple, TypeVar

from session_adapters.hector.configuration.dsn import Dsn
from session_adapters.hector.reader import Database, HectorReader
from session_adapters.reading.sqlite import DatabaseUnreadable
from session_adapters.registry import install_command

__all__ = ["AGAIN", "BRIEF", "PATIENCE", "Server", "ServerLook"]

T = TypeVar("T")

PATIENCE = 1.5
"""Seconds that a list waits for servers, all of them together."""
BRIEF = 0.2
"""The same for one that did not answer when it was last asked,"""
AGAIN = 15.0
"""which is asked again after so long."""
_SILENT = f"the server has not answered within {PATIENCE:g} s; it is waited for without the list"


class _Answer(NamedTuple):
    """What came of asking a server."""

    stamp: tuple[int, ...] = ()
    size: int = 0
    trouble: str = ""
    at: float = 0.0


class ServerLook:
    """Asks one server whether anything changed, in a thread of its own: no list waits longer than `PATIENCE`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._answer: _Answer | None = None
        self._began: float | None = None
        """When it was asked what it has not answered yet."""

    def begin(self, ask: Callable[[], tuple[tuple[int, ...], int]]) -> None:
        """Ask it, unless it was asked and has not answered, or failed a moment ago."""
        with self._changed:
            failed = self._answer is not None and bool(self._answer.trouble)
            if self._began is not None or (failed and self._answer and time.monotonic() - self._answer.at < AGAIN):
                return
            self._began = time.monotonic()
        threading.Thread(target=self._ask, args=(ask,), name="hector-server", daemon=True).start()

    def last(self) -> tuple[tuple[int, ...], int]:
        """Its last answer. Raises `DatabaseUnreadable` where there is none, or it failed."""
        with self._changed:
            return self._given()

    def wait(self) -> tuple[tuple[int, ...], int]:
        """Its answer, or the last one where it takes long. Raises `DatabaseUnreadable`."""
        with self._changed:
            if self._began is not None:
                failed = self._answer is not None and self._answer.trouble
                left = self._began + (BRIEF if failed else PATIENCE) - time.monotonic()
                self._changed.wait_for(lambda: self._began is None, timeout=max(0.0, left))
            return self._given()

    def _given(self) -> tuple[tuple[int, ...], int]:
        if self._answer is None or self._answer.trouble:
            raise DatabaseUnreadable(self._answer.trouble if self._answer else _SILENT)
        return self._answer.stamp, self._answer.size

    def _ask(self, ask: Callable[[], tuple[tuple[int, ...], int]]) -> None:
        try:
            stamp, size = ask()
            answer = _Answer(stamp, size, at=time.monotonic())
        except DatabaseUnreadable as error:
            answer = _Answer(trouble=str(error), at=time.monotonic())
        except Exception as error:  # or whoever waits would do so for ever
            answer = _Answer(trouble=f"asking it failed ({type(error).__name__})", at=time.monotonic())
        with self._changed:
            self._answer, self._began = answer, None
            self._changed.notify_all()


class Server(Database):
    """A database on a PostgreSQL server."""

    def __init__(self, dsn: Dsn, zone: tzinfo | None, look: ServerLook) -> None:
        """`look` is that of all objects for this address."""
        self.path = dsn.label
        self._dsn = dsn
        self._zone = zone
        self._look = look

    def read(self, work: Callable[[HectorReader], T]) -> T:
        """See `Database.read`."""
        try:
            from session_adapters.hector.postgres import read_server
        except ImportError as error:
            raise DatabaseUnreadable(
                f"reading PostgreSQL needs psycopg, which is not installed: {install_command('postgres')}"
            ) from error
        return read_server(self._dsn, self._zone, work)

    def begin(self) -> None:
        """Ask the server for what `look` gives; wait for nothing."""
        self._look.begin(self._asked)

    def look(self) -> tuple[tuple[int, ...], int]:
        """The stamp, and bytes; of a server that takes its time the last ones. Raises `DatabaseUnreadable`."""
        self.begin()
        return self._look.wait()

    def stamp(self) -> tuple[int, ...]:
        """See `Database.stamp`."""
        return self._asked()[0]

    def last_stamp(self) -> tuple[int, ...]:
        """See `Database.last_stamp`."""
        return self._look.last()[0]

    def _asked(self) -> tuple[tuple[int, ...], int]:
        def read(reader: HectorReader) -> tuple[tuple[int, ...], int]:
            from session_adapters.hector.postgres import look

            return look(reader)

        return self.read(read)
