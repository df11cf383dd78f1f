"""Many hashes in little memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain, islice

__all__ = ["Hashes"]

_FRESH = 256
"""So many hashes are kept as a set of Python's until they are put among the others, which are in order."""
_TOGETHER = 1024
"""So many are taken in together: a set of all of them would take ten times as much as they do."""


class Hashes:
    """They can be added and looked for, and none is taken out. Each takes nine bytes or so, a hundred in a set of
    Python's: a session that is followed for weeks has millions."""

    __slots__ = ("_fresh", "_settled")

    def __init__(self, found: Iterable[int] = (), settled: array[int] | None = None) -> None:
        """`settled`: others, in order, which is nobody's to change."""
        self._settled = array("q") if settled is None else settled
        self._fresh: set[int] = set()
        self.update(found)

    def __contains__(self, one: int) -> bool:
        at = bisect_left(self._settled, one)
        return one in self._fresh or (at < len(self._settled) and self._settled[at] == one)

    def __len__(self) -> int:
        return len(self._settled) + len(self._fresh)

    def __iter__(self) -> Iterator[int]:
        return chain(self._settled, self._fresh)

    def add(self, one: int) -> None:
        """Know this one."""
        if one not in self:
            self._fresh.add(one)
            if len(self._fresh) > max(_FRESH, len(self._settled) // 16):
                self._settle(self._fresh)

    def update(self, found: Iterable[int]) -> None:
        """Know these."""
        coming = iter(found)
        while some := set(islice(coming, _TOGETHER)):
            self._settle({*self._fresh, *(one for one in some if one not in self)})

    def copy(self) -> Hashes:
        """Another one, to which others may be added; until then none of them is an object of its own."""
        return Hashes(self._fresh, self._settled)

    def _settle(self, some: set[int]) -> None:
        # A list of all, to sort, would take five times as much as they do. An array is never changed:
        # a copy may have it, too.
        settled, at = self._settled, 0
        merged = array("q")
        for one in sorted(some):
            there = bisect_left(settled, one, at)
            merged += settled[at:there]
            merged.append(one)
            at = there
        merged += settled[at:]
        self._settled, self._fresh = merged, set()
