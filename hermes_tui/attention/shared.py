"""Tells others what a running program knows of attention: how many need a person.

A small file in our cache. Whoever keeps it up to date holds its lock, which the kernel takes away however that
program ends: while it is held, and that program is not stopped (Ctrl-Z), what stands there is so now.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from hermes_tui.platform.locks import is_held, take
from hermes_tui.platform.own_files import read_own
from hermes_tui.sessions.own_environment import file_name
from session_adapters.base import Environment

__all__ = ["SharedCounts", "shared_counts", "shared_file"]

_LIMIT = 1 << 14  # bytes: a few names and numbers, so what is larger is not ours
_STOPPED = b"T"


class _Kept(msgspec.Struct):
    pid: int
    """The process that keeps the file."""
    counts: dict[str, int]


def shared_file(environment: Environment, cache_dir: Path) -> Path:
    """The file of one home and one set of variables that move stores."""
    return cache_dir / file_name(environment, "attention", ".json")


def shared_counts(path: Path) -> Mapping[str, int] | None:
    """`AttentionReport.counts` of the program that keeps the file; None where there is none, or it is stopped."""
    if not is_held(path):
        return None
    with suppress(OSError, msgspec.MsgspecError):
        kept = msgspec.json.decode(read_own(path, _LIMIT), type=_Kept)
        return None if _is_stopped(kept.pid) else kept.counts or None
    return None


def _is_stopped(pid: int) -> bool:
    """By field 3 of `/proc/PID/stat`; where there is no `/proc`: no."""
    from session_adapters.proc import start_of  # no first frame needs it

    return start_of(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] == [_STOPPED]


class SharedCounts:
    """Keeps the file, unless another program does. Any thread may call any method."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._over = False
        self._held: int | None = None
        self._kept: Mapping[str, int] | None = None  # what an earlier program kept may stand there

    def keep(self, counts: Mapping[str, int]) -> None:
        """Let others know these. Where the file cannot be written they look for themselves."""
        with self._lock, suppress(OSError):
            if self._held is None and not self._over:
                self._held = take(self._path, 0.0)
            if self._held is not None and counts != self._kept:
                data = msgspec.json.encode(_Kept(os.getpid(), dict(counts)))
                os.ftruncate(self._held, 0)  # who reads now finds nothing, and looks for itself
                os.pwrite(self._held, data, 0)
                self._kept = counts

    def close(self) -> None:
        """Keep it no longer."""
        with self._lock:
            self._over = True
            if self._held is not None:
                os.close(self._held)
                self._held = None
