"""Hashes that are kept of all that was read: right, and small."""

from __future__ import annotations

import random
from sys import getsizeof

from hypothesis import given
from hypothesis import strategies as st

from session_adapters.growing.hashes import Hashes

NUMBER = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-3, 3)


@given(st.lists(NUMBER), st.lists(NUMBER), st.lists(NUMBER))
def test_it_has_what_it_was_given(first: list[int], more: list[int], others: list[int]) -> None:
    known, held = set(first), Hashes(first)
    for one in more:
        held.add(one)
        known.add(one)
    new = set(others) - known
    copied, other = held.copy(), held.copy()
    held.update(new)
    for one in others:
        other.add(one)
    assert sorted(held) == sorted(known | new)
    assert len(held) == len(known | new)
    assert all(one in held for one in others)
    assert sorted(other) == sorted(known | new)
    assert sorted(copied) == sorted(known)  # whatever became of the one that it is of
    assert all((one in copied) == (one in known) for one in (*first, *more, *others))


def test_it_has_many_in_few_bytes() -> None:
    chance = random.Random(7)
    every = [chance.getrandbits(63) for _ in range(50_000)]
    held = Hashes(every[:100])
    for one in every:
        held.add(one)
    assert all(one in held for one in every)
    assert all(one + 1 not in held for one in every[:1000])
    # Whatever it keeps, with the numbers that are objects of their own.
    parts = [getattr(held, name) for name in Hashes.__slots__]
    kept = [one for part in parts for one in (part, *(part if isinstance(part, set) else ()))]
    assert sum(map(getsizeof, kept)) < 16 * len(every)
