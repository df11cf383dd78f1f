"""The lines of the attention screen: sessions below the headings of their groups."""

from __future__ import annotations

from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.attention.rows import AttentionRow, row_parts
from hermes_tui.tui.widgets.record_table import RecordTable
from hermes_tui.tui.widgets.styled import Parts

__all__ = ["AttentionTable"]


class AttentionTable(RecordTable[AttentionRow], inherit_bindings=False):
    """The cursor rests on sessions alone."""

    BINDINGS = bindings("attention")

    def may_rest(self, at: int) -> bool:
        """On a session."""
        return bool(self.rows[at].identity)

    def extent(self, at: int) -> tuple[int, int]:
        """With the heading above it."""
        return (at - 1, at) if at and not self.may_rest(at - 1) else (at, at)

    def parts(self, at: int) -> Parts:
        """A heading, or a session in the columns that there is room for."""
        return row_parts(self.rows[at], self.size.width, cursor=at == self.cursor)

    def action_open(self) -> None:
        """Ask for the session, or say that there is none."""
        if self.highlighted is None:
            self.notify("There is no session here to open.")
        super().action_open()
