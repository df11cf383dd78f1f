"""Opening the program's own files: caches, logs, locks, saved searches.

Whoever else may write to a directory of ours can put something else in a file's place. A link is not followed, a pipe
is not waited for, and what belongs to another user, or may be written to by others, is not believed.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["check_own", "open_own", "read_own"]

_LIMIT = 64 << 20
"""Bytes of a file that is read whole, where nobody says another number."""


def open_own(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a file of ours, opened as `os.open` does with `flags`; a new one is its owner's alone.

    Raises `OSError`, whose `strerror` says in a clause what stands there instead.
    """
    try:
        fd = os.open(path, (flags & ~os.O_TRUNC) | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _refused(path, "it is a link, which is not followed") from None
        if error.errno == errno.ENXIO:
            raise _refused(path, "it is a pipe, not a file") from None
        raise
    try:
        _check(path, os.fstat(fd))
        if flags & os.O_TRUNC:  # not before it is known to be ours
            os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_own(path: Path, limit: int = _LIMIT) -> bytes:
    """All of a file of ours. Raises `OSError`, also where it is larger than `limit` bytes."""
    fd = open_own(path)
    with os.fdopen(fd, "rb") as file:
        size = os.fstat(fd).st_size
        if size > limit:
            raise _refused(path, f"it is larger than expected ({size} bytes)")
        return file.read()


def check_own(path: Path) -> None:
    """Raises `OSError` where something is at `path` that `open_own` would refuse; for files that SQLite opens."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise _refused(path, "it is a link, which is not followed")
    _check(path, status)


def _check(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _refused(path, "it is a directory" if stat.S_ISDIR(status.st_mode) else "it is no regular file")
    if status.st_uid not in (os.geteuid(), 0):
        raise _refused(path, "it belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _refused(path, "others may write to it (chmod go-w makes it yours alone)")


def _refused(path: Path, reason: str) -> OSError:
    return OSError(errno.EINVAL, reason, str(path))
