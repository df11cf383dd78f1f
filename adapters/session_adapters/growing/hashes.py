"""Many hashes in little memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import chain

__all__ = ["Hashes"]

_FRESH = 256
"""So many hashes are kept as a set of Python's until they are put among the others, which are in order."""


class Hashes:
    """They can be added and looked for, and none is taken out. Each takes nine bytes or so, a hundred in a set of
    Python's: a session that is followed for weeks has millions."""

    def __init__(self, found: Iterable[int] = ()) -> None:
        self._settled = array("q", sorted(set(found)))
        self._fresh: set[int] = set()

    def __contains__(self, one: int) -> bool:
        at = bisect_left(self._settled, one)
        return one in self._fresh or (at < len(self._settled) and self._settled[at] == one)

    def __bool__(self) -> bool:
        return bool(self._settled or self._fresh)

    def __iter__(self) -> Iterator[int]:
        return chain(self._settled, self._fresh)

    def add(self, one: int) -> None:
        """Know this one."""
        if one not in self:
            self._fresh.add(one)
            if len(self._fresh) > max(_FRESH, len(self._settled) // 16):
                self._settled = array("q", sorted((*self._settled, *self._fresh)))
                self._fresh = set()

    def copy(self) -> Hashes:
        """Another one, to which others may be added."""
        other = copy(self)
        vars(other).update(_fresh=set(self._fresh))
        return other
