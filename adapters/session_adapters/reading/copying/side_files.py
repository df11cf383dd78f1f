"""Side files of a foreign database, and how a connection to it is prepared."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import apsw

from session_adapters.proc import file_locks
from session_adapters.reading.files import open_file
from session_adapters.reading.sqlite_limits import DatabaseUnreadable

__all__ = ["WRITABLE", "DatabaseMissing", "Files", "Moved", "database_uri", "has_log", "look", "prepare", "stat_of"]

WRITABLE = apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READWRITE
"""Flags of a connection to a copy."""
BUSY_TIMEOUT = 200
"""Milliseconds to wait for a lock."""
_LOG = 0x377F0682
"""Begins a log; with the last bit set its checksums are big-endian. Format: sqlite.org/fileformat2.html#walformat."""


class DatabaseMissing(DatabaseUnreadable):
    """There is no such file."""


class Moved(Exception):
    """The files changed while they were read: what was read may be torn."""


class Files(NamedTuple):
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


def stat_of(path: str) -> tuple[int, ...]:
    """Device, inode, size and mtime in ns; empty where there is no such file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked a dozen times for each of thousands of databases
    except FileNotFoundError:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def look(path: str) -> Files:
    """Raises `DatabaseUnreadable` where there is nothing to open."""
    try:
        status = os.stat(path)  # noqa: PTH116 - as above
        if not stat.S_ISREG(status.st_mode):
            raise DatabaseUnreadable("it is not a regular file")
        if not status.st_size:
            raise DatabaseUnreadable("the file is empty")
        database = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        return Files(database, stat_of(path + "-wal"), stat_of(path + "-journal"), bool(stat_of(path + "-shm")))
    except FileNotFoundError as error:
        raise DatabaseMissing("there is no such file") from error
    except OSError as error:
        raise DatabaseUnreadable(f"the file cannot be reached: {error.strerror or error}") from error


def database_uri(path: str, parameters: str = "") -> str:
    """A URI in which nothing of the path is taken for something else, and which may be no UTF-8."""
    return f"file://{quote(os.fsencode(path))}?{parameters}"


def prepare(connection: apsw.Connection) -> None:
    """Let nothing of the schema run, and nothing be written but in memory."""
    connection.set_busy_timeout(BUSY_TIMEOUT)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    # In memory (2), sorting leaves no file anywhere.
    connection.execute("PRAGMA query_only = 1; PRAGMA temp_store = 2; PRAGMA cell_size_check = 1")


def has_log(path: str) -> bool:
    """Whether a database can be read with the log that lies beside it, and the memory it is shared by.

    A log that does not begin as one is none, as for SQLite itself when it opens the database next. But where the
    memory is there, as of a program that died, SQLite looks for the beginning for ten seconds, and nothing can break
    that off. As long as a program has the database open all go by the memory, and do not look.
    """
    try:
        with open_file(f"{path}-wal") as fd:
            if int.from_bytes(os.pread(fd, 4, 0), "big") & ~1 == _LOG:
                return True
        memory = os.stat(f"{path}-shm").st_ino  # noqa: PTH116 - as above
    except OSError:
        return True  # gone meanwhile, or not to be read: SQLite says so
    try:
        return any(lock.inode == memory for lock in file_locks(Path("/proc")))
    except OSError:
        return False  # no /proc
