"""Search texts of a Claude Code transcript that grows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from session_adapters.base import Source
from session_adapters.claude.builder import ClaudeBuilder
from session_adapters.claude.paths import is_helper
from session_adapters.claude.records import Marks
from session_adapters.reading.files import Decoder, Line, lines, open_file
from session_adapters.reading.follower import LinesReader
from session_adapters.reading.searchable import Rewritten, Text

__all__ = ["text_reader"]

_SIDE = re.compile(rb'"isSidechain"\s*:\s*true')
_MARKS = Decoder(Marks)


class _Reader(LinesReader):
    """Reads a file without helpers."""

    builder: ClaudeBuilder

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
        if not helper and any(map(_is_side, lines(fd, 0, os.fstat(fd).st_size))):
            return None
    return _Reader(source.path, source.session_id, ClaudeBuilder(subagent=helper))


def _is_side(line: Line) -> bool:
    """Whether a helper's record is in a line."""
    marked = not line.too_long and _SIDE.search(line.data) is not None
    return marked and any(record.is_sidechain for record in _MARKS.all(line.data)[0])
