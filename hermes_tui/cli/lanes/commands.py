"""`hermes-tui lanes`: the group of its commands."""

from __future__ import annotations

import click

from hermes_tui.cli.lanes.listing import history, list_, show
from hermes_tui.cli.lanes.operations import clear, log, mark, prune, reset, resume, suspend, undo

__all__ = ["lanes"]


@click.group()
def lanes() -> None:
    """See and steer the lanes of Hermes' gateway: which chat is in which session.

    What changes something ends with 10 where it was refused, 11 where it was lost, 12 where it waits for the lane's
    next message.
    """


for _command in (list_, show, history, reset, suspend, resume, mark, clear, prune, undo, log):
    lanes.add_command(_command)
