"""The table of lanes: one line each below a heading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.cells import pad, width_of
from hermes_tui.tui.widgets.lanes.columns import COLUMNS, GAP, RESETS, SESSION, STATE, LaneRow, column_widths, shorter

__all__ = ["LaneTable"]


class LaneTable(Widget, can_focus=True, inherit_bindings=False):
    """Moving the cursor draws two lines; new data draws the lines that look different."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lane-table--cursor",
        "lane-table--head",
        "lane-table--faint",
        "lane-table--live",
        "lane-table--idle",
        "lane-table--accent",
        "lane-table--warning",
        "lane-table--error",
    }
    BINDINGS = bindings("lanes")

    class Moved(Message):
        """The cursor is on another lane, or that one has changed."""

    class Opened(Message):
        """The conversation of the lane under the cursor is wanted."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: tuple[LaneRow, ...] = ()
        self._note = ""
        self._fitted: tuple[Sequence[LaneRow], int, list[int]] = (), -1, []
        """For which lines and width the columns were fitted last, and theirs."""
        self.cursor = -1
        self._top = 0

    @property
    def rows(self) -> Sequence[LaneRow]:
        """The lines."""
        return self._rows

    @property
    def highlighted(self) -> LaneRow | None:
        """The line under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    def show(self, rows: Sequence[LaneRow], note: str = "") -> None:
        """Show these, or `note` where there are none. The cursor stays on its lane."""
        new = tuple(rows)
        if (new, note) == (self._rows, self._note):
            return
        before, lines = self.highlighted, self._rows
        self._note = note
        self._rows = new
        found = [at for at, row in enumerate(new) if before is not None and row.identity == before.identity]
        cursor = found[0] if found else min(max(self.cursor, 0), len(new) - 1)
        same_shape = len(lines) == len(new) and cursor == self.cursor and self._widths(lines) == self._widths(new)
        self.cursor = cursor
        top = self._top
        self._scroll()
        if same_shape and lines and top == self._top:
            for at, (one, other) in enumerate(zip(lines, new, strict=True)):
                if one != other:
                    self._draw(at)
        else:
            self.refresh()
        if self.highlighted != before:
            self.post_message(self.Moved())

    # Drawing -----------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """The head, or a lane."""
        width, base = self.size.width, self.rich_style
        if y == 0:
            widths = self._widths(self._rows)
            cells = [
                (pad(column.head, widths[at], right=column.right), "head")
                for at, column in enumerate(COLUMNS)
                if widths[at]
            ]
            return self._line(cells if self._rows else [], width, base)
        at = self._top + y - 1
        if not self._rows and y == 2:
            return Strip([Segment(f"  {self._note}", base + self._style("faint"))]).adjust_cell_length(width, base)
        if at >= len(self._rows):
            return Strip.blank(width, base)
        cursor = at == self.cursor
        if cursor:
            base += self._style("cursor")
        return self._line(self._cells(self._rows[at], cursor), width, base, mark=cursor)

    def _cells(self, row: LaneRow, cursor: bool) -> list[tuple[str, str]]:
        widths = self._widths(self._rows)
        texts = row.texts
        shown = []
        for at, column in enumerate(COLUMNS):
            if widths[at]:
                quiet = at in (3, 4, 5) and not cursor
                purpose = row.state.style if at == STATE else "faint" if quiet else ""
                text = shorter(texts[at], widths[at]) if at == SESSION else texts[at]
                if at == RESETS and width_of(text) > widths[at]:
                    text = row.briefly or text
                shown.append((pad(text, widths[at], right=column.right), purpose))
        return shown

    def _line(self, cells: Sequence[tuple[str, str]], width: int, base: Style, *, mark: bool = False) -> Strip:
        # Reversed colours would turn every colour of the text into a patch.
        plain = bool(base.reverse)
        segments = [Segment(" ▸ " if mark else "   ", base)]
        for number, (text, purpose) in enumerate(cells):
            gap = " " * GAP if number else ""
            segments.append(Segment(gap + text, base + self._style(purpose) if purpose and not plain else base))
        return Strip(segments).adjust_cell_length(width, base).simplify()

    def _widths(self, rows: Sequence[LaneRow]) -> list[int]:
        if self._fitted[0] is not rows or self._fitted[1] != self.size.width:
            self._fitted = rows, self.size.width, column_widths(rows, self.size.width - 4)
        return self._fitted[2]

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"lane-table--{name}", partial=True)

    def _draw(self, at: int) -> None:
        y = at - self._top + 1
        if 1 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._scroll()

    # Moving ------------------------------------------------------------------------------------------------

    def _scroll(self) -> None:
        height = max(1, self.size.height - 1)
        top = min(self._top, max(0, len(self._rows) - height))
        if self.cursor >= 0:
            top = max(min(top, self.cursor), self.cursor - height + 1)
        if top != self._top:
            self._top = top
            self.refresh()

    def go(self, at: int) -> None:
        """Put the cursor on a line."""
        at = max(0, min(at, len(self._rows) - 1))
        if not self._rows or at == self.cursor:
            return
        before, self.cursor = self.cursor, at
        self._scroll()
        self._draw(before)
        self._draw(at)
        self.post_message(self.Moved())

    def action_move(self, step: int) -> None:
        """The next lane (1) or the one before (-1)."""
        self.go(self.cursor + step)

    def action_page(self, step: int) -> None:
        """A page down (1) or up (-1)."""
        self.go(self.cursor + step * max(1, self.size.height - 2))

    def action_edge(self, edge: int) -> None:
        """The first (-1) or the last (1)."""
        self.go(0 if edge < 0 else len(self._rows) - 1)

    def action_open(self) -> None:
        """Ask for the conversation."""
        if self.highlighted is not None:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        """To the lane; a second click opens it."""
        at = self._top + event.y - 1
        if event.y >= 1 and at < len(self._rows):
            self.go(at)
            if event.chain > 1:
                self.action_open()

    def on_mouse_scroll_down(self) -> None:
        """One down."""
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        """One up."""
        self.action_move(-1)
