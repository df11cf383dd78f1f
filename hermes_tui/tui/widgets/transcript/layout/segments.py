"""The segments of a rendered message, each part of a block that keys act on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from hermes_tui.tui.widgets.transcript.layout.cut_text import CUT_LINES

__all__ = ["MORE", "NOTE", "Piece", "Rendered", "RowPlace", "TranscriptStyles"]

NOTE = "note"
"""The name of the piece that says that earlier messages are not loaded; it never serves as an anchor."""


MORE = "more"
"""How the name of the piece ends that says what was cut of another one, after the name of that."""


class TranscriptStyles(NamedTuple):
    """The styles of a transcript, each for one purpose; from the component classes of the pane."""

    user: Style
    agent: Style
    meta: Style
    prose: Style
    prompt: Style
    tool: Style
    target: Style
    output: Style
    thinking: Style
    notice: Style
    rule: Style
    error: Style
    added: Style
    removed: Style
    more: Style


class Piece:
    """Consecutive rows of one message. Rows of plain text are kept as text and become segments when painted, so that
    200,000 of them cost little."""

    __slots__ = ("block", "indent", "lines", "name", "rows", "style")

    def __init__(
        self,
        block: str,
        name: str,
        rows: list[str] | list[list[Segment]],
        style: Style | None = None,
        indent: int = 0,
        lines: Sequence[int] = (),
    ) -> None:
        self.block = block
        """What enter acts on; empty for rows that belong to nothing (a gap, a divider)."""
        self.name = name
        """Unique within the message, and the same in every rendering of it."""
        self.rows = rows
        self.lines = lines
        """Of a text that may be cut: the row in which each of its first lines begins, and the first one after those
        that are shown of a cut text. A long line has more rows when all of it is shown."""
        self.style = style
        self.indent = indent

    def segments(self, row: int) -> list[Segment]:
        """The segments of one row."""
        content = self.rows[row]
        made = [Segment(content, self.style)] if isinstance(content, str) else content
        return [Segment(" " * self.indent), *made] if self.indent else made


class RowPlace(NamedTuple):
    """A row of a message, told so that it is found again after the message was rendered anew."""

    name: str
    row: int
    rows: int
    """How many rows the piece had, so that the same part of it can be found at another width."""
    line: int = -1
    """The line of text that the row is part of, where that is known."""
    part: int = 0
    """Which row of that line."""


class Rendered:
    """A message laid out for one width."""

    __slots__ = ("cuts", "folds", "height", "muted", "pieces", "starts")

    def __init__(self, pieces: list[Piece], *, muted: bool, folds: set[str], cuts: set[str]) -> None:
        self.pieces = [piece for piece in pieces if piece.rows]
        self.starts = [0, *accumulate(len(piece.rows) for piece in self.pieces)]
        self.height = self.starts.pop()
        self.muted = muted
        """Shown dim: not part of what the agent sees, or not this session's own."""
        self.folds = folds
        """Blocks that can be opened and closed."""
        self.cuts = cuts
        """Blocks of which not everything is shown."""

    def at(self, line: int) -> tuple[Piece, int]:
        """The piece that holds row `line`, and the row within it. Raises `IndexError` outside of the message."""
        if not 0 <= line < self.height:
            raise IndexError(line)
        index = bisect_right(self.starts, line) - 1
        return self.pieces[index], line - self.starts[index]

    def place(self, line: int) -> RowPlace:
        """Where row `line` is, for `find` in another rendering."""
        piece, row = self.at(line)
        number = bisect_right(piece.lines, row) - 1
        part = row - piece.lines[number] if number >= 0 else 0
        return RowPlace(piece.name, row, len(piece.rows), number, part)

    def find(self, place: RowPlace) -> int:
        """The row that shows what `place` showed; the nearest one where that is gone."""
        names = {piece.name for piece in self.pieces}
        for piece, start in zip(self.pieces, self.starts, strict=True):
            rows, lines = len(piece.rows), (*piece.lines, len(piece.rows))
            if piece.name == place.name and rows != place.rows and 0 <= place.line < len(piece.lines):
                return start + min(lines[place.line] + place.part, lines[place.line + 1] - 1)
            if piece.name == place.name:
                row = place.row if rows == place.rows else place.row * rows // place.rows
                return start + min(row, rows - 1)
            if f"{piece.name}{MORE}" == place.name and place.name not in names:
                # All is shown now: go on with what was not.
                return start + (piece.lines[CUT_LINES] if len(piece.lines) > CUT_LINES else rows - 1)
        head = place.name.partition(".")[0]
        return next((start for piece, start in zip(self.pieces, self.starts, strict=True) if piece.block == head), 0)

    def head(self, block: str) -> int:
        """The first row of a block."""
        return next((start for piece, start in zip(self.pieces, self.starts, strict=True) if piece.block == block), 0)
