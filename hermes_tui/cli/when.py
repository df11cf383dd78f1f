"""Dates as people type them: ISO 8601, or counted back from today."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import click

__all__ = ["parse_when", "when_option"]

_BACK = re.compile(r"(\d{1,6})\s*([hdwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


def parse_when(text: str, now: datetime) -> datetime | date:
    """The moment or the day meant by `text`; `now` is aware, in the local zone.

    `today`, `yesterday`, `7d`, `2w`, `1m` (30 days), `1y` and `2026-11-21` are days; `12h` and ISO 8601 with a time
    are moments. Raises `ValueError`.
    """
    text = text.strip().lower()
    if text in ("today", "yesterday"):
        return now.date() - timedelta(days=text == "yesterday")
    back = _BACK.fullmatch(text)
    try:
        if back:
            number, unit = int(back[1]), back[2]
            if unit == "h":
                return now - timedelta(hours=number)
            return now.date() - timedelta(days=number * _DAYS[unit])
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return date.fromisoformat(text)
        return datetime.fromisoformat(text.upper())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is no date; use 2026-11-21, 2026-11-21T10:30, 7d, 2w, yesterday") from error


def when_option(context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | date | None:
    """The callback of `--since` and `--until`; see `parse_when`."""
    if value is None:
        return None
    try:
        return parse_when(value, datetime.now().astimezone())
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
