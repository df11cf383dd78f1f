"""`hermes-tui sessions`: the group of its commands."""

from __future__ import annotations

import click

from hermes_tui.cli.sessions.diff import diff
from hermes_tui.cli.sessions.export import export
from hermes_tui.cli.sessions.list import list_
from hermes_tui.cli.sessions.mark import mark
from hermes_tui.cli.sessions.native import fork, resume
from hermes_tui.cli.sessions.search import browse, search
from hermes_tui.cli.sessions.show import show

__all__ = ["sessions"]


@click.group()
def sessions() -> None:
    """List, search, print, export, compare, mark, resume and fork sessions."""


for _command in (list_, show, browse, export, search, diff, mark, resume, fork):
    sessions.add_command(_command)
