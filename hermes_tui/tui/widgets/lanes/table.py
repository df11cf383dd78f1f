"""The table of lanes: one line each below a heading."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.cells import pad, width_of
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.lanes.columns import COLUMNS, GAP, RESETS, SESSION, STATE, LaneRow, column_widths, shorter
from hermes_tui.tui.widgets.record_table import RecordTable
from hermes_tui.tui.widgets.styled import Part, Parts

__all__ = ["LaneTable"]


class LaneTable(RecordTable[LaneRow], inherit_bindings=False):
    """Columns are as wide as what stands in them, as far as there is room."""

    BINDINGS = bindings("lanes")
    HEAD = 1

    _fitted: tuple[Sequence[LaneRow], int, list[int]] = (), -1, []
    """For which lines and width the columns were fitted last, and theirs."""

    def heads(self) -> Parts:
        """The names of the columns."""
        if not self.rows:
            return ()
        heads = zip(COLUMNS, self._widths(), strict=True)
        return _spaced(
            "   ", [(pad(column.head, width, right=column.right), "caption") for column, width in heads if width]
        )

    def parts(self, at: int) -> Parts:
        """A lane, in the columns that there is room for."""
        row, cursor = self.rows[at], at == self.cursor
        shown = []
        for number, (column, text, width) in enumerate(zip(COLUMNS, row.texts, self._widths(), strict=True)):
            if width:
                quiet = number in (3, 4, 5) and not cursor  # session, last and tokens
                purpose = row.state.style if number == STATE else "faint" if quiet else ""
                if number == SESSION:
                    text = shorter(text, width)
                elif number == RESETS and width_of(text) > width:
                    text = row.briefly or text
                shown.append((pad(text, width, right=column.right), purpose))
        return _spaced(" ▸ " if cursor else "   ", shown)

    def _widths(self) -> list[int]:
        rows = self.rows
        if self._fitted[0] is not rows or self._fitted[1] != self.size.width:
            self._fitted = rows, self.size.width, column_widths(rows, self.size.width - 4)
        return self._fitted[2]


def _spaced(mark: str, cells: Parts) -> list[Part]:
    """The cells of a line behind its mark, blanks between them."""
    gaps = [mark, *[" " * GAP] * (len(cells) - 1)]
    return [part for gap, cell in zip(gaps, cells, strict=True) for part in ((gap, ""), cell)] or [(mark, "")]
