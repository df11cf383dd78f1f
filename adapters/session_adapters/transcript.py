"""A conversation opened for reading: its newest part at once, earlier parts on request, later ones as they come."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.files import Line, lines, open_file, read_at
from session_adapters.model import Message, Problem, ToolResult

__all__ = ["Branch", "Builder", "Change", "JsonlTranscript", "Transcript"]

PAGE = 1 << 20
"""Bytes of a JSONL file that are read at a time."""
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


class Branch(NamedTuple):
    """One way through a conversation that is kept as a tree."""

    leaf_id: str
    """What `Transcript.switch` takes."""
    first: int | None
    """Index in `messages` of the first message that is not on this branch too; their number when it goes on where
    they end; None while the parting lies above the loaded part."""
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
    """Messages in conversation order; `messages` is the loaded part and always reaches to the newest.

    Not safe for several threads at once; one at a time may be any.
    """

    def __init__(self, agent: str, session_id: str, path: str) -> None:
        self.agent = agent
        self.session_id = session_id
        self.path = path
        self.messages: list[Message] = []
        self.complete = False
        """The beginning is loaded."""
        self.problems: list[Problem] = []

    @abstractmethod
    def earlier(self) -> int:
        """Load the part before; how many messages were put in front (0 when `complete`)."""

    @abstractmethod
    def refresh(self) -> Change:
        """Take in what the writer has done since. Never raises for a store that is gone or unreadable."""

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All branches, the shown one included, oldest first; empty where the conversation is one line."""
        return ()

    def switch(self, leaf_id: str) -> Change:
        """Show another branch. Raises `LookupError` for one that is not there."""
        raise LookupError(f"{self.agent} session {self.session_id} has no branch {leaf_id}")


