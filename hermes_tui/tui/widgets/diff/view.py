"""The diff widget: two sessions side by side, a cursor from change to change."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from hermes_tui.cells import width_of
from hermes_tui.sessions.diff.shown import ComparedSessions, ShownDiff
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.diff.rows import AnyRow, DiffBlocks, DiffRow, DiffRows, use_rows
from hermes_tui.tui.widgets.diff.texts import Piece
from hermes_tui.tui.widgets.styled import FoldedRows, Part

__all__ = ["DiffView"]

_BETWEEN = " │ "


class DiffView(FoldedRows, can_focus=True, inherit_bindings=False):
    """`show` it a comparison. Equal runs are one line until opened; only rows in view are drawn."""

    BINDINGS = bindings("diff")
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._diff: ShownDiff | None = None
        self._blocks = DiffBlocks(ComparedSessions(()))
        self._opened: set[int] = set()
        self._rows: DiffRows | list[DiffRow] = []
        self.cursor = 0
        self._width = 0
        self._shows_uses = False

    # What is shown -----------------------------------------------------------------------------------------

    @property
    def rows(self) -> DiffRows | list[DiffRow]:
        """All rows as they are laid out now."""
        return self._rows

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    @property
    def shows_uses(self) -> bool:
        """Tool calls and files rather than messages."""
        return self._shows_uses

    @property
    def place(self) -> tuple[int, int]:
        """(which change the cursor is on or behind, how many there are); 0 before the first."""
        changes = list(self._blocks.changes)
        here = self._rows[self.cursor].block if self._rows else -1
        return sum(index <= here for index in changes), len(changes)

    def show(self, diff: ShownDiff) -> None:
        """Show a comparison, the cursor on its first change."""
        self._diff = diff
        self._blocks = DiffBlocks(diff.messages)
        self._opened.clear()
        self.note = "" if len(self._blocks) else "Neither session has a message."
        self._lay()
        # So that a change in the first row is ahead of it, too.
        self.cursor = -1
        if any(True for _ in self._blocks.changes):
            self.action_change(1)
        else:
            self.go(0)

    def _lay(self) -> None:
        """Work out the rows for the width it has; the cursor stays on its block."""
        self._width = self.scrollable_content_region.width
        if self._diff is None or self._width < 8:
            return
        row = self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None
        within = self.cursor - self._first_of(row.block) if row is not None else 0
        if self._shows_uses:
            self._rows = [*use_rows(self._diff.diff.tools, self._diff.diff.files, self._width)]
        else:
            self._rows = DiffRows(self._blocks, self._width, self._opened)
        self.virtual_size = Size(self._width, len(self._rows))
        if row is not None and row.block >= 0 and isinstance(self._rows, DiffRows):
            self.cursor = self._first_of(row.block) + min(within, len(self._rows.of(row.block)) - 1)
        self.cursor = min(max(self.cursor, 0), max(0, len(self._rows) - 1))
        self.refresh()

    def _in_view(self) -> None:
        """Other rows are there now: the cursor stays in view."""
        self.show_cursor()
        self.moved()

    def _first_of(self, block: int) -> int:
        return self._rows.first_of(block) if isinstance(self._rows, DiffRows) and block >= 0 else 0

    # Moving ------------------------------------------------------------------------------------------------

    def action_page(self, step: int) -> None:
        """A page down (1) or up (-1), the view with the cursor."""
        self.jump(self.scroll_offset.y + step * self.page_height)
        super().action_page(step)

    def action_change(self, step: int) -> None:
        """To the next (1) or this or the previous (-1) change."""
        if isinstance(self._rows, DiffRows):
            places = list(map(self._first_of, self._blocks.changes))
        else:
            places = [at for at, row in enumerate(self._rows) if row.kind == "text" and row.mark != " "]
        ahead = [at for at in places if (at > self.cursor if step > 0 else at < self.cursor)]
        if not ahead:
            where = "after" if step > 0 else "before"
            nothing = "The two are the same." if not places else f"There is no change {where} this one."
            self.notify(nothing)
            return
        self.go(ahead[0] if step > 0 else ahead[-1])
        # Some of what comes before it stays in view.
        self.jump(max(0, self.cursor - min(3, self.size.height // 4)))

    # Folding -----------------------------------------------------------------------------------------------

    def action_fold(self) -> None:
        """Open or close the block under the cursor: an equal run, or the rest of a long message."""
        row = self._rows[self.cursor] if self._rows else None
        if row is None or not isinstance(self._rows, DiffRows):
            self.notify("There is nothing to open here.")
            return
        cut = any(other.kind == "more" for other in self._rows.of(row.block))
        if not (self._blocks.is_equal(row.block) or cut or row.block in self._opened):
            self.notify("All of it is shown.")
            return
        self._opened ^= {row.block}
        self._lay()
        # The row that the cursor was on may be gone.
        if row.block not in self._opened:
            self.go(self._first_of(row.block))
        self._in_view()

    def action_fold_all(self) -> None:
        """Unfold every equal run, or fold all."""
        equal = {*range(len(self._blocks))} - {*self._blocks.changes}
        if self._shows_uses or not equal:
            self.notify("There is no equal run of messages here to open.")
            return
        self._opened = set() if self._opened & equal else equal
        self._lay()
        self._in_view()

    def action_uses(self) -> None:
        """Tool calls and files, or messages."""
        if self._diff is None:
            self.notify("There is nothing to show yet: the two are not compared.")
            return
        self._shows_uses = not self._shows_uses
        self._rows, self.cursor = [], 0
        self._lay()
        self.jump(0)
        self.moved()

    # Drawing -----------------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Fold to the new width."""
        if self.scrollable_content_region.width != self._width:
            self._lay()
            self._in_view()

    def parts(self, at: int) -> list[Part]:
        """Its mark, and one side or both."""
        row = self._rows[at]
        mark: Part = (f"{row.mark} ", {"-": "removed", "+": "added", "~": "head"}.get(row.mark, ""))
        if row.right is None:
            side = row.mark if row.mark in "+-" else ""
            return [(" ", "") if row.kind == "title" else mark, *_side(row, row.left, side)]
        column = (self.scrollable_content_region.width - 2 - len(_BETWEEN)) // 2
        left = _side(row, row.left, "-" if row.mark in "-~" else "")
        right = _side(row, row.right, "+" if row.mark in "+~" else "")
        blank = " " * max(0, column - sum(width_of(text) for text, _ in left))
        return [mark, *left, (blank, ""), (_BETWEEN, "faint"), *right]


def _side(row: AnyRow, pieces: Sequence[Piece], side: str) -> list[Part]:
    if row.kind in ("title", "fold", "more", "gap", "head"):
        purpose = {"title": "heading", "head": "head"}.get(row.kind, "faint")
        return [(text, purpose) for text, _ in pieces]
    name = {"-": "removed", "+": "added"}.get(side, "")
    if not name or row.whole:
        return [(text, name) for text, _ in pieces]
    return [(text, f"{name}-word" if changed else "") for text, changed in pieces]
