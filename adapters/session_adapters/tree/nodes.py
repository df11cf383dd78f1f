"""The records of a conversation tree, in columns.

A long session has a hundred thousand: an object for each would be kept as long as it is shown.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Ids", "Nodes", "TreeNode"]

_TRIES = 64
"""Places that are looked at for one id: it may be part of any number of others."""


class TreeNode(NamedTuple):
    """One record of the tree."""

    id: str
    parent: str | None
    spoken: bool = True
    """It shows in the conversation; records of settings, names and labels do not."""
    time: float | None = None
    """Seconds since the epoch."""


class Ids:
    """Texts by their index, behind each other in one piece of memory: 7,000 ids of 36 characters are 250 kB, as
    objects 600, each in a place of its own."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._ends = array("Q")

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> str:
        end = self._ends[index]  # raises where there is none
        return self._text[self._ends[index - 1] if index else 0 : end].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def find(self, one: str) -> int | None:
        """Where it stands last. Raises `OverflowError` where that would take long to tell."""
        wanted = one.encode("utf-8", "surrogatepass")
        end = len(self._text)
        for _ in range(_TRIES if wanted else 0):
            at = self._text.rfind(wanted, 0, end)
            if at < 0:
                return None
            index = bisect_right(self._ends, at)
            if self[index] == one:
                return index
            end = at + len(wanted) - 1  # part of another one, or of two
        raise OverflowError("it is part of too many others")

    def append(self, one: str) -> None:
        """Take in the next one."""
        self._text += one.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._text))


class Nodes:
    """Those of a tree, by their index in the order of the file."""

    def __init__(self) -> None:
        self.ids = Ids()
        self.spoken = bytearray()
        self.last_id: str | None = None
        """That of the last one; None where there is none."""
        self.others: dict[int, str | None] = {}
        """The parents of those that do not hang on the one before them, the first among them. In most sessions they
        are few."""
        self._times = array("d")
        """NaN where there is none."""

    def __len__(self) -> int:
        return len(self.spoken)

    def __getitem__(self, index: int) -> TreeNode:
        return TreeNode(self.ids[index], self.parent(index), bool(self.spoken[index]), self.time(index))

    def __iter__(self) -> Iterator[TreeNode]:
        return map(self.__getitem__, range(len(self)))

    def parent(self, index: int) -> str | None:
        """See `TreeNode.parent`."""
        return self.others[index] if index in self.others else self.ids[index - 1]

    def time(self, index: int) -> float | None:
        """See `TreeNode.time`."""
        time = self._times[index]
        return None if math.isnan(time) else time

    def append(self, node: TreeNode) -> None:
        """Take in the next one."""
        if node.parent is None or node.parent != self.last_id:
            self.others[len(self.spoken)] = node.parent
        self.last_id = node.id
        self.ids.append(node.id)
        self.spoken.append(node.spoken)
        self._times.append(math.nan if node.time is None else node.time)
