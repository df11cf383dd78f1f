"""Writes the blocks of a message: one line that opens, a cut body, a change."""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style

from hermes_tui.cells import fit, width_of
from hermes_tui.tui.widgets.transcript.layout.cut_text import CUT_LINES, excerpt, fold, whole
from hermes_tui.tui.widgets.transcript.layout.segments import MORE, Piece, TranscriptStyles

__all__ = ["ALL", "BODY", "OPEN", "SHUT", "BlockWriter"]

SHUT, OPEN, ALL = 0, 1, 2
"""How much of a block is shown: its one line; its beginning; everything."""
BODY = 4
"""Cells before what is inside a block."""


class BlockWriter:
    """The pieces of one message, from above."""

    def __init__(self, palette: TranscriptStyles, width: int, level: Callable[[str], int]) -> None:
        """`level` is asked how much of a block is to be shown."""
        self.palette = palette
        self.width = width
        self.level = level
        self.pieces: list[Piece] = []
        self.folds: set[str] = set()
        """Blocks that can be opened and closed."""
        self.cuts: set[str] = set()
        """Blocks of which more can be shown."""

    def line(self, block: str, name: str, row: list[Segment]) -> None:
        """A row of its own."""
        self.pieces.append(Piece(block, name, [row]))

    def rule(self, text: str, style: Style) -> list[Segment]:
        """A line across, with words in it."""
        words = fit(f"── {text} ", self.width)
        return [Segment(words + "─" * (self.width - width_of(words)), style)]

    def one_line(
        self,
        mark: str,
        label: str,
        style: Style,
        text: str,
        text_style: Style,
        notes: list[str],
        failed: bool = False,
    ) -> list[Segment]:
        """`▸ Bash   pytest -x …   exit 1 · 4.2 s`: the notes at the right edge, the text cut to what is between."""
        left = f"{mark} {label}"
        # The last notes go where they would leave the text less than some 12 cells, and take more than a third.
        while notes and len(" · ".join(notes)) > max(self.width - len(left) - 12, self.width // 3):
            notes = notes[:-1]
        right = " · ".join(notes)
        label_room = max(self.width - (len(right) + 2 if right else 0), 4)
        left = fit(left, label_room)
        room = label_room - width_of(left) - 2
        middle = fit(text, room) if room > 3 else ""
        row = [Segment(left[:2], self.palette.meta), Segment(left[2:], style)]
        if middle:
            row.append(Segment("  " + middle, text_style))
        if right:
            used = width_of(left) + (2 + width_of(middle) if middle else 0)
            row.append(Segment(" " * max(self.width - used - width_of(right), 1)))
            row.append(Segment(right, self.palette.error + Style(bold=False) if failed else self.palette.meta))
        return row

    def folded(
        self,
        block: str,
        label: str,
        style: Style,
        text: str,
        text_style: Style,
        notes: list[str],
        failed: bool = False,
    ) -> None:
        """The one line of a block that can be opened."""
        self.folds.add(block)
        mark = "▸" if self.level(block) == SHUT else "▾"
        self.line(block, block, self.one_line(mark, label, style, text, text_style, notes, failed))

    def body(self, block: str, text: str, style: Style, *, words: bool = False) -> None:
        """What is inside a block, if it is open."""
        if self.level(block) != SHUT:
            self.text(block, f"{block}.body", text, style, indent=BODY, words=words)

    def text(self, block: str, name: str, text: str, style: Style, *, indent: int, words: bool = False) -> None:
        """Plain text, cut unless all of it was asked for."""
        part = whole(text) if self.level(block) == ALL else excerpt(text)
        width = max(self.width - indent, 1)
        rows: list[str] = []
        starts: list[int] = []
        for line in part.lines[: CUT_LINES + 1]:
            starts.append(len(rows))
            rows += fold([line], width, words=words)
        rows += fold(part.lines[CUT_LINES + 1 :], width, words=words)
        self.pieces.append(Piece(block, name, rows, style, indent, starts))
        if part.hidden or part.shortened:
            self._more(block, f"{name}{MORE}", part.hidden, part.shortened, indent)

    def diff(self, block: str, lines: list[tuple[str, str]]) -> None:
        """Lines with the marks of a change."""
        styles = {
            "+": self.palette.added,
            "-": self.palette.removed,
            " ": self.palette.output,
            "@": self.palette.target,
        }
        room = self.width - BODY - 2
        everything = self.level(block) == ALL
        shown = lines if everything else lines[:CUT_LINES]
        rows: list[list[Segment]] = []
        starts: list[int] = []
        for mark, line in shown:
            starts.append(len(rows))
            part = whole(line) if everything else excerpt(line, 1)
            for number, row in enumerate(fold(part.lines or [""], room)):
                sign = "" if mark == "@" else f"{mark} " if number == 0 else "  "
                rows.append([Segment(sign + row, styles[mark])])
        self.pieces.append(Piece(block, f"{block}.diff", rows, indent=BODY, lines=starts[: CUT_LINES + 1]))
        if len(shown) < len(lines):
            self._more(block, f"{block}.diff{MORE}", len(lines) - len(shown), 0, BODY)

    def _more(self, block: str, name: str, hidden: int, shortened: int, indent: int) -> None:
        said = [f"{hidden:,} more {'line' if hidden == 1 else 'lines'}"] if hidden else []
        if shortened:
            said.append(f"{shortened:,} long {'line' if shortened == 1 else 'lines'} cut")
        if self.level(block) == ALL:
            text = "… " + ", ".join(said) + " than can be shown here"
        else:
            self.cuts.add(block)
            text = "… " + ", ".join(said) + " — press o to see all"
        self.pieces.append(
            Piece(block, name, [[Segment(fit(text, self.width - indent), self.palette.more)]], indent=indent)
        )
