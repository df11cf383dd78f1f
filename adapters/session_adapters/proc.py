"""Looking over all processes in `/proc`, every few seconds and for weeks: with as little work as can be."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["pids", "start_of", "words_of"]


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
