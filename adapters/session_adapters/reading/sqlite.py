"""Reading SQLite databases that belong to somebody else, truly read-only.

Nothing beside the database is created, changed or removed, and its writer is never kept waiting. Which way in is
safe depends on the files that lie there (facts: stores2.md section 2; every line of that table is a test):

* no `-wal`, or an empty one, and no journal → `immutable=1`; the files are looked at again afterwards and the
  read is repeated when one of them moved;
* `-wal` and `-shm` → `mode=ro` with `readonly_shm`, which does not even write to the shared memory;
* a database that this process itself is writing (`hold_locks`) → the same, whatever lies there;
* anything else (`-wal` without `-shm`, a journal, a directory that may not be written) → a private copy, made by
  a child process: opening and closing the file here would drop the locks that other connections of this process
  hold on it.

`read_database` walks that ladder; there is no other way to a connection. Reads hold up a writer's checkpoint
while a statement runs: fetch everything at once, in statements that are short.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

import apsw

from session_adapters.base import Source
from session_adapters.model import SessionMissing, SessionUnreadable
from session_adapters.reading.copying.copies import copied
from session_adapters.reading.copying.side_files import (
    WRITABLE,
    DatabaseMissing,
    Files,
    Moved,
    database_uri,
    has_log,
    look,
    prepare,
    stat_of,
)
from session_adapters.reading.damaged_places import reason_of
from session_adapters.reading.sqlite_limits import DatabaseRefused, DatabaseUnreadable, guard
from session_adapters.text import one_line

__all__ = [
    "UNREADABLE",
    "DatabaseMissing",
    "DatabaseUnreadable",
    "SessionGone",
    "database_source",
    "database_stamp",
    "database_uri",
    "hold_locks",
    "read_database",
    "reading_stored",
    "stamp_or_empty",
]

T = TypeVar("T")

UNREADABLE = (OSError, ValueError)
"""What says that a store or a session in it cannot be read: `DatabaseUnreadable` is a `ValueError`."""
READ_TIMEOUT = 60.0
"""Seconds after which a read is broken off."""
OPENING_SECONDS = 1.5
"""Seconds that the processor may work to open one state of a database that a log was left beside: without a program
that has both open, each read goes through the whole log first."""
TRIES = 8
"""How often a read is repeated because the files moved under it."""


class _Refused(Exception):
    """SQLite cannot open the database without writing beside it."""


# What lies there ---------------------------------------------------------------------------------------------


def _real(path: str | Path) -> str:
    """The file itself, which its log lies beside. Only a link as the last part makes a difference, and that costs
    one look."""
    name = os.path.abspath(path)  # noqa: PTH100 - as above
    return os.path.realpath(name) if os.path.islink(name) else name  # noqa: PTH114


def database_stamp(path: str | Path) -> tuple[int, ...]:
    """Changes when the content may have changed: device, inode, size and mtime in ns of the database, then those
    of its `-wal` (a commit may touch nothing else). Reading does not change it. Raises `OSError`."""
    real = _real(path)
    status = os.stat(real)  # noqa: PTH116 - as above
    wal = stat_of(real + "-wal")
    # An empty log says nothing, and comes and goes with connections.
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, *(wal if wal and wal[2] else ()))


def stamp_or_empty(path: str) -> tuple[int, ...]:
    """The same; empty for a database that cannot be reached: whoever reads it is told why."""
    try:
        return database_stamp(path)
    except OSError:
        return ()


def database_source(
    agent: str, path: str | Path, *, root: str = "", layout: str = "", profile: str | None = None
) -> Source:
    """The source for a database of many sessions, made from `stat` alone. Raises `OSError`."""
    stamp = database_stamp(path)
    return Source(
        agent=agent,
        path=str(path),
        stamp=stamp,
        root=root,
        layout=layout,
        profile=profile,
        size=sum(stamp[2::4]),
        modified=max(stamp[3::4]) / 1e9,
    )


# Locks within this process -----------------------------------------------------------------------------------

_gate = threading.Condition()
_holders: dict[tuple[int, ...], tuple[str, int]] = {}
"""(device, inode) → which kind of connection this process has to it, and how many."""
_written: dict[tuple[int, ...], int] = {}
"""(device, inode) → how many connections this process has to write to it. They stay open for long."""


@contextmanager
def _hold(inode: tuple[int, ...], kind: Literal["locking", "lockless"]) -> Iterator[bool]:
    """Keep connections that hold locks and connections that do not apart: when one of the latter closes its
    file, POSIX takes away every lock that this process has on it. Gives whether others had to be waited for."""
    with _gate:
        lockless = kind == "lockless"
        waits = _holders.get(inode, (kind, 0))[0] != kind
        if waits:
            _gate.wait_for(lambda: _holders.get(inode, (kind, 0))[0] == kind or (lockless and inode in _written))
        if lockless and inode in _written:
            raise Moved  # there is another way in, and the writer may stay for hours
        _holders[inode] = (kind, _holders.get(inode, (kind, 0))[1] + 1)
    try:
        yield waits
    finally:
        with _gate:
            count = _holders[inode][1] - 1
            if count:
                _holders[inode] = (kind, count)
            else:
                del _holders[inode]
                _gate.notify_all()


@contextmanager
def hold_locks(path: str | Path) -> Iterator[None]:
    """For code that writes to a database with a connection of its own, for as long as that is open: no read of this
    process will drop its locks meanwhile. The connection must have read something, so that its shared memory is
    there, before anything else of this process reads. Raises `OSError`."""
    inode = stat_of(os.path.realpath(path))[:2]
    with _hold(inode, "locking"):
        with _gate:
            _written[inode] = _written.get(inode, 0) + 1
            _gate.notify_all()
        try:
            yield
        finally:
            with _gate:
                _written[inode] -= 1
                if not _written[inode]:
                    del _written[inode]


# The ladder --------------------------------------------------------------------------------------------------


def read_database(path: str | Path, read: Callable[[apsw.Connection], T], *, timeout: float = READ_TIMEOUT) -> T:
    """What `read` returns when given a connection to the database at `path`.

    `read` may be called several times and must keep nothing of an earlier call, nor the connection. Raises
    `DatabaseMissing`, `DatabaseUnreadable`, and whatever else `read` raises.
    """
    real = _real(path)
    deadline = time.monotonic() + timeout
    moved = 0
    while True:
        files = look(real)
        try:
            return _read_once(real, files, read, deadline)
        except Moved:
            moved += 1
            if moved >= TRIES:
                raise DatabaseUnreadable("it changes faster than it can be read") from None
            time.sleep(0.005 * moved)


def _read_once(path: str, files: Files, read: Callable[[apsw.Connection], T], deadline: float) -> T:
    inode = files.database[:2]
    if inode in _written:
        with _hold(inode, "locking"):
            if inode not in _written:
                raise Moved
            try:
                return _run(database_uri(path, "mode=ro&readonly_shm=1"), read, deadline, files.bytes)
            except _Refused:
                raise Moved from None  # the writer is just being opened or closed
    if not files.has_wal and not files.has_journal:
        with _hold(files.database[:2], "lockless") as waited:
            if waited and look(path) != files:
                raise Moved
            return _checked(path, files, lambda: _run(database_uri(path, "immutable=1"), read, deadline, files.bytes))
    if files.has_wal and files.shm and not files.has_journal and has_log(path):
        try:
            with _hold(files.database[:2], "locking"):
                now = look(path)
                if not (now.has_wal and now.shm) or now.has_journal:
                    raise Moved
                opening = _Opening(path, now)
                uri = database_uri(path, "mode=ro&readonly_shm=1")
                return _checked(path, None, lambda: _run(uri, read, deadline, files.bytes, opening.took))
        except _Refused:  # SQLite would write beside it: a copy is read instead
            pass
    with copied(path, files) as copy:
        return _run(database_uri(copy, "mode=rw"), read, deadline, files.bytes)


class _Opening:
    """How long it takes to open a database that a log lies beside. Raises `DatabaseRefused` where it was opened
    for too long already."""

    _known: ClassVar[dict[str, tuple[Files, float]]] = {}

    def __init__(self, path: str, files: Files) -> None:
        self._path, self._files = path, files
        before, seconds = self._known.get(path, (files, 0.0))
        self._seconds = seconds if before == files else 0.0
        if self._seconds > OPENING_SECONDS:
            raise DatabaseRefused(
                f"its log of {files.wal[2] >> 20} MB would have to be gone through for every read; open it once with"
                " its own program and close that again"
            )

    def took(self, seconds: float) -> None:
        """Note one that was slow."""
        if seconds > 0.02:
            self._known[self._path] = (self._files, self._seconds + seconds)


def _checked(path: str, files: Files | None, run: Callable[[], T]) -> T:
    """`run()`, unless the files are other ones afterwards. With `files` None they may change: SQLite's own locks
    keep what was read whole; only a failure is looked into."""
    before = look(path) if files is None else files
    try:
        result = run()
    except DatabaseUnreadable:
        if look(path) != before:
            raise Moved from None
        raise
    if files is not None and look(path) != before:
        raise Moved
    return result


def _run(
    uri: str,
    read: Callable[[apsw.Connection], T],
    deadline: float,
    size: int,
    opened: Callable[[float], None] = lambda seconds: None,
) -> T:
    """Open, read, close; SQLite's errors as ours. `opened` is told how long the processor worked for the first."""
    began = time.thread_time()
    writable = uri.endswith("mode=rw")
    flags = WRITABLE if writable else apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READONLY
    try:
        connection = apsw.Connection(uri, flags=flags)
        try:
            prepare(connection)
            guard(connection, deadline, size)
            opened(time.thread_time() - began)
            return read(connection)
        finally:
            connection.close(force=True)
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        if "mode=ro" in uri:
            raise _Refused from error
        raise DatabaseUnreadable(_reason(error)) from error
    except apsw.Error as error:
        raise DatabaseUnreadable(_reason(error)) from error


