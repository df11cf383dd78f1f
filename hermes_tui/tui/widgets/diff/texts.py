"""Two texts side by side as rows of marked spans, folded to a width.

How many rows there are is known at once; which words changed is found out when a row is looked at, because in long
sessions with many changes that takes seconds, and a screen shows a few of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from hermes_tui.display import count_lines, safe
from hermes_tui.sessions.diff.wording import ChangedSpan, changed, wording
from hermes_tui.tui.widgets.transcript.layout.cut_text import fold

__all__ = ["MOST_LINES", "FoldedText", "Piece", "Texts"]

MOST_LINES = 30
"""Rows of one message that are shown until all of it is asked for."""
_MOST_CHARACTERS = 200_000

Piece = tuple[str, bool]
"""A text, and whether it is one of the words that changed."""


class FoldedText:
    """One text, folded."""

    def __init__(self, text: str, width: int, *, everything: bool) -> None:
        """`text` is safe for a terminal."""
        # Of a text that is cut, no more is folded than the rows that are shown have room for.
        most = _MOST_CHARACTERS if everything else MOST_LINES * max(width, 20)
        self.rows: list[str] = []
        self.left_out = count_lines(text[most:])
        """How many lines are not shown."""
        self._starts: list[int] = []
        at = 0
        for line in text[:most].rstrip("\n").split("\n"):
            place = 0
            for row in fold([line], width, words=True):
                place = line.find(row, place)
                self._starts.append(at + place)
                self.rows.append(row)
                place += len(row)
            at += len(line) + 1
        if not everything and len(self.rows) > MOST_LINES:
            self.left_out += len(self.rows) - MOST_LINES
            del self.rows[MOST_LINES:], self._starts[MOST_LINES:]

    def marked(self, changes: Sequence[tuple[int, int]]) -> list[list[Piece]]:
        """The rows; `changes` are (start, end) in the text, in order."""
        ends = [end for _, end in changes]
        rows: list[list[Piece]] = []
        for start, row in zip(self._starts, self.rows, strict=True):
            first = bisect_right(ends, start)
            last = bisect_left(changes, (start + len(row), 0))
            pieces: list[Piece] = []
            at = 0
            # Of a change that reaches into the row, what lies in it.
            for change in changes[first:last]:
                begin, end = max(0, change[0] - start), min(len(row), change[1] - start)
                if at < begin:
                    pieces.append((row[at:begin], False))
                pieces.append((row[begin:end], True))
                at = end
            if at < len(row):
                pieces.append((row[at:], False))
            rows.append(pieces)
        return rows


class Texts:
    """What two messages say, or the one that there is."""

    def __init__(self, a: str | None, b: str | None, width: int, *, everything: bool) -> None:
        """None for a message that is not there; at least one is."""
        self._a, self._b = (None if text is None else safe(text, keep_newlines=True) for text in (a, b))
        self.sides = tuple(
            None if text is None else FoldedText(text, width, everything=everything) for text in (self._a, self._b)
        )

    @cached_property
    def _spans(self) -> Sequence[ChangedSpan]:
        return wording(self._a, self._b) if self._a is not None and self._b is not None else ()

    @cached_property
    def _marked(self) -> tuple[list[list[Piece]], ...]:
        sides: tuple[Literal["-", "+"], ...] = ("-", "+")
        return tuple(
            [] if side is None else side.marked(changed(self._spans, mark))
            for side, mark in zip(self.sides, sides, strict=True)
        )

    @property
    def whole(self) -> bool:
        """All of it went or came: its words need no marks of their own."""
        return not any(span.mark == " " for span in self._spans)

    def row(self, side: int, at: int) -> Sequence[Piece]:
        """A row of the first (0) or second (1) side; empty below its last."""
        rows = self._marked[side]
        return rows[at] if at < len(rows) else ()
