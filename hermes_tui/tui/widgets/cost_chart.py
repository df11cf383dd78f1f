"""A bar chart of dollars by day.

The library that draws it is imported with this module: when costs are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from rich.text import Text
from textual_plotext import PlotextPlot

from hermes_tui.display import dollars
from hermes_tui.tui.widgets.styled import Styled

__all__ = ["CostChart"]

_COLUMNS = re.compile(r"[█▌▐▀▄▖▗▘▝▙▛▜▟▞▚]+")
_FINE = 60
"""Columns from which quarter blocks draw the columns more evenly than whole ones."""
_STEP = 7
"""Days between two dates below the chart."""


class CostChart(PlotextPlot, Styled):
    """The last days; nothing is drawn while there is nothing to show."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        # The library's own colours would not be those of the theme, nor go away without colours.
        self.theme = "clear"
        self._days: tuple[tuple[date, float], ...] = ()

    def on_unmount(self) -> None:
        """The library asks the program to tell of new themes; what is asked for keeps the chart for ever."""
        self.app.theme_changed_signal.unsubscribe(self)

    def show(self, days: Sequence[tuple[date, float]]) -> None:
        """Show these; does nothing when they are shown already."""
        if tuple(days) != self._days:
            self._days = tuple(days)
            self.refresh()

    def render(self) -> Text:
        """The chart for the size it has now."""
        width, height = self.size
        if not self._days or width < 20 or height < 3:
            return Text()
        plot = self.plt
        plot.clear_figure()
        values = [usd for _, usd in self._days]
        top = max(values) or 1.0  # where no day cost anything, the axis still needs a length
        last = len(values) - 1
        plot.bar(list(range(len(values))), values, marker="hd" if width >= _FINE else "sd", width=0.6)
        # From the right, so that the newest day always has its date.
        marks = sorted(range(last, -1, -_STEP))
        plot.xticks([float(at) for at in marks], [f"{self._days[at][0].day} {self._days[at][0]:%b}" for at in marks])
        plot.yticks([0, top / 2, top], [f"{dollars(part):>8}" for part in (0.0, top / 2, top)])
        plot.xlim(-0.7, last + 0.7)
        plot.ylim(0, top)
        plot.frame(False)
        plot.xaxes(True, False)
        plot.yaxes(False, False)
        drawn = super().render()
        # Only its characters are taken: the colours are the style sheet's.
        text = Text() if not isinstance(drawn, Text) else Text(drawn.plain, no_wrap=True)
        column = self.own_look("column")
        for found in _COLUMNS.finditer(text.plain):
            text.stylize(column, *found.span())
        return text
