"""Measures and cuts text in terminal columns.

Some characters take two, some none.
"""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

__all__ = ["fit", "pad", "pad_end", "width_of"]


def width_of(text: str) -> int:
    """Columns that `text` takes."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, width: int) -> str:
    """`text` in at most `width` columns, with `…` where it was cut."""
    if width <= 0:
        return ""
    if width_of(text) <= width:
        return text
    if width == 1:
        return "…"
    return set_cell_size(text, width - 1).rstrip() + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """`text` in exactly `width` columns, cut or filled with blanks; `right` aligns it to the right."""
    shown = fit(text, width)
    blanks = " " * (width - width_of(shown))
    return blanks + shown if right else shown + blanks


def pad_end(text: str, width: int) -> str:
    """`text` in exactly `width` columns, of what is too long its end: of names that begin alike it tells more."""
    at = 0
    while width > 0 and width_of(text) - width_of(text[:at]) > width - (at > 0):
        at += 1
    return pad(f"…{text[at:]}" if at else text, width)
