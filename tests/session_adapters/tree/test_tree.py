"""The shape of trees: every walk over any tangle of ids ends and leads from a beginning to its leaf."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from session_adapters.tree.nodes import TreeNode
from session_adapters.tree.paths import Tree, common_prefix

_IDS = st.sampled_from("abcdefgh")
_TANGLES = st.lists(
    st.tuples(_IDS, st.none() | _IDS | st.just("missing"), st.booleans(), st.none() | st.floats(0, 100)), max_size=20
)
"""Cycles, missing parents, several roots and ids that occur twice come up all the time."""


def _tree(rows: list[tuple[str, str | None, bool, float | None]]) -> Tree:
    tree = Tree()
    for row in rows:
        tree.add(TreeNode(*row))
    return tree


@given(_TANGLES)
def test_a_path_leads_from_a_beginning_to_the_leaf(rows: list[tuple[str, str | None, bool, float | None]]) -> None:
    tree = _tree(rows)
    last_of = {row[0]: index for index, row in enumerate(rows)}
    for leaf in range(len(rows)):
        path = tree.path(leaf)
        assert path[-1] == leaf
        assert len(set(path)) == len(path)
        for parent, child in pairwise(path):
            named = rows[child][1]
            assert named is not None
            assert last_of[named] == parent
        above = rows[path[0]][1]
        assert above is None or above == "missing" or above not in last_of or last_of[above] in path  # a cycle


@given(_TANGLES)
def test_leaves_and_tips_of_any_tangle(rows: list[tuple[str, str | None, bool, float | None]]) -> None:
    tree = _tree(rows)
    assert tree.last() == (len(rows) - 1 if rows else None)
    assert (tree.newest() is None) == (not rows)
    for leaf in (tree.last(), tree.newest()):
        tips = tree.tips(leaf)
        assert tips == sorted(set(tips))
        assert all(tree.nodes[tip].spoken for tip in tips)
        current = tree.spoken_above(leaf)
        assert current is None or current in tips
    assert tree.fork_points() >= 0


@given(_TANGLES, st.integers(0, 19))
def test_what_hangs_below_a_node(rows: list[tuple[str, str | None, bool, float | None]], pick: int) -> None:
    tree = _tree(rows)
    if pick < len(rows):
        expected = max(index for index in range(len(rows)) if pick in tree.path(index))
        assert tree.below(pick) >= max(pick, 0)
        # In a cycle "below" has no meaning but must end; elsewhere it is the last path through the node.
        if all(tree.nodes[index].parent is None or tree.parent(index) is None or tree.parent(index) < index  # type: ignore[operator]
               for index in range(len(rows))):  # fmt: skip
            assert tree.below(pick) == expected


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1000)), min_size=1, max_size=30))
def test_the_newest_branch_at_each_fork(rows: list[tuple[int, float]]) -> None:
    tree = Tree()
    for index, (parent, moment) in enumerate(rows):
        tree.add(TreeNode(str(index), str(parent) if parent < index else None, True, moment))
    leaf = tree.newest()
    assert leaf is not None

    def newest_in(index: int) -> float:
        return max(rows[other][1] for other in range(len(rows)) if index in tree.path(other))

    path = tree.path(leaf)
    assert not [index for index in range(len(rows)) if tree.parent(index) == leaf]
    for place, index in enumerate(path):
        above = path[place - 1] if place else None
        rivals = [other for other in range(len(rows)) if tree.parent(other) == above]
        assert newest_in(index) == max(newest_in(other) for other in rivals)


def test_pruned_stubs_are_no_branches() -> None:
    tree = Tree()
    tree.add(TreeNode("ask", None))
    tree.add(TreeNode("answer", "ask"))
    tree.add(TreeNode("name", "ask", spoken=False))  # a rename after going back: nothing was said there
    tree.add(TreeNode("other", "ask"))
    assert [tree.nodes[tip].id for tip in tree.tips(tree.last())] == ["answer", "other"]
    assert tree.fork_points() == 1


def test_the_active_branch_may_end_inside_another() -> None:
    tree = Tree()
    tree.add(TreeNode("ask", None))
    tree.add(TreeNode("answer", "ask"))
    tree.add(TreeNode("label", "ask", spoken=False))
    assert [tree.nodes[tip].id for tip in tree.tips(tree.last())] == ["ask", "answer"]


def test_a_repeated_line_is_no_branch() -> None:
    tree = Tree()
    for node in (TreeNode("ask", None), TreeNode("answer", "ask"), TreeNode("answer", "ask")):
        tree.add(node)
    assert tree.tips(tree.last()) == [2]


def test_a_deep_tree_is_walked_without_recursion() -> None:
    size = 100_000  # a walk from every node to the root would take hours
    tree = Tree()
    for index in range(size):
        tree.add(TreeNode(str(index), str(index - 1) if index else None, True, float(index)))
    assert tree.newest() == size - 1
    assert tree.tips(tree.last()) == [size - 1]
    assert tree.below(0) == size - 1
    assert len(tree.path(size - 1)) == size


@given(
    st.lists(
        st.tuples(st.none() | st.sampled_from(["first", "missing", "2", "5", "\ud800"]), st.booleans()), max_size=9
    ),
    st.none() | st.sampled_from(["missing", "0", "3", "first"]),
    st.data(),
)
def test_a_chain_answers_as_a_tangle_does(
    steps: list[tuple[str | None, bool]], root: str | None, data: st.DataObject
) -> None:
    """Most nodes hang on the one before them: nothing is kept of who hangs on whom, until one does not."""
    rows: list[tuple[str, str | None]] = []
    tree = Tree()
    for odd, twice in steps:
        before = rows[-1][0] if rows else root
        node_id = data.draw(st.sampled_from([row[0] for row in rows])) if rows and twice and odd else str(len(rows))
        parent = odd if odd and data.draw(st.booleans()) else before
        rows.append((node_id, parent))
        tree.add(TreeNode(node_id, parent))
        last_of = {row[0]: index for index, row in enumerate(rows)}
        if data.draw(st.booleans()):  # asked now or later
            assert [tree.find(one) for one in (*last_of, "missing")] == [*last_of.values(), None]
        assert [tree.parent(index) for index in range(len(rows))] == [last_of.get(row[1] or "") for row in rows]
        assert [tree.counts(index) for index in range(len(rows))] == [
            last_of[one] == at for at, (one, _) in enumerate(rows)
        ]
        assert [(node.id, node.parent) for node in tree.nodes] == rows
        path = list(tree.path(len(rows) - 1))
        assert path[-1] == len(rows) - 1
        assert all(last_of[rows[child][1] or ""] == parent for parent, child in pairwise(path))
    assert [tree.find(one) for one in (None, "missing")] == [None, None]


def test_common_prefix() -> None:
    assert common_prefix([1, 2, 3], [1, 2, 4, 5]) == 2
    assert common_prefix([], [1]) == 0
