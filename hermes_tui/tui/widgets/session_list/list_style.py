"""How one row of the session list looks: its text in the styles of the theme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from hermes_tui.tui.widgets.session_list.list_columns import RowTexts

__all__ = ["Painter", "Parts"]

Parts = Sequence[tuple[str, str]]
"""Texts and their purposes."""


class Painter(NamedTuple):
    """Everything that a row's looks depend on besides the row itself."""

    writer: RowTexts
    base: Style
    style: Callable[[str], Style]
    """Purpose → style to lay over the base."""

    def strip(self, parts: Parts, cursor: Style | None) -> Strip:
        """The parts of a row, as `RowTexts.parts` gives them, as a line; `cursor` is laid under everything where the
        cursor is."""
        segments = [Segment(text, self.style_of(purpose, cursor)) for text, purpose in parts if text]
        return Strip(segments).adjust_cell_length(self.writer.width, self.style_of("", cursor)).simplify()

    def style_of(self, purpose: str, cursor: Style | None) -> Style:
        """How text of that purpose looks, where the cursor is or elsewhere; without a purpose, what is behind it."""
        base = self.base if cursor is None else self.base + cursor
        # Reversed colours would turn every colour of the text into a patch.
        plain = not purpose or (cursor is not None and cursor.reverse and purpose != "heading")
        return base if plain else base + self.style(purpose)
