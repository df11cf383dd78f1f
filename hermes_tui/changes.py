"""Tells what differs between two moments of something long that mostly stays.

Tens of thousands of sessions are compared in one go, in C; only those apart are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import TypeVar

__all__ = ["alike_ends", "differences"]

T = TypeVar("T")


def alike_ends(before: Sequence[T], now: Sequence[T]) -> tuple[int, int]:
    """How many are the same objects at the beginning of both, and of the rest at the end."""
    start = _alike(before, now)
    before, now = before[start:][::-1], now[start:][::-1]
    return start, _alike(before, now)


def differences(before: Sequence[T], now: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """What is not there any more, and what is new, told apart as objects; what only stands elsewhere is neither."""
    if before is now:
        return (), ()
    if not before:
        return (), now
    start, end = alike_ends(before, now)
    before, now = before[start : len(before) - end], now[start : len(now) - end]
    old, new = dict(zip(map(id, before), before, strict=True)), dict(zip(map(id, now), now, strict=True))
    return [old[one] for one in old.keys() - new.keys()], [new[one] for one in new.keys() - old.keys()]


def _alike(one: Sequence[T], other: Sequence[T]) -> int:
    """How many at the beginning of both are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if all(map(is_, one[low:middle], other[low:middle])):
            low = middle
        else:
            high = middle - 1
    return low
