"""What stands in a line of lanes, and which columns there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hermes_tui.cells import width_of
from hermes_tui.tui.widgets.states import State

__all__ = ["COLUMNS", "GAP", "RESETS", "SESSION", "STATE", "LaneColumn", "LaneRow", "column_widths", "shorter"]

GAP = 2


class LaneColumn(NamedTuple):
    """A column: its head, the width it needs at most, and how much it matters (the least goes first)."""

    head: str
    most: int
    least: int
    matters: int
    right: bool = False


COLUMNS = (
    LaneColumn("platform", 12, 8, 7),
    LaneColumn("chat", 30, 12, 10),
    LaneColumn("who", 16, 6, 5),
    LaneColumn("session", 30, 15, 2),
    LaneColumn("last", 4, 4, 9, right=True),
    LaneColumn("tokens", 9, 7, 3, right=True),
    LaneColumn("state", 24, 14, 8),
    LaneColumn("resets", 44, 27, 6),
)
SESSION = 3
STATE = 6
RESETS = 7


class LaneRow(NamedTuple):
    """A line. Texts are safe for a terminal."""

    profile: str
    key: str
    cells: tuple[str, str, str, str, str, str]
    """Platform, chat, who, session, last, tokens."""
    state: State
    resets: str
    briefly: str = ""
    """The same in fewer words."""

    @property
    def identity(self) -> tuple[str, str]:
        """Which lane it is."""
        return self.profile, self.key

    @property
    def texts(self) -> tuple[str, ...]:
        """A text for each column."""
        return (*self.cells, f"{self.state.glyph} {self.state.word}", self.resets)


def column_widths(rows: Sequence[LaneRow], room: int) -> list[int]:
    """Of the columns in `room` for all of them, 0 for those that do not fit."""
    wanted = []
    for at, column in enumerate(COLUMNS):
        texts = [width_of(row.texts[at]) for row in rows]
        wanted.append(min(column.most, max([width_of(column.head), *texts])))
    chosen = sorted(range(len(COLUMNS)), key=lambda at: -COLUMNS[at].matters)
    widths = [0] * len(COLUMNS)
    for at in chosen:
        least = min(wanted[at], COLUMNS[at].least)
        gap = GAP if any(widths) else 0
        if least + gap <= room:
            widths[at] = least
            room -= least + gap
        elif not any(widths):
            widths[at], room = max(1, room), 0  # one column there is, however narrow
        elif at == STATE and room >= 1 + gap:  # the glyph alone
            widths[at] = 1
            room -= 1 + gap
    # What is left goes to the state before all others, and then to what matters most.
    for at in sorted((at for at in chosen if widths[at]), key=lambda at: (at != STATE, -COLUMNS[at].matters)):
        more = min(room, wanted[at] - widths[at])
        widths[at] += more
        room -= more
    return widths


def shorter(id_: str, width: int) -> str:
    """An id in `width` columns: its middle goes, for the end tells it from others of that minute."""
    return id_ if len(id_) <= width or width < 6 else f"{id_[: width - 3]}…{id_[-2:]}"
