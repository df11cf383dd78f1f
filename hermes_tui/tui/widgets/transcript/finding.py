"""Goes to a message or the next match in a transcript, and highlights words.

A message that is not loaded yet is read for, part by part, until it is there, the beginning is reached, or somebody
presses another key.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from hermes_tui.platform.daemon_call import aside
from hermes_tui.tui.widgets.transcript.branches import branches_of
from hermes_tui.tui.widgets.transcript.layout.blocks import ALL, OPEN
from hermes_tui.tui.widgets.transcript.layout.segments import Rendered
from hermes_tui.tui.widgets.transcript.loading import TranscriptLoading, may_part
from hermes_tui.tui.widgets.transcript.view import VisibleRow
from session_adapters.transcript import Transcript

if TYPE_CHECKING:
    from hermes_tui.sessions.search.within import Within

__all__ = ["TranscriptFinding", "lit"]

_EDGES = {1: "first match", -1: "last match"}
"""What is wanted of what is earlier on the way to the first or the last match of all."""


class TranscriptFinding(TranscriptLoading, inherit_bindings=False):
    """A transcript in which something is looked for."""

    _within: Within | None = None
    _sought = ""
    """Id of the message that is wanted, or `#` and its index."""
    _entering = False
    """The first or the last match of all is looked for."""
    _missing: set[str]
    """Ids of messages that the first match of all may be, and that are not loaded yet."""
    _all_known = False
    """No others may be."""

    @property
    def is_seeking(self) -> bool:
        """A message or a match that is not loaded yet is on its way."""
        return bool(self._wanted) or self._entering

    def _no_more(self, step: int) -> None:
        """Called when there is no further match in the direction of `step`."""

    # What is asked for -------------------------------------------------------------------------------------

    def light(self, within: Within | None) -> None:
        """Light what this finds, until it is None; `find_next` goes from match to match."""
        if within is not self._within:
            self._within = within
            self._settle()

    def go_to(self, message_id: str) -> None:
        """Put the cursor on a message (its id, or `#` and its index), on the first word that is lit in it; whichever
        branch it is on."""
        self._sought = message_id
        if self._transcript is not None and may_part(self._transcript):
            self._wanted = ""
            self._find(partial(self._go_to_branch_with, self._transcript, message_id))
        else:
            self._wanted = "message"
            self._settle()

    async def _go_to_branch_with(self, transcript: Transcript, message_id: str) -> None:
        if await self._show_branch_of(transcript, message_id):
            self._wanted = "message"
            self._settle()

    def find_next(self, step: int) -> None:
        """Go to the next (1) or previous (-1) message with a match."""
        if self._within is None or self._transcript is None:
            self._refuse("Nothing is looked for: press / and type")
        elif not self._entering and self._wanted not in _EDGES.values():
            self._wanted = ""
            self._find(partial(self._find_next, self._transcript, self._within, step))

    def enter(self, step: int, known: frozenset[str] = frozenset()) -> None:
        """Go to the first (1) or last (-1) message with a match, reading what is before where it has to be: no
        further than to the messages with these ids, if that is all that match. Stay where there is none. Until then
        `find_next` does nothing."""
        if self._within is None or self._transcript is None or not self._within.has_places:
            return
        self._missing = {*known}.difference(entry.message.id for entry in self._view.column.entries)
        if step > 0 and not self._view.complete and (self._missing or not known):
            self._wanted, self._all_known = _EDGES[step], bool(known)
            self._settle()
        else:
            self._begin(step)

    def _begin(self, step: int) -> None:
        """All that is needed for it is loaded, as far as it is known."""
        self._wanted = ""
        if self._within is not None and self._transcript is not None:
            self._entering = True
            self._find(partial(self._enter, self._transcript, self._within, step))

    def _find(self, finding: Callable[[], object]) -> None:
        self.run_worker(finding, group="transcript.find", exclusive=True)

    async def _enter(self, transcript: Transcript, within: Within, step: int) -> None:
        try:
            if await self._go_on_anywhere(transcript, within, step, None):
                return
            at = -1 if step > 0 else len(self._view.column)
            found = await self._go_on(transcript, within, step, at)
        finally:
            self._entering = False
        if found is False and step < 0 and not self._view.complete:
            self._wanted = _EDGES[step]
            self._settle()

    async def _find_next(self, transcript: Transcript, within: Within, step: int) -> None:
        if await self._go_on_anywhere(transcript, within, step, self._view.cursor.entry):
            return
        found = await self._go_on(transcript, within, step, self._view.cursor.entry)
        if found is False and step < 0 and not self._view.complete and within.has_places:
            self._wanted = "match"
            self._settle()
        elif found is False:
            self._no_more(step)

    async def _go_on_anywhere(self, transcript: Transcript, within: Within, step: int, at: int | None) -> bool:
        """Where the conversation has several branches: go to the nearest match beyond the entry `at` (None: beyond
        the edge), in the order in which all of it was said, on whichever branch it is. Whether that was for this to
        do."""
        if not may_part(transcript):
            return False
        entries = self._view.column.entries
        above = [entry.message.id for entry in entries[: at + 1]] if at is not None else []
        async with self._reading:
            found = await aside(_next_anywhere, transcript, within, step, above)
        if found is None or transcript is not self._transcript or within is not self._within:
            return found is not None
        if found:
            self._sought = found
            await self._go_to_branch_with(transcript, found)
        elif at is not None:
            self._no_more(step)
        return True

    async def _go_on(self, transcript: Transcript, within: Within, step: int, at: int) -> bool | None:
        """Go to the nearest match beyond `at` among what is loaded; whether there is one. None where something else
        is shown by now."""
        messages = [entry.message for entry in self._view.column.entries]
        index = await aside(within.next, messages, at, step)
        if transcript is not self._transcript or within is not self._within:
            return None
        if index is not None:
            # What was read meanwhile came in front, or behind.
            wanted = messages[index]
            entries = self._view.column.entries
            index = next((at for at, entry in enumerate(entries) if entry.message is wanted), None)
        if index is None:
            return False
        self._show(index)
        self._settle()
        return True

    # Getting there -----------------------------------------------------------------------------------------

    def _settled(self) -> None:
        if self._wanted == "message" and self._view.is_ready:
            self._arrived(self._view.complete, len(self._view.column))
            if not self._wanted:
                self._settle()
                return
        super()._settled()

    def _arrived(self, read_all: bool, added: int) -> None:
        if self._wanted == _EDGES[1]:
            self._missing.difference_update(one.message.id for one in self._view.column.entries[:added])
            if read_all or (self._all_known and not self._missing):
                self._begin(1)
            return
        entries = self._view.column.entries
        found: int | None = None
        if self._wanted == "message":
            found = self._place(read_all, added)
        elif self._wanted in ("match", _EDGES[-1]) and self._within is not None:
            found = self._within.next([entry.message for entry in entries], added, -1)
        if found is None and not read_all:
            return
        wanted, self._wanted = self._wanted, ""
        if found is not None:
            self._show(found)
        elif wanted == "match":
            self._no_more(-1)
        elif wanted == "message":
            self._refuse("The message that was found is not in the conversation any more")

    def _place(self, read_all: bool, added: int) -> int | None:
        entries = self._view.column.entries
        index = next((at for at in range(added) if entries[at].message.id == self._sought), None)
        if index is None and read_all and self._sought[:1] == "#" and self._sought[1:].isdecimal():
            index = int(self._sought[1:]) if int(self._sought[1:]) < len(entries) else None
        if index is None or entries[index].height:
            return index
        from hermes_tui.sessions.search.within import place_of

        return place_of([entry.message for entry in entries[: index + 1]], index)

    def _show(self, index: int) -> None:
        """Put the cursor on the first lit word of an entry, a third down the screen; what hides it is opened."""
        view = self._view
        if not view.is_ready:
            return
        line = self._lit_line(view.rendered(index))
        if line is None:
            line = self._uncovered(index)
        position = view.near(index, line or 0)
        view.go(position)
        view.top = view.step(position, -(view.height // 3))
        view.rows()
        view.show_cursor()

    def _uncovered(self, index: int) -> int | None:
        """Open the first block of an entry with a lit word in it; the row of that. None where there is none."""
        view = self._view
        entry = view.column.entries[index]
        before = entry.levels
        rendered = view.rendered(index)
        for level in (OPEN, ALL):
            for block in sorted(rendered.folds | rendered.cuts):
                view.set_levels(index, {**(before or {}), block: level})
                line = self._lit_line(view.rendered(index))
                if line is not None:
                    return line
        view.set_levels(index, before or {})
        return None

    def _lit_line(self, rendered: Rendered) -> int | None:
        """The first row of a message with a lit word."""
        if self._within is None:
            return None
        for piece, start in zip(rendered.pieces, rendered.starts, strict=True):
            texts = [row if isinstance(row, str) else "".join(part.text for part in row) for row in piece.rows]
            spans = self._within.spans("\n".join(texts)) if piece.name != "header" else []
            if spans:
                begins = list(accumulate((len(text) + 1 for text in texts), initial=0))
                return start + bisect_right(begins, spans[0].start) - 1
        return None

    # Drawing -----------------------------------------------------------------------------------------------

    def _draw(self, rows: list[VisibleRow], width: int) -> list[Strip]:
        strips = super()._draw(rows, width)
        if self._within is None or not self._within.has_places:
            return strips
        style = self._style("match")
        begin = 0
        while begin < len(rows):
            # A phrase may go on in the next row of the same piece.
            piece = rows[begin].rendered.at(rows[begin].position.line)[0]
            end = begin + 1
            while end < len(rows) and rows[end].rendered.at(rows[end].position.line)[0] is piece:
                end += 1
            if piece.name != "header":
                strips[begin:end] = self._lit_rows(strips[begin:end], self._within, style)
            begin = end
        return strips

    @staticmethod
    def _lit_rows(strips: Sequence[Strip], within: Within, style: Style) -> list[Strip]:
        # The first column is the mark of the block that the cursor is in.
        texts = [f" {strip.text[1:].rstrip()}" for strip in strips]
        spans = within.spans("\n".join(texts))
        found: list[Strip] = []
        at = 0
        for strip, text in zip(strips, texts, strict=True):
            here = [(max(0, a - at), min(len(text), b - at)) for a, b in spans if a < at + len(text) and b > at]
            found.append(lit(strip, here, style))
            at += len(text) + 1
        return found


def _next_anywhere(transcript: Transcript, within: Within, step: int, above: Sequence[str]) -> str | None:
    """Id of the next match, empty where there is none; None where there is one branch. `above`: ids of the shown
    messages down to the one that is left. Reads the store: not for the screen's thread."""
    if not branches_of(transcript):
        return None
    try:
        messages = transcript.every_branch()
    except OSError:
        return None  # `poll` says that the file is gone
    place = {message.id: at for at, message in enumerate(messages)}
    edge = -1 if step > 0 else len(messages)
    at = next((place[id_] for id_ in reversed(above) if id_ in place), -1 if above else edge)
    index = within.next(messages, at, step)
    return messages[index].id if index is not None else ""


def lit(strip: Strip, spans: Sequence[tuple[int, int]], style: Style) -> Strip:
    """The strip with these characters of its text in another style."""
    text = strip.text
    cuts = [edge if text.isascii() else cell_len(text[:edge]) for span in spans for edge in span]
    if not cuts:
        return strip
    parts = list(strip.divide([*cuts, strip.cell_length]))
    for index in range(1, len(parts), 2):
        if index < len(cuts):
            parts[index] = Strip(Segment.apply_style(parts[index], post_style=style), parts[index].cell_length)
    return Strip.join(parts)
