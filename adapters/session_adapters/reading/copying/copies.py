"""A private copy of a database that can be read in no other safe way."""

from __future__ import annotations

import atexit
import errno
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import ClassVar

import apsw

from session_adapters.reading.copying.side_files import WRITABLE, Files, Moved, database_uri, look, prepare
from session_adapters.reading.files import temporary_place
from session_adapters.reading.sqlite_limits import DatabaseUnreadable

__all__ = ["COPY_LIMIT", "copied", "copy_file"]

COPY_LIMIT = 512 << 20
"""Bytes of database, log and journal together that are copied at most."""
COPY_TIMEOUT = 120.0
"""Seconds after which a copy is broken off."""
KEPT_FROM = 16 << 20
"""Bytes from which on a copy is kept for the next read."""
KEPT_SECONDS = 10.0
"""Seconds after which a copy that nobody reads is given back."""
_HEADER = 32
"""Bytes."""
_PROCESS = os.getpid()
"""A process that was forked from this one keeps none: it may end without giving it back."""


@contextmanager
def copied(path: str, files: Files) -> Iterator[str]:
    """A private copy of the database with its log and journal, gone afterwards.

    Whole when the database file itself did not move and the log was not begun anew: what is appended to a log
    meanwhile is either there with its checksum or not, and pages taken from a journal are the ones that stand in the
    file. The first part alone of a log that was emptied meanwhile would lead back to what the database was before.
    """
    if files.bytes > COPY_LIMIT:
        raise DatabaseUnreadable(
            f"only a copy of it could be read safely now, and at {files.bytes >> 20} MB it is over the limit of "
            f"{COPY_LIMIT >> 20} MB for that; open it once with its own program and close that again"
        )
    with _copying:
        copy = _Copy.kept
        if copy is None or os.getpid() != _PROCESS or (copy.path, copy.files) != (path, files):
            copy = _Copy(path, files)
        copy.readers += 1
    try:
        yield copy.database
    finally:
        with _copying:
            copy.readers -= 1
            copy.leave()


_copying = threading.RLock()


class _Copy:
    """A copy and who reads it. Use it under `_copying`."""

    kept: ClassVar[_Copy | None] = None
    """The last one, if it is large."""

    def __init__(self, path: str, files: Files) -> None:
        self.path, self.files = path, files
        self.readers = self._used = 0
        self._opened: apsw.Connection | None = None
        with ExitStack() as stack:
            folder = stack.enter_context(_folder())
            self.database = f"{folder}/copy.db"
            for suffix, present in (("", True), ("-wal", files.has_wal), ("-journal", files.has_journal)):
                if present:
                    copy_file(path + suffix, f"{folder}/copy.db{suffix}", path)
            same = not files.has_wal or _header(f"{path}-wal") == _header(f"{self.database}-wal") != b""
            now = look(path)
            if now.database != files.database or now.journal != files.journal or now.wal[:2] != files.wal[:2]:
                raise Moved
            if not same or (files.has_wal and now.wal[2] < files.wal[2]):
                raise Moved
            self._folder = stack.pop_all()
        if files.bytes >= KEPT_FROM and os.getpid() == _PROCESS:
            before, _Copy.kept = _Copy.kept, self
            if before is not None:
                before.leave()
            with suppress(apsw.Error):  # while it is open the log is gone through once; who reads says what is wrong
                self._opened = apsw.Connection(database_uri(self.database, "mode=rw"), flags=WRITABLE)
                prepare(self._opened)
                self._opened.execute("SELECT count(*) FROM sqlite_schema").fetchall()

    def leave(self) -> None:
        """Give it back, at once or after a while, unless it is read."""
        if self.readers:
            return
        if _Copy.kept is self:
            self._used += 1
            timer = threading.Timer(KEPT_SECONDS, self._expire, (self._used,))
            timer.daemon = True
            timer.start()
            return
        if self._opened is not None:
            self._opened.close(force=True)
        self._folder.close()

    def _expire(self, used: int) -> None:
        with _copying:
            if _Copy.kept is self and not self.readers and used == self._used:
                _Copy.kept = None
                self.leave()


def _folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="session-copy-", dir=temporary_place())
    except OSError as error:
        raise DatabaseUnreadable(
            f"only a copy of it could be read safely now, and there is no place for one: {error.strerror or error}"
        ) from error


def copy_file(source: str, target: str, path: str) -> None:
    """Copy one of the files by a process of its own: closing it here would drop locks of this one on it."""
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
            raise Moved
        raise DatabaseUnreadable(f"it could not be copied: {words or done.returncode}")
    Path(target).chmod(0o600)  # a log or journal cannot be taken in where the original may not be written


def _header(log: str) -> bytes:
    """Of a log, another one each time that it is begun anew. Read by a process of its own, as above."""
    argv = ["/bin/dd", f"if={log}", f"bs={_HEADER}", "count=1"]
    try:
        return subprocess.run(argv, capture_output=True, timeout=COPY_TIMEOUT, check=False).stdout  # noqa: S603
    except (subprocess.TimeoutExpired, OSError):
        return b""


def _give_back() -> None:
    with _copying:
        copy, _Copy.kept = _Copy.kept, None
        if copy is not None:
            copy.leave()


atexit.register(_give_back)
