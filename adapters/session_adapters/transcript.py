"""A conversation opened for reading: newest part first, earlier on request."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from session_adapters.activity import Activity, activity_of
from session_adapters.model import Message, Problem, ToolResult
from session_adapters.reading.damage import Damage, reading_session, reason_of
from session_adapters.reading.files import Line, is_whole, line_start, lines, open_file, read_at
from session_adapters.reading.lengths import CUT, TEXT_LIMIT, beginning_of, text_size

__all__ = ["Branch", "Builder", "Change", "JsonlTranscript", "Transcript", "first_difference"]

PAGE = 1 << 20
"""Bytes of a JSONL file that are read at a time."""
_LINES, _BYTES = 256, 8 << 20
"""Of lines, after which messages that are settled are let go of."""
_CHECK = 64
"""Bytes before the known end that must be unchanged for the file to count as appended to."""


class Change(NamedTuple):
    """What `Transcript.refresh` found."""

    first: int | None = None
    """Index of the first message that is new or different; None when nothing is."""
    rewritten: bool = False
    """The file is another one: all messages were read anew."""
    gone: bool = False
    """The store no longer has the session; the messages stay as they were."""


def first_difference(before: Sequence[Message], after: Sequence[Message]) -> int | None:
    """Index of the first message that is new, gone or different; None when nothing is."""
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        if old != new:
            return index
    return min(len(before), len(after)) if len(before) != len(after) else None


class Branch(NamedTuple):
    """One way through a conversation that is kept as a tree."""

    leaf_id: str
    """What `Transcript.switch` takes."""
    first: int | None
    """Index in `messages` of the first that is not on it too, or their number; None above the loaded part."""
    label: str = ""
    """The user's own name for a place on it."""
    preview: str = ""
    """The first thing said on it alone; one line."""
    updated: datetime | None = None
    """Newest time on it."""
    active: bool = False
    """The agent itself goes on here."""
    shown: bool = False
    """`messages` follow it."""


