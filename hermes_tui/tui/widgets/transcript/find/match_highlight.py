"""Highlights the matches of a search in the drawn rows of a transcript."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from hermes_tui.tui.widgets.transcript.jumps import show_at
from hermes_tui.tui.widgets.transcript.layout.block_writer import ALL, OPEN
from hermes_tui.tui.widgets.transcript.layout.heights import MessageHeight
from hermes_tui.tui.widgets.transcript.layout.segments import Rendered
from hermes_tui.tui.widgets.transcript.view import View, VisibleRow

if TYPE_CHECKING:
    from hermes_tui.sessions.search.within import Within

__all__ = ["UncoveredMatch", "highlight", "highlighted_rows"]


def _first_match_row(rendered: Rendered, within: Within) -> int | None:
    """The first row of a message with a match."""
    for piece, start in zip(rendered.pieces, rendered.starts, strict=True):
        texts = [row if isinstance(row, str) else "".join(part.text for part in row) for row in piece.rows]
        spans = within.spans("\n".join(texts)) if piece.name != "header" else []
        if spans:
            begins = list(accumulate((len(text) + 1 for text in texts), initial=0))
            return start + bisect_right(begins, spans[0].start) - 1
    return None


def highlighted_rows(
    rows: Sequence[VisibleRow], strips: Sequence[Strip], within: Within, style: Style
) -> list[Strip]:
    """The strips of these rows (others may follow) with all matches in `style`."""
    found = list(strips)
    begin = 0
    while begin < len(rows):
        # A phrase may go on in the next row of the same piece.
        piece = rows[begin].rendered.at(rows[begin].position.line)[0]
        end = begin + 1
        while end < len(rows) and rows[end].rendered.at(rows[end].position.line)[0] is piece:
            end += 1
        if piece.name != "header":
            # The first column is the mark of the block that the cursor is in.
            texts = [f" {strip.text[1:].rstrip()}" for strip in strips[begin:end]]
            spans = within.spans("\n".join(texts))
            at = 0
            for number, text in enumerate(texts, begin):
                here = [(max(0, a - at), min(len(text), b - at)) for a, b in spans if a < at + len(text) and b > at]
                found[number] = highlight(strips[number], here, style)
                at += len(text) + 1
        begin = end
    return found


def highlight(strip: Strip, spans: Sequence[tuple[int, int]], style: Style) -> Strip:
    """The strip with these characters of its text in another style."""
    text = strip.text
    # A strip is cut by cells, of which a character may take two.
    cuts = [edge if text.isascii() else cell_len(text[:edge]) for span in spans for edge in span]
    if not cuts:
        return strip
    parts = list(strip.divide([*cuts, strip.cell_length]))
    for index in range(1, len(parts), 2):  # every second part is a match
        if index < len(cuts):
            parts[index] = Strip(Segment.apply_style(parts[index], post_style=style), parts[index].cell_length)
    return Strip.join(parts)


class UncoveredMatch:
    """What was opened for the latest match, to be closed again."""

    def __init__(self) -> None:
        self._in: tuple[MessageHeight, Mapping[str, int]] | None = None
        """The message, and what was open in it before."""

    def go_to(self, view: View, index: int, within: Within | None, block: str) -> None:
        """Put the cursor on the block of an entry, or else on its first lit word, or else on its beginning, a third
        down the screen; the first block with a lit word is opened where none is in sight."""
        line = view.rendered(index).head(block) if block else None
        if within is not None and line is None:
            line = self._row_of_match(view, index, within)
        show_at(view, view.near(index, line or 0))

    def _row_of_match(self, view: View, index: int, within: Within) -> int | None:
        rendered = view.rendered(index)
        if (row := _first_match_row(rendered, within)) is not None:
            return row
        entry = view.column.entries[index]
        before = entry.levels
        # One block at a time, and all of one only where the beginning of none has a match.
        for level in (OPEN, ALL):
            for block in sorted(rendered.folds | rendered.cuts):
                view.set_levels(index, {**(before or {}), block: level})
                line = _first_match_row(view.rendered(index), within)
                if line is not None:
                    self._in = entry, before or {}
                    return line
        view.set_levels(index, before or {})
        return None

    def cover(self, view: View) -> None:
        """Close it, where the view still has it."""
        uncovered, self._in = self._in, None
        if uncovered is not None and uncovered[0] in view.column.entries:
            view.set_levels(view.column.entries.index(uncovered[0]), uncovered[1])