class Builder(ABC):
    """Turns an agent's records, fed one line at a time, into messages. One per run of lines."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.damaged: list[tuple[int, str]] = []
        """(offset of the line, reason)"""
        self._calls: dict[str, tuple[int, int]] = {}
        self._changed: int | None = None

    @abstractmethod
    def feed(self, line: Line) -> None:
        """Take in one line. Damage goes to `damaged`; nothing is raised."""

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """Whether a long file may be cut before this line: what follows does not belong to what is above it."""
        return True

    @classmethod
    def join(cls, earlier: Message, later: Message) -> Message | None:
        """One message, where a cut went through it; None where these are two."""
        return None

    def add(self, message: Message) -> int:
        """Append a message; its index."""
        index = len(self.messages)
        self.messages.append(message)
        for position, call in enumerate(message.tool_calls):
            self._calls[call.tool_call_id] = (index, position)
        self._touch(index)
        return index

    def change(self, index: int, message: Message) -> None:
        """Put another version of a message in its place."""
        self.messages[index] = message
        for position, call in enumerate(message.tool_calls):
            self._calls[call.tool_call_id] = (index, position)
        self._touch(index)

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

    def prepend(self, front: Builder) -> None:
        """Put the messages of an earlier run of lines in front; every index moves by their number."""
        shift = len(front.messages)
        self.messages = [*front.messages, *self.messages]
        moved = {key: (index + shift, position) for key, (index, position) in self._calls.items()}
        self._calls = {**front._calls, **moved}
        self.moved(shift)

    def moved(self, shift: int) -> None:  # noqa: B027
        """Called when every index has grown by `shift`; a builder that keeps indices of its own adds it."""

    def take_change(self) -> int | None:
        """The lowest index touched since the last call."""
        changed, self._changed = self._changed, None
        return changed

    def _touch(self, index: int) -> None:
        self._changed = index if self._changed is None else min(index, self._changed)


class JsonlTranscript(Transcript):
    """A conversation in one append-only file of JSON lines.

    Append-only until proven otherwise: the offset and the bytes before it are kept; when the file shrank, became
    another one or differs in those bytes, it is read anew. A torn last line waits for its newline.
    """

    def __init__(
        self,
        agent: str,
        session_id: str,
        path: str,
        builder: Callable[[], Builder],
        *,
        page: int = PAGE,
    ) -> None:
        super().__init__(agent, session_id, path)
        self._new_builder = builder
        self._page = page
        try:
            self._load()
        except FileNotFoundError as error:
            raise SessionMissing(f"{agent} session {session_id}: {path} is not there any more") from error
        except OSError as error:
            raise SessionUnreadable(f"cannot read {path}: {error.strerror or error}") from error

    def _load(self) -> None:
        self._builder = self._new_builder()
        self.problems = []
        with open_file(self.path) as fd:
            status = os.fstat(fd)
            self._inode = (status.st_dev, status.st_ino)
            self._start = self._cut(fd, status.st_size)
            self._end = self._start
            self._feed(fd, status.st_size)
        self.messages = self._builder.messages
        self._builder.take_change()
        self.complete = self._start == 0

    def _cut(self, fd: int, end: int) -> int:
        """Where the page that ends at `end` begins: at a line that starts a turn if one is in reach."""
        if end <= self._page:
            return 0
        start = end - self._page
        first: int | None = None
        for line in lines(fd, start, end):
            if line.offset == start or not line.complete:
                continue  # most likely the second half of a line
            if first is None:
                first = line.offset
            if not line.too_long and self._builder.starts_turn(line.data):
                return line.offset
        if first is not None:
            return first
        # One line fills the page: go back to where it begins.
        while start > 0:
            low = max(0, start - self._page)
            at = read_at(fd, low, start - low).rfind(b"\n")
            if at >= 0:
                return low + at + 1
            start = low
        return 0

    def _feed(self, fd: int, stop: int) -> None:
        """Give the lines from the known end to the builder, and remember how far it got."""
        self._unterminated = False
        for line in lines(fd, self._end, stop):
            if line.too_long:
                self._builder.damaged.append((line.offset, "the line is too long to be read"))
            elif line.complete:
                self._builder.feed(line)
            else:
                before = len(self._builder.damaged)
                if line.data.rstrip(b"\x00 \t\r").endswith(b"}"):
                    self._builder.feed(line)
                    self._unterminated = len(self._builder.damaged) == before
                    del self._builder.damaged[before:]
                if not self._unterminated:
                    stop = line.offset
                break
        self._end = stop
        self._check = read_at(fd, max(0, stop - _CHECK), min(_CHECK, stop))
        self._note_damage()

    def _note_damage(self) -> None:
        self.problems = [
            Problem(
                agent=self.agent,
                path=self.path,
                reason=reason,
                place=f"byte {offset}",
                session_id=self.session_id,
            )
            for offset, reason in self._builder.damaged
        ]

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        if self.complete:
            return 0
        builder = self._new_builder()
        try:
            with open_file(self.path) as fd:
                start = self._cut(fd, self._start)
                for line in lines(fd, start, self._start):
                    if line.too_long:
                        builder.damaged.append((line.offset, "the line is too long to be read"))
                    else:
                        builder.feed(line)
        except OSError:
            return 0  # `refresh` says that the file is gone
        self._start = start
        self.complete = start == 0
        self._builder.damaged[:0] = builder.damaged
        self._note_damage()
        return self._put_in_front(builder)

    def _put_in_front(self, front: Builder) -> int:
        """Join an earlier run of messages with the loaded ones: links and cut messages across the seam."""
        back = self._builder
        if front.messages and back.messages:
            joined = front.join(front.messages[-1], back.messages[0])
            if joined is not None:
                front.messages.pop()
                back.messages[0] = joined
        for index, message in enumerate(back.messages):
            result = message.tool_result
            if result is not None and not result.linked:
                linked = front.link(result)
                if linked.linked:
                    back.messages[index] = replace(message, tool_result=linked)
        added = len(front.messages)
        back.prepend(front)
        self.messages = back.messages
        back.take_change()
        return added

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        try:
            with open_file(self.path) as fd:
                status = os.fstat(fd)
                if (status.st_dev, status.st_ino) == self._inode and self._continues(fd, status.st_size):
                    if status.st_size > self._end:
                        self._feed(fd, status.st_size)
                    self.messages = self._builder.messages
                    return Change(first=self._builder.take_change())
            self._load()
        except FileNotFoundError:
            return Change(gone=True)
        except OSError as error:
            self.problems.append(
                Problem(
                    agent=self.agent,
                    path=self.path,
                    reason=f"cannot be read now: {error.strerror or error}",
                    session_id=self.session_id,
                )
            )
            return Change()
        return Change(first=0, rewritten=True)

    def _continues(self, fd: int, size: int) -> bool:
        """Whether the file is what was read, with perhaps more behind it."""
        if size < self._end or read_at(fd, self._end - len(self._check), len(self._check)) != self._check:
            return False
        # A last line that was taken without its newline must now get one.
        return not (self._unterminated and size > self._end and read_at(fd, self._end, 1) != b"\n")
