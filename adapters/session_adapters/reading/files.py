"""Opens files of stores and reads their bytes, without touching them.

Nothing of a store is trusted: a path may have become a pipe, or a file of the system's that has no end.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

__all__ = [
    "METER",
    "TEMPORARY",
    "Meter",
    "file_stamp",
    "open_file",
    "read_at",
    "read_small",
    "scan_at",
    "temporary_place",
]

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - what is made there is private
"""Where temporary files go if no variable says otherwise."""
_AT_ONCE = 1 << 30  # Linux reads 2 GB in one call at most, and macOS refuses more


class Meter:
    """Counts what is read, so that tests can hold the program to its laziness."""

    def __init__(self) -> None:
        self.opened = 0
        self.bytes = 0
        self.scanned = 0
        """Bytes that were searched for a few words and not looked into; not among `bytes`."""

    def reset(self) -> None:
        """Start again at zero."""
        self.opened = self.bytes = self.scanned = 0


METER = Meter()


def file_stamp(status: os.stat_result) -> tuple[int, ...]:
    """Changes when the content may have changed: device, inode, size, mtime in ns."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@contextmanager
def open_file(path: str | Path) -> Iterator[int]:
    """A descriptor of a regular file, for reading; its access time is left alone where the system allows it.

    Raises `OSError` (also for a directory, a pipe or a device, which are never waited for).
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        fd = os.open(path, flags | getattr(os, "O_NOATIME", 0))
    except PermissionError:  # O_NOATIME is for the owner only
        fd = os.open(path, flags)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_dev == _proc():
            raise OSError(f"not a regular file: {path}")
        METER.opened += 1
        yield fd
    finally:
        os.close(fd)


@cache
def _proc() -> int | None:
    """The device of `/proc`, whose files look regular: some have no end, and memory in them."""
    try:
        return os.stat("/proc").st_dev if os.path.ismount("/proc") else None  # noqa: PTH116 - a system's own
    except OSError:
        return None


def read_at(fd: int, offset: int, size: int) -> bytes:
    """Up to `size` bytes at `offset`; fewer only at the end of the file."""
    parts: list[bytes] = []
    while size > 0 and (part := os.pread(fd, min(size, _AT_ONCE), offset)):  # one part, as a rule: no second copy
        parts.append(part)
        offset += len(part)
        size -= len(part)
    data = b"".join(parts)
    METER.bytes += len(data)
    return data


def scan_at(fd: int, offset: int, size: int) -> bytes:
    """Some of `size` bytes at `offset`, which are searched and not looked into."""
    data = os.pread(fd, size, offset)
    METER.scanned += len(data)
    return data


def read_small(path: str | Path, limit: int = 4 << 20) -> bytes:
    """A whole small file. Raises `OSError`, also when it is larger than `limit` bytes."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        if size > limit:
            raise OSError(f"larger than expected ({size} bytes): {path}")
        return read_at(fd, 0, size)


def temporary_place() -> str:
    """The directory for our temporary files: what Python would take, but never the one we are in, which may be a
    store. Raises `OSError`."""
    for place in (*(os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")), *TEMPORARY):
        if os.path.isabs(place) and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):  # noqa: PTH112, PTH117
            return place
    raise OSError(errno.EROFS, "no directory for temporary files can be written to; name one with TMPDIR", place)
