"""Merges sorted rows of the index, newest first, and intersects them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import neg

__all__ = ["Read", "Stream", "common", "kept"]

Read = Callable[[int, int], Sequence[int]]
"""The newest rows below one, newest first, so many of them at most; fewer where there are no more."""
_GROWTH = 4
_LARGEST = 1 << 16


class Stream:
    """Rows that are read some at a time."""

    def __init__(self, read: Read, first: int, *, dear: bool = False) -> None:
        """`first` are read at once; more and more while they are gone through one after the other, and where it is
        `dear` to read any, whenever there are too few."""
        self._read = read
        self._dear = dear
        self._size = first
        self._rows: Sequence[int] = ()
        self._at = 0
        self._over = False
        """There are none below these."""

    def newest(self, below: int) -> int | None:
        """The newest row below that one, which comes down from call to call."""
        rows = self._rows
        if not rows or rows[-1] >= below:
            if self._over:
                return None
            if rows and (self._dear or self._at * 2 >= len(rows)):
                self._size = min(self._size * _GROWTH, _LARGEST)
            self._rows = rows = self._read(below, self._size)
            self._at, self._over = 0, len(rows) < self._size
            if not rows:
                return None
        if rows[self._at] >= below:
            self._at = bisect_right(rows, -below, self._at, key=neg)
        return rows[self._at]


def common(wanted: Sequence[Stream], unwanted: Sequence[Stream], below: int) -> Iterator[int]:
    """The rows below one that all of `wanted` have and none of `unwanted`, newest first."""
    while True:
        row, agreed, turn = below - 1, 0, 0
        while agreed < len(wanted):
            found = wanted[turn % len(wanted)].newest(row + 1)
            if found is None:
                return
            agreed = agreed + 1 if found == row else 1
            row, turn = found, turn + 1
        if all(one.newest(row + 1) != row for one in unwanted):
            yield row
        below = row


def kept(rows: Sequence[int]) -> Read:
    """Reads what is in memory, oldest first."""

    def read(below: int, most: int) -> Sequence[int]:
        end = bisect_left(rows, below)
        return rows[max(0, end - most) : end][::-1]

    return read
