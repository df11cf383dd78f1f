"""`t` with several sessions marked: tags for all of them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input, Static

from hermes_tui.display import compact, counted, safe
from hermes_tui.errors import ValidationError
from hermes_tui.sessions.marks import MAX_TAG, MAX_TAGS, MarkChange
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.dismissal import Dialog
from hermes_tui.tui.screens.dialogs.export import ARMED_AFTER
from hermes_tui.tui.widgets.search_box import TextInput
from session_adapters.model import SessionSummary

__all__ = ["TagsScreen"]


class TagsScreen(Dialog[MarkChange]):
    """Gives what is to be changed of each; None when it was left, or nothing was typed."""

    AUTO_FOCUS = "#tags"
    BINDINGS = bindings("marks")

    def __init__(self, sessions: Sequence[SessionSummary]) -> None:
        super().__init__(f"Tags of {counted(len(sessions), 'marked session')}", "↵ save")
        self._sessions = sessions
        self._shown_at = time.monotonic()

    def body(self) -> ComposeResult:
        """A line to type in, and which sessions it is about."""
        yield Static("tags to add; with a minus before it, one to take away: review -draft", classes="faint")
        field = TextInput(id="tags", max_length=MAX_TAGS * (MAX_TAG + 2))
        field.cursor_blink = False
        yield field
        titles = ", ".join(one.title or "untitled" for one in self._sessions)
        yield Static(compact(titles, 300), classes="faint", markup=False)

    @on(Input.Submitted)
    def action_save(self) -> None:
        """Take it as it stands."""
        if time.monotonic() - self._shown_at < ARMED_AFTER:
            return
        words = self.query_one("#tags", Input).value.replace(",", " ").split()
        try:
            change = MarkChange(
                tag=tuple(word for word in words if not word.startswith("-")),
                untag=tuple(word[1:] for word in words if word.startswith("-")),
            )
        except ValidationError as error:
            self.notify(f"{safe(str(error))}.", severity="warning", markup=False)
            return
        self.dismiss(change if change != MarkChange() else None)
