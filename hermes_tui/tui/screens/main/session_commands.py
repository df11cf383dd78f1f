"""What the palette offers for a session: the same as its keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.app import SystemCommand

if TYPE_CHECKING:
    from hermes_tui.tui.screens.main.screen import MainScreen

__all__ = ["session_commands"]


def session_commands(main: MainScreen) -> Iterator[SystemCommand]:
    """For the session that is read, else the one under the cursor."""
    yield SystemCommand("Compare", "Two marked sessions, or a fork and its origin, side by side", main.action_diff)
    yield SystemCommand("Export", "As Markdown, HTML, JSON or JSON lines, into a file", main.action_export)
    yield SystemCommand("Copy", "Message, code, output, an id or a command", main.action_copy)
    yield SystemCommand("Resume", "Go on with the session in its agent's own program", main.action_resume)
    yield SystemCommand("Fork", "Begin a new session with what was said in this one", main.action_fork)
    yield SystemCommand("What the agent sees", "Dim what it no longer does, or undo that", main.action_context)
    yield SystemCommand("Read in the pager", "The session as Markdown in $PAGER", main.action_pager)
    yield SystemCommand("Open in the editor", "The session as Markdown in $EDITOR", main.action_editor)
