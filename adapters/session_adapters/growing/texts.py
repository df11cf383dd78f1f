"""Search texts of one append-only JSONL file, and of what is appended to it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from session_adapters.growing.file import GrowingFile
from session_adapters.growing.hashes import Hashes
from session_adapters.reading.files import open_file, scan_at
from session_adapters.reading.lines import BLOCK, is_whole, line_start, lines
from session_adapters.reading.searchable import Rewritten, Text, TextReader, texts_of
from session_adapters.tool_names import ToolNames, of_call
from session_adapters.transcript import PAGE, Builder

__all__ = ["LinesReader", "place_of", "turn_above", "turn_start"]

_OFFSET = re.compile(r"@?(\d{1,15})(?:\.\d+)?(?:#\d+)?")
"""The id of a message that its agent gave none: where its line begins."""


class LinesReader(TextReader):
    """Feeds the lines to a builder and takes the finished messages out of it."""

    def __init__(self, path: str | Path, session_id: str, builder: Builder) -> None:
        self.builder = builder
        self._path = path
        self.session_id = session_id
        self._file: GrowingFile | None = None
        self._given = Hashes()
        """Hashes of the ids of the messages that are no longer in the builder: this is what stays of weeks."""
        self._given_again: Counter[int] = Counter()
        """How often those came after the first time that came again."""
        self._kept: list[str] = []
        """Ids of the messages that were handed over and are still in the builder."""
        self._fresh = 0
        """Index of the first message in the builder that is new or different."""
        self._asked: dict[str, ToolNames] = {}
        """What calls were about that are no longer in the builder, by their ids: those that messages there answer."""

    def read(self) -> Iterator[tuple[int, Text]]:
        """See `TextReader.read`."""
        with open_file(self._path) as fd:
            status = os.fstat(fd)
            if self._file is None:
                self.builder.look_ahead(lines(fd, 0, status.st_size))
            file = self._file = self._file or GrowingFile(fd)
            if not file.goes_on(fd, status):
                raise Rewritten(f"{self._path} is another file now")
            for line in file.new(fd, status.st_size):
                if not line.complete and (line.too_long or not is_whole(line.data)):
                    file.leave(fd, line)  # a writer is in the middle of it
                    break
                self.builder.give(line)
                if self.builder.take_full():
                    self._note_change()
                    settled = self.builder.settled()
                    if settled:
                        yield from self._numbered(settled)
                        self._forget(settled)
        self._note_change()
        yield from self._numbered(len(self.builder.messages))
        self._fresh = len(self.builder.messages)
        self._kept = [message.id for message in self.builder.messages]
        # Handed over; what is settled need not be kept.
        self._forget(self.builder.settled())

    @property
    def unsettled(self) -> frozenset[str]:
        """See `TextReader.unsettled`."""
        return frozenset(self._kept)

    @property
    def lost(self) -> int:
        """See `TextReader.lost`."""
        return len(self.builder.damaged)

    def _note_change(self) -> None:
        if self.builder.goes_back:
            raise Rewritten(f"{self._path} says now that something long before was another")
        messages = self.builder.messages  # made anew where they have to be
        changed = self.builder.take_change()
        if changed is None:
            return
        self._fresh = min(self._fresh, changed)
        now = messages[changed : len(self._kept)]
        if self._kept[changed:] != [message.id for message in now]:
            # Codex' summary of a conversation is a reply like any other until the record behind it says what it was.
            raise Rewritten(f"{self._path} says now that a message was another one")

    def _numbered(self, stop: int) -> Iterator[tuple[int, Text]]:
        messages = self.builder.messages
        before = Counter(message.id for message in messages[: self._fresh])
        for text in texts_of(self.session_id, messages, self._fresh, stop, self._asked):
            key = hash(text.message_id)
            yield (key in self._given) + self._given_again[key] + before[text.message_id], text
            before[text.message_id] += 1

    def _forget(self, count: int) -> None:
        if not count:
            return
        messages = self.builder.messages
        for message in messages[:count]:
            key = hash(message.id)
            if key in self._given:
                self._given_again[key] += 1
            self._given.add(key)
        self.builder.drop(set(range(count)), handed_over=True)
        self.builder.take_change()
        # A result that stays or comes may answer a call that goes: what that was about is known while that may be.
        results = [one.tool_result for one in messages[count:] if one.tool_result is not None]
        answered = {result.tool_call_id for result in results if result.linked}.union(self.builder.awaited)
        self._asked = {key: names for key, names in self._asked.items() if key in answered}
        if answered:
            calls = [call for one in messages[:count] for call in one.tool_calls if call.tool_call_id in answered]
            self._asked.update((call.tool_call_id, of_call(call)) for call in calls)
        del self._kept[:count]
        self._fresh = max(0, self._fresh - count)


def turn_start(builder: Builder, fd: int, end: int, page: int) -> int:
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
        if not line.too_long and builder.starts_turn(line.data):
            return line.offset
    if first is not None:
        return first
    return line_start(fd, start)  # one line fills the page


def turn_above(builder: Builder, fd: int, end: int, page: int) -> int:
    """The same; where no turn starts in the page, of a larger one, up to the usual size."""
    while start := turn_start(builder, fd, end, page):
        first = next(lines(fd, start, end), None)
        if page >= PAGE or (first is not None and builder.starts_turn(first.data)):
            break
        page *= 4
    return start


def place_of(fd: int, message_id: str, end: int) -> int | None:
    """Where the line begins that first has the id of a message in it. Raises `OSError`."""
    told = _OFFSET.fullmatch(message_id)
    if told is not None:
        return line_start(fd, int(told[1])) if int(told[1]) < end else None
    sought = b'"%b"' % message_id.partition("#")[0].encode("utf-8", "replace")
    for at in range(0, end, BLOCK):
        found = scan_at(fd, at, BLOCK + len(sought)).find(sought)
        if found >= 0:
            return line_start(fd, at + found)
    return None
