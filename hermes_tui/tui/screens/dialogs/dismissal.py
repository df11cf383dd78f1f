"""Dialogs that close once, however many closing keys come in one read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import events
from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, Screen, ScreenResultType

__all__ = ["Dialog", "DismissOnce"]


class DismissOnce(Screen[ScreenResultType]):
    """Base of every screen that is left by a key.

    A second key may have been on its way to the screen when the first one dismissed it. Textual would take the screen
    below away for it, or end the program where there is none.

    The workers of the screen and of its widgets end with it. Textual ends them too, but only when the widgets are
    already gone: a worker that looked for one of them in between would end the program.
    """

    is_left = False
    """It was dismissed: what comes for it later, by a timer or a thread, has nothing to be shown in."""

    async def on_event(self, event: events.Event) -> None:
        """One that was left while it was put up has no widgets, and is not told that it is there."""
        if not (self.is_left and isinstance(event, events.Mount)):
            await super().on_event(event)

    def call_after_refresh(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        """As Textual has it; nothing where the screen was left before."""

        def unless_left() -> object:
            return None if self.is_left else callback(*args, **kwargs)

        return super().call_after_refresh(unless_left)

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Leave, unless the screen is left already or another one is above it."""
        if self.app.screen is not self:
            return AwaitComplete()
        self.is_left = True
        for node in self.walk_children(with_self=True):
            self.workers.cancel_node(node)
        return super().dismiss(result)


class Dialog(ModalScreen[ScreenResultType], DismissOnce[ScreenResultType]):
    """Base of every screen that stands in front of another. Its style sheet is that of its first base."""
