"""Screens that take no other size than the terminal's own."""

from __future__ import annotations

from textual import events
from textual.screen import Screen, ScreenResultType

__all__ = ["CurrentSize"]


class CurrentSize(Screen[ScreenResultType]):
    """Base of every screen.

    Textual tells a screen its own new size after each layout, as it tells any widget, and the screen takes that for
    the terminal's. With two sizes on their way to it at once (the terminal changed twice while the program was busy)
    each would be laid out, told and laid out again, in turns and for ever.
    """

    async def on_event(self, event: events.Event) -> None:
        """An older size is the one that the terminal has by now: another one may have been replaced by it."""
        if isinstance(event, events.Resize) and event.size != self.app.size:
            event = events.Resize(self.app.size, self.app.size)
        await super().on_event(event)
