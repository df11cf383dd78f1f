"""The text of one side as rows of marked pieces: safe, cut, and folded to a width with the marks kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hermes_tui.display import count_lines, safe
from hermes_tui.sessions.diff.wording import Span
from hermes_tui.widgets.transcript.text import fold

__all__ = ["MOST_LINES", "Piece", "folded"]

MOST_LINES = 30
"""Rows of one message that are shown until all of it is asked for."""
_MOST_CHARACTERS = 200_000

Piece = tuple[str, bool]
"""A text, and whether it is one of the words that changed."""


def folded(spans: Sequence[Span], side: str, width: int, *, everything: bool) -> tuple[list[list[Piece]], int]:
    """(rows, how many lines were left out) of the side `-` or `+`."""
    text, marks = _marked(spans, side)
    most = _MOST_CHARACTERS if everything else MOST_LINES * max(width, 20)
    left_out = count_lines(text[most:])
    text, marks = text[:most].rstrip("\n"), marks[:most]
    rows: list[list[Piece]] = []
    at = 0
    for line in text.split("\n"):
        place = 0
        for row in fold([line], width, words=True):
            found = line.find(row, place)
            place = found + len(row)
            rows.append(list(_pieces(row, marks[at + found : at + place])))
        at += len(line) + 1
    if not everything and len(rows) > MOST_LINES:
        left_out += len(rows) - MOST_LINES
        rows = rows[:MOST_LINES]
    return rows, left_out


def _marked(spans: Sequence[Span], side: str) -> tuple[str, list[bool]]:
    texts: list[str] = []
    marks: list[bool] = []
    for span in spans:
        if span.mark not in (" ", side):
            continue
        shown = safe(span.text, keep_newlines=True)
        texts.append(shown)
        marks.extend([span.mark == side] * len(shown))
    return "".join(texts), marks


def _pieces(row: str, marks: Sequence[bool]) -> Iterator[Piece]:
    begin = 0
    for at in range(1, len(row) + 1):
        if at == len(row) or marks[at] != marks[begin]:
            yield row[begin:at], marks[begin]
            begin = at
