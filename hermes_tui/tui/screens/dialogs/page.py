"""A screen that is one page of text with a title: help and problems."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from hermes_tui.tui.screens.full_screen import FullScreen
from hermes_tui.tui.widgets.page import Page, Paragraph

__all__ = ["PageScreen"]


class PageScreen(FullScreen[None]):
    """Subclass, give `blocks` and a heading."""

    AUTO_FOCUS = "Page"

    def __init__(self, heading: str, blocks: Sequence[Paragraph]) -> None:
        super().__init__()
        self._heading = heading
        self._blocks = blocks

    def body(self) -> ComposeResult:
        """The page."""
        yield Page()

    def on_mount(self) -> None:
        """Fill it."""
        self.show_title([(f" {self._heading}", "bright")])
        self.query_one(Page).show(self._blocks)
