"""Dialogs that close once, however many closing keys come in one read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.screen import ModalScreen, ScreenResultType

from hermes_tui.tui.screens.current_size import CurrentSize
from hermes_tui.tui.widgets.line import Line

__all__ = ["LEAVE", "Dialog", "DismissOnce"]

LEAVE = "esc leaves "
"""What stands at the right of every heading."""


class DismissOnce(CurrentSize[ScreenResultType]):
    """Base of every screen that is left by a key.

    A second key may have been on its way to the screen when the first one dismissed it. Textual would take the screen
    below away for it, or end the program where there is none.

    The workers of the screen and of its widgets end with it. Textual ends them too, but only when the widgets are
    already gone: a worker that looked for one of them in between would end the program.
    """

    is_left = False
    """It was dismissed: what comes for it later, by a timer or a thread, has nothing to be shown in."""

    _is_put_up = False

    @property
    def is_there(self) -> bool:
        """It has its widgets, and was not left: what comes for it can be shown."""
        return self._is_put_up and not self.is_left

    async def on_event(self, event: events.Event) -> None:
        """One that was left while it was put up has no widgets, and is not told that it is there."""
        if isinstance(event, events.Mount):
            if self.is_left:
                return
            self._is_put_up = True
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

    def action_close(self) -> None:
        """Leave without a result."""
        self.dismiss(None)


class Dialog(ModalScreen[ScreenResultType], DismissOnce[ScreenResultType]):
    """Base of every screen that stands in front of another: a heading, and a body below it. Its style sheet is that
    of its first base."""

    def __init__(self, heading: str, note: str = "") -> None:
        """Both are safe for a terminal; the `note` stands at the right of the heading."""
        super().__init__()
        self.heading = heading
        self.note = note

    def compose(self) -> ComposeResult:
        """Heading and body."""
        with Vertical(classes="dialog"):
            yield Line(id="dialog-title")
            yield from self.body()

    def body(self) -> ComposeResult:
        """What stands below the heading."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Show the heading."""
        self.head()

    def head(self, style: str = "bright") -> None:
        """Show heading and note as they are now."""
        note = f"{self.note}  {LEAVE}" if self.note else LEAVE
        self.query_one("#dialog-title", Line).show([(f" {self.heading}", style)], [(note, "faint")])
