"""Plain text for the transcript: made safe, cut to lines, folded to a width.

Nothing here costs more for a text of a gigabyte than for one of a megabyte, except counting its lines.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len, chop_cells

from hermes_tui.display import compact, count_lines, safe

__all__ = ["CUT_LINES", "LINE_LENGTH", "Excerpt", "compact", "count_lines", "excerpt", "fold", "whole"]

CUT_LINES = 200
"""Lines of a long text that are shown until all of it is asked for."""
LINE_LENGTH = 1000
"""Characters of a long line that are shown until all of it is asked for."""
MOST = 4_000_000
"""Characters of one text that are shown at all."""
_TAB = 4


class Excerpt(NamedTuple):
    """The beginning of a text."""

    lines: list[str]
    """Safe for a terminal, tabs expanded."""
    hidden: int
    """Lines left out."""
    shortened: int
    """Lines shown without their end."""


def _clean(line: str) -> str:
    return safe(line.expandtabs(_TAB) if "\t" in line else line)


def excerpt(text: str, lines: int = CUT_LINES) -> Excerpt:
    """The first lines of `text`, each at most `LINE_LENGTH` characters and an ellipsis."""
    taken: list[str] = []
    shortened = 0
    start = 0
    while start < len(text) and len(taken) < lines:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + LINE_LENGTH)]
        if end - start > LINE_LENGTH:
            shortened += 1
            line += "…"
        taken.append(_clean(line.removesuffix("\r")))
        start = end + 1
    return Excerpt(taken, count_lines(text[start:]) if start < len(text) else 0, shortened)


def whole(text: str) -> Excerpt:
    """All of `text`, up to `MOST` characters."""
    shown = text if len(text) <= MOST else text[:MOST]
    lines = [_clean(line.removesuffix("\r")) for line in shown.removesuffix("\n").split("\n")] if shown else []
    return Excerpt(lines, count_lines(text[MOST:]), 0)


def fold(lines: list[str], width: int, *, words: bool = False) -> list[str]:
    """`lines` broken into rows of at most `width` cells, between words where `words` is set and it can be."""
    rows: list[str] = []
    for line in lines:
        if len(line) <= width and (line.isascii() or cell_len(line) <= width):
            rows.append(line)
        elif words:
            rows.extend(_fold_words(line, width))
        elif line.isascii():
            rows.extend(line[start : start + width] for start in range(0, len(line), width))
        else:
            rows.extend(chop_cells(line, width) or [""])
    return rows


def _fold_words(line: str, width: int) -> list[str]:
    rows: list[str] = []
    narrow = line.isascii()
    start = 0
    while start < len(line):
        if narrow:
            piece = line[start : start + width]
        else:
            # The longest beginning that fits; never empty.
            ahead = line[start : start + 2 * width]
            piece = next((part for part in chop_cells(ahead, width) if part), ahead)
        end = start + len(piece)
        if end < len(line) and not line[end].isspace():
            space = piece.rfind(" ")
            # An indented line must not lose its indent to an empty row.
            if space > 0 and not piece[:space].isspace():
                end = start + space + 1
        rows.append(line[start:end].rstrip())
        start = end
        while start < len(line) and line[start] == " ":
            start += 1
    return rows or [""]
