"""The diff widget: two sessions side by side, a cursor from change to change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hermes_tui.sessions.diff import SessionDiff
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.cells import fit, width_of
from hermes_tui.tui.widgets.diff.rows import AnyRow, DiffBlock, blocks_of, lay_out, use_rows
from hermes_tui.tui.widgets.diff.texts import Piece

__all__ = ["DiffView"]

_BETWEEN = " │ "


class DiffView(ScrollView, can_focus=True, inherit_bindings=False):
    """`show` it a comparison. Equal runs are one line until opened; only rows in view are drawn."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "diff--removed",
        "diff--added",
        "diff--removed-word",
        "diff--added-word",
        "diff--head",
        "diff--faint",
        "diff--title",
        "diff--cursor",
    }
    BINDINGS = bindings("diff")
    ALLOW_SELECT = False

    class Refused(Message):
        """An action could not run; `reason` is one sentence."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    class Moved(Message):
        """The cursor or what is shown has changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._diff: SessionDiff | None = None
        self._blocks: list[DiffBlock] = []
        self._opened: set[int] = set()
        self._rows: list[AnyRow] = []
        self._cursor = 0
        self._width = 0
        self._note = ""
        self._shows_uses = False

    # What is shown -----------------------------------------------------------------------------------------

    @property
    def rows(self) -> Sequence[AnyRow]:
        """All rows as they are laid out now."""
        return self._rows

    @property
    def cursor(self) -> int:
        """Index of the row that keys act on."""
        return self._cursor

    @property
    def shows_uses(self) -> bool:
        """Tool calls and files rather than messages."""
        return self._shows_uses

    @property
    def place(self) -> tuple[int, int]:
        """(which change the cursor is on or behind, how many there are); 0 before the first."""
        changes = [index for index, block in enumerate(self._blocks) if not block.is_equal]
        here = self._rows[self._cursor].block if self._rows else -1
        return sum(index <= here for index in changes), len(changes)

    def show(self, diff: SessionDiff) -> None:
        """Show a comparison, the cursor on its first change."""
        self._diff = diff
        self._blocks = blocks_of(diff)
        self._opened.clear()
        self._note = "Neither session has a message." if not self._blocks else ""
        self._lay()
        if not any(not block.is_equal for block in self._blocks):
            self._move(0)
        else:
            self._cursor = -1
            self.action_change(1)

    def say(self, note: str) -> None:
        """Show one line of text instead; it must be safe for a terminal."""
        self._note = note
        self.refresh()

    def _lay(self) -> None:
        """Work out the rows for the width it has; the cursor stays on its block."""
        self._width = self.scrollable_content_region.width
        if self._diff is None or self._width < 8:
            return
        row = self._rows[self._cursor] if 0 <= self._cursor < len(self._rows) else None
        within = self._cursor - self._first_of(row.block) if row is not None else 0
        if self._shows_uses:
            self._rows = [*use_rows(self._diff.tools, self._diff.files, self._width)]
        else:
            self._rows = lay_out(self._blocks, self._width, self._opened)
        self.virtual_size = Size(self._width, len(self._rows))
        if row is not None and row.block >= 0 and not self._shows_uses:
            size = sum(other.block == row.block for other in self._rows)
            self._cursor = self._first_of(row.block) + min(within, max(0, size - 1))
        self._cursor = min(max(self._cursor, 0), max(0, len(self._rows) - 1))
        self.refresh()

    def _first_of(self, block: int) -> int:
        return next((at for at, row in enumerate(self._rows) if row.block == block), 0)

    # Moving ------------------------------------------------------------------------------------------------

    def _move(self, index: int, *, lead: int | None = None) -> None:
        """Put the cursor on a row and have it in view; with `lead`, so many rows below the top."""
        if not self._rows:
            return
        old, self._cursor = self._cursor, min(max(index, 0), len(self._rows) - 1)
        height, top = self.size.height, self.scroll_offset.y
        if lead is not None:
            top = self._cursor - lead
        elif self._cursor < top:
            top = self._cursor
        elif self._cursor >= top + height:
            top = self._cursor - height + 1
        if top != self.scroll_offset.y:
            self.scroll_to(y=max(0, top), animate=False, force=True, immediate=True)
        for at in {old, self._cursor}:
            self.refresh_line(at)
        self.post_message(self.Moved())

    def action_move(self, step: int) -> None:
        """A line down (1) or up (-1)."""
        self._move(self._cursor + step)

    def action_page(self, step: int) -> None:
        """A page down (1) or up (-1)."""
        height = max(1, self.size.height - 1)
        self.scroll_to(y=self.scroll_offset.y + step * height, animate=False, force=True, immediate=True)
        self._move(self._cursor + step * height)

    def action_edge(self, edge: int) -> None:
        """To the top (-1) or the end (1)."""
        self._move(0 if edge < 0 else len(self._rows) - 1)

    def action_change(self, step: int) -> None:
        """To the next (1) or this or the previous (-1) change."""
        if self._shows_uses:
            places = [at for at, row in enumerate(self._rows) if row.kind == "text" and row.mark != " "]
        else:
            places = [
                at for at, row in enumerate(self._rows) if row.kind == "head" and not self._blocks[row.block].is_equal
            ]
        ahead = [at for at in places if (at > self._cursor if step > 0 else at < self._cursor)]
        if not ahead:
            where = "after" if step > 0 else "before"
            nothing = "The two are the same." if not places else f"There is no change {where} this one."
            self.post_message(self.Refused(nothing))
            return
        self._move(ahead[0] if step > 0 else ahead[-1], lead=min(3, self.size.height // 4))

    # Folding -----------------------------------------------------------------------------------------------

    def action_fold(self) -> None:
        """Open or close the block under the cursor: an equal run, or the rest of a long message."""
        row = self._rows[self._cursor] if self._rows else None
        if row is None or row.block < 0:
            self.post_message(self.Refused("There is nothing to open here."))
            return
        cut = any(other.kind == "more" for other in self._rows if other.block == row.block)
        if not (self._blocks[row.block].is_equal or cut or row.block in self._opened):
            self.post_message(self.Refused("All of it is shown."))
            return
        self._opened ^= {row.block}
        self._lay()
        self._move(self._first_of(row.block) if row.block not in self._opened else self._cursor)

    def action_fold_all(self) -> None:
        """Unfold every equal run, or fold all."""
        equal = {index for index, block in enumerate(self._blocks) if block.is_equal}
        if self._shows_uses or not equal:
            self.post_message(self.Refused("There is no equal run of messages here to open."))
            return
        self._opened = set() if self._opened & equal else equal
        self._lay()
        self._move(self._cursor)

    def action_uses(self) -> None:
        """Tool calls and files, or messages."""
        if self._diff is None:
            self.post_message(self.Refused("There is nothing to show yet: the two are not compared."))
            return
        self._shows_uses = not self._shows_uses
        self._rows, self._cursor = [], 0
        self._lay()
        self._move(0, lead=0)

    # Drawing -----------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Fold to the new width."""
        if self.scrollable_content_region.width != self._width:
            self._lay()
            self._move(self._cursor)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; on the cursor, open or close."""
        index = self.scroll_offset.y + event.y
        if index == self._cursor:
            self.action_fold()
        elif index < len(self._rows):
            self._move(index)

    def render_line(self, y: int) -> Strip:
        """One line of the part in view."""
        width, base = self.scrollable_content_region.width, self.rich_style
        index = y + self.scroll_offset.y
        if not self._rows:
            said = [Segment(f" {fit(self._note, width - 2)}", base + self._style("faint"))] if y == 0 else []
            return Strip(said).adjust_cell_length(width, base)
        if index >= len(self._rows):
            return Strip.blank(width, base)
        strip = Strip(self._segments(self._rows[index], width, base)).adjust_cell_length(width, base)
        if index == self._cursor:
            strip = Strip([*Segment.apply_style(strip, post_style=self._style("cursor"))], width)
        return strip.simplify()

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"diff--{name}", partial=True)

    def _segments(self, row: AnyRow, width: int, base: Style) -> list[Segment]:
        if row.right is None:
            side = row.mark if row.mark in "+-" else ""
            mark = f"{row.mark} " if row.kind != "title" else " "
            return [Segment(mark, self._mark(row, base)), *self._side(row, row.left, side, base)]
        column = (width - 2 - len(_BETWEEN)) // 2
        left = self._side(row, row.left, "-" if row.mark in "-~" else "", base)
        right = self._side(row, row.right, "+" if row.mark in "+~" else "", base)
        used = sum(width_of(segment.text) for segment in left)
        return [
            Segment(f"{row.mark} ", self._mark(row, base)),
            *left,
            Segment(" " * max(0, column - used), base),
            Segment(_BETWEEN, base + self._style("faint")),
            *right,
        ]

    def _mark(self, row: AnyRow, base: Style) -> Style:
        name = {"-": "removed", "+": "added", "~": "head"}.get(row.mark)
        return base + self._style(name) if name else base

    def _side(self, row: AnyRow, pieces: Sequence[Piece], side: str, base: Style) -> list[Segment]:
        if row.kind == "title":
            return [Segment(text, base + self._style("title")) for text, _ in pieces]
        if row.kind in ("fold", "more", "gap", "head"):
            style = base + self._style("head" if row.kind == "head" else "faint")
            return [Segment(text, style) for text, _ in pieces]
        name = {"-": "removed", "+": "added"}.get(side, "")
        plain = base + self._style(name) if name and row.whole else base
        word = base + self._style(f"{name}-word") if name and not row.whole else plain
        return [Segment(text, word if changed else plain) for text, changed in pieces]
