"""Search texts of a session without helpers, and of what is appended to it.

A file with helpers is read as a whole: each of them is a session of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec.structs import replace

from session_adapters.base import Source
from session_adapters.copilot.builder import SETTLING, CopilotBuilder
from session_adapters.copilot.reader import CopilotEvent, EventReader
from session_adapters.copilot.records import CopilotUsageRecord, Done, Reply, Rewound
from session_adapters.copilot.summary import fork_time
from session_adapters.copilot.tokens import call_key
from session_adapters.growing.hashes import Hashes
from session_adapters.growing.texts import LinesReader
from session_adapters.model import ToolResult
from session_adapters.reading.files import open_file
from session_adapters.reading.lines import READING, SHORT_LINES, STRAYS, Line, is_whole, lines
from session_adapters.reading.searchable import Text

__all__ = ["CopilotTextReader", "text_reader"]

_MARKS = (b'"agentId"', b'"parentToolCallId"', b'"subagent.', b"\\u00")
"""What a helper's event holds one of, be it that its names are escaped."""
_LONG = 256
"""Bytes of a line: with fewer, `lines` may not read more than `SHORT_LINES` of them."""


class CopilotTextReader(LinesReader):
    """Reads a file without helpers."""

    builder: _HandingBuilder

    def read(self) -> Iterator[tuple[int, Text]]:
        """See `TextReader.read`."""
        yield from super().read()
        self.builder.followed = True


def text_reader(source: Source) -> CopilotTextReader | None:
    """A reader of a file of events that goes on where it stopped.

    None where there are helpers in it, no event or very many damaged lines. Raises `OSError`.
    """
    with open_file(source.path) as fd:
        if not _may_go_on(fd, os.fstat(fd).st_size):
            return None
    builder = _HandingBuilder(source.session_id, began=fork_time(source.path))
    return CopilotTextReader(source.path, source.session_id, builder)


def _may_go_on(fd: int, size: int) -> bool:
    begun, torn, loose = False, False, 0
    for line in lines(fd, 0, size):
        loose += not (line.data.startswith(b"{") and line.data.endswith(b"}"))
        if line.more or line.rest or loose > STRAYS:
            return False
        if (begun and not any(mark in line.data for mark in _MARKS)) or not _is_read(line):
            continue
        # Whatever stands above a line, events that are whole in it are read.
        reader = EventReader()
        found = reader.feed(line)
        if any(event.agent for event in found):
            return False
        begun = begun or bool(found)
        torn = torn or bool(reader.damaged)
    if torn:  # more may be in a record over several lines
        reader = EventReader()
        read = (line for line in lines(fd, 0, size) if _is_read(line))
        return not any(event.agent for line in read for event in reader.feed(line))
    return begun


def _is_read(line: Line) -> bool:
    return not line.too_long and (line.complete or is_whole(line.data))


class _Ahead:
    """Finds the last event that may change what stands far above it."""

    def __init__(self) -> None:
        self._reader = EventReader()
        self._answered = Hashes()
        """Calls that have a result."""
        self._spent: set[int] = set()
        """Calls of the model that have no reply yet, and those of which none was expected any more."""
        self._shown: set[int] = set()

    def give(self, line: Line) -> bool:
        """Take in the next line; whether there is such an event in it."""
        return sum(self._goes_back(found) for found in self._reader.feed(line)) > 0

    def _goes_back(self, found: CopilotEvent) -> bool:
        data = found.data
        if found.type in SETTLING:
            self._shown |= self._spent
            self._spent.clear()
        elif isinstance(data, CopilotUsageRecord) and data.usage is not None:
            self._spent.add(hash(call_key(data.usage, found.id)))
        elif isinstance(data, Reply):
            call = hash(data.api_call_id or "")
            self._spent.discard(call)
            return call in self._shown
        elif isinstance(data, Done):
            call = hash(data.tool_call_id or "")
            again = call in self._answered
            self._answered.add(call)
            return again
        return isinstance(data, Rewound)


class _HandingBuilder(CopilotBuilder):
    """Knows what later events may ask of messages that were handed over.

    That is which calls wait for their result, and hashes of the others.
    """

    followed = False
    """Lines come that were not there when the first were read."""

    def __init__(self, session_id: str, *, began: datetime | None) -> None:
        super().__init__(session_id, began=began)
        self._settling = self._at = 0
        """The line from which on messages settle, and the last one that was given."""
        self._is_back = self._is_loose = self._has_let_go = False
        self._given = self._damaged_lines = 0
        self._waiting: dict[str, str] = {}
        """Names of the tools whose calls have no result yet, by the calls' ids."""
        self.awaited = self._waiting.keys()
        self._done_calls = Hashes()
        """The other calls."""

    # Letting go --------------------------------------------------------------------------------------------

    def look_ahead(self, found: Iterable[Line]) -> None:
        """See `Builder.look_ahead`.

        Messages settle at the last event that may speak of one long before.
        """
        ahead = _Ahead()
        for line in found:
            if _is_read(line) and ahead.give(line):
                self._settling = line.offset

    def settled(self) -> int:
        """See `Builder.settled`."""
        return max(0, len(self.messages) - 1) if self._at >= self._settling else 0

    @property
    def goes_back(self) -> bool:
        """See `Builder.goes_back`.

        A helper's event makes the file another one. Of very many damaged or short lines fewer are read at once than
        one after the other.
        """
        return self._is_back or self.is_late or (self.followed and self._is_loose)

    def drop(self, indices: set[int], *, handed_over: bool = False) -> None:
        """See `Builder.drop`."""
        if handed_over and indices:
            self._has_let_go = True
            results = [one.tool_result for one in self.messages if one.tool_result is not None]
            answered = {result.tool_call_id for result in results if result.linked}
            for call in (one for index in sorted(indices) for one in self.messages[index].tool_calls):
                if call.tool_call_id in answered:
                    self._waiting.pop(call.tool_call_id, None)
                    self._done_calls.add(hash(call.tool_call_id))
                else:
                    self._waiting[call.tool_call_id] = call.tool_name
        super().drop(indices, handed_over=handed_over)

    # Lines and events --------------------------------------------------------------------------------------

    def give(self, line: Line) -> None:
        """See `Builder.give`."""
        before = READING.run.damaged
        super().give(line)
        self._at = line.offset
        self._given += 1
        self._damaged_lines += READING.run.damaged - before
        if line.more or line.rest or self._damaged_lines > STRAYS or self._given > SHORT_LINES + line.offset // _LONG:
            self._is_loose = True

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        self.offset = 0  # a message of which only the beginning is kept is named, as where all is read at once
        super().feed(line)

    def take(self, found: CopilotEvent) -> None:
        """See `CopilotBuilder.take`."""
        if found.agent or (self._has_let_go and isinstance(found.data, Rewound)):
            self._is_back = True
        else:
            super().take(found)

    def link(self, result: ToolResult, **more: object) -> ToolResult:
        """See `Builder.link`: the call may have been let go."""
        linked = super().link(result, **more)
        if linked.linked:
            return linked
        call = result.tool_call_id
        name = self._waiting.pop(call, None)
        if name is None:
            self._is_back = self._is_back or hash(call) in self._done_calls
            return linked
        self._done_calls.add(hash(call))
        return replace(result, tool_name=result.tool_name or name, linked=True)
