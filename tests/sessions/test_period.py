"""Dates as people type them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.sessions.period import parse_when, period

NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("today", date(2026, 11, 21)),
        ("Yesterday", date(2026, 11, 20)),
        ("7d", date(2026, 11, 14)),
        ("0d", date(2026, 11, 21)),
        ("2w", date(2026, 11, 7)),
        ("1mo", date(2026, 10, 22)),
        ("1y", date(2025, 11, 21)),
        ("12h", NOW - timedelta(hours=12)),
        ("30m", NOW - timedelta(minutes=30)),
        ("2026-01-02", date(2026, 1, 2)),
        ("20260102", date(2026, 1, 2)),
        ("2026-w01-5", date(2026, 1, 2)),
        ("20260102T03", datetime(2026, 1, 2, 3)),
        ("2026-01-02T03:04", datetime(2026, 1, 2, 3, 4)),
        ("2026-01-02t03:04:05z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02 03:04+02:00", datetime(2026, 1, 2, 1, 4, tzinfo=UTC)),
    ],
)
def test_what_is_meant(text: str, meant: datetime | date) -> None:
    parsed = parse_when(text, NOW)
    assert parsed == meant
    assert isinstance(parsed, datetime) == isinstance(meant, datetime)


@pytest.mark.parametrize("text", ["", "soon", "7", "d", "-7d", "2026-13-01", "2026-02-30", "999999y", "7d7d"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(ValueError, match="is no date"):
        parse_when(text, NOW)


@given(st.text(max_size=20))
def test_nothing_else_is_raised(text: str) -> None:
    try:
        assert isinstance(parse_when(text, NOW), date)
    except ValueError as error:
        assert "is no date" in str(error)


@pytest.mark.parametrize("text", ["0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00", "0001-01-01", "9999-12-31"])
def test_a_time_that_has_no_local_one_is_no_date_to_search_for(text: str) -> None:
    with pytest.raises(ValueError, match="is no date"):
        period(text, NOW)


@pytest.mark.parametrize(
    "text", ["7d", "2w", "1mo", "30m", "yesterday", "2026-01-02", "20260102", "2026-W01-5", "2026-01-02T03:04", "12h"]
)
def test_what_is_typed_in_full_is_the_same_for_options_and_for_the_box(text: str) -> None:
    first, last = period(text, NOW)
    meant = parse_when(text, NOW)
    if isinstance(meant, datetime):
        assert first == last == meant.astimezone()
    else:
        assert first.date() == last.date() == meant


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("y", date(2026, 11, 20), date(2026, 11, 20)),
        ("7", date(2026, 11, 14), date(2026, 11, 14)),
        ("2026", date(2026, 1, 1), date(2026, 12, 31)),
        ("2026-", date(2026, 1, 1), date(2026, 12, 31)),
        ("2026-0", date(2026, 1, 1), date(2026, 12, 31)),
        ("2026-02", date(2026, 2, 1), date(2026, 2, 28)),
        ("2026-12-", date(2026, 12, 1), date(2026, 12, 31)),
        ("2026-02-03", date(2026, 2, 3), date(2026, 2, 3)),
    ],
)
def test_what_is_only_begun(text: str, first: date, last: date) -> None:
    assert tuple(moment.date() for moment in period(text, NOW)) == (first, last)


@pytest.mark.parametrize(
    "text", ["2026-01-02T", "2026-01-02T0", "2026-01-02t00:", "2026-01-02 00:0", "2026-01-02T00:00:0"]
)
def test_a_time_that_is_only_begun(text: str) -> None:
    assert period(text, NOW)[0] == datetime(2026, 1, 2).astimezone()


@given(st.text(max_size=20))
def test_nothing_else_is_raised_while_one_types(text: str) -> None:
    try:
        first, last = period(text, NOW)
        assert first <= last
    except ValueError as error:
        assert "is no date" in str(error)
