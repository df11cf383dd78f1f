"""Sources that could not be read, and when they are tried again."""

from __future__ import annotations

import time
from collections.abc import Container
from typing import NamedTuple

from session_adapters.base import Source
from session_adapters.model import Problem

__all__ = ["Key", "Unreadable"]

Key = tuple[str, str]
"""Path and native id of a source."""

FIRST_PAUSE = 10.0
LONGEST_PAUSE = 900.0
"""Seconds until one is tried again to which nobody wrote: each time twice as long."""


class _Attempt(NamedTuple):
    stamp: tuple[int, ...]
    problems: tuple[Problem, ...]
    pause: float
    again: float
    """On the monotonic clock."""


class Unreadable:
    """Those of one agent. Not thread-safe."""

    def __init__(self) -> None:
        self._last: dict[Key, _Attempt] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._last

    def why(self, key: Key) -> tuple[Problem, ...] | None:
        """What was wrong the last time; None for one that was read."""
        last = self._last.get(key)
        return None if last is None else last.problems

    def is_due(self, key: Key, source: Source | None = None) -> bool:
        """Whether to try again by now, or because `source` has changed since."""
        last = self._last.get(key)
        changed = last is not None and source is not None and source.stamp != last.stamp
        return last is None or changed or time.monotonic() >= last.again

    def failed(self, key: Key, source: Source, problems: tuple[Problem, ...]) -> bool:
        """Note that it could not be read; whether that is anything new."""
        last = self._last.get(key)
        pause = FIRST_PAUSE if last is None else min(2 * last.pause, LONGEST_PAUSE)
        self._last[key] = _Attempt(source.stamp, problems, pause, time.monotonic() + pause)
        return last is None or last.problems != problems

    def read(self, key: Key) -> bool:
        """Note that it could be read; whether that is anything new."""
        return self._last.pop(key, None) is not None

    def keep(self, keys: Container[Key]) -> None:
        """Forget all others."""
        for key in [key for key in self._last if key not in keys]:
            del self._last[key]
