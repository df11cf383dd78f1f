"""Times as agents write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_adapters.times import from_epoch, from_iso, from_millis, parse_seconds, parse_time

NOON = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
PLAUSIBLE = st.datetimes(datetime(1990, 1, 1), datetime(9990, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-21T12:00:00Z",
        "2026-11-21T12:00:00.000Z",
        "2026-11-21T12:00:00",
        " 2026-11-21 12:00:00 ",
        "2026-11-21T12:00:00.000000000Z",
        "2026-11-21T14:00:00.0000001+02:00",
    ],
)
def test_one_moment_in_many_forms(text: str) -> None:
    assert from_iso(text) == NOON


@pytest.mark.parametrize("text", ["", None, "yesterday", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00Z", "9" * 5000])
def test_what_is_no_time_is_none(text: str | None) -> None:
    assert from_iso(text) is None


def test_the_edge_of_the_calendar_does_not_raise() -> None:
    assert from_iso("9999-12-31T23:59:59-14:00") is None
    assert from_iso("0001-01-01T00:00:00+14:00") is None


@pytest.mark.parametrize("factor", [1, 1_000, 1_000_000, 1_000_000_000])
def test_numbers_of_any_unit(factor: int) -> None:
    assert parse_time(int(NOON.timestamp()) * factor) == NOON


@pytest.mark.parametrize(
    "value", [None, True, False, [], {}, 0, -1, 1e21, 1e308, 10**400, float("nan"), float("inf"), "x"]
)
def test_nothing_else_is_a_time(value: Any) -> None:
    assert parse_time(value) is None
    assert parse_seconds(value) is None


@pytest.mark.parametrize("value", [None, float("nan"), float("-inf"), 1e300, 10**400, 5])
def test_implausible_epochs_are_none(value: Any) -> None:
    assert from_epoch(value) is None
    assert from_millis(value) is None


@given(PLAUSIBLE)
def test_iso_and_milliseconds_round_trip(moment: datetime) -> None:
    assert from_iso(moment.isoformat()) == moment
    read = from_millis(moment.timestamp() * 1000)
    assert read is not None
    assert abs(read - moment) < timedelta(milliseconds=1)
