"""Titles that are searched all at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.query.tree import TextUnit, holds
from hermes_tui.sessions.search.titles import Titles

_PIECES = (
    "dock",
    "docker",
    "DOCK",
    "do",
    "x",
    "é",
    "e\u0301",
    "Ǆ",
    "ﬁ",
    "İ",
    "漢",
    "字",
    "😀",
    " ",
    "-",
    "_",
    "\n",
    ".",
)
_TITLE = st.lists(st.sampled_from(_PIECES), max_size=6).map("".join)
_QUERY = st.lists(st.sampled_from((*_PIECES, "-dock", '"dock x"', " OR ", "ss", "fi", "i")), min_size=1, max_size=3)


@given(titles=st.lists(_TITLE, max_size=8), query=_QUERY.map("".join), typing=st.booleans())
def test_those_are_found_that_satisfy_the_query(titles: list[str], query: str, typing: bool) -> None:
    tree = parse(query, typing=typing).tree
    found = [number for number, _ in Titles(enumerate(titles)).matching(tree)]
    assert found == [number for number, title in enumerate(titles) if title and holds(tree, TextUnit(title))]


@given(titles=st.lists(_TITLE, max_size=6), before=st.lists(_TITLE, max_size=6), query=_QUERY.map(" ".join))
def test_what_was_known_before_makes_no_difference(titles: list[str], before: list[str], query: str) -> None:
    tree = parse(query, typing=True).tree
    again = Titles(enumerate(titles), Titles(enumerate(before))).matching(tree)
    assert [number for number, _ in again] == [number for number, _ in Titles(enumerate(titles)).matching(tree)]
    assert {number for number, _ in again} <= {number for number, _ in Titles(enumerate(titles)).candidates(tree)}
