"""Asks for the title that a session of Hermes is to have."""

from __future__ import annotations

import time

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input, Static

from hermes_tui.display import safe
from hermes_tui.errors import ValidationError
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.dismissal import Dialog
from hermes_tui.tui.screens.dialogs.export import ARMED_AFTER
from hermes_tui.tui.widgets.search_box import TextInput

__all__ = ["RenameScreen"]


class RenameScreen(Dialog[str]):
    """Gives the title as Hermes would keep it, empty to take it away; None when it was left."""

    AUTO_FOCUS = "#title"
    BINDINGS = bindings("rename")

    def __init__(self, title: str) -> None:
        """`title`: that it has now, safe for a terminal."""
        super().__init__("Rename the session", "↵ plan")
        self._title = title
        self._shown_at = time.monotonic()

    def body(self) -> ComposeResult:
        """A line to type in."""
        field = TextInput(self._title, id="title", select_on_focus=False)
        field.cursor_blink = False
        yield field
        yield Static("Empty: no title. The plan is shown before anything is changed.", classes="faint")

    def on_mount(self) -> None:
        """Count from when it is there."""
        super().on_mount()
        self._shown_at = time.monotonic()

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """Take it as it stands, unless Hermes would not."""
        from hermes_tui.lifecycle.state_db.titles import sanitize_title

        if time.monotonic() - self._shown_at < ARMED_AFTER:
            return
        try:
            title = sanitize_title(self.query_one("#title", Input).value)
        except ValidationError as error:
            self.notify(safe(str(error)), severity="warning", markup=False)
        else:
            self.dismiss(title or "")
