"""The shape of a conversation tree: records that name their parent.

Format: spec 004 §4.2.7.

Only the structure: which records lead from a beginning to a leaf, which leaf is the active one, which branches
there are. Stores are damaged in every way, so nothing here trusts them: parents may be missing or form a cycle,
ids may occur twice, there may be several roots. Every walk ends, and none is recursive.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import suppress

from session_adapters.growing.hashes import Hashes
from session_adapters.tree.nodes import Nodes, TreeNode

__all__ = ["Tree", "common_prefix"]

_FEW = 16
"""So many ids are looked for in all of them: objects for each would take three times as much as they do."""

_NONE = -1
"""Index of no node."""


class Tree:
    """Nodes in the order of the file, addressed by their index in it. Of nodes with the same id the last one is
    what children refer to, as in Pi's own reader."""

    def __init__(self) -> None:
        self.nodes = Nodes()
        self._places: dict[str, int | None] = {}
        """Where each id that was asked for stands last; once many were, where all do."""
        self._all = False
        self._ids = Hashes()
        """Of those nodes that were looked through for ids that stand twice."""
        self._looked_through = 0

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, node: TreeNode) -> int:
        """Take in the next record; its index."""
        index = len(self.nodes)
        self.nodes.append(node)
        if self._all or node.id in self._places:
            self._places[node.id] = index
        return index

    def find(self, node_id: str | None) -> int | None:
        """The index of the node that children with this parent id hang on."""
        if node_id is None:
            return None
        if node_id in self._places or self._all:
            return self._places.get(node_id)
        if len(self._places) < _FEW:
            with suppress(OverflowError):
                self._places[node_id] = found = self.nodes.ids.find(node_id)
                return found
        self._places = {one: index for index, one in enumerate(self.nodes.ids)}
        self._all = True
        return self._places.get(node_id)

    @property
    def _repeats(self) -> bool:
        """Whether an id stands twice."""
        at, end = self._looked_through, len(self.nodes)
        if at < end and at == len(self._ids):
            self._ids.update(hash(self.nodes.ids[index]) for index in range(at, end))
            self._looked_through = end
        return self._looked_through != len(self._ids)

    def counts(self, index: int) -> bool:
        """Whether children that name its id hang on this node: of a line that stands in the file twice, the last."""
        return not self._repeats or self.find(self.nodes.ids[index]) == index

    def parent(self, index: int) -> int | None:
        """Index of the parent; None for a root and where the parent is missing."""
        if index in self.nodes.others or self._repeats:
            return self.find(self.nodes.parent(index))
        return index - 1

    def path(self, leaf: int | None) -> Sequence[int]:
        """Indices from the beginning down to `leaf`. It begins at a root, at a node whose parent is missing, or
        where a cycle closes; empty for None."""
        found, seen, parents = array("q"), bytearray(len(self.nodes)), self._parents()
        at = _NONE if leaf is None else leaf
        while at != _NONE and not seen[at]:
            seen[at] = True
            found.append(at)
            at = parents[at]
        found.reverse()
        return found

    def _parents(self) -> array[int]:
        """Those of all nodes, `_NONE` where there is none."""
        parents = array("q", range(_NONE, len(self.nodes) - 1))
        for index in range(len(self.nodes)) if self._repeats else self.nodes.others:
            found = self.find(self.nodes.parent(index))
            parents[index] = _NONE if found is None else found
        return parents

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
        children: list[list[int]] = [[] for _ in range(len(self.nodes))]
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
        passed, parents = bytearray(len(self.nodes)), self._parents()
        for index, spoken in enumerate(self.nodes.spoken):
            if spoken:
                at = parents[index]
                while at != _NONE and not passed[at]:
                    passed[at] = True
                    at = parents[at]
        ends = {
            index
            for index, spoken in enumerate(self.nodes.spoken)
            if spoken and not passed[index] and self.counts(index)
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
        real_roots = [index for index in roots if self.nodes.parent(index) is None]
        return sum(len(below) > 1 for below in children) + (len(real_roots) > 1)


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many leading elements are the same."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared
