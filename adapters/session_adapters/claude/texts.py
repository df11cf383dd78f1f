"""Search texts of a Claude Code transcript, without building messages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from session_adapters.base import Source
from session_adapters.claude.builder import ClaudeBuilder
from session_adapters.claude.paths import is_helper
from session_adapters.claude.records import ClaudeRecord, Marks
from session_adapters.reading.files import open_file
from session_adapters.reading.follower import LinesReader
from session_adapters.reading.scanner import Seeker
from session_adapters.reading.searchable import Rewritten, Text

__all__ = ["text_reader"]

_SIDE = Seeker(Marks, re.compile(rb'"isSidechain"\s*:\s*true'))


class _Builder(ClaudeBuilder):
    """Knows which of its messages are settled: those before the last prompt, since a reply goes on until then."""

    def __init__(self, *, subagent: bool = False) -> None:
        super().__init__(subagent=subagent)
        self._settled = 0
        self._plain = False

    def settled(self) -> int:
        """How many messages no later line can change. In spec 004's layout a result may change any call."""
        return 0 if self._plain else self._settled

    def renumber(self, places: Sequence[int | None]) -> None:
        """See `Builder.renumber`."""
        super().renumber(places)
        self._settled = max(0, self._settled - sum(place is None for place in places))

    def _take(self, record: ClaudeRecord, place: str) -> None:
        self._plain = self._plain or record.kind in ("tool_use", "tool_result")
        super()._take(record, place)
        if not self._replies:
            self._settled = len(self.messages)


class _Reader(LinesReader):
    """Reads a file without helpers."""

    builder: _Builder

    def read(self) -> Iterator[tuple[int, Text]]:
        """See `TextReader.read`."""
        yield from super().read()
        if self.builder.chains:
            raise Rewritten(f"the file of {self.session_id} holds a helper now")


def text_reader(source: Source) -> LinesReader | None:
    """A reader of one transcript that goes on where it stopped; None where there are helpers in it, whose texts are
    other sessions'. Raises `OSError`."""
    helper = is_helper(source)
    with open_file(source.path) as fd:
        side = _SIDE.read(fd, os.fstat(fd).st_size)
        if not helper and any(record.is_sidechain for record, _, _ in side):
            return None
    builder = _Builder(subagent=helper)
    return _Reader(source.path, source.session_id, builder, builder.settled)
