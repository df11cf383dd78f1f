"""`--since`, `--until`, `--model` and `--tag`: of which sessions a command speaks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any, TypeVar

import click

from hermes_tui.sessions.period import parse_when

__all__ = ["filter_options", "since_option", "source_option"]

Command = TypeVar("Command", bound=Callable[..., Any])


def _when(context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | date | None:
    """The value of `--since` or `--until`; see `parse_when`."""
    if value is None:
        return None
    try:
        return parse_when(value, datetime.now().astimezone())
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error


since_option = click.option(
    "--since",
    callback=_when,
    metavar="WHEN",
    help="Only sessions created then or later: 2026-11-21, 7d, yesterday.",
)
source_option = click.option(
    "--source", metavar="NAME", help="Only sessions held there, as the agent names it: cli, telegram, cron …"
)
_OPTIONS = (
    since_option,
    click.option(
        "--until",
        callback=_when,
        metavar="WHEN",
        help="Only sessions created then or earlier; a day counts to its end.",
    ),
    click.option("--model", metavar="ID", help="Only sessions that used this model."),
    click.option(
        "--tag", "tags", multiple=True, metavar="TAG", help="Only sessions with this tag; repeat for any of several."
    ),
)


def filter_options(command: Command) -> Command:
    """Give a command these options, in this order: `since`, `until`, `model`, `tags`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
