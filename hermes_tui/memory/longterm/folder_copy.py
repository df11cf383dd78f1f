"""A private copy of an embedded collection, so that reading it changes nothing.

The engine writes to a folder as soon as it opens it, and holds a lock that keeps the folder's own program out.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from session_adapters.reading.files import temporary_place

__all__ = ["FolderBusy", "copied_folder"]

_LOCKED = "wal"
"""The directory on which the engine has its lock."""
_MOST_FILES = 20_000
_MOST_BYTES = 4 << 30
_BLOCK = 1 << 20


class FolderBusy(Exception):
    """A clause about why there is no copy: somebody has it open, or it is too large."""


def copied_folder(folder: Path) -> Path:
    """A copy of `folder` in a temporary place of its own, holes left out: the engine's files are mostly holes. Raises
    `FolderBusy` and `OSError`."""
    target = Path(tempfile.mkdtemp(prefix="hermes-tui-vectors-", dir=temporary_place()))
    try:
        before = _signature(folder)
        for name, size, _ in before:
            _copy(folder / name, target / name, size)
        if _signature(folder) != before:  # the copy may be of two moments
            raise FolderBusy("another process writes to it now; try again in a moment")
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target


def _signature(folder: Path) -> list[tuple[str, int, int]]:
    """(name, size, time of the last change) of every file. Raises `FolderBusy` where a process has it open."""
    if _is_locked(folder / _LOCKED):
        raise FolderBusy("another process has it open")
    found = [(name, status.st_size, status.st_mtime_ns) for name, status in _files(folder, "")]
    held = sum(status.st_blocks * 512 for _, status in _files(folder, ""))
    if len(found) > _MOST_FILES or held > _MOST_BYTES:
        raise FolderBusy(f"it is too large to be copied ({len(found):,} files, {held / 1e9:.1f} GB)")
    return sorted(found)


def _files(folder: Path, inside: str) -> Iterator[tuple[str, os.stat_result]]:
    """Plain files by their names in the folder; nothing behind a link."""
    with os.scandir(folder / inside) as entries:
        for entry in entries:
            name = f"{inside}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _files(folder, f"{name}/")
            elif stat.S_ISREG((status := entry.stat(follow_symlinks=False)).st_mode):
                yield name, status


def _is_locked(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:  # no process has opened this store yet
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # given back at once
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _copy(source: Path, target: Path, size: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb", buffering=0) as read, target.open("wb", buffering=0) as written:
        os.ftruncate(written.fileno(), size)  # what is not written below stays a hole
        at = 0
        with suppress(OSError):  # there is no more behind a hole at the end
            while at < size:
                at = os.lseek(read.fileno(), at, os.SEEK_DATA)
                end = os.lseek(read.fileno(), at, os.SEEK_HOLE)
                while at < end:
                    data = os.pread(read.fileno(), min(_BLOCK, end - at), at)
                    if not data:
                        return
                    os.pwrite(written.fileno(), data, at)
                    at += len(data)
