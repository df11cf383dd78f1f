"""What the command palette offers: our own commands, and none of Textual's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand
from textual.command import CommandPalette

from hermes_tui.display import safe
from hermes_tui.tui.screens.dialogs.dismissal import DismissOnce

if TYPE_CHECKING:
    from textual.screen import Screen

    from hermes_tui.tui.app_actions import AppActions
    from hermes_tui.tui.screens.main.screen import MainScreen

__all__ = ["Palette", "commands_of"]


class Palette(CommandPalette, DismissOnce[Any]):
    """Textual's command palette, left once."""


def commands_of(app: AppActions, screen: Screen[Any]) -> Iterator[SystemCommand]:
    """Those that make sense on `screen`."""
    main = app.main
    if screen is main:
        yield SystemCommand("Search", "Messages and tool calls, titles, projects, ids", main.action_filter)
        for name, query in main.history.named():
            yield SystemCommand(f"Search: {safe(name)}", safe(query), partial(main.search_for, query))
        yield SystemCommand("Unfold or fold everything", "Forks and helpers", main.sessions.action_toggle_all)
        yield from _session_commands(main)
    yield SystemCommand("Refresh", "Refresh now", app.action_refresh)
    yield SystemCommand("Costs", "By day, agent, model and project", app.action_cost)
    yield SystemCommand("Lanes", "Of Hermes' gateway: see, reset, suspend and resume them", app.action_lanes)
    yield SystemCommand("Problems", "Show what could not be read", app.action_problems)
    yield SystemCommand("Keys", "Show the keys that work here", app.action_help)
    yield SystemCommand("Next theme", "Dark, light, the terminal's own, high contrast", app.action_next_theme)
    yield SystemCommand("Quit", "End the program; agents go on", app.exit)


def _session_commands(main: MainScreen) -> Iterator[SystemCommand]:
    """For the session that is read, else the one under the cursor."""
    yield SystemCommand("Compare", "Two marked sessions, or a fork and its origin, side by side", main.actions.diff)
    yield SystemCommand("Edits", "All edits of the session as one diff, by file", main.actions.edits)
    yield SystemCommand("Export", "As Markdown, HTML, JSON, JSON lines or a patch, into a file", main.actions.export)
    yield SystemCommand("Copy", "Message, code, output, an id or a command", main.actions.copy)
    yield SystemCommand("Resume", "Continue the session in the agent's own CLI", main.actions.resume)
    yield SystemCommand("Fork", "A new session that starts with the messages of this one", main.actions.fork)
    yield SystemCommand("What the agent sees", "Dim what it no longer sees, or show all", main.context.toggle)
    yield SystemCommand("Read in the pager", "The session as Markdown in $PAGER", main.actions.pager)
    yield SystemCommand("Open in the editor", "The session as Markdown in $EDITOR", main.actions.editor)
