"""A window on a conversation, typed: a strategy and a size of one's own."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from hermes_tui.config import ContextWindow
from hermes_tui.display import safe
from hermes_tui.errors import ValidationError
from hermes_tui.sessions.context.window_choice import parse_window
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.dismissal import Dialog
from hermes_tui.tui.widgets.line import Line
from hermes_tui.tui.widgets.search_box import TextInput

__all__ = ["WindowScreen"]

_LONGEST = 60
_HELP = "buffer_window:N messages, token_window:N tokens, summary_buffer:N tokens"


class WindowScreen(Dialog[ContextWindow | None]):
    """Gives the window that was typed; None when it was left."""

    AUTO_FOCUS = "Input"
    BINDINGS = bindings("menu")

    def __init__(self, text: str) -> None:
        """`text` stands there at first."""
        super().__init__("A window of another size")
        self._text = text

    def body(self) -> ComposeResult:
        """The field, what can be typed."""
        field = TextInput(self._text, max_length=_LONGEST, select_on_focus=False)
        field.cursor_blink = False
        yield field
        yield Line(id="dialog-help")

    def on_mount(self) -> None:
        """Say what can be typed."""
        self._say(_HELP, "faint")

    def _say(self, text: str, style: str) -> None:
        self.query_one("#dialog-help", Line).show([(f" {safe(text)}", style)])

    @on(Input.Changed)
    def _typed(self) -> None:
        self._say(_HELP, "faint")

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """Take it, where it makes sense."""
        try:
            window = parse_window(self.query_one(Input).value)
        except ValidationError as error:
            self._say(str(error), "warning")
        else:
            self.dismiss(window)
