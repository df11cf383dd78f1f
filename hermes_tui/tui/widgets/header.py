"""The top line: name, search box, number of sessions, problems."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal

from hermes_tui.cells import width_of
from hermes_tui.display import counted
from hermes_tui.tui.widgets.line import Line, Part
from hermes_tui.tui.widgets.search_box import SearchBox

__all__ = ["SEARCHING", "Header"]

SEARCHING = "searching …"
"""What is said while more is found."""
_USUAL = "indexed 100 %"
"""What is said of most answers."""
_BOX = 24
"""Columns that the box has at least, whatever there is to be said beside it; twice that for a search."""
_GAP = 3
"""Columns between two things that are said."""


class Header(Horizontal):
    """Compares before it repaints, as `Line` does."""

    _widest = (0, 0)
    """Width of the screen, and columns that the counts took there at most since the search began, or will take."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.box = SearchBox("/ to search", id="search")

    def compose(self) -> ComposeResult:
        """Name, box, counts."""
        yield Line(id="brand")
        yield self.box
        yield Line(id="counts")

    def show(
        self,
        *,
        shown: int | None,
        more: bool = False,
        sessions: int,
        live: int,
        partial: int,
        problems: int,
        needs: int = 0,
        marked: int = 0,
        gateway: str = "",
        asking: bool = False,
        searching: str = "",
        indexing: str = "",
    ) -> None:
        """`shown`: how many were found, and perhaps `more`; None without a search. `partial`: how many are not yet
        counted in full. `needs`: how many need a person. `marked`: how many are marked. `gateway`:
        what Hermes' is doing, in as many words as there is room for. `asking`: somebody is about to search, or has.
        `searching`: how complete an answer is. `indexing`: how far the index is."""
        width = self.app.size.width
        tight = width < 60 or (asking and width < 100)  # what is typed is read rather than the program's name
        brand: list[Part] = [(" ", "")] if tight else [(" hermes-tui  ", "bright")]
        if gateway and not tight:
            brand.append((f"{gateway}  ", "faint"))
        parts: list[Part] = []
        if needs:
            parts.append((f"? {needs:,} need{'s' * (needs == 1)} you" if width >= 60 else f"?{needs}", "needs"))
        if problems:
            parts.append((f"! {counted(problems, 'problem')}" if width >= 60 else f"!{problems}", "warning"))
        if marked:
            parts.append((f"◆ {marked} marked" if width >= 60 else f"◆{marked}", "accent"))
        if live and width >= (140 if searching else 60):
            parts.append((f"● {live:,} live", "live"))
        if indexing and width >= 60 and not searching:
            parts.append((indexing, "faint"))
        if partial and width >= 100:
            parts.append((f"counting {partial:,}", "faint"))
        most_found = sessions if asking or shown is not None else None  # the same at each key of a search
        total = width_of(_found(most_found, sessions, more=True, tight=tight)) + _GAP + 1
        for spared in ("counting", "indexing", "●", "⚕"):  # before what is typed, or found by, cannot be read
            if width - (2 * _BOX if asking else _BOX) - total >= sum(
                width_of(text) for text, _ in (*brand, *parts)
            ) + _GAP * len(parts):
                break
            parts = [part for part in parts if not part[0].startswith(spared)]
            brand = [part for part in brand if not part[0].startswith(spared)]
        self.query_one("#brand", Line).show(brand)
        room = width - _BOX - sum(width_of(text) + _GAP for text, _ in (*brand, *parts))
        said = _counted(width, room, _found(shown, sessions, more=more, tight=tight), searching)
        parts.append((said, "faint"))
        spaced: list[Part] = []
        for part in parts:
            spaced += [("   " if width >= 60 else " ", ""), part]
        spaced.append((" ", ""))
        # A line of another width moves the box, and for that the whole screen is laid out and painted again: not at a
        # key. What an answer may need is taken when the search begins.
        taken = sum(width_of(text) for text, _ in spaced)
        found = _found(sessions, sessions, more=True, tight=tight)
        most = max(width_of(_counted(width, room, found, one)) for one in (SEARCHING, _USUAL))
        most += taken - width_of(said)
        before = self._widest[1] if self._widest[0] == width else 0
        widest = max(before, taken, most) if asking else 0
        self._widest = width, widest
        if taken < widest:
            spaced.insert(0, (" " * (widest - taken), ""))
        self.query_one("#counts", Line).show((), spaced)


def _found(shown: int | None, sessions: int, *, more: bool, tight: bool) -> str:
    """`95 of 2,098`, `1,081+ of 2,098` where only the newest were asked for."""
    total = f"{sessions:,}" if shown is None else f"{shown:,}{'+' if more else ''} of {sessions:,}"
    return total if tight else f"{total} session{'s' * (sessions != 1)}"


def _counted(width: int, room: int, said: str, searching: str) -> str:
    """How many there are, with as much of how complete the answer is as there is room for."""
    if not searching or width < 60:
        return said
    if searching == SEARCHING:
        short = f"{said} …"
    else:
        short = said if searching.startswith(_USUAL) else f"{said} · {searching.partition(',')[0]}"
    ways = (f"{said} · {searching}", short) if width >= 100 else (short,)
    return next((one for one in ways if width_of(one) <= room), said)
