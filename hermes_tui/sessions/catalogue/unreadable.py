"""Sources that could not be read, and when they are tried again."""

from __future__ import annotations

import time
from collections.abc import Container, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

from session_adapters.base import Source

__all__ = ["Key", "Unreadable"]

Key = tuple[str, str]
"""Path and native id of a source."""

K = TypeVar("K", bound=Hashable)

FIRST_PAUSE = 10.0
LONGEST_PAUSE = 900.0
"""Seconds until one is tried again to which nobody wrote: each time twice as long."""


class _Attempt(NamedTuple):
    stamp: tuple[int, ...]
    pause: float
    again: float
    """On the monotonic clock."""


class Unreadable(Generic[K]):
    """By whatever tells one source from another. Not thread-safe."""

    def __init__(self) -> None:
        self._last: dict[K, _Attempt] = {}

    def __contains__(self, key: K) -> bool:
        return key in self._last

    def __iter__(self) -> Iterator[K]:
        return iter(self._last)

    def is_due(self, key: K, source: Source | None = None) -> bool:
        """Whether to try again by now, or because `source` has changed since."""
        last = self._last.get(key)
        changed = last is not None and source is not None and source.stamp != last.stamp
        return last is None or changed or time.monotonic() >= last.again

    def failed(self, key: K, source: Source) -> None:
        """Note that it could not be read."""
        last = self._last.get(key)
        is_same = last is not None and last.stamp == source.stamp
        pause = min(2 * last.pause, LONGEST_PAUSE) if last is not None and is_same else FIRST_PAUSE
        self._last[key] = _Attempt(source.stamp, pause, time.monotonic() + pause)

    def read(self, key: K) -> None:
        """Note that it could be read."""
        self._last.pop(key, None)

    def keep(self, keys: Container[K]) -> None:
        """Forget all others."""
        for key in [key for key in self._last if key not in keys]:
            del self._last[key]
