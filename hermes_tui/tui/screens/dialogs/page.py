"""A screen that is one page of text with a title: help and problems."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from hermes_tui.tui.screens.dialogs.dismissal import DismissOnce
from hermes_tui.tui.widgets.hints import Hints
from hermes_tui.tui.widgets.line import Line
from hermes_tui.tui.widgets.page import Page, Paragraph

__all__ = ["PageScreen"]


class PageScreen(DismissOnce[None]):
    """Subclass, give `blocks` and a heading."""

    without: tuple[str, ...] = ()
    """Ids of keys that get no hint."""

    AUTO_FOCUS = "Page"

    def __init__(self, heading: str, blocks: Sequence[Paragraph]) -> None:
        super().__init__()
        self._heading = heading
        self._blocks = blocks

    def compose(self) -> ComposeResult:
        """Title, page, hints."""
        yield Line(id="title")
        yield Page()
        yield Hints(id="hints")

    def on_mount(self) -> None:
        """Fill it."""
        self.query_one("#title", Line).show([(f" {self._heading}", "bright")])
        self.query_one(Page).show(self._blocks)
        self.call_after_refresh(self.query_one(Hints).show_keys, self.without)

    def action_close(self) -> None:
        """Close this screen."""
        self.dismiss()
