"""`hermes-tui sessions`: the group of its commands."""

from __future__ import annotations

from importlib import import_module

import click

__all__ = ["sessions"]

_COMMANDS = {
    "browse": ("search", "browse"),
    "diff": ("diff", "diff"),
    "export": ("export", "export"),
    "fork": ("native", "fork"),
    "list": ("list", "list_"),
    "mark": ("mark", "mark"),
    "resume": ("native", "resume"),
    "search": ("search", "search"),
    "show": ("show", "show"),
}
"""Name → module beside this one, and what it is called there."""


class _Sessions(click.Group):
    """Imports a command when it is run or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = _COMMANDS.get(cmd_name)
        if place is None:
            return None
        command: click.Command = getattr(import_module(f"hermes_tui.cli.sessions.{place[0]}"), place[1])
        return command


@click.group(cls=_Sessions)
def sessions() -> None:
    """List, search, print, export, compare, mark, resume and fork sessions."""
