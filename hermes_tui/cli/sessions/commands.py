"""`hermes-tui sessions`: the group of its commands."""

from __future__ import annotations

import click

from hermes_tui.cli.root import LazyGroup

__all__ = ["sessions"]

_HERE = "hermes_tui.cli.sessions"
_COMMANDS = {
    "browse": (f"{_HERE}.search", "browse"),
    "diff": (f"{_HERE}.diff", "diff"),
    "export": (f"{_HERE}.export", "export"),
    "fork": (f"{_HERE}.native", "fork"),
    "list": (f"{_HERE}.list", "list_"),
    "mark": (f"{_HERE}.mark", "mark"),
    "resume": (f"{_HERE}.native", "resume"),
    "search": (f"{_HERE}.search", "search"),
    "show": (f"{_HERE}.show", "show"),
}
"""Name → its module, and what it is called there."""


@click.group(cls=LazyGroup, places=_COMMANDS)
def sessions() -> None:
    """List, search, print, export, compare, mark, resume and fork sessions."""
