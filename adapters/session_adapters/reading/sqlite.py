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

import errno
import os
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar
from urllib.parse import quote

import apsw

from session_adapters.base import Source
from session_adapters.reading.sqlite_limits import DatabaseUnreadable, guard
from session_adapters.text import one_line

__all__ = [
    "COPY_LIMIT",
    "DatabaseMissing",
    "DatabaseUnreadable",
    "database_source",
    "database_stamp",
    "database_uri",
    "hold_locks",
    "read_database",
]

T = TypeVar("T")

COPY_LIMIT = 512 << 20
"""Bytes of database, log and journal together that are copied at most."""
BUSY_TIMEOUT = 200
"""Milliseconds to wait for a lock."""
READ_TIMEOUT = 60.0
"""Seconds after which a read is broken off."""
COPY_TIMEOUT = 120.0
"""Seconds after which a copy is broken off."""
TRIES = 8
"""How often a read is repeated because the files moved under it."""


class DatabaseMissing(DatabaseUnreadable):
    """There is no such file."""


class _Moved(Exception):
    """The files changed while they were read: what was read may be torn."""


class _Refused(Exception):
    """SQLite cannot open the database without writing beside it."""


# What lies there ---------------------------------------------------------------------------------------------


class _Files(NamedTuple):
    """The database and what lies beside it; equal when nothing was written in between."""

    database: tuple[int, ...]
    """Device, inode, size, mtime in ns, as in the other two; empty when there is no such file."""
    wal: tuple[int, ...]
    journal: tuple[int, ...]
    shm: bool

    @property
    def has_wal(self) -> bool:
        return bool(self.wal) and self.wal[2] > 0

    @property
    def has_journal(self) -> bool:
        return bool(self.journal) and self.journal[2] > 0

    @property
    def bytes(self) -> int:
        return sum(part[2] for part in (self.database, self.wal, self.journal) if part)


def _stat(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)  # noqa: PTH116 - asked a dozen times for each of thousands of databases
    except FileNotFoundError:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _look(path: str) -> _Files:
    """Raises `DatabaseUnreadable` where there is nothing to open."""
    try:
        status = os.stat(path)  # noqa: PTH116 - as above
        if not stat.S_ISREG(status.st_mode):
            raise DatabaseUnreadable("it is not a regular file")
        if not status.st_size:
            raise DatabaseUnreadable("the file is empty")
        database = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        return _Files(database, _stat(path + "-wal"), _stat(path + "-journal"), bool(_stat(path + "-shm")))
    except FileNotFoundError as error:
        raise DatabaseMissing("there is no such file") from error
    except OSError as error:
        raise DatabaseUnreadable(f"the file cannot be reached: {error.strerror or error}") from error


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
    wal = _stat(real + "-wal")
    # An empty log says nothing, and comes and goes with connections.
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, *(wal if wal and wal[2] else ()))


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
            raise _Moved  # there is another way in, and the writer may stay for hours
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
    inode = _stat(os.path.realpath(path))[:2]
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
        files = _look(real)
        try:
            return _read_once(real, files, read, deadline)
        except _Moved:
            moved += 1
            if moved >= TRIES:
                raise DatabaseUnreadable("it changes faster than it can be read") from None
            time.sleep(0.005 * moved)


def _read_once(path: str, files: _Files, read: Callable[[apsw.Connection], T], deadline: float) -> T:
    inode = files.database[:2]
    if inode in _written:
        with _hold(inode, "locking"):
            if inode not in _written:
                raise _Moved
            try:
                return _run(database_uri(path, "mode=ro&readonly_shm=1"), read, deadline, files.bytes)
            except _Refused:
                raise _Moved from None  # the writer is just being opened or closed
    if not files.has_wal and not files.has_journal:
        with _hold(files.database[:2], "lockless") as waited:
            if waited and _look(path) != files:
                raise _Moved
            return _checked(path, files, lambda: _run(database_uri(path, "immutable=1"), read, deadline, files.bytes))
    if files.has_wal and files.shm and not files.has_journal:
        try:
            with _hold(files.database[:2], "locking"):
                now = _look(path)
                if not (now.has_wal and now.shm) or now.has_journal:
                    raise _Moved
                return _checked(
                    path,
                    None,
                    lambda: _run(database_uri(path, "mode=ro&readonly_shm=1"), read, deadline, files.bytes),
                )
        except _Refused:
            pass
    with _copy(path, files) as copied:
        return _run(database_uri(copied, "mode=rw"), read, deadline, files.bytes)


