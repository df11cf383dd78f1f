"""Local times without a zone and the instants behind them, where clocks are changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.lifecycle.local_times import entry_time, first_shown, from_wall, wall
from lifecycle.zones import RULES, jumps, zone_of

BERLIN = zone_of(RULES["Berlin"])
SPRING = datetime(2026, 3, 29, 1, tzinfo=UTC)  # 02:00 became 03:00
AUTUMN = datetime(2026, 10, 25, 1, tzinfo=UTC)  # 03:00 became 02:00


@pytest.fixture
def berlin_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine's clock is that of Berlin."""
    monkeypatch.setenv("TZ", RULES["Berlin"])
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_the_rules_are_what_their_names_say() -> None:
    assert jumps(BERLIN) == [SPRING - timedelta(hours=1), AUTUMN - timedelta(hours=1)]
    assert [len(jumps(zone_of(rule))) for rule in RULES.values()] == [2, 2, 2, 2, 2, 1]


@pytest.mark.usefixtures("berlin_here")
def test_no_zone_is_this_machines() -> None:
    for hours in range(-30, 30):
        for change in (SPRING, AUTUMN):
            moment = change + timedelta(hours=hours, minutes=7)
            assert wall(moment) == wall(moment, BERLIN)
            for later in (False, True):
                assert from_wall(wall(moment), None, later) == from_wall(wall(moment), BERLIN, later)
            assert first_shown(wall(moment), change) == first_shown(wall(moment), change, BERLIN)


def test_an_hour_that_is_shown_twice() -> None:
    shown = datetime(2026, 10, 25, 2, 30)
    assert [from_wall(shown, BERLIN, later) for later in (False, True)] == [
        AUTUMN - timedelta(minutes=30),
        AUTUMN + timedelta(minutes=30),
    ]
    assert first_shown(shown, AUTUMN - timedelta(hours=5), BERLIN) == AUTUMN - timedelta(minutes=30)
    assert first_shown(shown, AUTUMN, BERLIN) == AUTUMN + timedelta(minutes=30)


def test_an_hour_that_is_left_out() -> None:
    assert first_shown(datetime(2026, 3, 29, 2, 30), SPRING - timedelta(hours=5), BERLIN) == SPRING


def test_the_forms_of_an_entry() -> None:
    assert entry_time(SPRING, BERLIN) == datetime(2026, 3, 29, 3) == entry_time(datetime(2026, 3, 29, 3), BERLIN)
    assert wall(AUTUMN, BERLIN).fold == 0


@examples(50)
@given(rule=st.sampled_from(sorted(RULES.values())), data=st.data())
def test_nothing_earlier_shows_it(rule: str, data: st.DataObject) -> None:
    """Looked for minute by minute, as somebody before the clock would."""
    zone = zone_of(rule)
    after = data.draw(st.sampled_from(jumps(zone))) + timedelta(minutes=data.draw(st.integers(-300, 300)))
    shown = wall(after, zone) + timedelta(minutes=data.draw(st.integers(-120, 400)))
    seen = next(
        moment
        for moment in (after + timedelta(minutes=minute) for minute in range(600))
        if wall(moment, zone) >= shown
    )
    assert first_shown(shown, after, zone) == seen
