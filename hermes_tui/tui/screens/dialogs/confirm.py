"""A dialog to confirm an action: heading, text, buttons; the first says no.

A key that was typed ahead agrees to nothing: yes counts only once the text has been on the screen, and no key has
come, for a moment (law 9).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.screen import ScreenResultType

from hermes_tui.tui.screens.dialogs.dismissal import Dialog
from hermes_tui.tui.widgets.buttons import Buttons
from hermes_tui.tui.widgets.line import Line
from hermes_tui.tui.widgets.page import Page, Paragraph

__all__ = ["ConfirmScreen"]


class ConfirmScreen(Dialog[ScreenResultType | None]):
    """Subclass, `ask` when it is known what about, and have every yes go through `agreed`. None means no."""

    AUTO_FOCUS = "Page"
    QUIET: ClassVar[float] = 0.4
    """Seconds for which the text must have been on the screen, and no key have come, before yes counts."""

    def __init__(self, heading: str) -> None:
        """`heading`, safe for a terminal, is shown until there is more to say."""
        super().__init__(heading)
        self.shown_at = float("inf")
        self._last_key = 0.0
        self._quiet = 0.0
        """Seconds without a key before the latest one."""

    def body(self) -> ComposeResult:
        """Text and buttons."""
        yield Page()
        yield Buttons()

    def ask(self, heading: str, blocks: Sequence[Paragraph], *words: str, refused: bool = False) -> None:
        """Show this, with buttons beside the one that says no; the time for which it is seen begins anew."""
        self.shown_at = float("inf")  # until it is painted: no key that comes before can be meant
        self.heading = heading
        self.head("error" if refused else "bright")
        self.query_one(Page).show(blocks)
        self.query_one(Buttons).show("Cancel", *words)

        def painted() -> None:
            self.shown_at = time.monotonic()

        self.call_after_refresh(painted)

    def on_key(self, event: events.Key) -> None:
        """Remember when it came: as the terminal gave it, not as its turn came."""
        self._quiet = event.time - max(self._last_key, self.shown_at)
        self._last_key = event.time

    def agreed(self) -> bool:
        """Whether the key that says yes can be meant; says so where it came too soon."""
        if self._quiet >= self.QUIET:
            return True
        title = self.query_one("#dialog-title", Line)
        title.show(title.parts[0], [("too soon; once more ", "warning")])
        return False

    # Actions -----------------------------------------------------------------------------------------------

    def action_turn(self, step: int = 1) -> None:
        """The other button."""
        self.query_one(Buttons).turn(step)
