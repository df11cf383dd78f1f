"""Dates as people type them, also when they have only typed the beginning."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

__all__ = ["period"]

_BACK = re.compile(r"(\d{1,6})\s*([hdwmy]?)")
_DAYS = {"": 1, "d": 1, "w": 7, "m": 30, "y": 365}
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})?(?:-(\d{1,2})?)?)?")
_TICK = timedelta(microseconds=1)


def period(text: str, now: datetime) -> tuple[datetime, datetime]:
    """The first and the last moment of what is meant; `now` is aware, in the local zone.

    `today`, `yesterday` (or their beginnings), `7d`, `2w`, `1m` (30 days), `1y`, `2026`, `2026-11`, `2026-11-21` are
    whole days, months, years; `12h` and ISO 8601 with a time are moments; a bare number of up to three digits means
    days. Raises `ValueError`.
    """
    text = text.strip().lower()
    try:
        return _period(text, now)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is no date; use 2026-11-21, 2026-11-21T10:30, 7d, 2w, yesterday") from error


def _period(text: str, now: datetime) -> tuple[datetime, datetime]:
    for back, name in enumerate(("today", "yesterday")):
        if text and name.startswith(text):
            return _days(now.date() - timedelta(days=back), 1)
    found = _DAY.fullmatch(text)
    if found:
        return _calendar(int(found[1]), found[2], found[3])
    found = _BACK.fullmatch(text)
    if found and found[2] == "h":
        moment = now - timedelta(hours=int(found[1]))
        return moment, moment
    if found:
        return _days(now.date() - timedelta(days=int(found[1]) * _DAYS[found[2]]), 1)
    moment = _moment(text)
    return moment, moment


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


def _moment(text: str) -> datetime:
    """ISO 8601 with a time, of which the end may still be missing."""
    text = text.upper().replace(" ", "T")
    day, _, clock = text.partition("T")
    if re.fullmatch(r"\d?|\d\d:?|\d\d:\d|\d\d:\d\d:\d?", clock):
        clock = {0: "00", 1: "0" + clock}.get(len(clock), clock.rstrip(":"))
        clock += "0" if re.search(r":\d$", clock) else ""
    return datetime.fromisoformat(f"{day}T{clock}").astimezone()
