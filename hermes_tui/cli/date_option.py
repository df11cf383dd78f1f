"""Dates as values of options."""

from __future__ import annotations

from datetime import date, datetime

import click

from hermes_tui.sessions.period import parse_when

__all__ = ["when_option"]


def when_option(context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | date | None:
    """The callback of `--since` and `--until`; see `parse_when`."""
    if value is None:
        return None
    try:
        return parse_when(value, datetime.now().astimezone())
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
