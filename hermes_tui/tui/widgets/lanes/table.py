"""The table of lanes: one line each below a heading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.message import Message
from textual.strip import Strip

from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.cells import pad, width_of
from hermes_tui.tui.widgets.lanes.columns import COLUMNS, GAP, RESETS, SESSION, STATE, LaneRow, column_widths, shorter
from hermes_tui.tui.widgets.styled import Part, Parts, RowView, looks

__all__ = ["LaneTable"]


class LaneTable(RowView, can_focus=True, inherit_bindings=False):
    """New data draws the lines that look different."""

    COMPONENT_CLASSES: ClassVar[set[str]] = looks(
        "cursor", "heading", "faint", "live", "idle", "accent", "warning", "error"
    )
    BINDINGS = bindings("lanes")
    HEAD = 1

    class Moved(Message):
        """The cursor is on another lane, or that one has changed."""

    class Opened(Message):
        """The conversation of the lane under the cursor is wanted."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: tuple[LaneRow, ...] = ()
        self._note = ""
        self._fitted: tuple[Sequence[LaneRow], int, list[int]] = (), -1, []
        """For which lines and width the columns were fitted last, and theirs."""

    @property
    def rows(self) -> Sequence[LaneRow]:
        """The lines."""
        return self._rows

    @property
    def count(self) -> int:
        """How many lanes there are."""
        return len(self._rows)

    @property
    def highlighted(self) -> LaneRow | None:
        """The line under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    def show(self, rows: Sequence[LaneRow], note: str = "") -> None:
        """Show these, or `note` where there are none. The cursor stays on its lane."""
        new = tuple(rows)
        if (new, note) == (self._rows, self._note):
            return
        before, lines = self.highlighted, self._rows
        self._note = note
        self._rows = new
        found = [at for at, row in enumerate(new) if before is not None and row.identity == before.identity]
        cursor = found[0] if found else min(max(self.cursor, 0), len(new) - 1)
        same_shape = len(lines) == len(new) and cursor == self.cursor and self._widths(lines) == self._widths(new)
        self.cursor, top = cursor, self.scroll_offset.y
        self.fit()
        if same_shape and lines and top == self.scroll_offset.y:
            for at, (one, other) in enumerate(zip(lines, new, strict=True)):
                if one != other:
                    self.draw(at)
        else:
            self.refresh()
        if self.highlighted != before:
            self.moved()

    def moved(self) -> None:
        """Say it."""
        self.post_message(self.Moved())

    # Drawing -----------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """The head, or a lane, or why there is none."""
        if y == 0 and self._rows:
            widths = self._widths(self._rows)
            heads = zip(COLUMNS, widths, strict=True)
            cells = [(pad(column.head, width, right=column.right), "heading") for column, width in heads if width]
            return self.strip(_spaced("   ", cells))
        if y == 2 and not self._rows:
            return self.strip([(f"  {self._note}", "faint")])
        return super().render_line(y)

    def parts(self, at: int) -> Parts:
        """A lane, in the columns that there is room for."""
        row, widths, cursor = self._rows[at], self._widths(self._rows), at == self.cursor
        shown = []
        for number, (column, text, width) in enumerate(zip(COLUMNS, row.texts, widths, strict=True)):
            if width:
                quiet = number in (3, 4, 5) and not cursor
                purpose = row.state.style if number == STATE else "faint" if quiet else ""
                if number == SESSION:
                    text = shorter(text, width)
                elif number == RESETS and width_of(text) > width:
                    text = row.briefly or text
                shown.append((pad(text, width, right=column.right), purpose))
        return _spaced(" ▸ " if cursor else "   ", shown)

    def _widths(self, rows: Sequence[LaneRow]) -> list[int]:
        if self._fitted[0] is not rows or self._fitted[1] != self.size.width:
            self._fitted = rows, self.size.width, column_widths(rows, self.size.width - 4)
        return self._fitted[2]

    def action_open(self) -> None:
        """Ask for the conversation."""
        if self.highlighted is not None:
            self.post_message(self.Opened())

    def on_mouse_scroll_down(self) -> None:
        """One down."""
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        """One up."""
        self.action_move(-1)


def _spaced(mark: str, cells: Parts) -> list[Part]:
    """The cells of a line behind its mark, blanks between them."""
    gaps = [mark, *[" " * GAP] * (len(cells) - 1)]
    return [part for gap, cell in zip(gaps, cells, strict=True) for part in ((gap, ""), cell)] or [(mark, "")]
