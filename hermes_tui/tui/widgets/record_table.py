"""Base of tables that show records, each known by its identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from textual.message import Message
from textual.strip import Strip

from hermes_tui.tui.widgets.styled import NotedRows, Parts

__all__ = ["RecordTable"]


class _HasIdentity(Protocol):
    @property
    def identity(self) -> object: ...


Record = TypeVar("Record", bound=_HasIdentity)


class RecordTable(NotedRows, Generic[Record], can_focus=True, inherit_bindings=False):
    """The cursor stays on its record when there are others. New data draws the lines that look different.

    A subclass gives `parts`, and `heads` where it has heads.
    """

    class Opened(Message):
        """What the record under the cursor stands for is wanted."""

    GAP, MARGIN = 1, 2

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: tuple[Record, ...] = ()

    @property
    def rows(self) -> Sequence[Record]:
        """All lines but the heads."""
        return self._rows

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._rows)

    @property
    def highlighted(self) -> Record | None:
        """The line under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    def heads(self) -> Parts:
        """What stands above the columns, where `HEAD` has room for it; nothing without lines."""
        return ()

    def show(self, rows: Sequence[Record], note: str = "") -> None:
        """Show these, or `note` where there are none."""
        if (tuple(rows), note) == (self._rows, self.note):
            return
        before, drawn, top = self.highlighted, self._drawn(), self.scroll_offset.y
        self._rows, self.note = tuple(rows), note
        found = (at for at, row in enumerate(rows) if before is not None and row.identity == before.identity)
        self.cursor = next(found, self.nearest(self.cursor if before is not None else 0))
        self.fit()
        after = self._drawn()
        # Line by line, where each stands where it stood; other heads mean other columns in all of them.
        if len(after) == len(drawn) and self._rows and top == self.scroll_offset.y and after[0] == drawn[0]:
            for at, (one, other) in enumerate(zip(drawn[1:], after[1:], strict=True)):
                if one != other:
                    self.draw(at)
        else:
            self.refresh()
        if self.highlighted != before:
            self.moved()

    def _drawn(self) -> Sequence[Parts]:
        return [self.heads(), *(self.parts(at) for at in range(self.count))]

    def render_line(self, y: int) -> Strip:
        """A head, a line, or why there is none."""
        return self.strip(self.heads()) if y < self.HEAD and self._rows else super().render_line(y)

    def action_open(self) -> None:
        """Ask for what the record stands for."""
        if self.highlighted is not None:
            self.post_message(self.Opened())

    def on_mouse_scroll_down(self) -> None:
        """One down."""
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        """One up."""
        self.action_move(-1)
