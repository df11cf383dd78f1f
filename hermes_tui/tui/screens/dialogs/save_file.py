"""Asks where a file is to be written that must not be there yet."""

from __future__ import annotations

import time
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input, Static

from hermes_tui.sessions.export.target import expanded
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.dismissal import Dialog
from hermes_tui.tui.screens.dialogs.export import ARMED_AFTER
from hermes_tui.tui.widgets.search_box import TextInput

__all__ = ["SaveFile"]


class SaveFile(Dialog[Path]):
    """Gives a path at which there was nothing; None when it was left."""

    AUTO_FOCUS = "#file"
    BINDINGS = bindings("save")

    def __init__(self, heading: str, path: Path) -> None:
        """`heading` is safe for a terminal; `path` is suggested."""
        super().__init__(heading, "↵ write")
        self._path = path
        self._shown_at = time.monotonic()

    def body(self) -> ComposeResult:
        """A line to type in, and what will not happen."""
        field = TextInput(str(self._path), id="file", select_on_focus=False)
        field.cursor_blink = False
        yield field
        yield Static("A file that is there already stays as it is.", classes="faint")

    def on_mount(self) -> None:
        """Count from when it is there."""
        super().on_mount()
        self._shown_at = time.monotonic()

    @on(Input.Submitted)
    def action_write(self) -> None:
        """Take it as it stands."""
        if time.monotonic() - self._shown_at < ARMED_AFTER:
            return
        path = Path(self.query_one("#file", Input).value.strip())
        if not path.name or expanded(path).is_dir():
            self.notify("Give the name of a file.", severity="warning", markup=False)
        elif expanded(path).exists():
            self.notify("There is such a file already: give another name.", severity="warning", markup=False)
        else:
            self.dismiss(path)
