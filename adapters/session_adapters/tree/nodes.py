"""The records of a conversation tree, in columns.

A long session has a hundred thousand: an object for each would be kept as long as it is shown.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from session_adapters.growing.ids import Ids

__all__ = ["Nodes", "TreeNode"]


class TreeNode(NamedTuple):
    """One record of the tree."""

    id: str
    parent: str | None
    spoken: bool = True
    """It shows in the conversation; records of settings, names and labels do not."""
    time: float | None = None
    """Seconds since the epoch."""


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
