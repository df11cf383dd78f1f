"""A search match in short: the conversation's topic, the match, its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.text import Text
from textual.content import Content
from textual.geometry import Region, Size

from hermes_tui.clock import Clock
from hermes_tui.display import APART, safe
from hermes_tui.tui.widgets.session_list.list_columns import lit_parts
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from hermes_tui.tui.widgets.styled import Parts, TextView
from hermes_tui.tui.widgets.transcript.border import spaced, title
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.sessions.search.model import Result, ResultLine

__all__ = ["MatchPreview"]

_LINES = 4
"""Lines of a message that is not the match itself."""
_MATCH_LINES = 12
_WIDEST = 120
Find = Callable[[str], Sequence[tuple[int, int]]]


class MatchPreview(TextView):
    """Goal, match, resolution. Compares before it paints."""

    def __init__(self, clock: Clock, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._clock = clock
        self._shown: tuple[ListedPart | None, Result | None, str, Find] = (None, None, "", lambda text: ())

    @property
    def summary(self) -> SessionSummary | None:
        """The session that is shown."""
        return self._shown[0].summary if self._shown[0] is not None else None

    def show(self, part: ListedPart | None, result: Result | None, note: str, find: Find) -> None:
        """Show the preview of a session; `note` where there is none yet, or never will be."""
        if (part, result, note) == self._shown[:3]:
            return
        self._shown = part, result, note, find
        self._make()

    def on_resize(self) -> None:
        """Wrap to the new width."""
        self._make()

    def _make(self) -> None:
        part, result, note, _ = self._shown
        width = self.size.width
        if width <= 0:
            return
        room = max(self.outer_size.width - 6, 4)
        said = title(part, room, gone=part.summary.gone) if part is not None else ""
        self.border_title = Content(spaced(said, self))
        lines: list[Parts] = self._result_lines(result, width) if result is not None else [[(f" {note}", "faint")]]
        before, self.lines = self.lines, lines
        height = self.size.height
        if self.scroll_offset.y or max(len(lines), len(before)) > height:
            self.virtual_size = Size(width, len(lines))
            self.scroll_to(y=0, animate=False, force=True, immediate=True)
            self.refresh()
            return
        pairs = zip_longest(lines, before, fillvalue=())
        changed = [Region(0, y, width, 1) for y, (new, old) in enumerate(pairs) if new != old]
        if changed:
            self.refresh(*changed)

    def _result_lines(self, result: Result, width: int) -> list[Parts]:
        lines: list[Parts] = []
        window = result.window
        if result.start:
            self._section(lines, "Goal", "", result.start[:2], width)
        if window is not None:
            at = next((index for index, one in enumerate(window.lines) if one.anchor), 0)
            around = window.lines[max(0, at - 1) : at + 2]
            count = f"{result.match_count:,} matches" if result.match_count > 1 else ""
            note = " · ".join(filter(None, (count, APART.get(result.match_visibility or ""))))
            self._section(lines, "Match", note, around, width, snippet=result)
        if result.end:
            self._section(lines, "Resolution", "", result.end[-2:], width)
        return lines or [[(" This session has no messages.", "faint")]]

    def _section(
        self,
        lines: list[Parts],
        heading: str,
        note: str,
        said: Sequence[ResultLine],
        width: int,
        snippet: Result | None = None,
    ) -> None:
        if lines:
            lines.append([])
        rule = "─" * max(0, width - len(heading) - len(note) - 7)
        lines.append(
            [(" ── ", "faint"), (heading, "heading"), (f" {note} " if note else " ", "faint"), (rule, "faint")]
        )
        for one in said:
            when = f"{self._clock.local(one.timestamp):%a %-d %b %H:%M}" if one.timestamp is not None else ""
            agent = safe(self.summary.agent) if self.summary is not None else "assistant"
            who = {"user": "you", "assistant": agent}.get(one.role, safe(one.role))
            lines.append([(f" {who}", "who"), (f"  {when}", "faint")])
            text = safe(" ".join(one.text.split()))
            most = _MATCH_LINES if one.anchor else _LINES
            spans: Sequence[tuple[int, int]] = self._shown[3](text) if snippet is not None else ()
            if one.anchor and not spans and snippet is not None and snippet.marks:
                # The match is further down than a line of a result reaches.
                text, spans = safe(snippet.snippet), snippet.marks
            elif one.cut:
                text += " …"
            rows: list[Parts] = []
            at = 0
            for row in Text(text, overflow="fold").wrap(self.app.console, max(8, min(width - 4, _WIDEST))):
                plain = row.plain.rstrip()
                at = max(text.find(plain, at), at)
                here = [(max(0, a - at), min(len(plain), b - at)) for a, b in spans if a < at + len(plain) and b > at]
                rows.append([("   ", ""), *lit_parts(plain, here, "")])
                at += len(plain)
            lines += rows if len(rows) <= most else [*rows[:most], [("   …", "faint")]]
