"""Files that one process at a time may lock, released however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import ExitStack
from pathlib import Path

from hermes_tui.platform.own_files import open_own
from hermes_tui.platform.paths import private_dir

__all__ = ["is_held", "take"]

_BRIEF = 0.1
"""Seconds. Whoever only looks whether a lock is held holds it for less."""
_PAUSE = 0.02


def take(path: Path, patience: float = _BRIEF) -> int | None:
    """A descriptor that holds the lock until it is closed; None when another process has it for longer than
    `patience` seconds. The file is made, for its owner alone. Raises `OSError`."""
    private_dir(path.parent)
    fd = open_own(path, os.O_RDWR | os.O_CREAT)
    with ExitStack() as stack:
        stack.callback(os.close, fd)
        until = time.monotonic() + patience
        late = False
        while not _taken(fd, fcntl.LOCK_EX):
            if late:
                return None
            time.sleep(_PAUSE)
            late = time.monotonic() >= until  # asked before the last try, which may come much later
        stack.pop_all()  # the lock is ours: it stays open
    return fd


def is_held(path: Path) -> bool:
    """Whether a process holds the lock now. Makes no file; one that cannot be looked at is not held."""
    try:
        fd = open_own(path)
    except OSError:
        return False
    try:
        return not _taken(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _taken(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
