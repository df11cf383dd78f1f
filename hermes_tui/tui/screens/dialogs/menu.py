"""A short list of things to choose from, each with a key of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.geometry import Size

from hermes_tui.cells import fit, width_of
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.dismissal import LEAVE, Dialog
from hermes_tui.tui.widgets.styled import Parts, RowView

__all__ = ["MenuChoice", "MenuScreen"]

_AROUND = 5
"""Lines of a dialog that are no choices, and of the screen around it."""


class MenuChoice(NamedTuple):
    """One line. Texts must be safe for a terminal already."""

    key: str
    """A single character that chooses it at once."""
    label: str
    detail: str = ""


class _Choices(RowView, can_focus=True, inherit_bindings=False):
    """The lines, with a cursor."""

    BINDINGS = bindings("menu")

    def __init__(self, choices: Sequence[MenuChoice], width: int, at: int) -> None:
        """`width`: columns that are wanted in any case. `at`: the line that the cursor is on."""
        super().__init__()
        self._choices = list(choices)
        self._width = width
        self._column = max((width_of(one.label) for one in choices if one.detail), default=0)
        self.cursor = at

    @property
    def count(self) -> int:
        """How many choices there are."""
        return len(self._choices)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A line for each, as many as there is room for in a dialog."""
        return min(len(self._choices), max(1, viewport.height - _AROUND))

    def get_content_width(self, container: object, viewport: object) -> int:
        """What the longest takes, the line above included."""
        details = [6 + self._column + width_of(one.detail) for one in self._choices if one.detail]
        return max(self._width, *details, *(6 + width_of(one.label) for one in self._choices))

    def parts(self, at: int) -> Parts:
        """One choice."""
        one, room = self._choices[at], self.size.width - 4
        label = fit(one.label, room).ljust(min(self._column, max(0, room)))
        detail = fit(one.detail, room - 2 - width_of(label))
        return [(f" {one.key or ' '} ", "key"), (f" {label}", ""), (f"  {detail}", "faint")]

    def action_move(self, step: int) -> None:
        """Up (-1) or down (1), round and round."""
        self.go((self.cursor + step) % self.count)

    def change_line(self, at: int, choice: MenuChoice) -> None:
        """Show another one in the place of a line."""
        self._choices[at] = choice
        self.refresh()


class MenuScreen(Dialog[str]):
    """Gives the key of what was chosen; None when it was left."""

    AUTO_FOCUS = "_Choices"

    def __init__(self, heading: str, choices: Sequence[MenuChoice], *, note: str = "", at: int = 0) -> None:
        """`note`: what is to be known of the lines. `at`: the one that the cursor is on at first."""
        super().__init__(heading, note)
        self._list = _Choices(choices, width_of(heading) + width_of(note) + width_of(LEAVE) + 5, at)
        self.choices = choices

    @property
    def cursor(self) -> int:
        """The line that it is on, from 0."""
        return self._list.cursor

    def given(self, at: int) -> str:
        """What choosing the line gives."""
        return self.choices[at].key

    def body(self) -> ComposeResult:
        """The choices."""
        yield self._list

    def change_line(self, at: int, choice: MenuChoice) -> None:
        """Show another one in the place of a line, with the same key and no longer."""
        self._list.change_line(at, choice)

    def on_key(self, event: events.Key) -> None:
        """The character of a choice chooses it, unless somebody gave it another meaning."""
        keys = [one.key for one in self.choices]
        if event.character and event.character in keys and event.key not in self.active_bindings:
            event.stop()
            self.dismiss(self.given(keys.index(event.character)))

    def action_choose(self) -> None:
        """Choose what the cursor is on."""
        self.dismiss(self.given(self.cursor))
