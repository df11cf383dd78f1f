"""What can be searched in a Claude Code transcript, read faster than the whole conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from msgspec import Raw

from session_adapters.base import Report, Source
from session_adapters.claude.builder import DECODER, ClaudeBuilder
from session_adapters.claude.paths import is_helper, printable
from session_adapters.claude.records import Block, Body, Record
from session_adapters.files import Line, RecordDecoder
from session_adapters.following import LinesReader
from session_adapters.model import Problem
from session_adapters.searchable import Text

__all__ = ["text_reader", "texts"]

_RESULT_ALONE = re.compile(
    rb'"message":\{"role":"user","content":\[\{(?:"tool_use_id":"[^"\\]*","type":"tool_result"'
    rb'|"type":"tool_result","tool_use_id":"[^"\\]*")'
)
_REPORTED = 10
"""Damaged lines of one file that are reported one by one."""


class _QuickBlock(Block):
    """A block whose input or output is passed over."""

    input: Raw = Raw()
    content: Raw = Raw()


class _QuickBody(Body):
    content: str | list[_QuickBlock | str] | None = None  # type: ignore[assignment]  # a list is only read


class _QuickRecord(Record):
    message: _QuickBody | str | None = None
    content: str | list[_QuickBlock | str] | dict[str, Any] | None = None  # type: ignore[assignment]  # as above


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

    def _take(self, record: Record, place: str) -> None:
        self._plain = self._plain or record.type in ("tool_use", "tool_result")
        super()._take(record, place)
        if not self._replies:
            self._settled = len(self.messages)


class _ProseBuilder(_Builder):
    """Makes the same messages, without what the tools got and gave. A line that holds nothing else is left out on
    its bytes: it names no other line and belongs to no reply."""

    decoder: ClassVar[RecordDecoder[Record]] = DECODER.quick(_QuickRecord)

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        data = line.data
        if b'"tool_result"' in data and b'"text"' not in data and _is_result(data):
            return
        super().feed(line)


def _is_result(data: bytes) -> bool:
    """Whether the line's only message begins with a result. Quotes within a text are escaped, so what looks like a
    key is one."""
    return data.count(b'"message":') == 1 and _RESULT_ALONE.search(data) is not None


def text_reader(source: Source, *, prose_only: bool = False) -> LinesReader:
    """A reader of one transcript."""
    helper = is_helper(source)
    builder = _ProseBuilder(subagent=helper) if prose_only else _Builder(subagent=helper)
    return LinesReader(source.path, source.session_id, builder, builder.settled)


def texts(source: Source, report: Report, *, prose_only: bool = False) -> Iterator[Text]:
    """See `Adapter.texts`."""
    reader = text_reader(source, prose_only=prose_only)
    try:
        for _, text in reader.read():
            yield text
    except FileNotFoundError:
        return
    except OSError as error:
        report(_problem(source, f"cannot be read: {error.strerror or error}"))
    for offset, reason in reader.builder.damaged[:_REPORTED]:
        report(_problem(source, reason, f"byte {offset}"))


def _problem(source: Source, reason: str, place: str = "") -> Problem:
    path = printable(source.path)
    return Problem(agent="claude", path=path, reason=reason, place=place, session_id=source.session_id)
