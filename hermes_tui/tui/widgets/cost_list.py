"""Cost rankings: a line with a bar for each agent, model, project and session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.message import Message

from hermes_tui.cells import pad, pad_end
from hermes_tui.display import dollars, safe
from hermes_tui.sessions.cost.overview import Rank
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.styled import Parts, RowView

__all__ = ["CostList", "CostRow", "bar"]

_EIGHTHS = " ▏▎▍▌▋▊▉"
_COST = 12
"""Columns of the sum."""
_LABEL = 36
"""Columns of the name, or half of the line where that is more."""
_ENDS = ("project", "lane")
"""Of these the end tells more."""
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


class CostList(RowView, can_focus=True):
    """The cursor rests on ranks alone."""

    BINDINGS = bindings("cost")

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
    def count(self) -> int:
        """How many lines there are."""
        return len(self._rows)

    def may_rest(self, at: int) -> bool:
        """On a rank."""
        return self._rows[at].rank is not None

    def extent(self, at: int) -> tuple[int, int]:
        """With the heading above it."""
        first = at
        while first > 0 and self._rows[first - 1].rank is None:
            first -= 1
        return first, at

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
        wanted = (before.kind, before.key) if before is not None else None
        same = (at for at, row in enumerate(self._rows) if row.rank and (row.rank.kind, row.rank.key) == wanted)
        self.cursor = next(same, self.nearest(0))
        self.fit()
        self.refresh()

    def parts(self, at: int) -> Parts:
        """A text, or a rank with its bar."""
        row, rank = self._rows[at], self._rows[at].rank
        if rank is None:
            return [(f" {row.text}", row.style)]
        figure = rank.figure
        cost = dollars(figure.usd, estimated=figure.estimated, unpriced=figure.unpriced)
        room = self.size.width - _COST - 4
        with_bar = room - _BAR_LEAST - 2 >= 16
        label = max(1, min(max(_LABEL, room // 2), room - _BAR_LEAST - 2) if with_bar else room)
        drawn = f"  {pad(bar(row.share, room - label - 2), room - label - 2)}" if with_bar else ""
        name = (pad_end if rank.kind in _ENDS else pad)(safe(rank.label), label)
        return [(f"  {name}", ""), (drawn, "bar"), (f" {pad(cost, _COST, right=True)} ", "")]

    def action_section(self, step: int) -> None:
        """To the first line of the next ranking (1) or of the one before (-1)."""
        kind = self.highlighted.kind if self.highlighted is not None else None
        starts = [at for at in range(self.count) if self.may_rest(at) and (at == 0 or not self.may_rest(at - 1))]
        after = [at for at in starts if at > self.cursor]
        before = [at for at in starts if at < self.cursor]
        if step > 0 and after:
            self.go(after[0])
        elif step < 0 and before:
            other = [at for at in before if (rank := self._rows[at].rank) is not None and rank.kind != kind]
            self.go(other[-1] if other else before[0])
        else:
            self.notify(f"There is no ranking {'below' if step > 0 else 'above'} this one.")
            return
        # With its heading, and as much of it as there is room for.
        self.jump(max((at for at in range(self.cursor) if self._rows[at].style == "heading"), default=0))

    def action_open(self) -> None:
        """Ask for the sessions behind the line."""
        if self.highlighted is not None:
            self.post_message(self.Selected(self.highlighted))
        else:
            self.notify("There is no line here to open.")
