"""Base of dialogs in which one picks something by typing words of it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
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
        """`items` may grow; see `take_more`."""
        super().__init__()
        self.items = items
        self.places = array("I", range(len(items)))
        """Indexes of those that match."""
        self._looked_at = len(items)
        self._words: list[str] = []
        self.cursor = 0

    def haystack(self, place: int) -> str:
        """What is searched of the item with that index, lower-case."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """How many match."""
        return len(self.places)

    def item(self, at: int) -> Item:
        """The one that is shown there."""
        return self.items[self.places[at]]

    def highlighted(self, text: str) -> Item | None:
        """Under the cursor, if it has every word of `text`: what was just typed may not have been looked for yet."""
        at = self.cursor
        return self.item(at) if 0 <= at < self.count and self._has(self.places[at], text.lower().split()) else None

    def search(self, text: str) -> None:
        """Show those that have every word."""
        self._words = text.lower().split()
        self.places = array("I", self._matches(range(self._looked_at)))
        self.cursor = 0
        self.fit()
        self.jump(0)
        self.refresh()

    def take_more(self) -> None:
        """Show those that were put behind the items, too."""
        self.places.extend(self._matches(range(self._looked_at, len(self.items))))
        self._looked_at = len(self.items)
        self.fit()
        self.refresh()

    def _matches(self, places: Iterable[int]) -> Iterable[int]:
        return (place for place in places if self._has(place, self._words))

    def _has(self, place: int, words: Sequence[str]) -> bool:
        haystack = self.haystack(place)
        return all(word in haystack for word in words)

    def render_line(self, y: int) -> Strip:
        """One item, or why there is none."""
        if not self.places and y == 0:
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
