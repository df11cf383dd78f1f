"""Token usage in a Codex rollout, without building messages.

Most bytes are never decoded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from session_adapters.codex.records import CodexUsage as Tokens
from session_adapters.codex.records import TokenInfo
from session_adapters.codex.rollout import identify
from session_adapters.codex.tokens import TokenBuilder
from session_adapters.model import TokenUsage
from session_adapters.reading.files import Decoder, Line, lines, open_file
from session_adapters.reading.scanner import Seeker
from session_adapters.times import parse_seconds
from session_adapters.usage import Usage, call_of

__all__ = ["read_usage"]

_HEAD = 32 << 10
"""Bytes: what comes before the first item fits into them, as a rule."""
_TYPE = 200
"""Bytes at the beginning of a line within which Codex writes the types of record and payload."""
_TYPES = re.compile(rb'"t(?:oken_count|oken_usage_record|urn_context)"')


class _Payload(Struct, gc=False):
    """What is told of tokens and models; `type` says which fields can be there."""

    type: str | None = None
    model: str | None = None
    """`turn_context`"""
    info: TokenInfo | None = None
    """`token_count`"""
    response_id: str | None = None
    """`token_usage_record`, as the rest"""
    usage: Tokens | None = None
    thread_token_usage: Tokens | None = None


class _Record(Struct, gc=False):
    """A line of a rollout."""

    type: str | None = None
    timestamp: str | None = None
    ordinal: int | None = None
    payload: _Payload | None = None


_FULL = Decoder(_Record)
_TELLING = Seeker(_Record, _TYPES, within=_TYPE)


class _Counter(TokenBuilder):
    """Counts as the transcript does, of the few lines that tell of tokens and models, and makes no messages."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner, parent="")
        self.first_model: str | None = None
        self.calls: dict[str, Usage] = {}
        self._ordinal: int | None = None
        self._when: str | None = None

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """See `Builder.starts_turn`: this is no transcript."""
        return False

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        records, _ = _FULL.all(line.data)
        for number, record in enumerate(records):
            self.take(record, line.offset, number)

    def take(self, record: _Record, offset: int, number: int) -> None:
        """The next record: the number of it in the line at `offset`."""
        if record.ordinal is not None:
            if record.ordinal == self._ordinal:
                return
            self._ordinal = record.ordinal
        payload = record.payload
        if payload is None:
            return
        self.at = f"{offset}.{number}" if number else str(offset)
        self._when = record.timestamp
        if record.type == "turn_context":
            self.model = payload.model or self.model
            self.first_model = self.first_model or self.model
        elif record.type == "token_usage_record" and payload.usage is not None:
            self.count_record(payload.response_id, payload.usage, payload.thread_token_usage)
        elif record.type == "event_msg" and payload.type == "token_count" and payload.info is not None:
            self.count_event(payload.info, recorded=record.ordinal is not None)

    def _place(self, usage: TokenUsage, key: str, *, repeats: bool) -> None:
        if not repeats and key not in self.calls:
            seconds = parse_seconds(self._when)
            self.calls[key] = call_of(self.owner, key, seconds, self.model, usage, None)
        self.counted = True


def read_usage(path: str) -> list[Usage] | None:
    """Each model call of a rollout once; None for a file whose first lines may be another session's, or that is
    none of Codex' own generations of rollouts: those are read in full. Raises `OSError`."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        head = identify(_first_lines(fd, size), path)
        if head.bare or head.copied or not head.meta.id:
            return None
        counter = _Counter(head.session_id)
        for found in _TELLING.read(fd, size):
            counter.take(*found)
    return [one if one.model else replace(one, model=counter.first_model) for one in counter.calls.values()]


def _first_lines(fd: int, size: int) -> Iterator[Line]:
    """The lines from the first on; so that the first few are had without cutting the whole file."""
    end = 0
    for line in lines(fd, 0, min(size, _HEAD)):
        if line.complete:
            end = line.offset + len(line.data) + 1
            yield line
    yield from lines(fd, end, size)
