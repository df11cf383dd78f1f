"""A session that is open in the pane: read in threads, one read at a time.

What is read is put into the session's view without moving what is in sight.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from hermes_tui.tui.widgets.transcript.branches import branches_of, next_match, partings, switch, switch_to
from hermes_tui.tui.widgets.transcript.layout.layout_cache import Position
from hermes_tui.tui.widgets.transcript.view import View
from session_adapters.model import Message, SessionSummary
from session_adapters.transcript import Branch, Change, Transcript

if TYPE_CHECKING:
    from hermes_tui.sessions.search.within import Within

__all__ = ["EarlierUnreadable", "OpenTranscript", "TranscriptHost"]

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 250_000
"""Characters, roughly, that are kept of what came after a session was opened and of what was read above its end."""
_EACH = 500
"""Characters that a message or a call takes besides its texts."""


class EarlierUnreadable(Exception):
    """Messages before the loaded ones cannot be read."""


class _Read(NamedTuple):
    """What a thread found; the list is its own copy."""

    messages: list[Message]
    complete: bool
    branches: Sequence[Branch]
    added: int = 0
    change: Change = Change()


def _to_its_end(
    read: Callable[Concatenate[OpenTranscript, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[OpenTranscript, P], Coroutine[Any, Any, T]]:
    """After the reads that began before it; once begun, whole: whoever asked may be cancelled, its thread reads on,
    and what it finds belongs in the view."""

    @wraps(read)
    async def alone(self: OpenTranscript, /, *args: P.args, **kwargs: P.kwargs) -> T:
        await self._reading.acquire()  # who goes away while waiting wants nothing any more
        begun = asyncio.ensure_future(read(self, *args, **kwargs))
        begun.add_done_callback(lambda _: self._reading.release())
        return await asyncio.shield(begun)

    return alone


class OpenTranscript:
    """One session as the pane has it, with the place in it. What is kept of it comes back exactly there."""

    def __init__(
        self,
        part: ListedPart | None = None,
        transcript: Transcript | None = None,
        note: str = "",
        *,
        like: View,
        reading: asyncio.Lock | None = None,
    ) -> None:
        """Shown from its end; `note` is shown where it has no messages. What is open of one kind in the view `like`
        is open here. The transcript belongs to this object from now on: nobody else calls it. Parts of a session may
        share what they know of its store: they are read one at a time, under the lock `reading`."""
        self.part = part
        self.transcript = transcript
        self.note = note
        self.view = View()
        self.view.tools, self.view.thinking = like.tools, like.thinking
        self.gone = part is not None and part.summary.gone
        """The store no longer has it: its messages stay."""
        self.branches: Sequence[Branch] = ()
        self.loading = False
        """What is earlier is being read."""
        self.stuck = False
        """What is earlier cannot be read."""
        self.behind = False
        """More came below, and is read when the end comes near."""
        self.end: OpenTranscript | None = None
        """The same session from its end, where this is a part far above it."""
        self._weight = 0
        self._reading = asyncio.Lock() if reading is None else reading

    @property
    def summary(self) -> SessionSummary | None:
        """The session; None where there is only a note."""
        return self.part.summary if self.part is not None else None

    def is_of(self, summary: SessionSummary) -> bool:
        """It is this session."""
        return self.summary is not None and self.summary.unified_id == summary.unified_id

    @property
    def may_part(self) -> bool:
        """It is of an agent whose conversations can have branches."""
        return self.transcript is not None and type(self.transcript).branches is not Transcript.branches

    @property
    def messages(self) -> Sequence[Message]:
        """The loaded messages."""
        return [entry.message for entry in self.view.column.entries]

    @property
    def levels(self) -> Mapping[str, Mapping[str, int]]:
        """Id of a message → what was opened and closed in it."""
        return {one.message.id: one.levels for one in self.view.column.entries if one.levels}

    @property
    def is_heavy(self) -> bool:
        """So much was read since it was opened that it should be opened again from its end."""
        return self._weight > _MOST

    @property
    def is_near_end(self) -> bool:
        """The end is no further away than a few screens."""
        view, tops = self.view, self.view.column.tops
        return view.following or tops[view.top.entry] + view.top.line + 3 * view.height > tops[-1]

    @property
    def is_cut(self) -> bool:
        """There is more below that is not loaded."""
        return self.transcript is not None and self.transcript.is_cut

    def at(self, part: Transcript) -> OpenTranscript:
        """A part of the session, to be shown alone."""
        opened = OpenTranscript(self.part, part, like=self.view, reading=self._reading)
        opened.end, opened.gone = self.end or self, self.gone
        opened.behind = opened.view.is_cut = part.is_cut
        opened.load({})
        return opened

    def load(self, levels: Mapping[str, Mapping[str, int]]) -> None:
        """Put what is read already into the view; `levels`: what is open in it."""
        if self.transcript is None:
            return
        self.view.load(list(self.transcript.messages), complete=self.transcript.complete)
        for index, entry in enumerate(self.view.column.entries if levels else ()):
            if entry.message.id in levels:
                self.view.set_levels(index, levels[entry.message.id])

    # Reading -----------------------------------------------------------------------------------------------

    @_to_its_end
    async def look_beside(self, step: int, part: Transcript | None = None) -> Transcript | None:
        """See `Transcript.part`: beside what is open, or a part of it."""
        return await in_thread((part or self._open).part, step)

    @_to_its_end
    async def refresh(self) -> Change:
        """Read what came since."""
        read = await in_thread(_refresh, self._open)
        self._take(read)
        return read.change

    @_to_its_end
    async def read_earlier(self) -> int:
        """Read the part before; how many messages came in front. Raises `EarlierUnreadable`."""
        try:
            read = await in_thread(_earlier, self._open)
        except Exception as error:  # whatever an adapter raises: what is loaded stays readable
            self.stuck = True
            raise EarlierUnreadable(str(error)) from error
        finally:
            self.loading = False
        self._weight += _weight(read.messages[: read.added])
        self.view.put_in_front(read.messages, read.added, complete=read.complete)
        self._part(read.branches)
        self.stuck = not read.added and not read.complete
        return read.added

    @_to_its_end
    async def find_branches(self) -> bool:
        """Look for branches; whether there are any."""
        branches = await in_thread(branches_of, self._open)
        if branches:
            self._part(branches)
        return bool(branches)

    @_to_its_end
    async def switch(self, step: int) -> bool:
        """Follow the branch that comes `step` after the shown one, and go to where they part; False where there is no
        other. Raises `LookupError` when it is no longer there."""
        switched = await in_thread(_switch, self._open, step)
        if switched is not None:
            read, parting = switched
            self._take(read)
            self.view.go(self.view.first if parting is None else Position(parting, 0), at_top=True)
        return switched is not None

    @_to_its_end
    async def show_branch_of(self, message_id: str) -> None:
        """Follow the branch that a message is on, if it is still on one."""
        try:
            read = await in_thread(_switch_to, self._open, message_id)
        except LookupError:  # whoever looks for the message says that it is gone
            return
        if read is not None:
            self._take(read)

    @_to_its_end
    async def next_match(self, within: Within, step: int, above: Sequence[str]) -> str | None:
        """See `branches.next_match`."""
        return await in_thread(next_match, self._open, within, step, above)

    async def every_branch(self) -> AsyncIterator[tuple[float, Sequence[Message]]]:
        """See `Transcript.every_branch`."""
        some = self._open.every_branch()
        while (read := await self._next_of(some)) is not None:
            yield read
            del read  # before the next is read

    @_to_its_end
    async def _next_of(
        self, some: Iterator[tuple[float, Sequence[Message]]]
    ) -> tuple[float, Sequence[Message]] | None:
        return await in_thread(next, some, None)

    @property
    def _open(self) -> Transcript:
        if self.transcript is None:
            raise RuntimeError("no session is open")
        return self.transcript

    def _take(self, read: _Read) -> None:
        change = read.change
        self.gone = change.gone
        self.stuck = False
        self.behind = self.view.is_cut = self.is_cut
        if change.first is not None:
            # What was read anew is as after opening.
            self._weight = 0 if change.rewritten else self._weight + _weight(read.messages[change.first :])
            self.view.change(change.first, read.messages, complete=read.complete)
        self._part(read.branches)

    def _part(self, branches: Sequence[Branch]) -> None:
        self.branches = branches
        self.view.part(partings(branches))
        self.view.mark_new(self.view.since)


class TranscriptHost(Protocol):
    """What finds and dims in a transcript asks its pane for."""

    opened: OpenTranscript

    def settle(self) -> None:
        """Draw what the view says."""

    def refuse(self, reason: str) -> None:
        """Say why something cannot be done; one sentence."""

    def show_part_at(self, part: Transcript) -> None:
        """Show a part of the session that is far above its end."""

    def show_end(self) -> None:
        """Show the session from its end again, where a part of it is shown."""

    def no_more(self, step: int) -> None:
        """Say that there is no further match in the direction of `step`."""

    def run_worker(self, work: Callable[[], object], *, group: str, exclusive: bool = False) -> object:
        """Run a coroutine function beside the keys."""


def _weight(messages: Iterable[Message]) -> int:
    """Characters that they take, roughly."""
    total = 0
    for one in messages:
        total += _EACH + len(one.content) + len(one.thinking or "")
        for call in one.tool_calls:
            total += _EACH + _length(call.input) + _length(call.output)
    return total


def _length(value: object) -> int:
    if isinstance(value, Mapping):
        return sum(_length(one) for one in value.values())
    return sum(map(_length, value)) if isinstance(value, list) else len(value) if isinstance(value, str) else 8


def _read(transcript: Transcript, *, added: int = 0, change: Change = Change()) -> _Read:  # noqa: B008  (immutable)
    return _Read(list(transcript.messages), transcript.complete, branches_of(transcript), added, change)


def _earlier(transcript: Transcript) -> _Read:
    return _read(transcript, added=transcript.earlier())


def _refresh(transcript: Transcript) -> _Read:
    return _read(transcript, change=transcript.refresh())


def _switch(transcript: Transcript, step: int) -> tuple[_Read, int | None] | None:
    switched = switch(transcript, step)
    return None if switched is None else (_read(transcript, change=switched.change), switched.parting)


def _switch_to(transcript: Transcript, message_id: str) -> _Read | None:
    change = switch_to(transcript, message_id)
    return None if change is None else _read(transcript, change=change)
