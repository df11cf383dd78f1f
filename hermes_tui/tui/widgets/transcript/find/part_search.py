"""Looks through the parts of a session that are not loaded, one at a time.

None is kept but the one that has what is looked for: a session of hundreds of megabytes takes no more memory for that
than a short one. Each part takes a few hundredths of a second, and the border says how far it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from weakref import ReferenceType, ref

from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.widgets.transcript.layout.heights import is_hidden
from hermes_tui.tui.widgets.transcript.open_transcript import OpenTranscript, TranscriptHost
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import Message
from session_adapters.transcript import Transcript

if TYPE_CHECKING:
    from hermes_tui.sessions.search.within import Within

__all__ = ["Found", "PartSearch", "first_of", "match_in", "place_in", "shown_at"]

Found = Callable[[Sequence[Message]], int | None]
"""Which of some messages is looked for."""


def first_of(messages: Sequence[Message]) -> int | None:
    """Whichever comes first."""
    return 0 if messages else None


def place_in(messages: Sequence[Message], message_id: str) -> int | None:
    """The message of that id, or the one that shows it."""
    index = next((at for at, one in enumerate(messages) if one.id == message_id), None)
    return None if index is None else shown_at(messages, index)


def shown_at(messages: Sequence[Message], index: int) -> int:
    """Which message shows the one with this index."""
    if not is_hidden(messages[index]):
        return index
    from hermes_tui.sessions.search.within import place_of

    return place_of(messages, index)


def match_in(messages: Sequence[Message], within: Within | None, step: int) -> int | None:
    """The first (1) or the last (-1) match."""
    return within.next(messages, -1 if step > 0 else len(messages), step) if within is not None else None


class PartSearch:
    """One search at a time, until it is stopped."""

    def __init__(self, pane: TranscriptHost) -> None:
        self._pane = pane
        self._run: object | None = None
        """Another one for each search."""
        self._share = 0.0
        self._in_vain: ReferenceType[OpenTranscript] | None = None
        """What cannot be read in parts. It is not kept for that."""

    @property
    def is_under_way(self) -> bool:
        """Parts are being read."""
        return self._run is not None

    @property
    def progress(self) -> str:
        """How far it is; empty where nothing is looked for."""
        return f"looking for it, {self._share:.0%} read, esc stops".replace("%", " %") if self._run else ""

    def can_read(self, opened: OpenTranscript) -> bool:
        """Whether the store of this session can be read in parts, as far as it is known."""
        in_vain = self._in_vain is not None and self._in_vain() is opened
        return opened.transcript is not None and not in_vain

    def stop(self) -> None:
        """Look for nothing any more."""
        self._run = None

    def begin(
        self, step: int, found: Found, there: Callable[[Transcript, int], None], nowhere: Callable[[], None]
    ) -> None:
        """Look above what is loaded (-1), below it (1), or from the very beginning down (0). `there` is given the
        part and which of its messages it is; `nowhere` is called where no part has it."""
        self._run = run = object()
        self._share = 0.0
        search = partial(self._search, run, self._pane.opened, step, found, there, nowhere)
        run_beside(self._pane, search, "transcript.parts", exclusive=True)
        self._pane.settle()

    async def _search(
        self,
        run: object,
        opened: OpenTranscript,
        step: int,
        found: Found,
        there: Callable[[Transcript, int], None],
        nowhere: Callable[[], None],
    ) -> None:
        part = await opened.look_beside(step)
        if part is None:
            self._in_vain = ref(opened)
        start = part.begins if part is not None else 0.0
        while part is not None:
            at = await in_thread(found, part.messages)
            if run is not self._run or opened is not self._pane.opened:
                return
            if at is not None:
                self._run = None
                there(part, at)
                return
            # All that there is in that direction.
            whole = start if step < 0 else 1 - start
            self._share = abs(part.begins - start) / whole if whole else 1.0
            self._pane.settle()
            part.let_go()
            part = await opened.look_beside(step or 1, part)  # from the very beginning it goes down
        if run is self._run and opened is self._pane.opened:
            self._run = None
            nowhere()
