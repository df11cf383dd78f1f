"""A page of plain text, wrapped to the width: help, problems, empty machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from rich.text import Text
from textual.geometry import Size

from hermes_tui.cells import pad, width_of
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.styled import Parts, TextView

__all__ = ["Page", "Paragraph"]


class Paragraph(NamedTuple):
    """A paragraph. Texts must be safe for a terminal already."""

    text: str = ""
    style: str = ""
    """Empty for plain, else `heading`, `faint`, `accent` or `warning`."""
    label: str = ""
    """Stands to the left of the text, in a column of its own."""
    indent: int = 0
    column: int = 0
    """Width of the label's column."""
    note: str = ""
    """Stands at the right, behind the text or below it."""


class Page(TextView, can_focus=True):
    """Blocks one below the other."""

    BINDINGS = bindings("page")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.blocks: tuple[Paragraph, ...] = ()
        self._width = 0

    def show(self, blocks: Sequence[Paragraph]) -> None:
        """Show these; does nothing when they are shown already."""
        if tuple(blocks) != self.blocks:
            self.blocks = tuple(blocks)
            self._wrap()

    def reveal(self, block: Paragraph) -> None:
        """Let this block stand at the top, where what follows it is long enough."""
        before = self.blocks[: self.blocks.index(block)]
        at = sum(len(self._block_lines(one)) for one in before)
        reveal = partial(self.scroll_to, y=at, animate=False, force=True)
        # The first refresh may come before the page is laid out, with which it learns how far it can scroll.
        self.call_after_refresh(self.call_after_refresh, reveal)

    def on_resize(self) -> None:
        """Wrap to the new width."""
        if self.size.width != self._width:
            self._wrap()

    def _wrap(self) -> None:
        self._width = self.size.width
        if not self._width:
            return
        self.lines = [line for block in self.blocks for line in self._block_lines(block)]
        self.virtual_size = Size(self._width, len(self.lines))
        self.refresh(layout=self.styles.auto_dimensions)

    def _block_lines(self, block: Paragraph) -> list[Parts]:
        margin = " " * (1 + block.indent)
        column = min(block.column, max(0, self._width // 2 - len(margin)))
        room = max(4, self._width - len(margin) - column - 1)
        lines: list[Parts] = []
        if width_of(block.label) > column - 1 and block.label:
            lines.append(((margin, ""), (block.label, "accent")))
            label = ""
        else:
            label = block.label
        wrapped = Text(block.text, overflow="fold").wrap(self.app.console, room) if block.text else [Text("")]
        for line in wrapped:
            lines.append(((margin, ""), (pad(label, column), "accent"), (line.plain.rstrip(), block.style)))
            label = ""
        if block.note:
            used = sum(width_of(text) for text, _ in lines[-1])
            if used + 2 + width_of(block.note) > self._width - 1:
                lines.append(())
                used = 0
            lines[-1] = (
                *lines[-1],
                (" " * max(1, self._width - 1 - used - width_of(block.note)), ""),
                (block.note, "faint"),
            )
        return lines

    def action_scroll_by(self, step: int) -> None:
        """A line up (-1) or down (1)."""
        self.scroll_to(y=self.scroll_y + step, animate=False)

    def action_scroll_page(self, step: int) -> None:
        """A page up (-1) or down (1)."""
        self.scroll_to(y=self.scroll_y + step * max(1, self.size.height - 1), animate=False)

    def action_scroll_edge(self, edge: int) -> None:
        """To the top (-1) or the end (1)."""
        self.scroll_to(y=0 if edge < 0 else self.max_scroll_y, animate=False)
