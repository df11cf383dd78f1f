"""`t` with several sessions marked: tags for all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from textual.app import ComposeResult
from textual.widgets import Input, Static

from hermes_tui.display import compact, counted
from hermes_tui.sessions.marks import MAX_TAG, MAX_TAGS, MarkChange
from hermes_tui.tui.screens.dialogs.marks import KeepingDialog
from hermes_tui.tui.widgets.search_box import TextInput
from session_adapters.model import SessionSummary

__all__ = ["TagsScreen"]


class TagsScreen(KeepingDialog):
    """Tags of several sessions."""

    AUTO_FOCUS = "#tags"

    def __init__(self, sessions: Sequence[SessionSummary], keep: Callable[[MarkChange], Awaitable[object]]) -> None:
        """`keep`: as in `KeepingDialog`."""
        super().__init__(f"Tags of {counted(len(sessions), 'marked session')}", "↵ save", keep)
        self._sessions = sessions

    def body(self) -> ComposeResult:
        """A line to type in, and which sessions it is about."""
        yield Static("tags to add; with a minus before it, one to take away: review -draft", classes="faint")
        field = TextInput(id="tags", max_length=MAX_TAGS * (MAX_TAG + 2))
        field.cursor_blink = False
        yield field
        titles = ", ".join(one.title or "untitled" for one in self._sessions)
        yield Static(compact(titles, 300), classes="faint", markup=False)

    @property
    def change(self) -> MarkChange:
        """See `KeepingDialog`."""
        words = self.query_one("#tags", Input).value.replace(",", " ").split()
        return MarkChange(
            tag=tuple(word for word in words if not word.startswith("-")),
            untag=tuple(word[1:] for word in words if word.startswith("-")),
        )
