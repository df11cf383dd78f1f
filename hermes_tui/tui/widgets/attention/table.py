"""The lines of the attention screen: sessions below the headings of their groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.message import Message
from textual.strip import Strip

from hermes_tui.tui.agent_colours import AGENT_COLOURS
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.attention.rows import AttentionRow, row_parts
from hermes_tui.tui.widgets.styled import Parts, RowView, looks

__all__ = ["AttentionTable"]


class AttentionTable(RowView, can_focus=True, inherit_bindings=False):
    """The cursor rests on sessions alone. New data draws the lines that look different."""

    COMPONENT_CLASSES: ClassVar[set[str]] = looks(
        *("cursor", "heading", "faint", "needs", "live", "idle", "accent", "warning", "error"),
        *(f"agent-{number}" for number in range(AGENT_COLOURS)),
    )
    BINDINGS = bindings("attention")

    class Moved(Message):
        """The cursor is on another session, or that one has changed."""

    class Opened(Message):
        """The session under the cursor is wanted."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: tuple[AttentionRow, ...] = ()
        self._note = ""

    @property
    def rows(self) -> Sequence[AttentionRow]:
        """The lines, headings included."""
        return self._rows

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._rows)

    def may_rest(self, at: int) -> bool:
        """On a session."""
        return bool(self._rows[at].identity)

    def extent(self, at: int) -> tuple[int, int]:
        """With the heading above it."""
        return (at - 1, at) if at and not self.may_rest(at - 1) else (at, at)

    @property
    def highlighted(self) -> AttentionRow | None:
        """The line under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    def show(self, rows: Sequence[AttentionRow], note: str) -> None:
        """Show these, or `note` where there are none. The cursor stays on its session."""
        if (tuple(rows), note) == (self._rows, self._note):
            return
        before, drawn, top = self.highlighted, self._drawn(), self.scroll_offset.y
        self._rows, self._note = tuple(rows), note
        found = (at for at, row in enumerate(rows) if before is not None and row.identity == before.identity)
        self.cursor = next(found, self.nearest(self.cursor if before is not None else 0))
        self.fit()
        after = self._drawn()
        if len(after) == len(drawn) and drawn and top == self.scroll_offset.y:
            for at, (one, other) in enumerate(zip(drawn, after, strict=True)):
                if one != other:
                    self.draw(at)
        else:
            self.refresh()
        if self.highlighted != before:
            self.moved()

    def _drawn(self) -> Sequence[Parts]:
        return [self.parts(at) for at in range(self.count)]

    def moved(self) -> None:
        """Say it."""
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """A line, or why there is none."""
        if y == 1 and not self._rows:
            return self.strip([(f"  {self._note}", "faint")])
        return super().render_line(y)

    def parts(self, at: int) -> Parts:
        """A heading, or a session in the columns that there is room for."""
        return row_parts(self._rows[at], self.size.width, cursor=at == self.cursor)

    def action_open(self) -> None:
        """Ask for the session."""
        if self.highlighted is not None:
            self.post_message(self.Opened())
        else:
            self.notify("There is no session here to open.")

    def on_mouse_scroll_down(self) -> None:
        """One down."""
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        """One up."""
        self.action_move(-1)
