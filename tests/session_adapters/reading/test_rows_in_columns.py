"""Rows that are kept in columns are what was put in, however they are asked for."""

from __future__ import annotations

import random

import pytest

from chances import TIMES, chance
from session_adapters.hector.records import HectorMark, HectorMarks
from session_adapters.opencode.units import OpenCodeFacts, OpenCodeStamp, OpenCodeUnit, OpenCodeUnits, revised

WORDS = ["", "a", "msg_1", "ß", "\ud800", "\0", "𝄞 and more", "1"]


def a_number(dice: random.Random) -> float | None:
    return dice.choice((None, 0.0, 1.0, -2.5, 1.79e12, float(dice.randrange(1 << 40))))


def a_unit(dice: random.Random) -> OpenCodeUnit:
    stamp = OpenCodeStamp(*(a_number(dice) for _ in OpenCodeStamp._fields))
    return OpenCodeUnit(dice.choice(WORDS), dice.choice(WORDS), a_number(dice), stamp)


def a_mark(dice: random.Random) -> HectorMark:
    place = dice.choice((0, 7, -(1 << 62), 1 << 62, None, "key", 2.5))
    time = dice.choice((None, "2026-01-01 00:00:00", "ß"))
    return HectorMark(
        place, dice.choice(WORDS), dice.choice(WORDS), dice.choice(WORDS), dice.randrange(1 << 40), time
    )


@pytest.mark.parametrize("seed", range(20 * TIMES))
@pytest.mark.parametrize(("made", "kept"), [(a_unit, OpenCodeUnits), (a_mark, HectorMarks)])
def test_rows_are_those_that_were_put_in(made: type, kept: type, seed: int) -> None:
    dice = chance(seed)
    rows = [made(dice) for _ in range(dice.randrange(12))]
    columns = kept(reversed(rows))
    assert len(columns) == len(rows) and list(columns) == rows and list(reversed(columns)) == rows[::-1]
    for _ in range(20):
        start, stop = (dice.choice((None, *range(-14, 14))) for _ in range(2))
        part = slice(start, stop, dice.choice((None, -2, -1, 1, 3)))
        assert columns[part] == rows[part]
    for at in range(-len(rows), len(rows)):
        assert columns[at] == rows[at] and repr(columns[at]) == repr(rows[at])
    for at in (len(rows), -len(rows) - 1):
        with pytest.raises(IndexError):
            columns[at]


@pytest.mark.parametrize("seed", range(10 * TIMES))
def test_what_a_session_says_of_its_messages_is_said_of_each(seed: int) -> None:
    dice = chance(seed)
    rows = [a_unit(dice)._replace(id=f"msg_{number}") for number in range(dice.randrange(1, 12))]
    facts = OpenCodeFacts(
        "s", "2.x", created=a_number(dice), revert=dice.choice((None, dice.choice(rows).id)),
        revert_inside=dice.random() < 0.5,
    )  # fmt: skip
    columns = OpenCodeUnits(reversed(rows))
    limit = a_number(dice)
    columns.revise(facts, limit)
    if limit is not None:
        rows = [one._replace(inherited=one.stamp[0] is not None and one.stamp[0] <= limit) for one in rows]
    assert list(columns) == list(revised(rows, facts))


def test_of_a_crowd_each_is_told_of_its_parts() -> None:
    """Some ids at a time, and of what is said of others nothing is taken."""
    asked: list[int] = []

    def ask(ids: object) -> dict[str, tuple[float | None, ...]]:
        some = list(ids)  # type: ignore[call-overload]
        asked.append(len(some))
        return {"other": (9.0, 9.0, 9.0), **{one: (float(one), None, 3.0) for one in some if int(one) % 3}}

    columns = OpenCodeUnits(OpenCodeUnit(str(number)) for number in range(999, -1, -1))
    columns.tell_parts(ask)
    assert sum(asked) == 1000 and max(asked) <= 200
    for number, unit in enumerate(columns):
        parts = (float(number), None, 3.0) if number % 3 else (None, None, None)
        assert unit == OpenCodeUnit(str(number), stamp=OpenCodeStamp(None, None, None, *parts))
