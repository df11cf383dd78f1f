"""How long another process is waited for (spec 000, "Write Contention Handling")."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

import apsw

__all__ = ["BUSY", "BUSY_TIMEOUT", "CHECKPOINT_EVERY", "MAX_TRIES", "PATIENCE", "patiently", "pause"]

T = TypeVar("T")

BUSY = (apsw.BusyError, apsw.LockedError)
"""What SQLite says while another process is in the way."""
BUSY_TIMEOUT = 1000
"""Milliseconds that SQLite waits for a lock by itself."""
MAX_TRIES = 15
RETRY_PAUSE = (0.020, 0.150)
"""Seconds between two tries, drawn at random between these."""
PATIENCE = MAX_TRIES * (BUSY_TIMEOUT / 1000 + sum(RETRY_PAUSE) / 2)
"""Seconds that all tries take, about."""
CHECKPOINT_EVERY = 50
"""Writes between two checkpoints."""


def pause() -> None:
    """Wait as long as nobody else does."""
    time.sleep(random.uniform(*RETRY_PAUSE))  # noqa: S311 - no secret


def patiently(work: Callable[[], T], wait: Callable[[], None] = pause) -> T:
    """`work()`, tried again while another process is in the way; `wait` is called between two tries."""
    for _ in range(MAX_TRIES - 1):
        try:
            return work()
        except BUSY:
            wait()
    return work()
