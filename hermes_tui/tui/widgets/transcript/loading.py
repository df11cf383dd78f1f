"""Loads a transcript in threads, without moving what is being read.

One read at a time for a transcript.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from textual.content import Content

from hermes_tui.clock import Clock
from hermes_tui.display import safe
from hermes_tui.platform.daemon_call import aside
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from hermes_tui.tui.widgets.transcript.border import subtitle, title
from hermes_tui.tui.widgets.transcript.branches import branches_of, partings, place, switch, switch_to
from hermes_tui.tui.widgets.transcript.layout.layout_cache import Position
from hermes_tui.tui.widgets.transcript.renderer import TranscriptCanvas
from hermes_tui.tui.widgets.transcript.view import View
from session_adapters.model import Message, SessionSummary
from session_adapters.transcript import Branch, Change, Transcript

__all__ = ["Kept", "TranscriptLoading", "may_part"]

_MOST = 2_000_000
"""Characters, roughly, that are kept of what came after a session was opened and of what was read above its end."""
_EACH = 500
"""Characters that a message or a call takes besides its texts."""


class Kept(NamedTuple):
    """A session as it was shown, to come back to exactly there."""

    summary: SessionSummary | None
    transcript: Transcript | None
    view: View
    branches: Sequence[Branch]
    gone: bool
    agent: str
    note: str


class _Read(NamedTuple):
    """What a thread found; the list is its own copy."""

    messages: list[Message]
    complete: bool
    branches: Sequence[Branch]
    added: int = 0
    change: Change = Change()


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


def may_part(transcript: Transcript) -> bool:
    """Whether it is of an agent whose conversations can have branches."""
    return type(transcript).branches is not Transcript.branches


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


class TranscriptLoading(TranscriptCanvas, inherit_bindings=False):
    """One session's messages. `show` it a transcript, `poll` it when the store may have changed."""

    def __init__(self, clock: Clock, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(clock, id=id)
        self._shown: ListedPart | None = None
        self._transcript: Transcript | None = None
        self._reading = asyncio.Lock()
        self._loading = False
        self._stuck = False
        self._gone = False
        self._behind = False
        self._weight = 0
        self._wanted: str = ""
        """What is looked for in what is earlier: `first`, or what `_arrived` knows."""
        self._branches: Sequence[Branch] = ()
        self._said = ("", "")

    def _refuse(self, reason: str) -> None:
        """Called with why something could not be done; one sentence."""

    def _arrived(self, read_all: bool, added: int) -> None:
        """Called when something earlier was read for what is wanted: go there, and want it no more."""

    # What is shown

    @property
    def summary(self) -> SessionSummary | None:
        """The session that is shown."""
        return self._shown.summary if self._shown is not None else None

    @property
    def following(self) -> bool:
        """Whether the end is in view and stays there."""
        return self._view.following

    @property
    def messages(self) -> Sequence[Message]:
        """The loaded messages."""
        return [entry.message for entry in self._view.column.entries]

    @property
    def message(self) -> Message | None:
        """The message under the cursor."""
        entries = self._view.column.entries
        return entries[self._view.cursor.entry].message if self._strips and entries else None

    @property
    def is_heavy(self) -> bool:
        """Whether so much was read since the session was opened that it should be opened again from its end: that is
        all that is on the screen."""
        at_end = self._view.following and not self._wanted and not self._loading
        return at_end and self._weight > _MOST and all(one.active == one.shown for one in self._branches)

    def show(self, summary: SessionSummary, transcript: Transcript) -> None:
        """Show a session from its end. The transcript belongs to the pane from now on: nobody else calls it.

        One that is shown already stays as it is. Of a session that was opened again, what is open stays open.
        """
        if transcript is self._transcript:
            self.show_part(ListedPart(summary))
            return
        before = self.summary
        opened = self._levels() if before and before.unified_id == summary.unified_id else {}
        self._behind, self._weight = False, 0
        self._shown, self._transcript = ListedPart(summary), transcript
        self._reading = asyncio.Lock()
        self._loading = self._stuck = False
        self._gone = summary.gone
        self._wanted = ""
        self._branches = ()
        self._agent, self._note = summary.agent, "This session has no messages."
        self._another_view()
        self._lay_out()
        self._view.load(list(transcript.messages), complete=transcript.complete)
        for index, entry in enumerate(self._view.column.entries if opened else ()):
            if entry.message.id in opened:
                self._view.set_levels(index, opened[entry.message.id])
        self._settle()
        if may_part(transcript):
            self.run_worker(self._look_for_branches(transcript), group="transcript.branches")

    def _levels(self) -> dict[str, dict[str, int]]:
        """Id of a message → what was opened and closed in it."""
        return {one.message.id: one.levels for one in self._view.column.entries if one.levels}

    def keep(self) -> Kept:
        """What is shown and where in it one is. Whatever is shown next, this stays as it is."""
        return Kept(self.summary, self._transcript, self._view, self._branches, self._gone, self._agent, self._note)

    def bring_back(self, kept: Kept) -> None:
        """Show what was kept, where one was in it."""
        if kept.transcript is self._transcript:
            return
        self._view, self._transcript = kept.view, kept.transcript
        self._branches, self._gone = kept.branches, kept.gone
        self._behind, self._weight = False, 0
        self._reading = asyncio.Lock()
        self._loading = self._stuck = False
        self._wanted = ""
        self._agent, self._note = kept.agent, kept.note
        self._laid_for = None
        if kept.summary is None or kept.transcript is None:
            self._shown = None
        else:
            self.show(kept.summary, kept.transcript)
        self._settle()

    def clear(self, note: str = "") -> None:
        """Show no session, only one line of text."""
        self._shown = self._transcript = None
        self._note = note
        self._another_view()
        self._settle()

    def _another_view(self) -> None:
        """What is kept elsewhere is left as it is; what was opened of one kind stays open."""
        before = self._view
        self._view = View()
        self._view.tools, self._view.thinking = before.tools, before.thinking
        self._view.load([], complete=True)
        self._laid_for = None

    def show_part(self, part: ListedPart) -> None:
        """Show the session's changed facts in the border, and which part of its conversation it is; also that the
        store no longer has it: its messages stay."""
        self._shown = part
        self._gone = self._gone or part.summary.gone
        self._label()

    async def poll(self) -> Change:
        """Read what came since, in a thread, and show it. Changes nothing on the screen where nothing changed. Who
        reads far above the end is left alone, once much has come: it is read when the end comes near."""
        transcript = self._transcript
        if transcript is None:
            return Change()
        self._behind = self._weight > _MOST and not self._is_near_end
        if self._behind:
            self._label()
            return Change()
        async with self._reading:
            read = await aside(_refresh, transcript)
            if transcript is not self._transcript:
                return Change()
            self._take(read)
        return read.change

    def _take(self, read: _Read) -> None:
        change = read.change
        self._gone = change.gone
        self._stuck = False
        if change.first is not None:
            # What was read anew is as after opening.
            self._weight = 0 if change.rewritten else self._weight + _weight(read.messages[change.first :])
            self._view.change(change.first, read.messages, complete=read.complete)
        self._part(read.branches)
        if change.first is not None:
            self._settle()
        else:
            self._label()

    # Branches

    def _part(self, branches: Sequence[Branch]) -> None:
        self._branches = branches
        self._view.part(partings(branches))

    async def _look_for_branches(self, transcript: Transcript) -> None:
        async with self._reading:
            branches = await aside(branches_of, transcript)
        if branches and transcript is self._transcript:
            self._part(branches)
            self._settle()

    async def _go_to_branch(self, transcript: Transcript, step: int) -> None:
        async with self._reading:
            try:
                switched = await aside(_switch, transcript, step)
            except LookupError:
                self._refuse("That branch is not there any more")
                return
        if transcript is not self._transcript:
            return
        if switched is None:
            self._refuse("This conversation has only one branch")
            return
        read, parting = switched
        self._take(read)
        self._view.go(self._view.first if parting is None else Position(parting, 0), at_top=True)
        self._settle()

    async def _show_branch_of(self, transcript: Transcript, message_id: str) -> bool:
        """Show the branch that a message is on; False where something else is shown by now."""
        async with self._reading:
            try:
                read = await aside(_switch_to, transcript, message_id)
            except LookupError:  # whoever looks for the message says that it is gone
                read = None
        if transcript is not self._transcript:
            return False
        if read is not None:
            self._take(read)
        return True

    # Reading what is earlier

    def _read_ahead(self) -> None:
        """Have the part before loaded when the view comes near it."""
        view = self._view
        if self._loading or self._stuck or view.complete or self._transcript is None or not self._strips:
            return
        if self._wanted or view.column.tops[view.top.entry] + view.top.line < 2 * view.height:
            self._loading = True
            self.run_worker(self._load_earlier(self._transcript), group="transcript.earlier")

    async def _load_earlier(self, transcript: Transcript) -> None:
        try:
            async with self._reading:
                try:
                    read = await aside(_earlier, transcript)
                except Exception as error:  # whatever an adapter raises: what is loaded stays readable
                    self._cannot_read_on(transcript, error)
                    return
                if transcript is not self._transcript:
                    return
                self._weight += _weight(read.messages[: read.added])
                self._view.put_in_front(read.messages, read.added, complete=read.complete)
                self._part(read.branches)
        finally:
            if transcript is self._transcript:
                self._loading = False
        self._stuck = not read.added and not read.complete
        if self._wanted == "first":
            self._view.go(self._view.first)
            self._wanted = "" if read.complete else "first"
        elif self._wanted:
            self._arrived(read.complete, read.added)
        self._settle()

    def _cannot_read_on(self, transcript: Transcript, error: Exception) -> None:
        if transcript is self._transcript:
            self._stuck, self._wanted = True, ""
            self._refuse(f"What is earlier cannot be read: {safe(str(error))}")
            self._label()

    def _settled(self) -> None:
        self._label()
        self._read_ahead()
        if self._behind and self._is_near_end:
            self._behind = False
            self.run_worker(self.poll(), group="transcript.behind")

    @property
    def _is_near_end(self) -> bool:
        view, tops = self._view, self._view.column.tops
        return view.following or tops[view.top.entry] + view.top.line + 3 * view.height > tops[-1]

    # The border

    def _label(self) -> None:
        said = (self._title(), self._subtitle())
        before, self._said = self._said, said
        # Textual draws the widget again even for the same words.
        if said[0] != before[0]:
            self.border_title = Content(said[0])
        if said[1] != before[1]:
            self.border_subtitle = Content(said[1])

    def _title(self) -> str:
        room = max(self.outer_size.width - 6, 4)
        return title(self._shown, room, gone=self._gone) if self._shown is not None else ""

    def _subtitle(self) -> str:
        view = self._view
        if self._shown is None or not view.column.total:
            return ""
        states = {
            "gone": self._gone,
            "more came below": self._behind,
            "following": view.following,
            "reading what is earlier": bool(self._wanted),
            "what is earlier cannot be read": self._stuck,
        }
        bottom = view.column.tops[view.top.entry] + view.top.line + view.height
        loaded = None if view.complete else len(view.column)
        said = [name for name, is_so in states.items() if is_so]
        if self._branches:
            said.append(place(self._branches))
        return subtitle(bottom, view.column.total, loaded, *said)
