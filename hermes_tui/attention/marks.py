"""What a person has seen of sessions.

One small SQLite file in our state directory; nothing is ever written into a store. Marks belong to a unified id, so
that they outlive renames and moves of the session.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.own_files import check_own, open_own
from hermes_tui.platform.paths import private_dir

__all__ = ["MarkStore", "MarksUnusable"]

_WAIT = 2000
"""Milliseconds that another program of ours may keep the file."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS fact(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen(id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
"""


class MarksUnusable(HermesTuiError):
    """The file of marks cannot be read or written. The text is one sentence."""


class MarkStore:
    """The marks of one person on one machine. Any thread may call any method; each raises `MarksUnusable`."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @property
    def began(self) -> float:
        """When marks were first kept, seconds since the epoch: what is older counts as seen."""
        with self._opened() as connection:
            connection.execute("INSERT OR IGNORE INTO fact VALUES('began', ?)", (self._now(),))
            return float(next(connection.execute("SELECT value FROM fact WHERE key = 'began'"))[0])

    def seen(self) -> Mapping[str, float]:
        """By unified id, when its newest message that a person looked at was said: seconds since the epoch."""
        with self._opened() as connection:
            return dict(connection.execute("SELECT id, at FROM seen"))

    def see(self, unified_id: str, newest: datetime) -> None:
        """A person has looked at a session whose newest message is of `newest`."""
        with self._opened() as connection:
            connection.execute(
                "INSERT INTO seen VALUES(?, ?) ON CONFLICT(id) DO UPDATE SET at = max(at, excluded.at)",
                (unified_id, newest.timestamp()),
            )

    # Inside ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        with self._lock:
            try:
                connection = self._connection = self._connection or self._open()
                with connection:
                    yield connection
            except (OSError, apsw.Error) as error:
                reason = (error.strerror if isinstance(error, OSError) else None) or error
                raise MarksUnusable(
                    f"marks of sessions cannot be kept in {self._path}: {reason}; move that file away to begin anew"
                ) from error

    def _open(self) -> apsw.Connection:
        private_dir(self._path.parent)
        check_own(self._path)
        if not self._path.exists():
            os.close(open_own(self._path, os.O_RDWR | os.O_CREAT))
        connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(_WAIT)
        connection.execute(_SCHEMA)
        return connection
