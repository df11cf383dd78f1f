"""Which sessions share model calls: the same as all of them compared anew, in the memory of the new ones."""

from __future__ import annotations

import gc
import tracemalloc
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.sessions.cost.session_book import SessionBook
from hermes_tui.sessions.cost.shared_calls import SharedCalls
from session_adapters.growing.hashes import Hashes

MARKS = st.sets(st.integers(0, 30), max_size=4)


def book(marks: set[int]) -> SessionBook:
    return SessionBook((), (), None, (), Hashes(marks), None)


@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), MARKS, max_size=4), max_size=6), st.booleans())
def test_they_are_those_that_a_comparison_of_all_finds(steps: list[dict[str, set[int]]], gone: bool) -> None:
    shared, books, held = SharedCalls(), dict[str, SessionBook](), dict[str, set[int]]()
    for step in steps:
        if gone:  # some end, others grow, others are another session's now
            held = {name: marks for name, marks in held.items() if name in step}
        held.update({name: held.get(name, set()) | marks for name, marks in step.items()})
        books = {
            name: books[name] if name in books and set(books[name].marks) == marks else book(marks)
            for name, marks in held.items()
        }
        true = {name for pair in combinations(held, 2) if held[pair[0]] & held[pair[1]] for name in pair}
        found = set(shared.among(books))
        assert found >= true
        assert gone or found == true


def test_what_long_sessions_need_when_one_grows_is_little() -> None:
    """A set of every call of all sessions was made each time: it was the most that the program had at once."""
    books = {f"s{number}": book({hash((number, call)) for call in range(5_000)}) for number in range(8)}
    shared = SharedCalls()
    shared.among(books)
    more = {hash((0, call)) for call in range(5_003)}
    grown = {**books, "s0": book(more)}
    gc.collect()
    tracemalloc.start()
    try:
        assert not shared.among(grown)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 800_000, peak  # an array of 40,000 and the one before it; 4,300,000 then


def test_calls_of_sessions_that_are_gone_are_let_go_of() -> None:
    shared = SharedCalls()
    for number in range(40):
        shared.among({"s": book({hash((number, call)) for call in range(1_000)})})
    again = shared.among({"s": book({1}), "t": book({hash((0, 7))})})
    assert not again  # it was taken for the call of a session that is gone long since
