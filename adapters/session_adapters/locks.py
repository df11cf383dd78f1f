"""File locks that other processes hold, seen in `/proc` and never taken.

Where there is no `/proc` none is seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["FileLock", "flocks", "open_files"]


class FileLock(NamedTuple):
    """An flock that is held."""

    pid: int
    device: tuple[int, int]
    """Major and minor number; some file systems show another one here than `stat` does."""
    inode: int


def flocks(proc: Path) -> Iterator[FileLock]:
    """Every flock that is held; waiting ones have `->` in their second field."""
    try:
        table = (proc / "locks").read_text()
    except OSError:
        return
    for row in table.splitlines():
        fields = row.split()
        try:
            if fields[1] == "FLOCK":
                major, minor, inode = fields[5].split(":")
                yield FileLock(int(fields[4]), (int(major, 16), int(minor, 16)), int(inode))
        except (IndexError, ValueError):
            continue  # not a row of the form above


def open_files(proc: Path, pid: int) -> Iterator[str]:
    """The paths that a process has open; none for one that is gone or another user's."""
    try:
        descriptors = list((proc / str(pid) / "fd").iterdir())
    except OSError:
        return
    for descriptor in descriptors:
        try:
            yield str(descriptor.readlink())
        except OSError:
            continue
