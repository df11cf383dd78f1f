"""Times as agents write them, turned into aware datetimes in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

__all__ = ["from_epoch", "from_iso", "from_millis", "parse_seconds", "parse_time"]

_LONG_FRACTION = re.compile(r"(\.\d{6})\d+")
_USUAL = len("2026-11-21T08:04:01.053Z")
"""Characters; what is no longer has no overlong fraction."""
_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
"""Older than any agent: zero values and year-1 placeholders mean «no time»."""
_EARLIEST_SECONDS = _EARLIEST.timestamp()
_LATEST_SECONDS = 1e11  # the year 5138: larger numbers are milliseconds or less


def from_epoch(seconds: float | None) -> datetime | None:
    """Seconds since the epoch; None for anything that is no plausible time."""
    if seconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError, TypeError):
        return None
    return moment if moment >= _EARLIEST else None


def from_millis(millis: float | None) -> datetime | None:
    """Milliseconds since the epoch; None for anything that is no plausible time."""
    try:
        return None if millis is None else from_epoch(millis / 1000)
    except (OverflowError, TypeError):  # an integer too large for a float
        return None


def from_iso(text: str | None) -> datetime | None:
    """ISO 8601, with any number of fractional digits; a time without a zone is taken as UTC."""
    if not text:
        return None
    try:
        text = text.strip()
        if len(text) > _USUAL:
            text = _LONG_FRACTION.sub(r"\1", text)
        moment = datetime.fromisoformat(text)
        zone = moment.tzinfo
        if zone is not UTC:
            moment = moment.replace(tzinfo=UTC) if zone is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment >= _EARLIEST else None


def parse_time(value: Any) -> datetime | None:
    """Whatever a record calls a time: ISO text, or a number in seconds, milliseconds, micro- or nanoseconds."""
    return from_iso(value) if isinstance(value, str) else from_epoch(_number(value))


def parse_seconds(value: Any) -> float | None:
    """The same in seconds since the epoch: of numbers, no `datetime` is made."""
    if isinstance(value, str):
        moment = from_iso(value)
        return None if moment is None else moment.timestamp()
    number = _number(value)
    return number if number is not None and _EARLIEST_SECONDS <= number < _LATEST_SECONDS else None


def _number(value: Any) -> float | None:
    """A number of any unit in seconds; None where it is of none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    for _ in range(3):  # milliseconds, micro- and nanoseconds
        if number > _LATEST_SECONDS:
            number /= 1000
    return number if number <= _LATEST_SECONDS else None
