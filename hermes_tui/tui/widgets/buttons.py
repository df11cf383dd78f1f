"""Buttons in one line, of which one is chosen."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from hermes_tui.tui.widgets.cells import width_of

__all__ = ["Buttons"]


class Buttons(Widget):
    """Cancel, and what is asked; the chosen one stands in brackets and is drawn as a cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"choices--key", "choices--faint", "choices--cursor"}

    def __init__(self) -> None:
        super().__init__(id="buttons")
        self.words: tuple[str, ...] = ("Cancel",)
        """Safe for a terminal."""
        self.chosen = 0

    def show(self, *words: str) -> None:
        """Show these, the first one chosen."""
        self.words, self.chosen = words, 0
        self.refresh()

    def turn(self, step: int = 1) -> None:
        """Choose the next one."""
        self.chosen = (self.chosen + step) % len(self.words)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The only line, at the right."""
        base, segments = self.rich_style, []
        for at, word in enumerate(self.words):
            chosen = at == self.chosen
            style = base + self.get_component_rich_style(f"choices--{'cursor' if chosen else 'faint'}", partial=True)
            segments += [Segment("  ", base), Segment(f"[ {word} ]" if chosen else f"  {word}  ", style)]
        used = sum(width_of(one.text) for one in segments)
        blank = Segment(" " * max(0, self.size.width - used), base)
        return Strip([blank, *segments]).adjust_cell_length(self.size.width, base)
