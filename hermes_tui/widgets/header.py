"""The top line: name, search box, how many sessions, and whether all could be read."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal

from hermes_tui.widgets.cells import width_of
from hermes_tui.widgets.line import Line, Part
from hermes_tui.widgets.search_box import SearchBox

__all__ = ["Header"]


class Header(Horizontal):
    """Compares before it repaints, as `Line` does."""

    _widest = 0
    """Columns that the counts took at most since a search began."""

    def compose(self) -> ComposeResult:
        """Name, box, counts."""
        yield Line(id="brand")
        yield SearchBox(id="search")
        yield Line(id="counts")

    def show(
        self,
        *,
        shown: int | None,
        sessions: int,
        live: int,
        partial: int,
        problems: int,
        gateway: str = "",
        searching: str = "",
        indexing: str = "",
    ) -> None:
        """`shown`: how many were found; None without a search. `partial`: how many are not yet counted in full.
        `gateway`: what Hermes' is doing, in as many words as there is room for. `searching`: how complete an answer
        is. `indexing`: how far the index is."""
        width = self.app.size.width
        brand: list[Part] = [(" hermes-tui  ", "bright")] if width >= 60 else [(" ", "")]
        if gateway and width >= 60:
            brand.append((f"{gateway}  ", "faint"))
        self.query_one("#brand", Line).show(brand)
        parts: list[Part] = []
        if problems:
            parts.append(
                (
                    f"! {problems:,} problem{'' if problems == 1 else 's'}" if width >= 60 else f"!{problems}",
                    "warning",
                )
            )
        if live and width >= (140 if searching else 60):
            parts.append((f"● {live:,} live", "live"))
        if indexing and width >= 60 and not searching:
            parts.append((indexing, "faint"))
        if partial and width >= 100:
            parts.append((f"counting {partial:,}", "faint"))
        total = f"{sessions:,}" if shown is None else f"{shown:,} of {sessions:,}"
        parts.append((f"{total} session{'' if sessions == 1 else 's'}" if width >= 60 else total, "faint"))
        if searching and width >= (100 if searching.startswith("indexed 100") else 60):
            parts[-1] = (f"{parts[-1][0]} · {searching if width >= 100 else searching.partition(',')[0]}", "faint")
        spaced: list[Part] = []
        for part in parts:
            spaced += [("   " if width >= 60 else " ", ""), part]
        spaced.append((" ", ""))
        # A line of another width moves the box, and for that the whole screen is painted again: at every key.
        taken = sum(width_of(text) for text, _ in spaced)
        self._widest = max(self._widest, taken) if shown is not None else 0
        if taken < self._widest:
            spaced.insert(0, (" " * (self._widest - taken), ""))
        self.query_one("#counts", Line).show((), spaced)
