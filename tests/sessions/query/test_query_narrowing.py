"""Which queries can only find less than others, against what both find of made sessions."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import TIMES, chance
from hermes_tui.sessions.query.query import Query, parse
from hermes_tui.sessions.query.subsumption import narrows
from hermes_tui.sessions.query.tree import TextUnit
from session_adapters.model import SessionSummary
from session_adapters.tool_names import ToolNames
from typed_queries import made


def query(text: str) -> Query:
    return parse(text, typing=True)


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("do", "doc", True),
        ("doc", "do", False),
        ("dock", "dock ", True),
        ("dock ", "docke", False),
        ("docker", "docker net", True),
        ("docker n", "docker ne", False),  # one letter alone is a word
        ("docker", "docker OR net", False),
        ("docker OR net", "docker ", True),
        ("docker OR net", "docker", False),
        ("docker", "docker -net", False),
        ("-docker", "-docker n", False),
        ('"the us', '"the user', False),  # a phrase is one of whole words
        ('"the user', '"of the user', True),
        ('"the user "', '"the user is "', True),
        ('"the user is "', '"the user "', False),
        ("agent:c", "agent:cl", False),
        ("agent:claude", "agent:claude err", True),
        ("agent:claude err", "agent:codex err", False),
        ("tool:ba", "tool:bash", True),
        ("role:user a", "role:tool a", False),
        ("file:src", "file:src/main", True),
        ("数据", "数据库", True),
        ("", "docker", False),
        ("docker", "", False),
    ],
)
def test_by_hand(wide: str, narrow: str, expected: bool) -> None:
    assert narrows(query(narrow).tree, query(wide).tree) is expected


WORDS = [
    "docker",
    "dock",
    "network",
    "net",
    "the",
    "user",
    "a",
    "b",
    "数据库",
    "数据",
    "café",
    "error",
    "src/main.py",
]
UNITS = st.lists(
    st.builds(
        lambda words, role, tool: TextUnit(" ".join(words), role, ToolNames((tool,), ("src/main.py",))),
        st.lists(st.sampled_from(WORDS), max_size=5),
        st.sampled_from(["user", "tool", "assistant"]),
        st.sampled_from(["bash", "read"]),
    ),
    max_size=3,
)
TYPED = st.lists(
    st.sampled_from(
        [*WORDS, "OR", "-the", "NOT", '"the user', "agent:claude", "tool:bash", "role:user", "is:live", "("]
    ),
    min_size=1,
    max_size=4,
).map(" ".join)


@given(text=TYPED, units=UNITS, live=st.booleans())
def test_what_narrows_finds_no_other_sessions(text: str, units: list[TextUnit], live: bool) -> None:
    """Every beginning of a query beside every longer one."""
    summary = SessionSummary(agent="claude", session_id="s", live=live)
    asked = [query(text[:end]) for end in range(1, len(text) + 1)]
    found = [one.finds(summary, units) for one in asked]
    for at, narrow in enumerate(asked):
        for before in range(at):
            if narrows(narrow.tree, asked[before].tree) and found[at]:
                assert found[before], (asked[before].text, narrow.text)


def test_most_keys_narrow_and_no_query_raises() -> None:
    dice = chance(5)
    for _ in range(200 * TIMES):
        text = made(dice)
        asked = [query(text[:end]).tree for end in range(1, len(text) + 1)]
        for before, narrow in pairwise(asked):
            narrows(narrow, before)
    keys = [narrows(query(text[:end]).tree, query(text[: end - 1]).tree) for text in ("docker network", "flaky test")
            for end in range(3, len(text) + 1)]  # fmt: skip
    assert sum(keys) >= len(keys) - 4
