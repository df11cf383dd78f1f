"""Scans the processes in `/proc`, cheaply, every few seconds for weeks."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["file_locks", "pids", "start_of", "words_of"]

_LOOKS = 6
"""At the list of locks, where one may miss a lock: of a list of 150 every 200th did on a busy machine."""


def pids(proc: Path) -> list[str]:
    """The ids of all processes; none where there is no `/proc`."""
    try:
        return [name for name in os.listdir(proc) if name.isdecimal()]  # noqa: PTH208 - names alone
    except OSError:
        return []


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


def file_locks(proc: Path) -> list[str]:
    """The lines of `/proc/locks`. Every lock that was held all the while is there, some perhaps more than once.
    Raises `OSError`.

    The kernel gives a page at a time, and goes on at a number in a list that others change meanwhile: only what came
    in one piece is whole. Of a longer list several looks are put together.
    """
    found: dict[str, None] = {}
    for _ in range(_LOOKS):
        pages = _pages(proc / "locks")
        found.update(dict.fromkeys(b"".join(pages).decode("utf-8", "replace").splitlines()))
        if len(pages) < 2:
            break
    return list(found)


def _pages(path: Path) -> list[bytes]:
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pages: list[bytes] = []
        while page := os.read(number, 1 << 16):
            pages.append(page)
    finally:
        os.close(number)
    return pages
