"""The figures as a table of a Markdown document, which is written anew as a whole."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.measures import Row

__all__ = ["BEGIN", "END", "figure", "markdown", "put"]

BEGIN, END = "<!-- figures of make bench -->", "<!-- end of the figures -->"
_BEFORE = "## It only reads"
"""Where the table goes in a document that has none yet."""


def figure(value: float | None) -> str:
    """A number with as many digits as are of use; a dash for none."""
    return "–" if value is None else f"{value:,.{0 if value >= 100 else 2}f}"


def markdown(rows: Sequence[Row], size: str, large: str, runs: int) -> str:
    """The table, with what it was measured on. What fast-resume does not do is left empty."""
    processors = os.cpu_count() or 1
    taken = "one run" if runs == 1 else f"medians of {runs} runs"
    lines = [
        f"Measured on {date.today()}, {platform.machine()} with {processors} processors, Python"
        f" {platform.python_version()}; corpora {size} and {large} of `make_corpus.py`, {taken}.",
        "",
        "| | hermes-tui | fast-resume 2.14.0 | aim |",
        "|---|---:|---:|---:|",
    ]
    for row in rows:
        theirs = "" if row.theirs is None else f"{figure(row.theirs)} {row.unit}"
        what = row.measure.replace("|", "\\|")
        lines.append(f"| {what} | {figure(row.ours)} {row.unit} | {theirs} | {row.aim} |")
    return "\n".join(lines)


def put(document: Path, table: str) -> None:
    """Write the table between the marks of the document, or as a section of its own where there are none. Raises
    `ValueError` where there is no place for it."""
    text = document.read_text(encoding="utf-8")
    block = f"{BEGIN}\n{table}\n{END}"
    if BEGIN in text and END in text:
        before, _, rest = text.partition(BEGIN)
        text = before + block + rest.partition(END)[2]
    elif f"\n{_BEFORE}\n" in text:
        text = text.replace(f"\n{_BEFORE}\n", f"\n## How fast it is\n\n{block}\n\n{_BEFORE}\n", 1)
    else:
        raise ValueError(f"{document} has neither {BEGIN} nor {_BEFORE!r}")
    document.write_text(text, encoding="utf-8")
