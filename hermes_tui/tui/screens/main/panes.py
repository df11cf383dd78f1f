"""Which of the main screen's panes are to be seen."""

from __future__ import annotations

from collections.abc import Callable

from hermes_tui.tui.screens.main.parts import MainParts

__all__ = ["Panes"]


class Panes:
    """Shows list, transcript and preview side by side, or one of them where there is room for one only."""

    def __init__(self, parts: MainParts, is_searching: Callable[[], bool]) -> None:
        self._parts = parts
        self._is_searching = is_searching
        self.is_reading = False
        """Where there is room for one pane only: it is the transcript."""

    def turn_to(self, *, reading: bool) -> None:
        """Show the transcript, or the list, where there is room for one of them."""
        self.is_reading = reading
        self.arrange()

    def arrange(self) -> None:
        """Show the right ones. Not by a class of the screen, which would give everything on it new styles: that takes
        longer than to read a session."""
        parts, wide, searching = self._parts, self._parts.is_wide, self._is_searching()
        alone = "none" if self.is_reading and not wide else None
        parts.sessions.styles.display = parts.detail.styles.display = alone
        # Also where it would be shown anyway: between two sizes it must not lose the keys.
        parts.pane.styles.display = "block" if self.is_reading else "none" if wide and searching else None
        parts.preview.styles.display = "block" if wide and searching and not self.is_reading else "none"
