"""Parses dates as people type them: ISO 8601, or counted back from today."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

__all__ = ["parse_when", "period"]

_NAMED = {"today": 0, "yesterday": 1}
"""Name → days ago."""
_BACK = re.compile(r"(\d{1,6})\s*(mo|[mhdwy])")
_MINUTES = {"m": 1, "h": 60}
_DAYS = {"d": 1, "w": 7, "mo": 30, "y": 365}
_CALENDAR = re.compile(r"(\d{4})(?:-(\d{1,2})?(?:-(\d{1,2})?)?)?")
_TICK = timedelta(microseconds=1)  # the end of a day is the first moment of the next


def parse_when(text: str, now: datetime) -> datetime | date:
    """The moment or the day meant by `text`; `now` is aware, in the local zone.

    `today`, `yesterday`, `7d`, `2w`, `1mo` (30 days), `1y` and ISO 8601 without a time (`2026-11-21`, `20261121`,
    `2026-W47-6`) are days; `30m` (minutes, as the list tells ages), `12h` and ISO 8601 with a time are moments.
    Raises `ValueError`.
    """
    text = text.strip().lower()
    try:
        return _when(text, now)
    except (ValueError, OverflowError) as error:
        raise _no_date(text) from error


def period(text: str, now: datetime) -> tuple[datetime, datetime]:
    """The first and the last moment of what is meant by `text`, of which the end may not be typed yet.

    What `parse_when` takes, and beginnings of it: of names, of a day its month or year (`2026-1`, `2026`), of a
    moment its hour; a bare number of other than four digits means days. Raises `ValueError`.
    """
    text = text.strip().lower()
    try:
        found = _CALENDAR.fullmatch(text)
        if found:
            return _calendar(int(found[1]), found[2], found[3])
        meant = _iso_day(text) or _when(_completed(text), now)
        if isinstance(meant, datetime):
            moment = meant.astimezone()  # of the first and last years, some zone has no such time
            return moment, moment
        return _days(meant, 1)
    except (ValueError, OverflowError) as error:
        raise _no_date(text) from error


def _no_date(text: str) -> ValueError:
    return ValueError(f"{text!r} is no date; use 2026-11-21, 2026-11-21T10:30, 30m, 12h, 7d, 2w, yesterday")


def _when(text: str, now: datetime) -> datetime | date:
    if text in _NAMED:
        return now.date() - timedelta(days=_NAMED[text])
    back = _BACK.fullmatch(text)
    if back and back[2] in _MINUTES:
        return now - timedelta(minutes=int(back[1]) * _MINUTES[back[2]])
    if back:
        return now.date() - timedelta(days=int(back[1]) * _DAYS[back[2]])
    return _iso_day(text) or datetime.fromisoformat(text.upper())


def _iso_day(text: str) -> date | None:
    """The day, in any form that ISO 8601 has for one; `datetime` takes each for the midnight that it begins with."""
    try:
        return date.fromisoformat(text.upper())
    except ValueError:
        return None


def _completed(text: str) -> str:
    """What is begun, as it may go on."""
    name = next((name for name in _NAMED if text and name.startswith(text)), None)
    if name is not None or _BACK.fullmatch(text):
        return name or text
    if re.fullmatch(r"\d{1,6}", text):
        return f"{text}d"
    day, _, clock = text.replace(" ", "t").partition("t")
    if re.fullmatch(r"\d?|\d\d:?|\d\d:\d|\d\d:\d\d:\d?", clock):
        clock = {0: "00", 1: "0" + clock}.get(len(clock), clock.rstrip(":"))
        clock += "0" if re.search(r":\d$", clock) else ""
    return f"{day}t{clock}"


def _calendar(year: int, month: str | None, day: str | None) -> tuple[datetime, datetime]:
    # A month or day of which only the leading zero is typed is not there yet.
    month_number = int(month or 0)
    day_number = int(day or 0)
    if not month_number:
        first = date(year, 1, 1)
        return _days(first, (date(year + 1, 1, 1) - first).days)
    if not day_number:
        first = date(year, month_number, 1)
        after = date(year + month_number // 12, month_number % 12 + 1, 1)
        return _days(first, (after - first).days)
    return _days(date(year, month_number, day_number), 1)


def _days(first: date, number: int) -> tuple[datetime, datetime]:
    start = datetime.combine(first, time.min).astimezone()
    end = datetime.combine(first + timedelta(days=number), time.min).astimezone()
    return start, end - _TICK
