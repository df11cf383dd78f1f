"""The shape of a conversation tree: records that name their parent.

Format: spec 004 §4.2.7.

Only the structure: which records lead from a beginning to a leaf, which leaf is the active one, which branches
there are. Stores are damaged in every way, so nothing here trusts them: parents may be missing or form a cycle,
ids may occur twice, there may be several roots. Every walk ends, and none is recursive.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Nodes", "Tree", "TreeNode", "common_prefix"]


class TreeNode(NamedTuple):
    """One record of the tree."""

    id: str
    parent: str | None
    spoken: bool = True
    """It shows in the conversation; records of settings, names and labels do not."""
    time: float | None = None
    """Seconds since the epoch."""


class Nodes:
    """Those of a tree, by their index: in columns, for an object for each would be kept as long as the session."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.parents: list[str | None] = []
        self.spoken = bytearray()
        self._times = array("d")
        """NaN where there is none."""

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> TreeNode:
        return TreeNode(self.ids[index], self.parents[index], bool(self.spoken[index]), self.time(index))

    def __iter__(self) -> Iterator[TreeNode]:
        return map(self.__getitem__, range(len(self.ids)))

    def time(self, index: int) -> float | None:
        """See `TreeNode.time`."""
        time = self._times[index]
        return None if math.isnan(time) else time

    def append(self, node: TreeNode) -> None:
        """Take in the next one."""
        self.ids.append(node.id)
        self.parents.append(node.parent)
        self.spoken.append(node.spoken)
        self._times.append(math.nan if node.time is None else node.time)


class Tree:
    """Nodes in the order of the file, addressed by their index in it. Of nodes with the same id the last one is
    what children refer to, as in Pi's own reader."""

    def __init__(self) -> None:
        self.nodes = Nodes()
        self._index: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, node: TreeNode) -> int:
        """Take in the next record; its index."""
        index = len(self.nodes)
        self.nodes.append(node)
        self._index[node.id] = index
        return index

    def find(self, node_id: str | None) -> int | None:
        """The index of the node that children with this parent id hang on."""
        return None if node_id is None else self._index.get(node_id)

    def parent(self, index: int) -> int | None:
        """Index of the parent; None for a root and where the parent is missing."""
        return self.find(self.nodes.parents[index])

    def path(self, leaf: int | None) -> list[int]:
        """Indices from the beginning down to `leaf`. It begins at a root, at a node whose parent is missing, or
        where a cycle closes; empty for None."""
        found: list[int] = []
        seen: set[int] = set()
        at = leaf
        while at is not None and at not in seen:
            seen.add(at)
            found.append(at)
            at = self.parent(at)
        found.reverse()
        return found

    def last(self) -> int | None:
        """The leaf by the rule of Pi and omp: the last record of the file (pi/FACTS.md, Format)."""
        return len(self.nodes) - 1 if len(self.nodes) else None

    def newest(self) -> int | None:
        """The leaf by the document's rule: from the roots down, at each fork the branch that holds the highest
        timestamp; of equals the later one in the file (spec 004 §4.2.7)."""
        if not len(self.nodes):
            return None
        children, roots = self._children()
        # For each node the highest time in it and below it.
        times = map(self.nodes.time, range(len(self.nodes)))
        best = [float("-inf") if time is None else time for time in times]
        order: list[int] = []
        waiting = list(roots)
        while waiting:  # each node has one parent, so that from the roots no cycle can be reached
            index = waiting.pop()
            order.append(index)
            waiting.extend(children[index])
        for index in reversed(order):
            parent = self.parent(index)
            if parent is not None:
                best[parent] = max(best[parent], best[index])
        if not roots:  # nothing but cycles
            return self.last()
        at = max(roots, key=lambda index: (best[index], index))
        seen = {at}
        while below := [child for child in children[at] if child not in seen]:
            at = max(below, key=lambda index: (best[index], index))
            seen.add(at)
        return at

    def _children(self) -> tuple[list[list[int]], list[int]]:
        children: list[list[int]] = [[] for _ in self.nodes]
        roots: list[int] = []
        for index in range(len(self.nodes)):
            parent = self.parent(index)
            if parent is None:
                roots.append(index)
            else:
                children[parent].append(index)
        return children, roots

    def tips(self, active: int | None) -> list[int]:
        """The ends of all branches, in the order of the file: spoken nodes with nothing spoken below them, and
        the last spoken node above `active`, which may lie in the middle of another branch."""
        passed = [False] * len(self.nodes)
        for index, spoken in enumerate(self.nodes.spoken):
            if spoken:
                at = self.parent(index)
                while at is not None and not passed[at]:
                    passed[at] = True
                    at = self.parent(at)
        # A line that stands in the file twice is one message: only the copy that children hang on counts.
        ends = {
            index
            for index, node_id in enumerate(self.nodes.ids)
            if self.nodes.spoken[index] and not passed[index] and self._index[node_id] == index
        }
        current = self.spoken_above(active)
        if current is not None:
            ends.add(current)
        return sorted(ends)

    def spoken_above(self, index: int | None) -> int | None:
        """The nearest spoken node at or above `index`."""
        seen: set[int] = set()
        at = index
        while at is not None and not self.nodes.spoken[at]:
            if at in seen:
                return None
            seen.add(at)
            at = self.parent(at)
        return at

    def below(self, ancestor: int) -> int:
        """The last node of the file that hangs on `ancestor`; `ancestor` itself when none does."""
        # -1 unknown, 0 no, 1 yes
        known = [-1] * len(self.nodes)
        known[ancestor] = 1
        last = ancestor
        for index in range(len(self.nodes)):
            trail: list[int] = []
            at: int | None = index
            while at is not None and known[at] < 0:
                known[at] = 0  # also ends a walk around a cycle
                trail.append(at)
                at = self.parent(at)
            if at is not None and known[at] == 1:
                for step in trail:
                    known[step] = 1
            if known[index] == 1:
                last = max(last, index)
        return last

    def fork_points(self) -> int:
        """How many nodes have more than one child; several roots count as one such place."""
        children, roots = self._children()
        real_roots = [index for index in roots if self.nodes.parents[index] is None]
        return sum(len(below) > 1 for below in children) + (len(real_roots) > 1)


def common_prefix(one: list[int], other: list[int]) -> int:
    """How many leading elements are the same."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared
