"""Cost rankings: a line with a bar for each agent, model, project and session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hermes_tui.display import dollars, safe
from hermes_tui.sessions.cost.overview import Rank
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.cells import pad

__all__ = ["CostList", "CostRow", "bar"]

_EIGHTHS = " ▏▎▍▌▋▊▉"
_COST = 12
"""Columns of the sum."""
_LABEL = 36
"""Columns of the name, at most."""
_BAR_LEAST = 8


class CostRow(NamedTuple):
    """A line: a heading or a note (`text`), or a rank."""

    text: str = ""
    """Safe for a terminal."""
    rank: Rank | None = None
    share: float = 0.0
    """Of the largest of its ranking, 0 to 1."""
    style: str = ""
    """Of a text: `heading`, `faint` or `warning`."""


def bar(share: float, width: int) -> str:
    """A bar of at most `width` columns; what is more than nothing is to be seen."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


class CostList(ScrollView, can_focus=True):
    """Lines drawn one by one; the cursor rests on ranks alone, and moving it draws two lines."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "cost-list--cursor",
        "cost-list--heading",
        "cost-list--faint",
        "cost-list--warning",
        "cost-list--bar",
    }
    BINDINGS = bindings("cost")
    cursor: reactive[int] = reactive(-1, repaint=False)

    class Selected(Message):
        """The sessions behind a rank are wanted."""

        def __init__(self, rank: Rank) -> None:
            super().__init__()
            self.rank = rank

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: tuple[CostRow, ...] = ()

    @property
    def rows(self) -> Sequence[CostRow]:
        """The lines."""
        return self._rows

    @property
    def highlighted(self) -> Rank | None:
        """The rank under the cursor."""
        return self._rows[self.cursor].rank if 0 <= self.cursor < len(self._rows) else None

    def show(self, rows: Sequence[CostRow], at: Rank | None = None) -> None:
        """Show these; does nothing when they are shown already. The cursor stays on the rank it is on; at first it is
        put on `at`."""
        if tuple(rows) == self._rows:
            return
        before = self.highlighted or at
        self._rows = tuple(rows)
        self.virtual_size = Size(self.size.width, len(self._rows))
        same = (at for at, row in enumerate(self._rows) if _same(row.rank, before))
        first = next((at for at, row in enumerate(self._rows) if row.rank is not None), -1)
        self.cursor = next(same, first)
        self.refresh()

    # Drawing -----------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One line of the part in view."""
        width, base = self.size.width, self.rich_style
        index = y + self.scroll_offset.y
        if index >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[index]
        if row.rank is None:
            style = base + self._style(row.style) if row.style else base
            return Strip([Segment(f" {row.text}", style)]).adjust_cell_length(width, base)
        if index == self.cursor:
            base += self._style("cursor")
        return Strip(self._rank(row, row.rank, width, base)).adjust_cell_length(width, base).simplify()

    def _rank(self, row: CostRow, rank: Rank, width: int, base: Style) -> list[Segment]:
        figure = rank.figure
        cost = dollars(figure.usd, estimated=figure.estimated, unpriced=figure.unpriced)
        room = width - _COST - 4
        with_bar = room - _BAR_LEAST - 2 >= 16
        label = min(_LABEL, room - _BAR_LEAST - 2) if with_bar else room
        segments = [Segment(f"  {pad(safe(rank.label), max(1, label))}", base)]
        if with_bar:
            drawn = pad(bar(row.share, room - label - 2), room - label - 2)
            segments.append(Segment(f"  {drawn}", base + self._style("bar")))
        segments.append(Segment(f" {pad(cost, _COST, right=True)} ", base))
        return segments

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"cost-list--{name}", partial=True)

    def on_resize(self) -> None:
        """The width is that of the screen."""
        self.virtual_size = Size(self.size.width, len(self._rows))

    # Moving ------------------------------------------------------------------------------------------------

    def watch_cursor(self, before: int, after: int) -> None:
        """Draw the two lines that differ, and bring the cursor into view, with the heading above it."""
        for at in (before, after):
            y = at - self.scroll_offset.y
            if 0 <= y < self.size.height:
                self.refresh(Region(0, y, self.size.width, 1))
        if after < 0:
            return
        top = after
        while top > 0 and self._rows[top - 1].rank is None:
            top -= 1
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)
        elif after >= self.scroll_offset.y + self.size.height:
            self.scroll_to(y=after - self.size.height + 1, animate=False)

    def _go(self, index: int, step: int) -> None:
        """To the rank at `index`, else to the next in the direction of `step`."""
        index = max(0, min(index, len(self._rows) - 1))
        for direction in (step, -step):
            at = index
            while 0 <= at < len(self._rows):
                if self._rows[at].rank is not None:
                    self.cursor = at
                    return
                at += direction

    def action_move(self, step: int) -> None:
        """To the next rank (1) or the one before (-1)."""
        self._go(self.cursor + step, step)

    def action_page(self, step: int) -> None:
        """A page down (1) or up (-1)."""
        self._go(self.cursor + step * max(1, self.size.height - 1), step)

    def action_edge(self, edge: int) -> None:
        """To the first (-1) or the last (1)."""
        self._go(0 if edge < 0 else len(self._rows) - 1, -edge)

    def action_section(self, step: int) -> None:
        """To the first line of the next ranking (1) or of the one before (-1)."""
        kind = self.highlighted.kind if self.highlighted is not None else None
        starts = [
            at
            for at, row in enumerate(self._rows)
            if row.rank is not None and (at == 0 or self._rows[at - 1].rank is None)
        ]
        after = [at for at in starts if at > self.cursor]
        before = [at for at in starts if at < self.cursor and self._rows[at].rank is not None]
        if step > 0 and after:
            self.cursor = after[0]
        elif step < 0 and before:
            other = [at for at in before if (rank := self._rows[at].rank) is not None and rank.kind != kind]
            self.cursor = other[-1] if other else before[0]
        else:
            self.notify(f"There is no ranking {'below' if step > 0 else 'above'} this one.", markup=False)

    def action_open(self) -> None:
        """Ask for the sessions behind the line."""
        if self.highlighted is not None:
            self.post_message(self.Selected(self.highlighted))
        else:
            self.notify("There is no line here to open.", markup=False)

    def on_click(self, event: events.Click) -> None:
        """To the line; a second click opens it."""
        index = event.y + self.scroll_offset.y
        if index < len(self._rows) and self._rows[index].rank is not None:
            self.cursor = index
            if event.chain > 1:
                self.action_open()


def _same(rank: Rank | None, other: Rank | None) -> bool:
    return rank is not None and other is not None and (rank.kind, rank.key) == (other.kind, other.key)
