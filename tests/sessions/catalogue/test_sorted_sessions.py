"""Sessions put in their places one by one stand where all of them sorted would."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.changes import differences
from hermes_tui.sessions.catalogue.sorted_sessions import SortedSessions
from hermes_tui.sessions.marks import NO_ONE_MARKED, OwnMarks
from session_adapters.model import SessionSummary

SESSION = st.fixed_dictionaries(
    {
        "session_id": st.sampled_from("abcdefgh"),
        "updated_at": st.integers(0, 5).map(lambda second: datetime(2026, 1, 1, second=second, tzinfo=UTC)),
        "kind": st.sampled_from(("session", "session", "session", "fork", "memory")),
        "partial": st.booleans(),
        "gone": st.sampled_from((False, False, True)),
    }
)
STEPS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 9), max_size=3),
        st.lists(SESSION, max_size=3),
        st.sampled_from((None, None, None, "pinned", "named")),
    ),
    min_size=1,
    max_size=8,
)
"""Which go, which come (with an id that another has, now and then), and what is marked."""


@given(steps=STEPS)
@examples(100)
def test_they_stand_where_all_of_them_sorted_would(
    steps: list[tuple[list[int], list[dict[str, Any]], str | None]],
) -> None:
    kept, there, marks = SortedSessions(), list[SessionSummary](), NO_ONE_MARKED
    for going, coming, mark in steps:
        there = [one for number, one in enumerate(there) if number not in going]
        there += [SessionSummary(agent="claude", **one) for one in coming]
        if mark is not None:
            marks = {"claude:a": OwnMarks(pinned=True) if mark == "pinned" else OwnMarks(name="mine")}
        kept.take(tuple(there), marks)
        anew = SortedSessions()
        anew.take(tuple(there), marks)
        assert said(kept) == said(anew)


def said(found: SortedSessions) -> tuple[object, ...]:
    return found.sessions, found.memories, found.by_id, found.partial


@given(before=st.lists(st.integers(0, 3), max_size=12), now=st.lists(st.integers(0, 3), max_size=12))
@examples(100)
def test_what_is_gone_and_new_makes_one_of_the_other(before: list[int], now: list[int]) -> None:
    """By what they are as objects: each is another one here, but for what both have in the same place."""
    old = [Thing(one) for one in before]
    new = [old[at] if at < len(old) and old[at].value == one else Thing(one) for at, one in enumerate(now)]
    gone, come = differences(tuple(old), tuple(new))
    assert sorted([*(one.value for one in old), *(one.value for one in come)]) == sorted(
        [*(one.value for one in new), *(one.value for one in gone)]
    )
    assert not {id(one) for one in come} & {id(one) for one in old}
    assert not {id(one) for one in gone} & {id(one) for one in new}


class Thing:
    """Equal to nothing but itself."""

    def __init__(self, value: int) -> None:
        self.value = value
