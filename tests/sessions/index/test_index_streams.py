"""Rows that are gone through from the newest on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.sessions.index.reading.postings import Stream, common, kept

rows = st.lists(st.sets(st.integers(1, 400), max_size=120), min_size=1, max_size=4)


@given(rows, rows, st.integers(1, 8), st.booleans(), st.integers(1, 410))
def test_what_all_have_and_none_of_the_others(
    wanted: list[set[int]], unwanted: list[set[int]], first: int, dear: bool, below: int
) -> None:
    def streams(sets: list[set[int]]) -> list[Stream]:
        return [Stream(kept(sorted(one)), first, dear=dear) for one in sets]

    shared = {row for row in wanted[0].intersection(*wanted) if row < below}
    assert list(common(streams(wanted), [], below)) == sorted(shared, reverse=True)
    rest = shared.difference(*unwanted)
    assert list(common(streams(wanted), streams(unwanted), below)) == sorted(rest, reverse=True)


@pytest.mark.parametrize(("dear", "most"), [(False, 5), (True, 5)])
def test_rows_are_read_a_few_times(dear: bool, most: int) -> None:
    """Of thousands that are gone through, or of which some far apart are looked for where reading is dear."""
    every, asked = range(10_000), list[int]()

    def read(below: int, number: int) -> Sequence[int]:
        asked.append(number)
        end = bisect_left(every, below)
        return every[max(0, end - number) : end][::-1]

    stream = Stream(read, 64, dear=dear)
    for below in range(10_000, 0, -700 if dear else -1):
        assert stream.newest(below) == below - 1
    assert len(asked) <= most


def test_nothing_is_read_of_what_is_over() -> None:
    asked: list[int] = []

    def read(below: int, number: int) -> Sequence[int]:
        asked.append(below)
        return [row for row in (9, 5) if row < below]

    stream = Stream(read, 4)
    assert [stream.newest(below) for below in (20, 9, 8, 5, 4, 1)] == [9, 5, 5, None, None, None]
    assert asked == [20]
