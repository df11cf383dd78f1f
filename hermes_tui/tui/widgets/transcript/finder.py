"""Goes to a message, a landmark or the next match of a transcript.

What is not loaded yet is read for until it is there, the beginning is reached, or another key is pressed. A landmark,
the first message, and all else once much was loaded for it, are looked for part by part, and the part that has it is
shown alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.widgets.transcript.jumps import go_to_landmark, landmark_blocks, next_landmark, show_at
from hermes_tui.tui.widgets.transcript.match_highlight import UncoveredMatch, first_match_row
from hermes_tui.tui.widgets.transcript.open_transcript import OpenTranscript, TranscriptHost
from hermes_tui.tui.widgets.transcript.part_search import Found, PartSearch, first_of, match_in, place_in, shown_at
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.transcript import Transcript

if TYPE_CHECKING:
    from hermes_tui.sessions.landmarks import LandmarkKind
    from hermes_tui.sessions.search.within import Within

__all__ = ["TranscriptFinder"]

_EDGES = {1: "first match", -1: "last match"}
"""What is wanted of what is earlier on the way to the first or the last match of all."""


class TranscriptFinder:
    """What is looked for in a pane's transcript."""

    def __init__(self, pane: TranscriptHost) -> None:
        self._pane = pane
        self.within: Within | None = None
        """What finds the matches; None while there is no search."""
        self._searched: Within | None = None
        """What a search of all sessions lights."""
        self._may_be_elsewhere: Callable[[], bool] | None = None
        """Whether a match of it may be in what is not loaded; None where nobody knows."""
        self._uncovered = UncoveredMatch()
        self._wanted = ""
        """What is looked for in what is earlier: `first`, `landmark`, `message`, `match` or one of `_EDGES`."""
        self._sought = ""
        """Id of the message that is wanted, or `#` and its index."""
        self._kind: LandmarkKind = "prompt"
        """Of the landmark."""
        self._times = 1
        """How many of them further."""
        self._block = ""
        """The block of it that is wanted; empty for any."""
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
        return bool(self._wanted) or self._parts.is_under_way or self._entering

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
        return bool(self._wanted) and not self._parts.is_under_way

    def stop(self) -> None:
        """Look for nothing in what is not loaded any more."""
        self._wanted = ""
        self._parts.stop()

    # What is asked for -------------------------------------------------------------------------------------

    def light(
        self, within: Within | None, *, own: bool = False, may_be_elsewhere: Callable[[], bool] | None = None
    ) -> None:
        """Light what this finds, until it is None; `find_next` goes from match to match, in what is not loaded as
        long as one `may_be_elsewhere`. What is found in the session alone (`own`) takes the place of what a search of
        all has found."""
        self._may_be_elsewhere = may_be_elsewhere
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
        self._wanted = "" if view.complete else "first"
        self._pane.settle()

    def go_to_landmark(self, kind: LandmarkKind, step: int, times: int = 1) -> None:
        """Go to the next (1) or the previous (-1) one, so many times, reading what is before where it has to be."""
        view = self._pane.opened.view
        self.stop()
        self._kind, self._times = kind, go_to_landmark(view, kind, step, times)
        if self._times:
            if step < 0 and not view.complete and view.is_ready:
                self._wanted = "landmark"
            elif step > 0 and view.is_cut:
                self._look_in_parts(1, "landmark")
            else:
                self._not_there(step, "landmark")
        self._pane.settle()

    def go_to(self, message_id: str, block: str = "") -> None:
        """Put the cursor on a message (its id, or `#` and its index), on that `block` of it or the first word that is
        lit in it; whichever branch it is on."""
        self._sought, self._block = message_id, block
        if all(one.id != message_id for one in self._pane.opened.messages):
            self._pane.show_end()
        opened = self._pane.opened
        if opened.may_part:
            self._wanted = ""
            self._find(partial(self._go_to_branch_with, opened, message_id))
        else:
            self._want("message")

    def find_next(self, step: int) -> None:
        """Go to the next (1) or previous (-1) message with a match."""
        opened = self._pane.opened
        if self.within is None or opened.transcript is None:
            self._pane.refuse("Nothing is looked for: press / and type")
        elif not self._entering and self._wanted not in _EDGES.values():
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
            self._want(_EDGES[step])
        else:
            self._begin(step)

    def _want(self, what: str) -> None:
        """The pane reads what is earlier until it has arrived."""
        self._wanted = what
        self._pane.settle()

    def _begin(self, step: int) -> None:
        """All that is needed for it is loaded, as far as it is known."""
        self._wanted = ""
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
            at = -1 if step > 0 else len(opened.view.column)
            found = await self._go_on(opened, within, step, at)
        finally:
            self._entering = False
        if found is False and step < 0 and not opened.view.complete:
            self._want(_EDGES[step])

    async def _find_next(self, opened: OpenTranscript, within: Within, step: int) -> None:
        if await self._go_on_anywhere(opened, within, step, opened.view.cursor.entry):
            return
        found = await self._go_on(opened, within, step, opened.view.cursor.entry)
        if found is False and step < 0 and not opened.view.complete and self._reads_for(within):
            self._want("match")
        elif found is False and step > 0 and opened.is_cut and self._reads_for(within):
            self._look_in_parts(1, "match")
        elif found is False:
            self._pane.no_more(step)

    async def _find_near(
        self, opened: OpenTranscript, within: Within, at: int, nowhere: Callable[[], None], *, reads_on: bool
    ) -> None:
        if await self._go_on(opened, within, 1, at - 1) is not False:
            return
        above = partial(self._find_above, opened, within, at, nowhere, reads_on=reads_on)
        if reads_on and opened.is_cut and self._reads_for(within):
            self._look_in_parts(1, "match", lambda: self._find(above))
        else:
            await above()

    async def _find_above(
        self, opened: OpenTranscript, within: Within, at: int, nowhere: Callable[[], None], *, reads_on: bool
    ) -> None:
        found = await self._go_on(opened, within, -1, at)
        if found is False:
            nowhere()
        if found is False and reads_on and not opened.view.complete and self._reads_for(within):
            self._want("match")

    def _reads_for(self, within: Within) -> bool:
        """What is not loaded may have a match."""
        return within.has_places and (self._may_be_elsewhere is None or self._may_be_elsewhere())

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
            self._sought = found
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
        if self._wanted != "message" or not view.is_ready:
            return False
        self.arrived(len(view.column))
        return not self._wanted

    def arrived(self, added: int) -> None:
        """So many messages came in front: go to what is wanted if it is among them."""
        opened = self._pane.opened
        read_all = opened.view.complete
        if not self._wanted:
            return
        if self._wanted == "first":
            opened.view.go(opened.view.first)
            self._wanted = "" if read_all else "first"
        elif self._wanted == "landmark":
            self._times = go_to_landmark(opened.view, self._kind, -1, self._times, added)
            self._wanted = "landmark" if self._times and not read_all else ""
            if self._times and read_all:
                self._not_there(-1, "landmark")
        elif self._wanted == _EDGES[1]:
            self._missing.difference_update(message.id for message in opened.messages[:added])
            if read_all or (self._all_known and not self._missing):
                self._begin(1)
        else:
            self._match_arrived(added, read_all=read_all)
        # Messages and matches are mostly near, where reading on keeps what is between.
        far = opened.is_heavy or self._wanted in ("first", "landmark")
        if self.needs_earlier and far and self._parts.can_read(opened):
            self._look_in_parts(0 if self._wanted in ("first", _EDGES[1]) else -1, self._wanted)

    # In what is not loaded ---------------------------------------------------------------------------------

    def _look_in_parts(self, step: int, wanted: str, nowhere: Callable[[], None] | None = None) -> None:
        """Go to what is wanted where it is in no loaded part: above (-1), below (1), or first of all (0). `nowhere`:
        called in place of saying that it is in none."""
        found: Found = partial(match_in, within=self.within, step=step or 1)
        if wanted in ("first", "message"):
            found = first_of if wanted == "first" else partial(place_in, message_id=self._sought)
        elif wanted == "landmark":
            found = partial(next_landmark, kind=self._kind, step=step)

        def there(part: Transcript, at: int) -> None:
            self._pane.show_part_at(part)
            if wanted == "landmark":
                self._block = landmark_blocks(part.messages[at], self._kind)[0 if step > 0 else -1]
            self._show(at, lit=wanted not in ("first", "landmark"))
            if wanted == "landmark" and self._times > 1:
                self.go_to_landmark(self._kind, step, self._times - 1)
            self._pane.settle()

        self._parts.begin(step, found, there, nowhere or partial(self._in_no_part, step, wanted))

    def _in_no_part(self, step: int, wanted: str) -> None:
        """It is in no part, or there are no parts: what is earlier is loaded then."""
        if not self._wanted or self._parts.can_read(self._pane.opened):
            self._wanted = ""
            self._not_there(step, wanted)
        self._pane.settle()

    def _not_there(self, step: int, wanted: str) -> None:
        if wanted == "landmark":
            self._pane.refuse(f"There is no further {self._kind} " + ("below" if step > 0 else "above"))
        elif wanted == "match":
            self._pane.no_more(step)
        elif wanted == "message":
            self._pane.refuse("The message that was found is not in the conversation any more")

    def _match_arrived(self, added: int, *, read_all: bool) -> None:
        is_match = self._wanted != "message"
        above = self._pane.opened.messages[:added]
        found = match_in(above, self.within, -1) if is_match else self._place(read_all, added)
        if found is None and not read_all:
            return
        wanted, self._wanted = self._wanted, ""
        if found is not None:
            self._show(found)
        else:
            self._not_there(-1, wanted)

    def _place(self, read_all: bool, added: int) -> int | None:
        messages = self._pane.opened.messages
        index = place_in(messages[:added], self._sought)
        if index is None and read_all and self._sought[:1] == "#" and self._sought[1:].isdecimal():
            index = int(self._sought[1:]) if int(self._sought[1:]) < len(messages) else None
        return index if index is None else shown_at(messages, index)

    def _show(self, index: int, *, lit: bool = True) -> None:
        """Put the cursor on the first lit word of an entry, a third down the screen; what hides it is opened. With
        `lit` False, on its block or its beginning."""
        view, within = self._pane.opened.view, self.within if lit else None
        if not view.is_ready:
            return
        block, self._block = self._block, ""
        line = view.rendered(index).head(block) if block else None
        if within is not None and line is None:
            line = first_match_row(view.rendered(index), within)
            if line is None:
                line = self._uncovered.uncover(view, index, within)
        show_at(view, view.near(index, line or 0))
