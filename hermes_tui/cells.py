"""Measures and cuts text in terminal columns, by Rich's table for both faces.

Some characters take two, some none. The screen is drawn by that table, so that nothing else can be asked of it; and
Python's own is another one with each version of Python.
"""

from __future__ import annotations

import re

__all__ = ["fit", "pad", "pad_end", "width_of"]

_is_narrow = re.compile("[ -~\xa0-\xac\xae-\u02ff\u2010-\u2027\u2190-\u2193\u2500-\u257f\u2605\ufffd]*").fullmatch
"""Of characters that take one column each: what tables are made of does without Rich, which takes milliseconds."""


def width_of(text: str) -> int:
    """Columns that `text` (already `safe`) takes."""
    if text.isascii() or _is_narrow(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit(text: str, width: int) -> str:
    """`text` in at most `width` columns, with `…` where it was cut."""
    if width <= 0:
        return ""
    if width_of(text) <= width:
        return text
    if width == 1:
        return "…"
    if _is_narrow(text):
        return text[: width - 1].rstrip() + "…"
    from rich.cells import set_cell_size

    return set_cell_size(text, width - 1).rstrip() + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """`text` in exactly `width` columns, cut or filled with blanks; `right` aligns it to the right."""
    shown = fit(text, width)
    blanks = " " * (width - width_of(shown))
    return blanks + shown if right else shown + blanks


def pad_end(text: str, width: int) -> str:
    """`text` in exactly `width` columns, of what is too long its end: of names that begin alike it tells more."""
    at = 0
    # As soon as something is cut off, a column goes to the `…`.
    while width > 0 and width_of(text) - width_of(text[:at]) > width - (at > 0):
        at += 1
    return pad(f"…{text[at:]}" if at else text, width)