class Transcript(ABC):
    """Messages in conversation order; `messages` is the loaded part, to the newest. For one thread at a time."""

    def __init__(self, agent: str, session_id: str, path: str) -> None:
        self.agent = agent
        self.session_id = session_id
        self.path = path
        self.messages: list[Message] = []
        self.complete = False
        """The beginning is loaded."""
        self.is_remote = False
        """No file at `path` tells by its looks that there is something new: only `refresh` does."""
        self.problems: list[Problem] = []

    def problem(self, reason: str, place: str = "") -> Problem:
        """Something of this session that could not be read."""
        return Problem(agent=self.agent, path=self.path, reason=reason, place=place, session_id=self.session_id)

    @abstractmethod
    def earlier(self) -> int:
        """Load the part before; how many messages came in front. 0: `complete`, or it cannot be read (`refresh`)."""

    @abstractmethod
    def refresh(self) -> Change:
        """Take in what the writer has done since. Never raises for a store that is gone or unreadable."""

    @property
    def activity(self) -> Activity:
        """Where the conversation stands, by what is loaded."""
        return activity_of(self.messages)

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All branches, the shown one included, oldest first; empty where the conversation is one line."""
        return ()

    def every_branch(self) -> list[Message]:
        """What was said on all branches, in the order of the store: each message once."""
        return list(self.messages)

    def stream(self) -> Iterator[tuple[float, Sequence[Message]]] | None:
        """All messages from the very first on, a few at a time, with the part of the store that was read so far; none
        of them is kept, and any thread may read them. None where what is earlier has to be loaded for that."""
        return None

    def switch(self, leaf_id: str) -> Change:
        """Show another branch. Raises `LookupError` for one that is not there."""
        raise LookupError(f"{self.agent} session {self.session_id} has no branch {leaf_id}")

    def branch_of(self, message_id: str) -> str | None:
        """A branch with the message, for `switch`; None where the shown one has it, or none."""
        return None


class Builder(ABC):
    """Turns an agent's records, fed one line at a time, into messages. One per run of lines."""

    replays = False
    """Something in these lines changed what stood above: they cannot be understood without it."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.damaged = Damage()
        """By the offset of the line."""
        self._calls: dict[str, tuple[int, int]] = {}
        self._changed: int | None = None
        self._lines = self._bytes = 0
        """Taken in since `take_full` last said so."""
        self._offset = self.text = 0
        """Of the last line; bytes of text that are kept, or were handed over."""

    @abstractmethod
    def feed(self, line: Line) -> None:
        """Take in one line. Damage goes to `damaged`; nothing is raised."""

    def skip(self, line: Line) -> None:
        """Take note of a line that is too long to be read."""
        self.damaged.skip(line)

    def give(self, line: Line) -> None:
        """Take in one line, or take note of one that is too long."""
        self._lines += 1
        self._bytes += len(line.data)
        self._offset = line.offset
        if line.too_long:
            self.skip(line)
        else:
            self.feed(line)

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """Whether a long file may be cut before this line: what follows does not belong to what is above it."""
        return True

    @property
    def activity(self) -> Activity:
        """Where the conversation stands after the lines so far."""
        return activity_of(self.messages)

    def add(self, message: Message) -> int:
        """Append a message; its index."""
        index = len(self.messages)
        self.messages.append(self._held(message))
        for position, call in enumerate(message.tool_calls):
            self._calls[call.tool_call_id] = (index, position)
        self._touch(index)
        return index

    def change(self, index: int, message: Message) -> None:
        """Put another version of a message in its place."""
        self.text -= text_size(self.messages[index])
        self.messages[index] = message = self._held(message)
        for position, call in enumerate(message.tool_calls):
            self._calls[call.tool_call_id] = (index, position)
        self._touch(index)

    def _held(self, message: Message) -> Message:
        """What is kept of a message."""
        size = text_size(message)
        if self.text + size > TEXT_LIMIT:
            self.damaged.add(self._offset or f"message {message.id}", CUT)
            message, size = (cut := beginning_of(message)), text_size(cut)
        self.text += size
        return message

    def link(self, result: ToolResult, **more: object) -> ToolResult:
        """Fill the result into the call it answers (with further `ToolCall` fields in `more`), and say in the
        result whether there was one. The name of the tool is taken from the call."""
        place = self._calls.get(result.tool_call_id)
        if place is None:
            return result
        index, position = place
        message = self.messages[index]
        call = message.tool_calls[position]
        done = replace(call, output=result.output, is_error=result.is_error, **more)
        calls = (*message.tool_calls[:position], done, *message.tool_calls[position + 1 :])
        self.messages[index] = replace(message, tool_calls=calls)
        self._touch(index)
        return replace(result, tool_name=result.tool_name or call.tool_name, linked=True)

    def clear(self) -> None:
        """Forget all messages, which are made anew."""
        self.messages, self.text = [], 0
        self._calls.clear()

    def drop(self, indices: set[int], *, handed_over: bool = False) -> None:
        """Take messages out; every index after them moves. With `handed_over` somebody has them now: their text
        counts as before."""
        if not indices:
            return
        places: list[int | None] = []
        kept = 0
        for index in range(len(self.messages)):
            places.append(None if index in indices else kept)
            kept += index not in indices
        if not handed_over:
            self.text -= sum(text_size(self.messages[index]) for index in indices)
        self.messages = [message for index, message in enumerate(self.messages) if index not in indices]
        self.renumber(places)

    def renumber(self, places: Sequence[int | None]) -> None:
        """The message that had index `i` has `places[i]`, or is no more: to be extended where indices are kept."""
        self._calls = {
            key: (place, position)
            for key, (index, position) in self._calls.items()
            if (place := places[index]) is not None
        }

    def settled(self) -> int:
        """How many messages, from the first, no later line can change."""
        return 0

    def take_full(self) -> bool:
        """Whether so much was given since the last time that this said so that settled messages should be let go."""
        if self._lines < _LINES and self._bytes < _BYTES:
            return False
        self._lines = self._bytes = 0
        return True

    def drain(self) -> list[Message]:
        """Hand over, and forget, the messages that are settled; results of forgotten calls stay unlinked."""
        done = self.messages[: self.settled()]
        self.drop(set(range(len(done))))
        return done

    def take_change(self) -> int | None:
        """The lowest index touched since the last call."""
        changed, self._changed = self._changed, None
        return changed

    def _touch(self, index: int) -> None:
        self._changed = index if self._changed is None else min(index, self._changed)


B = TypeVar("B", bound=Builder)


class JsonlTranscript(Transcript, Generic[B]):
    """A conversation in one append-only file of JSON lines.

    For what is earlier it is read again from further up, each time twice as far: a line may belong to one far above
    it. Append-only until proven otherwise: the offset and the bytes before it are kept; when the file shrank or
    differs in those bytes, it is read anew. A torn last line waits for its newline.
    """

    def __init__(
        self,
        agent: str,
        session_id: str,
        path: str,
        builder: Callable[[], B],
        *,
        page: int = PAGE,
    ) -> None:
        super().__init__(agent, session_id, path)
        self.size = 0
        """Bytes of the file when it was last looked at."""
        self.builder = builder()
        """What the loaded messages were made by."""
        self._new_builder = builder
        self._page = page
        with reading_session(agent, session_id, path), open_file(path) as fd:
            self._load(fd, os.fstat(fd))

    def _load(self, fd: int, status: os.stat_result) -> None:
        """Read the last page into a new builder. Raises `OSError`, and then nothing has changed."""
        size = status.st_size
        self._read(fd, self._cut(fd, size, self._page), size, self._page)
        self._inode = (status.st_dev, status.st_ino)

    @property
    def activity(self) -> Activity:
        """See `Transcript.activity`."""
        return self.builder.activity

    @property
    def loaded(self) -> int:
        """How many bytes the loaded messages take."""
        return self._end - self._start

    def _read(self, fd: int, start: int, stop: int, span: int) -> None:
        """Read what stands between the two into a new builder; `span` bytes are wanted. Raises `OSError`, and then
        nothing has changed."""
        known = dict(vars(self))
        try:
            self._run(fd, start, stop, span)
            if start and self.builder.replays:
                self._run(fd, 0, stop, sys.maxsize)
        except OSError:
            vars(self).update(known)
            raise
        self.messages = self.builder.messages
        self.builder.take_change()

    def _run(self, fd: int, start: int, stop: int, span: int) -> None:
        self.builder = self._new_builder()
        self._start = self._end = start
        self.complete = start == 0 and self.lead(span - stop)
        self._feed(fd, stop)

    def lead(self, room: int) -> bool:
        """Give the builder what comes before the file, in other ones, if about `room` bytes; whether that is all."""
        return True

    def _cut(self, fd: int, end: int, page: int) -> int:
        """Where the page that ends at `end` begins: at a line that starts a turn if one is in reach."""
        if end <= page:
            return 0
        start = end - page
        first: int | None = None
        for line in lines(fd, start, end):
            if line.offset == start or not line.complete:
                continue  # most likely the second half of a line
            if first is None:
                first = line.offset
            if not line.too_long and self.builder.starts_turn(line.data):
                return line.offset
        if first is not None:
            return first
        return line_start(fd, start)  # one line fills the page

    def _feed(self, fd: int, stop: int) -> None:
        """Give the lines from the known end to the builder, and remember how far it got."""
        self._unterminated = False
        self.size = stop
        for line in lines(fd, self._end, stop):
            if line.complete:
                self.builder.give(line)
                self._unterminated = line.offset + len(line.data) == stop
            elif not line.too_long and is_whole(line.data):
                self.builder.feed(line)
                self._unterminated = True
            else:
                stop = line.offset
        self._end = stop
        self._check = read_at(fd, max(0, stop - _CHECK), min(_CHECK, stop))
        self._note_damage()

    def _note_damage(self) -> None:
        self.problems = self.builder.damaged.problems(self.agent, self.path, self.session_id)

    def stream(self) -> Iterator[tuple[float, Sequence[Message]]] | None:
        """See `Transcript.stream`. Ends early where the file cannot be read any more."""
        other = copy(self)  # with a builder of its own
        other.builder = self._new_builder()

        def read() -> Iterator[tuple[float, Sequence[Message]]]:
            other.lead(sys.maxsize)
            try:
                with open_file(other.path) as fd:
                    stop = os.fstat(fd).st_size
                    for line in lines(fd, 0, stop):
                        if line.complete or (not line.too_long and is_whole(line.data)):
                            other.builder.give(line)
                        if other.builder.take_full():
                            yield line.offset / stop, other.builder.drain()
            except OSError:
                pass  # following the file says that it is gone
            yield 1.0, other.builder.messages

        return read()

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        before = len(self.messages)
        while not self.complete and len(self.messages) <= before:
            try:
                with open_file(self.path) as fd:
                    if not self._continues(fd, os.fstat(fd)):
                        return 0
                    loaded = self.loaded
                    more = max(loaded, self._page)
                    self._read(fd, self._cut(fd, self._start, more), self._end, loaded + more)
            except OSError:
                return 0
        return max(0, len(self.messages) - before)

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        try:
            with open_file(self.path) as fd:
                status = os.fstat(fd)
                if self._continues(fd, status):
                    if status.st_size != self.size:
                        self._feed(fd, status.st_size)
                    else:
                        self._note_damage()
                    if not (self._start and self.builder.replays):
                        self.messages = self.builder.messages
                        return Change(first=self.builder.take_change())
                    self._read(fd, 0, status.st_size, sys.maxsize)
                else:
                    self._load(fd, status)
        except FileNotFoundError:
            return Change(gone=True)
        except OSError as error:
            self._note_damage()
            self.problems.append(self.problem(f"cannot be read now: {reason_of(error)}"))
            return Change()
        return Change(first=0, rewritten=True)

    def _continues(self, fd: int, status: os.stat_result) -> bool:
        """Whether the file is what was read, with perhaps more behind it."""
        if (status.st_dev, status.st_ino) != self._inode or status.st_size < self._end:
            return False
        if read_at(fd, self._end - len(self._check), len(self._check)) != self._check:
            return False
        # A last line that was taken without its newline must now get one.
        return not (self._unterminated and status.st_size > self._end and read_at(fd, self._end, 1) != b"\n")
