"""What the command palette offers: our own commands, and none of Textual's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand
from textual.command import CommandPalette

from hermes_tui.display import safe
from hermes_tui.tui.screens.dialogs.dismissal import DismissOnce
from hermes_tui.tui.screens.main.session_commands import session_commands

if TYPE_CHECKING:
    from textual.screen import Screen

    from hermes_tui.tui.app import HermesApp

__all__ = ["Palette", "commands_of"]


class Palette(CommandPalette, DismissOnce[Any]):
    """Textual's command palette, left once."""


def commands_of(app: HermesApp, screen: Screen[Any]) -> Iterator[SystemCommand]:
    """Those that make sense on `screen`."""
    main = app.main
    if screen is main:
        yield SystemCommand("Search", "All that was said and done, and titles, projects, ids", main.action_filter)
        for name, query in main.saved_searches():
            yield SystemCommand(f"Search: {safe(name)}", safe(query), partial(main.search_for, query))
        yield SystemCommand("Unfold or fold everything", "Forks and helpers", main.sessions.action_toggle_all)
        yield from session_commands(main)
    yield SystemCommand("Refresh", "Look at the stores now", app.action_refresh)
    yield SystemCommand("Costs", "By day, agent, model and project", app.action_cost)
    yield SystemCommand("Lanes", "Of Hermes' gateway: see, reset, suspend and resume them", app.action_lanes)
    yield SystemCommand("Problems", "Show what could not be read", app.action_problems)
    yield SystemCommand("Keys", "Show the keys that work here", app.action_help)
    yield SystemCommand("Next theme", "Dark, light, the terminal's own, high contrast", app.action_next_theme)
    yield SystemCommand("Quit", "End the program; agents go on", app.exit)
