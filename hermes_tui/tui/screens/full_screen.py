"""Base of the screens that take all of the terminal: title, body, hints."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import ScreenResultType

from hermes_tui.tui.screens.dialogs.dismissal import DismissOnce
from hermes_tui.tui.widgets.hints import Hints
from hermes_tui.tui.widgets.line import Line, Parts

__all__ = ["FullScreen"]


class FullScreen(DismissOnce[ScreenResultType]):
    """Subclass, and give the `body`."""

    without: tuple[str, ...] = ()
    """Ids of keys that get no hint."""

    def compose(self) -> ComposeResult:
        """Title, body, hints."""
        yield Line(id="title")
        yield from self.body()
        yield Hints(id="hints")

    def body(self) -> ComposeResult:
        """What stands between title and hints."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Show the hints."""
        self.call_after_refresh(self.show_hints)

    def show_hints(self) -> None:
        """Show the keys that work here now."""
        self.query_one(Hints).show_keys(self.without)

    def show_title(self, left: Parts, right: Parts = ()) -> None:
        """Show this above."""
        self.query_one("#title", Line).show(left, right)
