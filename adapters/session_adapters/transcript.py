"""A conversation opened for reading: newest part first, earlier on request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import ClassVar, NamedTuple

from msgspec.structs import replace

from session_adapters.activity import Activity, activity_of
from session_adapters.model import Attachment, Message, Problem, ToolResult
from session_adapters.reading.bounds import CUT, TEXT_LIMIT, beginning_of, text_size
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.lines import Line

__all__ = [
    "END_MESSAGES", "PART", "PART_ITEMS", "Branch", "Builder", "Change", "Transcript", "first_difference", "part_of",
]  # fmt: skip

PAGE = 256 << 10
"""Bytes of a JSONL file that are read at a time."""
END_MESSAGES = 20
"""The last messages by which it is mostly told where a conversation stands (`Adapter.open_end`)."""
PART = 1 << 19
"""Bytes of a part that is read alone."""
_ITEM = 1200
"""Bytes that a message takes in it besides its texts, as measured."""
PART_ITEMS = PART // _ITEM + 1
"""More of them than a part has."""
_LINES, _BYTES = 256, 8 << 20
"""Of lines, after which messages that are settled are let go of."""


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


def part_of(number: int, at: int, step: int, size: Callable[[int], int], starts_turn: Callable[[int], bool]) -> range:
    """Which of so many items (rows, units, records), in the order of the conversation, are a part: those before the
    item `at` (-1), or it and those behind it (1). They have `PART` bytes at most, unless one alone has more; the part
    is cut where a turn starts, if one does in it. Items are asked about from `at` on, as far as one behind those."""
    room, edge, turn = PART, at, at
    while 0 <= (item := edge - (step < 0)) < number:
        room -= _ITEM + size(item)
        if room < 0 and edge != at:
            break
        edge += step
        if edge in (0, number) or starts_turn(edge):
            turn = edge
    cut = turn if turn != at else edge
    return range(cut, at) if step < 0 else range(at, cut)


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

    is_listed_by_message: ClassVar[bool] = False
    """With each message that comes or goes the summary has another time or count, and none is written over: where
    the summary is the same, so is the conversation."""

    def __init__(self, agent: str, session_id: str, path: str) -> None:
        self.agent = agent
        self.session_id = session_id
        self.path = path
        self.messages: list[Message] = []
        self.complete = False
        """The beginning is loaded."""
        self.is_cut = False
        """What is loaded ends before the newest message: `refresh` reads a page more."""
        self.begins = 0.0
        """Where what is loaded begins, as a share of the store, where that is known."""
        self.is_remote = False
        """No file at `path` tells by its looks that there is something new: only `refresh` does."""
        self.problems: list[Problem] = []

    def problem(self, reason: str, place: str = "") -> Problem:
        """Something of this session that could not be read."""
        return Problem(agent=self.agent, path=self.path, reason=reason, place=place, session_id=self.session_id)

    def file_of(self, attachment: Attachment) -> Path | None:
        """The file of the agent's own store that holds the bytes, and is named by their SHA-256; None where none
        does."""
        return None

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

    def every_branch(self) -> Iterator[tuple[float, Sequence[Message]]]:
        """What was said on all branches, in the order of the store: each message once, a few at a time, with the part
        of the store that was gone through."""
        yield 1.0, list(self.messages)

    def stream(self) -> Iterator[tuple[float, Sequence[Message]]] | None:
        """All messages from the very first on, a few at a time, with the part of the store that was read so far; none
        of them is kept, and any thread may read them. None where what is earlier has to be loaded for that."""
        return None

    def whole(self) -> Iterator[tuple[float, Sequence[Message]]]:
        """All messages of the shown branch from the first on, a few at a time where that can be; else all are loaded
        first. `problems` are those of all of it at the end."""
        if not self.complete and (stream := self.stream()) is not None:
            yield from stream
            return
        if (part := None if self.complete else self.part(0)) is not None:
            self.problems = []
            while part is not None:
                self.problems += part.problems
                yield (part.begins if part.is_cut else 1.0), part.messages
                part.let_go()  # before the next is read
                is_cut, part = part.is_cut, part.part(1)
            if is_cut:
                self.problems.append(self.problem("what comes later cannot be read now"))
            return
        while not self.complete and self.earlier():
            yield 0.0, ()
        if not self.complete:
            self.problems.append(self.problem("what comes before cannot be read now"))
        yield 1.0, self.messages

    def part(self, step: int) -> Transcript | None:
        """What stands before the loaded part (-1), behind it (1), or at the very beginning (0): half a megabyte of
        it, to be read and followed without the rest. None where there is nothing, or it cannot be read alone."""
        other = copy(self)
        return other if other.load_part(step) else None

    def let_go(self) -> None:
        """Hold no messages any more: what is before and behind a part that was looked at can still be read."""
        self.messages = []

    def load_part(self, step: int) -> bool:
        """Load that part in place of what is loaded, for `part`. False where it cannot be, and then this is of no use
        any more."""
        return False

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
    replaying: ClassVar[Sequence[bytes]] = ()
    """What each line holds that may do so."""
    awaited: Collection[str] = ()
    """Ids of calls that were handed over, and whose results may yet come."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.damaged = Damage()
        """By the offset of the line."""
        self._calls: dict[str, tuple[int, int]] = {}
        self._changed: int | None = None
        self._lines = self._bytes = 0
        """Taken in since `take_full` last said so."""
        self.offset = self.text = 0
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
        self.offset = line.offset
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
            self.damaged.add(self.offset or f"message {message.id}", CUT)
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

    @property
    def goes_back(self) -> bool:
        """A line changed what had settled, and was handed over."""
        return False

    def look_ahead(self, found: Iterable[Line]) -> None:  # noqa: B027 - most have no need of it
        """Know all lines of a file, which are given later: what they change does not settle before."""

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
