"""The top line: name, filter, how many sessions, and whether all could be read."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal

from hermes_tui.widgets.line import Line, Part
from hermes_tui.widgets.search_box import SearchBox

__all__ = ["Header"]


class Header(Horizontal):
    """Compares before it repaints, as `Line` does."""

    def compose(self) -> ComposeResult:
        """Name, box, counts."""
        yield Line(id="brand")
        yield SearchBox(id="search")
        yield Line(id="counts")

    def show(
        self, *, shown: int | None, sessions: int, live: int, partial: int, problems: int, gateway: str = ""
    ) -> None:
        """`shown`: how many match the filter; None without one. `partial`: how many are not yet counted in full.
        `gateway`: what Hermes' is doing, in as many words as there is room for."""
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
        if live and width >= 60:
            parts.append((f"● {live:,} live", "live"))
        if partial and width >= 100:
            parts.append((f"counting {partial:,}", "faint"))
        total = f"{sessions:,}" if shown is None else f"{shown:,} of {sessions:,}"
        parts.append((f"{total} session{'' if sessions == 1 else 's'}" if width >= 60 else total, "faint"))
        spaced: list[Part] = []
        for part in parts:
            spaced += [("   " if width >= 60 else " ", ""), part]
        spaced.append((" ", ""))
        self.query_one("#counts", Line).show((), spaced)
