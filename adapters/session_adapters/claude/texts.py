"""What can be searched in a Claude Code transcript, read faster than the whole conversation."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from session_adapters.base import Report, Source
from session_adapters.claude.builder import ClaudeBuilder
from session_adapters.claude.chains import chain_in, helper_id
from session_adapters.claude.paths import is_helper, printable
from session_adapters.claude.records import ClaudeRecord, Marks
from session_adapters.model import Problem
from session_adapters.reading.damage import REPORTED, Damage
from session_adapters.reading.files import open_file
from session_adapters.reading.follower import LinesReader
from session_adapters.reading.scanner import Seeker
from session_adapters.reading.searchable import Rewritten, Text

__all__ = ["text_reader", "texts"]

_SIDE = Seeker(Marks, re.compile(rb'"isSidechain"\s*:\s*true'))


class _Builder(ClaudeBuilder):
    """Knows which of its messages are settled: those before the last prompt, since a reply goes on until then."""

    def __init__(self, *, subagent: bool = False, chain: str = "") -> None:
        super().__init__(subagent=subagent, chain=chain)
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


def text_reader(source: Source) -> LinesReader | None:
    """A reader of one transcript that goes on where it stopped; None where there are helpers in it, whose texts are
    other sessions'. Raises `OSError`."""
    with open_file(source.path) as fd:
        side = _SIDE.read(fd, os.fstat(fd).st_size)
        if not is_helper(source) and any(record.is_sidechain for record, _, _ in side):
            return None
    return _reader(source, kind=_Growing)


def texts(source: Source, report: Report, session_id: str | None = None) -> Iterator[Text]:
    """See `Adapter.texts`; `session_id` is in this source."""
    chain = chain_in(source.session_id, session_id) if session_id is not None else ""
    first = _reader(source, chain)
    damaged = Damage()
    try:
        yield from (text for _, text in first.read())
        damaged = first.builder.damaged
        for other in first.builder.chains if session_id is None else ():
            yield from (text for _, text in _reader(source, other).read())
    except FileNotFoundError:
        return
    except OSError as error:
        report(_problem(source, f"cannot be read: {error.strerror or error}"))
    for problem in damaged.problems("claude", source.path, source.session_id, limit=REPORTED):
        report(problem)


class _Reader(LinesReader):
    """Reads the texts of a session, or of one helper in its file."""

    builder: _Builder


class _Growing(_Reader):
    """Reads a file without helpers."""

    def read(self) -> Iterator[tuple[int, Text]]:
        """See `TextReader.read`."""
        yield from super().read()
        if self.builder.chains:
            raise Rewritten(f"the file of {self.session_id} holds a helper now")


def _reader(source: Source, chain: str = "", *, kind: type[_Reader] = _Reader) -> _Reader:
    builder = _Builder(subagent=is_helper(source), chain=chain)
    session_id = helper_id(source.session_id, chain) if chain else source.session_id
    return kind(source.path, session_id, builder, builder.settled)


def _problem(source: Source, reason: str, place: str = "") -> Problem:
    path = printable(source.path)
    return Problem(agent="claude", path=path, reason=reason, place=place, session_id=source.session_id)