_REASONS: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.NotADBError, "it is not an SQLite database"),
    (apsw.CorruptError, "the database is damaged"),
    (apsw.BusyError, "another process has it locked"),
    (apsw.LockedError, "another process has it locked"),
    (apsw.InterruptError, "reading it took too long"),
    (apsw.CantOpenError, "it cannot be opened"),
    (apsw.IOError, "it cannot be read from the disk"),
    (apsw.NoMemError, "it does not fit into memory"),
    (apsw.TooBigError, "a value in it is too large to be read"),
)


def _reason(error: apsw.Error) -> str:
    said = one_line(str(error), 300)  # it may quote names out of a damaged schema
    for kind, text in _REASONS:
        if isinstance(error, kind):
            return text if kind is not apsw.CorruptError else f"{text} ({said})"
    return f"SQLite says: {said}"


# Sessions that are not there -------------------------------------------------------------------------------


class SessionGone(LookupError):
    """The store does not have the session."""


@contextmanager
def reading_stored(agent: str, session_id: str, path: str) -> Iterator[None]:
    """Raises `SessionMissing` in place of what says that the store or the session is gone, `SessionUnreadable` in
    place of what says that one of them cannot be read."""
    try:
        yield
    except (DatabaseMissing, FileNotFoundError, SessionGone) as error:
        raise SessionMissing(f"{agent} session {session_id} is not in {path}") from error
    except UNREADABLE as error:
        reason = reason_of(error)
        raise SessionUnreadable(f"cannot read {agent} session {session_id} in {path}: {reason}") from error
