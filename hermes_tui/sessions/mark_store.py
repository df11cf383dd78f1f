"""Keeps a person's marks on sessions, and what was seen of them.

One small SQLite file in our state directory; nothing is ever written into a store. Marks belong to a unified id, so
that they outlive renames and moves of the session, and the session itself.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.own_files import check_own, open_own
from hermes_tui.platform.paths import private_dir
from hermes_tui.sessions.marks import (
    MAX_NAME,
    MAX_NOTE,
    MAX_TAG,
    NO_MARKS,
    NO_ONE_MARKED,
    MarkChange,
    OwnMarks,
)

if TYPE_CHECKING:
    import apsw

__all__ = ["MarkStore", "MarksUnusable"]

_WAIT = 2000
"""Milliseconds that another program of ours may keep the file."""
_TICK = 2.0
"""Seconds in which two writes may leave the same time on a file, at most: FAT counts two at once."""
_MOMENT = 0.001
"""Seconds by which a time is earlier than another, at least."""
_LAYOUTS = (
    """
    CREATE TABLE IF NOT EXISTS fact(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS seen(id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
    """,
    """
    CREATE TABLE session_mark(
      id TEXT PRIMARY KEY, pinned INTEGER NOT NULL DEFAULT 0, name TEXT NOT NULL DEFAULT '',
      note TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID;
    CREATE TABLE session_tag(id TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(id, tag)) WITHOUT ROWID;
    """,
)
"""What makes each layout of the one before; `user_version` says how many were made."""
# As bytes: another program may have written what is no UTF-8.
_MARKS = f"""
SELECT CAST(id AS BLOB), pinned, CAST(substr(name, 1, {MAX_NAME}) AS BLOB),
  CAST(substr(note, 1, {MAX_NOTE}) AS BLOB) FROM session_mark
"""  # noqa: S608 - numbers
_TAGS = f"SELECT CAST(id AS BLOB), CAST(substr(tag, 1, {MAX_TAG}) AS BLOB) FROM session_tag ORDER BY id, tag"  # noqa: S608


class MarksUnusable(HermesTuiError):
    """The file of marks cannot be read or written. The text is one sentence."""


class MarkStore:
    """The marks of one person on one machine. Any thread may call any method; each raises `MarksUnusable`."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._inode = 0
        self._version: object = None
        """Of `_known`: what other programs and this one wrote to the file, counted."""
        self._stamp: tuple[int, int] = (0, 0)
        """How the file looked when that was read, where whatever is written after shows in it."""
        self._known: Mapping[str, OwnMarks] = NO_ONE_MARKED
        self.heard: Callable[[], object] = int
        """Called by `all`, in its thread, where somebody has marked something or seen it since."""

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._close()

    # What was seen -------------------------------------------------------------------------------------------

    @property
    def began(self) -> float:
        """When marks were first kept, seconds since the epoch: what is older counts as seen."""
        asked = "SELECT value FROM fact WHERE key = 'began'"
        with self._opened() as connection:
            found = connection.execute(asked).get
        now = self._now()
        if found is None or found > now:  # the clock was ahead then: until that moment nothing would count as new
            with self._opened(writes=True) as connection:
                earliest = "ON CONFLICT(key) DO UPDATE SET value = min(value, excluded.value)"
                connection.execute(f"INSERT INTO fact VALUES('began', ?) {earliest}", (now,))
                found = connection.execute(asked).get
        return float(found)

    def seen(self) -> Mapping[str, float]:
        """By unified id, when its newest message that a person looked at was said: seconds since the epoch."""
        with self._opened() as connection:
            return dict(connection.execute("SELECT id, at FROM seen"))

    def see(self, unified_id: str, newest: datetime) -> None:
        """A person has looked at a session whose newest message is of `newest`."""
        with self._opened(writes=True) as connection:
            connection.execute(
                "INSERT INTO seen VALUES(?, ?) ON CONFLICT(id) DO UPDATE SET at = max(at, excluded.at)",
                (unified_id, newest.timestamp()),
            )

    def renew(self, unified_id: str, newest: datetime) -> None:
        """Something happened in a session that no message tells: its newest, of `newest`, counts as not looked at."""
        with self._opened(writes=True) as connection:
            connection.execute(
                "INSERT INTO seen VALUES(?, ?) ON CONFLICT(id) DO UPDATE SET at = min(at, excluded.at)",
                (unified_id, newest.timestamp() - _MOMENT),
            )

    # Marks ---------------------------------------------------------------------------------------------------

    def all(self) -> Mapping[str, OwnMarks]:
        """By unified id, what this program and others have marked; the same object while nothing has changed. Makes
        no file where there is none."""
        try:
            status = os.lstat(self._path)  # asked every second; a transaction takes ten times as long
        except (OSError, ValueError):  # not there, or where nobody can look, as also a change of marks says
            return NO_ONE_MARKED
        stamp = (status.st_ino, status.st_mtime_ns)
        if stamp == self._stamp:
            return self._known
        self._stamp = (0, 0)
        heard: Callable[[], object] = int
        with self._opened() as connection:
            version = (self._inode, connection.pragma("data_version"), connection.total_changes())
            if version != self._version:
                found = _read(connection)
                self._version, self._known = version, self._known if found == self._known else found
                heard = self.heard
            # What is written in the same tick of the clock leaves the same time.
            if not -_TICK < time.time() - status.st_mtime < _TICK:
                self._stamp = stamp
            known = self._known
        heard()
        return known

    def change(self, unified_ids: Iterable[str], change: MarkChange) -> Mapping[str, OwnMarks]:
        """Change the marks of all these sessions, or, where that fails, of none; what they are then. Raises
        `ValidationError` as `MarkChange.of` does."""
        with self._opened(writes=True) as connection:
            known = _read(connection)
            changed = {one: change.of(known.get(one, NO_MARKS)) for one in unified_ids}
            for one, marks in changed.items():
                connection.execute("DELETE FROM session_mark WHERE id = ?", (one,))
                connection.execute("DELETE FROM session_tag WHERE id = ?", (one,))
                if marks != NO_MARKS:
                    row = (one, marks.pinned, marks.name, marks.note)
                    connection.execute("INSERT INTO session_mark VALUES(?, ?, ?, ?)", row)
                    connection.executemany("INSERT INTO session_tag VALUES(?, ?)", ((one, tag) for tag in marks.tags))
            return changed

    # Inside --------------------------------------------------------------------------------------------------

    @contextmanager
    def _opened(self, *, writes: bool = False) -> Iterator[apsw.Connection]:
        """The file, in one transaction."""
        import apsw  # not before there is anything to read

        with self._lock:
            try:
                if self._connection is not None and self._inode != _inode(self._path):
                    self._close()  # a person may have moved the file away, and another may be in its place
                connection = self._connection = self._connection or self._open()
                connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                try:
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except (OSError, apsw.Error) as error:
                self._close()  # opened anew it may do, where the file was damaged, cut or replaced meanwhile
                raise MarksUnusable(f"marks of sessions cannot be kept in {self._path}: {_reason(error)}") from error

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = self._version = None

    def _open(self) -> apsw.Connection:
        import apsw

        from session_adapters.reading.copying.side_files import database_uri

        private_dir(self._path.parent)
        check_own(self._path)
        if not self._path.exists():
            os.close(open_own(self._path, os.O_RDWR | os.O_CREAT))
        self._inode = _inode(self._path)
        # As a URI: a home may have a name that is no UTF-8.
        uri = database_uri(str(self._path.absolute()))
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
        connection.set_busy_timeout(_WAIT)
        try:
            if connection.pragma("user_version") != len(_LAYOUTS):
                connection.execute("BEGIN IMMEDIATE")
                # Asked anew: another program of ours may have brought it up to date meanwhile.
                made = connection.pragma("user_version")
                if made > len(_LAYOUTS):
                    raise MarksUnusable(
                        f"{self._path} was written by a newer hermes-tui, which alone can read it: update this one"
                    )
                for layout in _LAYOUTS[made:]:
                    connection.execute(layout)
                connection.pragma("user_version", len(_LAYOUTS))
                connection.execute("COMMIT")
        except BaseException:
            connection.close()  # and with it what was begun
            raise
        return connection


def _read(connection: apsw.Connection) -> Mapping[str, OwnMarks]:
    """Whatever another program may have written, as text."""
    tags: dict[str, list[str]] = {}
    for unified_id, tag in connection.execute(_TAGS):
        tags.setdefault(_text(unified_id), []).append(_text(tag))
    found = {
        _text(unified_id): OwnMarks(pinned=bool(pinned), name=_text(name), note=_text(note))
        for unified_id, pinned, name, note in connection.execute(_MARKS)
    }
    for unified_id, some in tags.items():
        found[unified_id] = replace(found.get(unified_id, NO_MARKS), tags=tuple(some))
    return found


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _reason(error: OSError | apsw.Error) -> str:
    """What is wrong, and what to do about it. A file that can be read is never to be moved away: all marks are in
    it."""
    import apsw

    said = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if isinstance(error, apsw.FullError) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full; make room"
    in_its_place = isinstance(error, OSError) and error.errno == errno.EINVAL  # as `check_own` says it
    if in_its_place or isinstance(error, (apsw.NotADBError, apsw.CorruptError, apsw.SQLError)):
        return f"{said}; move that file away to begin anew"
    return said


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0
