"""Numbers of rows: their order is that of the messages' times."""

from __future__ import annotations

from collections.abc import Callable

from hermes_tui.sessions.index.schema import SECOND

__all__ = ["Numbers"]

_LATEST = 1 << 37
"""Seconds; a later time is a mistake."""


class Numbers:
    """Hands out row numbers that no message has: those of a second begin with it."""

    def __init__(self, last: Callable[[int, int], int | None]) -> None:
        """`last` tells the largest number there is from one up to, not including, another; None where there is
        none."""
        self._last = last
        self._next: dict[int, int] = {}
        self._full: dict[int, int] = {}
        """Second → a later one, where there are no more numbers in it."""
        self._fresh: bool | None = None
        """There was no message when the first number was asked for."""

    def next(self, second: int) -> int:
        """One of `second`, or if it has no more of the seconds that follow."""
        second = min(max(second, 0), _LATEST)
        at = self._full.get(second, second)
        while (number := self._first(at)) >= (at + 1) << SECOND:
            at = self._full.get(at + 1, at + 1)
            self._full[second] = at
        self._next[at] = number + 1
        return number

    def forget(self) -> None:
        """Those that were handed out may not have been used."""
        self._next.clear()
        self._full.clear()
        self._fresh = None

    def _first(self, second: int) -> int:
        number = self._next.get(second)
        if number is not None:
            return number
        if self._fresh is None:
            self._fresh = self._last(0, 1 << 62) is None
        base = second << SECOND
        if self._fresh:
            return base
        found = self._last(base, base + (1 << SECOND))
        return base if found is None else found + 1
