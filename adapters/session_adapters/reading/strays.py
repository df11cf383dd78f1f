"""Lines of a file, and those that hold no record.

Of millions, which would each be noted, one stands for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["STRAYS", "Line", "Run"]

STRAYS = 1000
"""Lines without a record, one after the other, that are given one by one: of millions each would be noted."""


class Line(NamedTuple):
    """One line of a file."""

    offset: int
    data: bytes
    """Without the newline; empty when `too_long`."""
    complete: bool = True
    """It ends with a newline. Only the last one may not: a writer is in the middle of it. Half a record at the end of
    a file that nobody has written to for a minute counts as complete: it is damaged."""
    too_long: int = 0
    """Where it is too long to be read: how many bytes it has; 1 where its ends were not looked for."""
    more: int = 0
    """Where it stands for lines without a record that follow `STRAYS` such lines: how many; `too_long` are their
    bytes."""

    @property
    def excess(self) -> str:
        """Why a line that is `too_long` is not read."""
        if self.more:
            return f"{self.more:,} more lines without a record"
        return "the line is too long to be read" + (f" ({self.too_long:,} bytes)" if self.too_long > 1 else "")


class Run:
    """Lines without a record that follow each other."""

    def __init__(self) -> None:
        self.length = 0
        self.start = 0
        """Where those begin that are over `STRAYS`."""

    def pass_over(self, part: bytes) -> int:
        """Bytes of whole lines without a record that `part` begins with, when there were many before. Blank ones
        among them count."""
        if self.length <= STRAYS:
            return 0
        brace = part.find(b"{")
        end = part.rfind(b"\n", 0, brace if brace >= 0 else None) + 1
        self.length += part.count(b"\n", 0, end)
        return end

    def ended(self, offset: int) -> Iterator[Line]:
        """What stands for those that were left out, up to the offset."""
        more, self.length = self.length - STRAYS, 0
        if more > 0:
            yield Line(self.start, b"", too_long=offset - self.start, more=more)
