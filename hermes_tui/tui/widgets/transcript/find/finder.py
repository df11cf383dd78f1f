"""Goes to a message, a landmark or the next match of a transcript.

What is not loaded yet is read for until it is there, the beginning is reached, or another key is pressed; a landmark,
the first message, and all else once much was loaded, by parts, of which the one that has it is shown alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.widgets.transcript.find.match_highlight import UncoveredMatch
from hermes_tui.tui.widgets.transcript.find.part_search import PartSearch, match_in
from hermes_tui.tui.widgets.transcript.find.target import EDGES, FindTarget
from hermes_tui.tui.widgets.transcript.jumps import go_to_landmark, landmark_blocks
from hermes_tui.tui.widgets.transcript.open_transcript import OpenTranscript, TranscriptHost
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.transcript import Transcript

if TYPE_CHECKING:
    from hermes_tui.sessions.landmarks import LandmarkKind
    from hermes_tui.sessions.search.within import Within

__all__ = ["TranscriptFinder"]


class TranscriptFinder:
    """What is looked for in a pane's transcript."""

    def __init__(self, pane: TranscriptHost) -> None:
        self._pane = pane
        self.within: Within | None = None
        """What finds the matches; None while there is no search."""
        self._searched: Within | None = None
        """What a search of all sessions lights."""
        self._elsewhere: Callable[[], Awaitable[bool]] | None = None
        """Whether a match of it may be in what is not loaded; None where nobody knows."""
        self._uncovered = UncoveredMatch()
        self._target = FindTarget()
        self._entering = False
        """The first or the last match of all is looked for."""
        self._missing: set[str] = set()
        """Ids of messages that the first match of all may be, and that are not loaded yet."""
        self._all_known = False
        """No others may be."""
        self._parts = PartSearch(pane)

    @property
    def is_seeking(self) -> bool:
        """A message or a match that is not loaded yet is on its way."""
        return bool(self._target.what) or self._parts.is_under_way or self._entering

    @property
    def reads_parts(self) -> bool:
        """Parts that are not loaded are being read."""
        return self._parts.is_under_way

    @property
    def progress(self) -> str:
        """What is being read to find something, for the border."""
        return self._parts.progress or ("reading what is earlier, esc stops" if self.needs_earlier else "")

    @property
    def needs_earlier(self) -> bool:
        """What is earlier is to be loaded."""
        return bool(self._target.what) and not self._parts.is_under_way

    def stop(self) -> None:
        """Look for nothing in what is not loaded any more."""
        self._target.what = ""
        self._parts.stop()

    # What is asked for -------------------------------------------------------------------------------------

    def light(
        self, within: Within | None, *, own: bool = False, elsewhere: Callable[[], Awaitable[bool]] | None = None
    ) -> None:
        """Light what this finds, until it is None; `find_next` goes from match to match, in what is not loaded while
        one may be `elsewhere`. What is found in the session alone (`own`) goes before what a search has found."""
        self._elsewhere = elsewhere
        if own:
            within = within or self._searched
        else:
            self._searched = within
        if within is not self.within:
            self.within = within
            self._pane.settle()

    def go_to_first(self) -> None:
        """Go to the very first message, reading all that is before."""
        view = self._pane.opened.view
        view.go(view.first)
        self._target.what = "" if view.complete else "first"
        self._pane.settle()

    def go_to_landmark(self, kind: LandmarkKind, step: int, times: int = 1) -> None:
        """Go to the next (1) or the previous (-1) one, so many times, reading what is before where it has to be."""
        view = self._pane.opened.view
        self.stop()
        self._target.kind, self._target.times = kind, go_to_landmark(view, kind, step, times)
        if self._target.times:
            if step < 0 and not view.complete and view.is_ready:
                self._target.what = "landmark"
            elif step > 0 and view.is_cut:
                self._look_in_parts(1, "landmark")
            else:
                self._not_there(step, "landmark")
        self._pane.settle()

    def go_to(self, message_id: str, block: str = "") -> None:
        """Put the cursor on a message (its id, or `#` and its index), on that `block` of it or the first word that is
        lit in it; whichever branch it is on."""
        self._target.message_id, self._target.block = message_id, block
        if all(one.id != message_id for one in self._pane.opened.messages):
            self._pane.show_end()
        opened = self._pane.opened
        if opened.may_part:
            self._target.what = ""
            self._find(partial(self._go_to_branch_with, opened, message_id))
        else:
            self._want("message")

    def find_next(self, step: int) -> None:
        """Go to the next (1) or previous (-1) message with a match."""
        opened = self._pane.opened
        if self.within is None or opened.transcript is None:
            self._pane.refuse("Nothing is looked for: press / and type")
        elif not self._entering and self._target.what not in EDGES.values():
            self.stop()
            self._find(partial(self._find_next, opened, self.within, step))

    def find_near(self, at: int, nowhere: Callable[[], None], *, reads_on: bool) -> None:
        """Go to the first match from the entry `at` on, or else to the nearest above, for which what is earlier is
        only read with `reads_on`. `nowhere`: called where what is loaded has none."""
        self.stop()
        self.cover()
        opened, within = self._pane.opened, self.within
        if within is not None and opened.transcript is not None:
            self._find(partial(self._find_near, opened, within, at, nowhere, reads_on=reads_on))

    def cover(self) -> None:
        """Close what was opened for the latest match."""
        self._uncovered.cover(self._pane.opened.view)

    def enter(self, step: int, known: frozenset[str] = frozenset()) -> None:
        """Go to the first (1) or last (-1) message with a match, reading what is before where it has to be: no
        further than to the messages with these ids, if that is all that match. Stay where there is none. Until then
        `find_next` does nothing."""
        self._pane.show_end()
        opened = self._pane.opened
        if self.within is None or opened.transcript is None or not self.within.has_places:
            return
        self._missing = {*known}.difference(message.id for message in opened.messages)
        if step > 0 and not opened.view.complete and (self._missing or not known):
            self._all_known = bool(known)
            self._want(EDGES[step])
        else:
            self._begin(step)

    def _want(self, what: str) -> None:
        """The pane reads what is earlier until it has arrived."""
        self._target.what = what
        self._pane.settle()

    def _begin(self, step: int) -> None:
        """All that is needed for it is loaded, as far as it is known."""
        self._target.what = ""
        opened = self._pane.opened
        if self.within is not None and opened.transcript is not None:
            self._entering = True
            self._find(partial(self._enter, opened, self.within, step))

    def _find(self, finding: Callable[[], Awaitable[object]]) -> None:
        run_beside(self._pane, finding, "transcript.find", exclusive=True)

    async def _go_to_branch_with(self, opened: OpenTranscript, message_id: str) -> None:
        await opened.show_branch_of(message_id)
        if opened is self._pane.opened:
            self._want("message")

    async def _enter(self, opened: OpenTranscript, within: Within, step: int) -> None:
        try:
            if await self._go_on_anywhere(opened, within, step, None):
                return
            found = await self._go_on(opened, within, step, -1 if step > 0 else len(opened.view.column))
        finally:
            self._entering = False
        if found is False and step < 0 and not opened.view.complete:
            self._want(EDGES[step])

    async def _find_next(self, opened: OpenTranscript, within: Within, step: int) -> None:
        if await self._go_on_anywhere(opened, within, step, opened.view.cursor.entry):
            return
        if await self._go_on(opened, within, step, opened.view.cursor.entry) is not False:
            return
        reads_on = (opened.is_cut if step > 0 else not opened.view.complete) and await self._reads_for(within)
        if self._is_stale(opened, within):
            return
        if reads_on and step < 0:
            self._want("match")
        elif reads_on:
            self._look_in_parts(1, "match")
        else:
            self._pane.no_more(step)

    async def _find_near(
        self, opened: OpenTranscript, within: Within, at: int, nowhere: Callable[[], None], *, reads_on: bool
    ) -> None:
        if await self._go_on(opened, within, 1, at - 1) is not False:
            return
        above = partial(self._find_above, opened, within, at, nowhere, reads_on=reads_on)
        if reads_on and opened.is_cut and await self._reads_for(within):
            self._look_in_parts(1, "match", lambda: self._find(above))
        else:
            await above()

    async def _find_above(
        self, opened: OpenTranscript, within: Within, at: int, nowhere: Callable[[], None], *, reads_on: bool
    ) -> None:
        if await self._go_on(opened, within, -1, at) is not False:
            return
        nowhere()
        cursor = opened.view.cursor
        reads_on = reads_on and not opened.view.complete and await self._reads_for(within)
        if reads_on and not self._is_stale(opened, within) and opened.view.cursor == cursor:
            self._want("match")  # nobody has gone elsewhere since

    async def _reads_for(self, within: Within) -> bool:
        """What is not loaded may have a match."""
        return within.has_places and (self._elsewhere is None or await self._elsewhere())

    def _is_stale(self, opened: OpenTranscript, within: Within) -> bool:
        """Something else is shown, or looked for, by now."""
        return opened is not self._pane.opened or within is not self.within

    async def _go_on_anywhere(self, opened: OpenTranscript, within: Within, step: int, at: int | None) -> bool:
        """Where the conversation has several branches: go to the nearest match beyond the entry `at` (None: beyond
        the edge), in the order in which all of it was said, on whichever branch it is. Whether that was for this to
        do."""
        if not opened.may_part:
            return False
        above = [message.id for message in opened.messages[: at + 1]] if at is not None else []
        found = await opened.next_match(within, step, above)
        if found is None or self._is_stale(opened, within):
            return found is not None
        if found:
            self._target.message_id = found
            await self._go_to_branch_with(opened, found)
        elif at is not None:
            self._pane.no_more(step)
        return True

    async def _go_on(self, opened: OpenTranscript, within: Within, step: int, at: int) -> bool | None:
        """Go to the nearest match beyond `at` among what is loaded; whether there is one. None where something else
        is shown by now."""
        messages = opened.messages
        index = await in_thread(within.next, messages, at, step)
        if self._is_stale(opened, within):
            return None
        if index is not None:
            # What was read meanwhile came in front, or behind.
            wanted = messages[index]
            index = next((at for at, message in enumerate(opened.messages) if message is wanted), None)
        if index is None:
            return False
        self._show(index)
        self._pane.settle()
        return True

    # Getting there -----------------------------------------------------------------------------------------

    def found_among_loaded(self) -> bool:
        """Go to the wanted message if it is loaded, or known to be nowhere; whether anything moved."""
        view = self._pane.opened.view
        if self._target.what != "message" or not view.is_ready:
            return False
        self.arrived(len(view.column))
        return not self._target.what

    def arrived(self, added: int) -> None:
        """So many messages came in front: go to what is wanted if it is among them."""
        opened = self._pane.opened
        read_all = opened.view.complete
        if not self._target.what:
            return
        if self._target.what == "first":
            opened.view.go(opened.view.first)
            self._target.what = "" if read_all else "first"
        elif self._target.what == "landmark":
            self._target.times = go_to_landmark(opened.view, self._target.kind, -1, self._target.times, added)
            self._target.what = "landmark" if self._target.times and not read_all else ""
            if self._target.times and read_all:
                self._not_there(-1, "landmark")
        elif self._target.what == EDGES[1]:
            self._missing.difference_update(message.id for message in opened.messages[:added])
            if read_all or (self._all_known and not self._missing):
                self._begin(1)
        else:
            messages = opened.messages
            if self._target.what != "message":
                found = match_in(messages[:added], self.within, -1)
            else:
                found = self._target.place_among(messages, added, read_all=read_all)
            if found is not None or read_all:
                wanted, self._target.what = self._target.what, ""
                if found is not None:
                    self._show(found)
                else:
                    self._not_there(-1, wanted)
        if self.needs_earlier and (opened.is_heavy or self._target.is_far) and self._parts.can_read(opened):
            self._look_in_parts(0 if self._target.what in ("first", EDGES[1]) else -1, self._target.what)

    # In what is not loaded ---------------------------------------------------------------------------------

    def _look_in_parts(self, step: int, wanted: str, nowhere: Callable[[], None] | None = None) -> None:
        """Go to what is wanted where it is in no loaded part: above (-1), below (1), or first of all (0). `nowhere`:
        called in place of saying that it is in none."""

        def there(part: Transcript, at: int) -> None:
            self._pane.show_part_at(part)
            if wanted == "landmark":
                self._target.block = landmark_blocks(part.messages[at], self._target.kind)[0 if step > 0 else -1]
            self._show(at, lit=wanted not in ("first", "landmark"))
            if wanted == "landmark" and self._target.times > 1:
                self.go_to_landmark(self._target.kind, step, self._target.times - 1)
            self._pane.settle()

        found = self._target.found_by(wanted, self.within, step)
        self._parts.begin(step, found, there, nowhere or partial(self._in_no_part, step, wanted))

    def _in_no_part(self, step: int, wanted: str) -> None:
        """It is in no part, or there are no parts: what is earlier is loaded then."""
        if not self._target.what or self._parts.can_read(self._pane.opened):
            self._target.what = ""
            self._not_there(step, wanted)
        self._pane.settle()

    def _not_there(self, step: int, wanted: str) -> None:
        if wanted == "match":
            self._pane.no_more(step)
        elif reason := self._target.not_there(wanted, step):
            self._pane.refuse(reason)

    def _show(self, index: int, *, lit: bool = True) -> None:
        """Put the cursor on the first lit word of an entry; with `lit` False, on its block or its beginning."""
        if (view := self._pane.opened.view).is_ready:
            block, self._target.block = self._target.block, ""
            self._uncovered.go_to(view, index, self.within if lit else None, block)
