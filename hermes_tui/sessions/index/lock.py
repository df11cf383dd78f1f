"""One indexer per index: a lock that is gone with the process that held it, however it ended."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from hermes_tui.paths import private_dir

__all__ = ["is_held", "take"]

_TRIES = 5
_PAUSE = 0.02
"""Seconds. Whoever only looks whether the lock is held holds it for less."""


def take(path: Path) -> int | None:
    """A descriptor that holds the lock until it is closed; None when another process has it. Raises `OSError`."""
    private_dir(path.parent)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    for attempt in range(_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt < _TRIES - 1:
                time.sleep(_PAUSE)
        except OSError:
            os.close(fd)
            raise
        else:
            return fd
    os.close(fd)
    return None


def is_held(path: Path) -> bool:
    """Whether a process holds the lock now."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