def _checked(path: str, files: _Files | None, run: Callable[[], T]) -> T:
    """`run()`, unless the files are other ones afterwards. With `files` None they may change: SQLite's own locks
    keep what was read whole; only a failure is looked into."""
    before = _look(path) if files is None else files
    try:
        result = run()
    except DatabaseUnreadable:
        if _look(path) != before:
            raise _Moved from None
        raise
    if files is not None and _look(path) != before:
        raise _Moved
    return result


def database_uri(path: str, parameters: str = "") -> str:
    """A URI in which nothing of the path is taken for something else, and which may be no UTF-8."""
    return f"file://{quote(os.fsencode(path))}?{parameters}"


def _run(uri: str, read: Callable[[apsw.Connection], T], deadline: float, size: int) -> T:
    """Open, read, close; SQLite's errors as ours."""
    writable = uri.endswith("mode=rw")
    flags = apsw.SQLITE_OPEN_URI | (apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY)
    try:
        connection = apsw.Connection(uri, flags=flags)
        try:
            _prepare(connection)
            guard(connection, deadline, size)
            return read(connection)
        finally:
            connection.close(force=True)
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        if "mode=ro" in uri:
            raise _Refused from error
        raise DatabaseUnreadable(_reason(error)) from error
    except apsw.Error as error:
        raise DatabaseUnreadable(_reason(error)) from error


def _prepare(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(BUSY_TIMEOUT)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    # In memory (2), sorting leaves no file anywhere.
    connection.execute("PRAGMA query_only = 1; PRAGMA temp_store = 2; PRAGMA cell_size_check = 1")


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


# The copy ----------------------------------------------------------------------------------------------------


@contextmanager
def _copy(path: str, files: _Files) -> Iterator[str]:
    """A private copy of the database with its log and journal, gone afterwards.

    Whole when the database file itself did not move: what is appended to a log meanwhile is either there with
    its checksum or not, and pages taken from a journal are the ones that stand in the file.
    """
    if files.bytes > COPY_LIMIT:
        raise DatabaseUnreadable(
            f"only a copy of it could be read safely now, and at {files.bytes >> 20} MB it is over the limit of "
            f"{COPY_LIMIT >> 20} MB for that; open it once with its own program and close that again"
        )
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="session-copy-"))
        for suffix, present in (("", True), ("-wal", files.has_wal), ("-journal", files.has_journal)):
            if present:
                _copy_file(path + suffix, f"{folder}/copy.db{suffix}", path)
        now = _look(path)
        if now.database != files.database or now.journal != files.journal or now.wal[:2] != files.wal[:2]:
            raise _Moved
        yield f"{folder}/copy.db"


def _copy_file(source: str, target: str, path: str) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - argv, and a fixed program
            ["/bin/cp", "--", source, target],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COPY_TIMEOUT,
            check=False,
            env={"LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired as error:
        raise DatabaseUnreadable("copying it took too long") from error
    except OSError as error:
        raise DatabaseUnreadable(f"it could not be copied: {error.strerror or error}") from error
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().rpartition(": ")[2]
        # A journal comes and goes with every transaction: by now there may be the next one.
        gone = source != path and words == os.strerror(errno.ENOENT)
        if gone or (not Path(source).exists() and Path(path).exists()):
            raise _Moved
        raise DatabaseUnreadable(f"it could not be copied: {words or done.returncode}")
    Path(target).chmod(0o600)  # a log or journal cannot be taken in where the original may not be written
