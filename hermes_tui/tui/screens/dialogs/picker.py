"""Base of dialogs in which one picks something by typing words of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input

from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.dismissal import Dialog
from hermes_tui.tui.widgets.search_box import TextInput
from hermes_tui.tui.widgets.styled import RowView

__all__ = ["FoundRows", "Picker"]

_LONGEST = 200

Item = TypeVar("Item")


class FoundRows(RowView, Generic[Item], can_focus=False, inherit_bindings=False):
    """The items that match, with a cursor. The keys go to the box above. A subclass gives `parts` and `haystack`."""

    NOTHING = ""
    """What is said where no item has all the words."""

    class Clicked(Message):
        """One was clicked twice."""

    def __init__(self, items: Sequence[Item]) -> None:
        super().__init__()
        self._all = [(self.haystack(one), one) for one in items]
        self.found: list[Item] = list(items)
        self._words: list[str] = []
        self.cursor = 0

    def haystack(self, item: Item) -> str:
        """What is searched of it, lower-case."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """How many match."""
        return len(self.found)

    def highlighted(self, text: str) -> Item | None:
        """Under the cursor, if it has every word of `text`: what was just typed may not have been looked for yet."""
        one = self.found[self.cursor] if 0 <= self.cursor < len(self.found) else None
        return one if one is not None and all(word in self.haystack(one) for word in text.lower().split()) else None

    def search(self, text: str) -> None:
        """Show those that have every word."""
        self._words = text.lower().split()
        self.found = [one for haystack, one in self._all if all(word in haystack for word in self._words)]
        self.cursor = 0
        self.fit()
        self.jump(0)
        self.refresh()

    def add(self, items: Sequence[Item]) -> None:
        """There are more, below."""
        added = [(self.haystack(one), one) for one in items]
        self._all += added
        self.found += [one for haystack, one in added if all(word in haystack for word in self._words)]
        self.fit()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One item, or why there is none."""
        if not self.found and y == 0:
            return self.strip([(f" {self.NOTHING}", "faint")])
        return super().render_line(y)

    def action_open(self) -> None:
        """Say that it is chosen."""
        self.post_message(self.Clicked())


class Picker(Dialog["Item | None"], Generic[Item]):
    """Gives the item that was chosen; None when it was left."""

    AUTO_FOCUS = "Input"
    BINDINGS = bindings("picker")

    def __init__(self, heading: str, placeholder: str, rows: FoundRows[Item]) -> None:
        super().__init__(heading, "↵ choose")
        self._placeholder = placeholder
        self.rows = rows

    def body(self) -> ComposeResult:
        """The box, what was found."""
        box = TextInput(placeholder=self._placeholder, max_length=_LONGEST, select_on_focus=False)
        box.cursor_blink = False
        yield box
        yield self.rows

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self.rows.search(event.value)

    @on(Input.Submitted)
    @on(FoundRows.Clicked)
    def action_choose(self) -> None:
        """Take what is under the cursor."""
        chosen = self.rows.highlighted(self.query_one(Input).value)
        if chosen is not None:
            self.dismiss(chosen)

    def action_move(self, step: int) -> None:
        """Up or down."""
        self.rows.action_move(step)

    def action_page(self, step: int) -> None:
        """A page up or down."""
        self.rows.action_page(step)
