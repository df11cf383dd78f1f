"""Finds what somebody types inside the open session, round and round in it."""

from __future__ import annotations

from asyncio import sleep
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from hermes_tui.tui.widgets.transcript.find.finder import TranscriptFinder
from hermes_tui.tui.widgets.transcript.open_transcript import TranscriptHost
from hermes_tui.tui.widgets.transcript.whole_session import WholeSession
from hermes_tui.tui.workers.coroutines import run_beside

if TYPE_CHECKING:
    from hermes_tui.tui.widgets.transcript.find.session_find import SessionFind
    from hermes_tui.tui.widgets.transcript.view import Bookmark

__all__ = ["TypedFind"]

_PATIENCE, _TURN = 1.0, 0.02
"""Seconds for which it is waited until it is known whether there is a match, and between two looks at that."""


class TypedFind:
    """Owns what is found in the session itself, which takes the place of what a search has found there."""

    def __init__(self, pane: TranscriptHost, finder: TranscriptFinder) -> None:
        self._pane = pane
        self._finder = finder
        self.found: SessionFind | None = None
        """None where nothing was typed."""
        self._began: Bookmark | None = None
        """Where the view was."""
        self._waiting: tuple[str, bool] | None = None
        """What was typed before the session was open."""
        self._round = 0
        """In which direction to go on from the other end, once all matches are known."""

    def begin(self) -> None:
        """Somebody is about to type."""
        self._began = self._pane.opened.view.bookmark()

    def find(self, text: str, *, last: bool = False) -> None:
        """Go to the first match from where it began on, or the nearest above, or back to there. `last`: no more will
        be typed."""
        opened, found = self._pane.opened, self.found
        self._waiting = (text, last) if opened.summary is None else None
        if not text.strip() or opened.summary is None:
            self.end()
            self._go_back()
            return
        if found is None or found.text != text:
            from hermes_tui.sessions.query.query import parse
            from hermes_tui.sessions.search.within import Within
            from hermes_tui.tui.widgets.transcript.find.session_find import SessionFind

            self.end()
            self.found = found = SessionFind(text, Within(parse(text, typing=True), opened.summary))
            self._finder.light(found.within, own=True, elsewhere=partial(self._is_elsewhere, found))
            run_beside(self._pane, partial(self._count, found), "transcript.count", exclusive=True)
        elif (
            opened.view.bookmark() != self._began
            and opened.view.is_ready
            and found.within.places([opened.view.column.entries[opened.view.cursor.entry].message])
        ):
            return  # it is found, and not only what was typed before
        if self._began is not None:
            entries = opened.view.column.entries
            entry = self._began.cursor[0]
            at = entries.index(entry) if entry in entries else opened.view.cursor.entry
            self._finder.find_near(at, self._go_back, reads_on=last)

    async def _is_elsewhere(self, found: SessionFind) -> bool:
        """Whether a match is not loaded, or may be: all that is earlier would be loaded for a word that nobody said,
        which the count mostly knows in a moment."""
        until = monotonic() + _PATIENCE
        while not (found.counted or found.places or found.stopped) and monotonic() < until:  # noqa: ASYNC110
            await sleep(_TURN)
        return not found.counted or not {one.id for one in self._pane.opened.messages}.issuperset(found.places)

    def _go_back(self) -> None:
        """To where it began: nobody is left at a match of what was typed in passing."""
        self._finder.cover()
        if self._began is not None:
            self._pane.opened.view.come_back(self._began)
        self._pane.settle()

    def session_opened(self) -> None:
        """Find in it what was typed ahead."""
        if self._waiting is not None:
            self.begin()
            self.find(self._waiting[0], last=self._waiting[1])

    async def _count(self, found: SessionFind) -> None:
        session = WholeSession(self._pane, self._finder.arrived)
        await found.count(session, self._pane.settle, waits=lambda: self._finder.reads_parts)
        if found is self.found and self._round:
            self.goes_round(self._round)

    def look_at_more(self) -> None:
        """More may have been said since all was counted."""
        if self.found is not None and not self._pane.opened.is_cut and self.found.lacks(self._pane.opened.messages):
            run_beside(self._pane, partial(self._count_on, self.found), "transcript.count", exclusive=True)

    async def _count_on(self, found: SessionFind) -> None:
        if not await found.count_on(self._pane.opened.messages):
            await self._count(found)
        self._pane.settle()

    def go_on(self, step: int) -> None:
        """Go to the next (1) or the previous (-1) match, of a search too."""
        if self.found is not None:
            self.found.went_round = ""
        self._finder.find_next(step)

    def goes_round(self, step: int) -> bool:
        """There is no further match: go on from the other end, as the border says. False where nothing was typed."""
        found, self._round = self.found, 0
        if found is None:
            return False
        if not found.counted:
            self._round = step
        elif len(found.places) > 1:
            found.went_round = "on from the top" if step > 0 else "on from the end"
            self._finder.enter(step, frozenset(found.places if step > 0 else ()))
        elif found.places:
            self._pane.refuse("There is no other match in this session")
        else:
            self._pane.refuse(found.words(None))
        return True

    def give_up(self) -> None:
        """Find nothing, and go back to where it began."""
        self.end()
        self._waiting = None
        self._go_back()

    def end(self) -> None:
        """Find nothing any more."""
        found, self.found, self._round = self.found, None, 0
        if found is not None:
            found.stopped = True
            self._finder.light(None, own=True)
            self._pane.settle()

    def step_back(self) -> bool:
        """Stop what is on its way, or else find nothing any more; False where neither was."""
        if self._finder.progress:
            self._finder.stop()
            self._pane.settle()
        elif self.found is not None:
            self.end()
        else:
            return False
        return True
