"""The line above the lanes to type words into, which filters the table."""

from __future__ import annotations

from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.lanes.table import LaneTable
from hermes_tui.tui.widgets.search_box import QueryBox

__all__ = ["LaneFilter"]


class LaneFilter(QueryBox):
    """Shown while somebody types; the title says what is left out then."""

    BINDINGS = bindings("lanefilter")

    def __init__(self, table: LaneTable) -> None:
        """`table` has the keys before and after."""
        super().__init__("words of a lane: platform, chat, who, state, session, key", id="lane-filter")
        self.highlighter = None
        self._table = table

    def open(self) -> None:
        """Let somebody type. The focus moves at once: the next key may be in the same read."""
        self.styles.display = "block"
        self.screen.set_focus(self)

    def clear_words(self) -> bool:
        """Show all lanes again; whether some were left out."""
        had = bool(self.value)
        self.value = ""
        self.action_keep()
        return had

    def action_keep(self) -> None:
        """Give the keys to the table."""
        self.screen.set_focus(self._table)
        self.styles.display = "none"

    def action_leave(self) -> None:
        """Show all lanes again."""
        self.clear_words()

    def action_move(self, step: int) -> None:
        """Move the table's cursor, and stay in the box."""
        self._table.action_move(step)
