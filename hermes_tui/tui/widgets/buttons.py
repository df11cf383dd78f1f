"""Buttons in one line, of which one is chosen."""

from __future__ import annotations

from textual.strip import Strip

from hermes_tui.cells import width_of
from hermes_tui.tui.widgets.styled import Part, Styled

__all__ = ["Buttons"]


class Buttons(Styled):
    """Cancel, and what is asked; the chosen one stands in brackets and is drawn as a cursor."""

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
        parts: list[Part] = []
        for at, word in enumerate(self.words):
            chosen = at == self.chosen
            parts += [("  ", ""), (f"[ {word} ]", "cursor") if chosen else (f"  {word}  ", "faint")]
        used = sum(width_of(text) for text, _ in parts)
        return self.strip([(" " * max(0, self.size.width - used), ""), *parts])
