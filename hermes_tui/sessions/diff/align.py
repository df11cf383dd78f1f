"""Aligns the messages of two sessions.

Which are the same, and which stand in each other's place.

The same are those of a longest common subsequence, exactly (checklist D-3; `difflib` finds shorter ones). Between
two of them the k-th user message left over in A stands for the k-th one left over in B, and so for every role (D-4).
Where such pairs would cross, the roles are aligned in their turn: both sides keep their order (D-5, D-8), and as many
messages as can be stand for one of the same role.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from hermes_tui.errors import ValidationError

__all__ = ["MOST_CELLS", "MOST_MATCHES", "Step", "align", "common"]

MOST_CELLS = 2_000_000_000
"""Two lists whose lengths have a larger product are not compared by bit matrix, which would take 250 MB."""
_OFTEN = 8
"""Times that an item is in a list from which on its places are kept as bits: for all they would take as much as the
matrix."""
MOST_MATCHES = 4_000_000
"""Pairs of equal items above which two lists so long are not compared by their pairs, either."""


class Step(NamedTuple):
    """A row of the alignment: indices into both lists, None where a side has nothing."""

    a: int | None
    b: int | None
    equal: bool = False


def common(a: Sequence[Any], b: Sequence[Any]) -> list[tuple[int, int]]:
    """A longest common subsequence as pairs of indices, in order; of two lists the mirror of what the lists the other
    way round give. Their members can be hashed and ordered. Raises `ValidationError` for lists so long and so
    repetitive that it cannot be found."""
    numbers: dict[Any, int] = {}
    left = [numbers.setdefault(key, len(numbers)) for key in a]
    right = [numbers.setdefault(key, len(numbers)) for key in b]
    # What both begin and end with alike is part of a longest one anyway, and need not be searched.
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    # What only one side has cannot be part of it.
    shared = set(left[start : len(left) - end]) & set(right[start : len(right) - end])
    places_a = [at for at in range(start, len(left) - end) if left[at] in shared]
    places_b = [at for at in range(start, len(right) - end) if right[at] in shared]
    between_a, between_b = [left[at] for at in places_a], [right[at] for at in places_b]
    # Several may be as long; taking the two in a fixed order makes the other way round the mirror.
    if [b[at] for at in places_b] < [a[at] for at in places_a]:
        middle = [(i, j) for j, i in _longest(between_b, between_a)]
    else:
        middle = _longest(between_a, between_b)
    return [
        *((at, at) for at in range(start)),
        *((places_a[i], places_b[j]) for i, j in middle),
        *((len(left) - at, len(right) - at) for at in range(end, 0, -1)),
    ]


def _longest(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    if not a or not b:
        return []
    if len(a) * len(b) <= MOST_CELLS:
        return _by_bits(a, b)
    times_a, times_b = Counter(a), Counter(b)
    if sum(times * times_b[one] for one, times in times_a.items()) > MOST_MATCHES:
        raise ValidationError(
            f"these sessions are too long and too repetitive to be compared ({len(a):,} and {len(b):,} messages that "
            "both have)"
        )
    return _by_matches(a, b)


def _by_bits(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """As Hyyrö has it (2004): a row of bits for each of `b`, in which those of `a` are 0 where the subsequence of
    what is up to there grows by one. A library for it takes 14 MB of a program that once compared something."""
    places: dict[int, list[int]] = defaultdict(list)
    for at, one in enumerate(a):
        places[one].append(at)
    usual = {one: _bits(at) for one, at in places.items() if len(at) > _OFTEN}
    full = (1 << len(a)) - 1
    row, rows = full, [full]
    for one in b:
        here = row & (usual[one] if one in usual else _bits(places[one]))
        row = (row + here | row - here) & full
        rows.append(row)
    found: list[tuple[int, int]] = []
    i, j = len(a), len(b)
    while i and j:
        if rows[j] >> i - 1 & 1:
            i -= 1
            continue
        j -= 1
        if rows[j] >> i - 1 & 1:
            i -= 1
            found.append((i, j))
    return found[::-1]


def _bits(places: Sequence[int]) -> int:
    return sum(1 << at for at in places)


def _by_matches(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """As Hunt and Szymanski have it (1977): work by the number of matching pairs, little memory."""
    places: dict[int, list[int]] = defaultdict(list)
    # From the back: so no two places of one item in `b` can follow each other for one item of `a`.
    for j in range(len(b) - 1, -1, -1):
        places[b[j]].append(j)
    ends: list[int] = []
    links: list[_Link] = []
    for i, one in enumerate(a):
        for j in places[one]:
            at = bisect_left(ends, j)
            link = _Link(i, j, links[at - 1] if at else None)
            if at == len(ends):
                ends.append(j)
                links.append(link)
            elif j < ends[at]:
                ends[at], links[at] = j, link
    found: list[tuple[int, int]] = []
    last = links[-1] if links else None
    while last is not None:
        found.append((last.a, last.b))
        last = last.before
    return found[::-1]


class _Link(NamedTuple):
    a: int
    b: int
    before: _Link | None


def align(
    keys_a: Sequence[Any], keys_b: Sequence[Any], roles_a: Sequence[str], roles_b: Sequence[str]
) -> Iterator[Step]:
    """Every index of both sides once, in the order of both."""
    done_a = done_b = 0
    for a, b in (*common(keys_a, keys_b), (len(keys_a), len(keys_b))):
        yield from _gap(range(done_a, a), range(done_b, b), roles_a, roles_b)
        if a < len(keys_a):
            yield Step(a, b, equal=True)
        done_a, done_b = a + 1, b + 1


def _gap(left: range, right: range, roles_a: Sequence[str], roles_b: Sequence[str]) -> Iterator[Step]:
    done_a, done_b = left.start, right.start
    for a, b in (*_pairs(left, right, roles_a, roles_b), (left.stop, right.stop)):
        yield from (Step(at, None) for at in range(done_a, a))
        yield from (Step(None, at) for at in range(done_b, b))
        if a < left.stop:
            yield Step(a, b)
        done_a, done_b = a + 1, b + 1


def _pairs(left: range, right: range, roles_a: Sequence[str], roles_b: Sequence[str]) -> list[tuple[int, int]]:
    """The k-th of a role with the k-th of that role; where that would cross, as many of the same role as can be."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for at in reversed(right):
        waiting[roles_b[at]].append(at)
    pairs = [(at, waiting[roles_a[at]].pop()) for at in left if waiting[roles_a[at]]]
    if all(one[1] < other[1] for one, other in pairwise(pairs)):
        return pairs
    if len(left) * len(right) > MOST_CELLS:
        return []
    said_a, said_b = roles_a[left.start : left.stop], roles_b[right.start : right.stop]
    return [(left.start + i, right.start + j) for i, j in common(said_a, said_b)]
