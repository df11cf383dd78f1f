"""A cache of laid-out messages, at the current width and folding.

Knows no terminal. A row is named by its message and where in it, because the heights of messages that were not laid
out yet are estimates.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from hermes_tui.tui.widgets.transcript.layout.block_writer import OPEN, SHUT
from hermes_tui.tui.widgets.transcript.layout.blocks import MessageLayout
from hermes_tui.tui.widgets.transcript.layout.context import context_of
from hermes_tui.tui.widgets.transcript.layout.heights import MessageColumn, MessageHeight
from hermes_tui.tui.widgets.transcript.layout.segments import Rendered

__all__ = ["LayoutCache", "Position", "is_tool"]

_KEPT_ROWS = 4_000
"""A hundred screens: to lay a message out again takes less than to read it."""


class Position(NamedTuple):
    """A row: an entry's index and the row within it."""

    entry: int
    line: int


class LayoutCache:
    """The column of messages, and those of its rows that were needed lately."""

    def __init__(self) -> None:
        self.column = MessageColumn()
        self.complete = True
        self.tools = SHUT
        self.thinking = SHUT
        self.layout: MessageLayout | None = None
        self._cache: OrderedDict[MessageHeight, Rendered] = OrderedDict()
        self._cached_rows = 0
        self._partings: dict[int, int] = {}
        self.since: datetime | None = None
        """A line stands above the first message that came after it."""
        self._first_new: MessageHeight | None = None

    @property
    def is_ready(self) -> bool:
        """Whether there is anything to show, and a size to show it in."""
        return self.layout is not None and self.column.total > 0

    # Laying out

    def forget(self, first: int = 0) -> None:
        """Drop what was laid out from entry `first` on."""
        if first <= 0:
            self._cache.clear()
            self._cached_rows = 0
            return
        for entry in self.column.entries[first:]:
            self.drop(entry)

    def drop(self, entry: MessageHeight) -> None:
        """Have a message laid out anew when it is needed."""
        rendered = self._cache.pop(entry, None)
        if rendered is not None:
            self._cached_rows -= rendered.height

    def rendered(self, index: int) -> Rendered:
        """Entry `index` laid out; its true height is known afterwards."""
        entry = self.column.entries[index]
        found = self._cache.get(entry)
        if found is not None:
            self._cache.move_to_end(entry)
            return found
        if self.layout is None:
            raise RuntimeError("a view has to be given its size before it can be asked for rows")
        branches = self._partings.get(index, 0)
        context = context_of(self.column, index, self.layout.clock, complete=self.complete, branches=branches)
        if entry is self._first_new:
            context = context._replace(since=self.since)
        found = self.layout.render(entry.message, context, lambda block: self.level(entry, block))
        self.column.set_height(index, found.height)
        self._cache[entry] = found
        self._cached_rows += found.height
        while self._cached_rows > _KEPT_ROWS and len(self._cache) > 1:
            self._cached_rows -= self._cache.popitem(last=False)[1].height
        return found

    def level(self, entry: MessageHeight, block: str) -> int:
        """How much of a block is shown."""
        if entry.levels and block in entry.levels:
            return entry.levels[block]
        if is_tool(block):
            return self.tools
        return self.thinking if block == "think" else OPEN if block == "prose" else SHUT

    def set_levels(self, index: int, levels: Mapping[str, int]) -> None:
        """Show so much of these blocks of an entry."""
        entry = self.column.entries[index]
        entry.levels = dict(levels) or None
        self.drop(entry)

    # Finding rows

    def step(self, position: Position, rows: int) -> Position:
        """The row that many rows below (above, when negative), or the last (first) one there is."""
        index, line = position
        line += rows
        while line < 0:
            before = self.column.shown(index - 1, -1)
            if before is None:
                return Position(index, 0)
            index = before
            line += self.rendered(index).height
        while line >= (height := self.rendered(index).height):
            after = self.column.shown(index + 1, 1)
            if after is None:
                return Position(index, max(height - 1, 0))
            line -= height
            index = after
        return Position(index, line)

    def near(self, index: int, line: int) -> Position:
        """The nearest row that exists."""
        if not self.is_ready:
            return Position(0, 0)
        index = min(max(index, 0), len(self.column) - 1)
        found = self.column.shown(index, 1)
        if found is None:
            found = self.column.shown(index, -1)
        if found is None:
            return Position(0, 0)
        height = self.rendered(found).height
        return Position(found, min(max(line, 0), max(height - 1, 0)) if found == index else 0)

    @property
    def first(self) -> Position:
        """The first row."""
        return self.near(0, 0)

    @property
    def last(self) -> Position:
        """The last row."""
        index = self.column.shown(len(self.column) - 1, -1)
        return (
            Position(0, 0)
            if index is None or not self.is_ready
            else Position(index, max(self.rendered(index).height - 1, 0))
        )


def is_tool(block: str) -> bool:
    """Whether a block is a tool call or what came of it."""
    return block.startswith("tool") or block == "result"
