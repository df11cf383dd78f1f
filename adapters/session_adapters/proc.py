"""Scans processes and file locks in `/proc`, cheaply, every few seconds for weeks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "FileLock",
    "booted_at",
    "file_locks",
    "flocks",
    "has_flock",
    "is_nested",
    "open_files",
    "pids",
    "start_of",
    "start_ticks",
    "started_at",
    "words_of",
]

_LOOKS = 5
"""At the list of locks, where the one before found another list: where 80 locks come and go all the time, one look in
30 lacks some of 150 that stay."""
_WINDOW = 4096
"""Bytes that the kernel gives of a list at a time, in whole lines."""
_OVERLAPPING = 1 << 18
"""Bytes of the list of locks up to which it is read twice: some 4,000 locks."""
_OUTERMOST = "pid:[4026531836]"
"""The pid namespace that the machine started with: the kernel's PROC_PID_INIT_INO."""


def pids(proc: Path) -> list[str]:
    """The ids of all processes; none where there is no `/proc`."""
    try:
        return [name for name in os.listdir(proc) if name.isdecimal()]  # noqa: PTH208 - names alone
    except OSError:
        return []


def is_nested(proc: Path) -> bool:
    """Whether this is a pid namespace of its own, as in a container. The kernel lists neither the processes nor the
    locks of those around it and beside it."""
    try:
        return os.readlink(f"{proc}/self/ns/pid") != _OUTERMOST  # noqa: PTH115 - as text
    except OSError:
        return False


def start_of(path: str, most: int = 4096) -> bytes:
    """The first bytes of one of its files; empty for one that is gone or another user's."""
    try:
        # Not `open`: a third of the system calls.
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(number, most)
    except OSError:  # the process has just ended
        return b""
    finally:
        os.close(number)


def words_of(proc: Path, pid: int | str) -> tuple[bytes, ...]:
    """A process's command line; an empty word alone for one that is gone or another user's. A program that names
    itself leaves blanks behind it."""
    return tuple(start_of(f"{proc}/{pid}/cmdline", 1 << 16).rstrip(b"\0 ").split(b"\0"))


def start_ticks(proc: Path, pid: int) -> int | None:
    """Field 22 of a process's stat: when it began, in clock ticks since the boot. None for one that is gone."""
    # The name in parentheses may hold anything, parentheses and blanks too.
    fields = start_of(f"{proc}/{pid}/stat").rpartition(b")")[2].split()
    try:
        return int(fields[19])
    except (ValueError, IndexError):  # gone, or a line that was cut
        return None


def started_at(proc: Path, pid: int) -> float | None:
    """When a process began, seconds since the epoch: `start_ticks` after the boot time, which is a
    whole second: up to a second too early. None for one that is gone."""
    ticks, boot = start_ticks(proc, pid), booted_at(proc)
    return None if ticks is None or boot is None else boot + ticks / os.sysconf("SC_CLK_TCK")


def booted_at(proc: Path) -> int | None:
    """When the machine was started, seconds since the epoch; None where nothing says so."""
    try:
        line = next(line for line in (proc / "stat").read_text().splitlines() if line.startswith("btime "))
        return int(line.split()[1])
    except (OSError, ValueError, IndexError, StopIteration):
        return None


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
            continue  # closed meanwhile


class FileLock(NamedTuple):
    """A lock that a process holds on a file."""

    kind: str
    """FLOCK, POSIX …"""
    access: str
    """READ or WRITE."""
    pid: int
    """0: of another pid namespace."""
    device: tuple[int, int]
    """Major and minor number; some file systems show another one here than `stat` does."""
    inode: int


def flocks(proc: Path) -> list[FileLock]:
    """Every flock that is held, as `file_locks` has it; none where there is no `/proc`."""
    try:
        return [lock for lock in file_locks(proc) if lock.kind == "FLOCK"]
    except OSError:
        return []


def has_flock(proc: Path, pid: int, path: Path, inode: int) -> bool:
    """Whether a process of ours has locked that file for writing by flock, as its descriptors say. False may also
    mean that it is another user's, or sees the file elsewhere: then `file_locks` knows.

    This comes first where the process is known. While `/proc/locks` is read, every `fcntl` lock of the machine waits,
    and so does each transaction of SQLite; on a busy machine with some hundred locks for a tenth of a second.
    """
    wanted = os.path.realpath(path)
    folder = f"{proc}/{pid}"
    try:
        numbers = os.listdir(f"{folder}/fd")  # noqa: PTH208 - names alone
    except OSError:
        return False
    for number in numbers:
        try:
            opened = os.readlink(f"{folder}/fd/{number}")  # noqa: PTH115 - as text
        except OSError:
            continue  # closed meanwhile
        if opened == wanted:
            for line in start_of(f"{folder}/fdinfo/{number}").decode("utf-8", "replace").splitlines():
                lock = _lock(line.removeprefix("lock:"))
                if lock is not None and (lock.kind, lock.access, lock.inode) == ("FLOCK", "WRITE", inode):
                    return True
    return False


def file_locks(proc: Path) -> list[FileLock]:
    """Every lock in `/proc/locks` that was held all the while, some perhaps more than once. One that is waited for
    (`->`) is not held. Nothing is locked here. Raises `OSError`.

    The kernel gives a page at a time, and goes on at a number in a list that others change meanwhile, so that a lock
    between two pages may be missed. Pages that overlap have it in the middle of one, unless much changes at once: of
    a longer list several looks are put together, until two are the same.
    """
    found: dict[str, None] = {}
    before: dict[str, None] = {}
    for _ in range(_LOOKS):
        # Each page begins with the second half of the one before; its first line may be cut.
        pages: list[bytes] = []
        number = os.open(proc / "locks", os.O_RDONLY | os.O_CLOEXEC)
        try:
            at = 0
            while page := os.pread(number, _WINDOW, at):
                pages.append(page)
                if len(page) < _WINDOW // 2:
                    break
                at += len(page) // 2 if at < _OVERLAPPING else len(page)
        finally:
            os.close(number)
        seen = dict.fromkeys(line for page in pages for line in page.decode("utf-8", "replace").splitlines())
        found.update(seen)
        if len(pages) < 2 or seen == before:
            break
        before = seen
    return [lock for line in found if (lock := _lock(line)) is not None]


def _lock(line: str) -> FileLock | None:
    # 1: FLOCK  ADVISORY  WRITE 4127 08:01:131090 0 EOF
    fields = line.split()
    try:
        major, minor, inode = fields[5].split(":")
        return FileLock(fields[1], fields[3], int(fields[4]), (int(major, 16), int(minor, 16)), int(inode))
    except (IndexError, ValueError):
        return None  # not a line of that form
