"""Many hashes in little memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

__all__ = ["Hashes"]

_FRESH = 256
"""So many hashes are kept apart until they are put among the others, of which there may be very many."""
_TOGETHER = 1024
"""So many are taken in together: a set of all of them would take ten times as much as they do."""


class Hashes:
    """They can be added and looked for, and none is taken out. Each takes nine bytes or so, a hundred in a set of
    Python's: a session that is followed for weeks has millions. None is an object of its own, which would keep a page
    of memory where it happened to be made."""

    __slots__ = ("_fresh", "_settled")

    def __init__(self, found: Iterable[int] = (), before: tuple[array[int], array[int]] | None = None) -> None:
        """`before`: what another one has."""
        # Both in order. The first is never changed: a copy may have it, too.
        self._settled, self._fresh = before or (array("q"), array("q"))
        self.update(found)

    def __contains__(self, one: int) -> bool:
        return _place(self._settled, one) is None or _place(self._fresh, one) is None

    def __len__(self) -> int:
        return len(self._settled) + len(self._fresh)

    def __iter__(self) -> Iterator[int]:
        return chain(self._settled, self._fresh)

    def add(self, one: int) -> None:
        """Know this one."""
        at = _place(self._fresh, one)
        if at is not None and _place(self._settled, one) is not None:
            self._fresh.insert(at, one)
            if len(self._fresh) > max(_FRESH, len(self._settled) // 16):
                self._settle(self._fresh)

    def update(self, found: Iterable[int]) -> None:
        """Know these."""
        coming = iter(found)
        while some := set(islice(coming, _TOGETHER)):
            self._settle(sorted({*self._fresh, *(one for one in some if one not in self)}))

    def copy(self) -> Hashes:
        """Another one, to which others may be added."""
        return Hashes(before=(self._settled, self._fresh[:]))

    def _settle(self, some: Sequence[int]) -> None:
        # A list of all, to sort, would take five times as much as they do.
        settled, at = self._settled, 0
        merged = array("q")
        for one in some:
            there = bisect_left(settled, one, at)
            merged += settled[at:there]
            merged.append(one)
            at = there
        merged += settled[at:]
        self._settled, self._fresh = merged, array("q")


def _place(there: array[int], one: int) -> int | None:
    """Where it would have to be put among those in order; None where it is."""
    at = bisect_left(there, one)
    return at if at == len(there) or there[at] != one else None
