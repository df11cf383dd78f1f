"""`--redact`, for the commands that print whole sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_tui.cli import stderr

if TYPE_CHECKING:
    from hermes_tui.redact.redactor import Redactor

__all__ = ["redact_option", "say_masked"]


def _redactor(context: click.Context, parameter: click.Parameter, wanted: bool) -> Redactor | None:
    if not wanted:
        return None
    from hermes_tui.redact.redactor import Redactor

    return Redactor()


redact_option = click.option(
    "--redact",
    "redactor",
    is_flag=True,
    callback=_redactor,
    help="Mask keys, tokens, passwords and private keys, and say how many.",
)


def say_masked(redactor: Redactor | None) -> None:
    """Say on standard error what was masked, if that was asked for."""
    if redactor is not None:
        stderr.say(f"hermes-tui: {redactor.report}")
