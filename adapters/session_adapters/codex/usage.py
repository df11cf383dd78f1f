"""What the model calls in a Codex rollout used, without making the conversation: most bytes are never decoded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from session_adapters.codex.records import TokenInfo
from session_adapters.codex.records import Usage as Tokens
from session_adapters.codex.rollout import identify
from session_adapters.codex.tokens import TokenBuilder
from session_adapters.files import Decoder, Line, lines, lines_with, open_file
from session_adapters.model import Message
from session_adapters.times import from_iso
from session_adapters.transcript import Builder
from session_adapters.usage import Usage, usage_of

__all__ = ["read_usage"]

_HEAD = 32 << 10
"""Bytes: what comes before the first item fits into them, as a rule."""
_TYPE = 200
"""Bytes at the beginning of a line within which Codex writes the types of record and payload."""
_TELLING = re.compile(rb'"t(?:oken_count|oken_usage_record|urn_context)"')


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


_RECORD = Decoder(_Record)


class _Counter(TokenBuilder):
    """Counts as the transcript does, of the few lines that tell of tokens and models."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner, parent="", inherited=False)
        self.from_start = True
        self.first_model: str | None = None
        self.times: list[float | None] = []
        """When each counted call ended."""
        self._ordinal: int | None = None

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """See `Builder.starts_turn`: this is no transcript."""
        return False

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        records, _ = _RECORD.all(line.data)
        for number, record in enumerate(records):
            self.at = f"{line.offset}.{number}" if number else str(line.offset)
            self._take(record)

    def _take(self, record: _Record) -> None:
        if record.ordinal is not None:
            if record.ordinal == self._ordinal:
                return
            self._ordinal = record.ordinal
        payload = record.payload
        if payload is None:
            return
        if record.type == "turn_context":
            self.model = payload.model or self.model
            self.first_model = self.first_model or self.model
        elif record.type == "token_usage_record" and payload.usage is not None:
            self.count_record(payload.response_id, payload.usage, payload.thread_token_usage)
        elif record.type == "event_msg" and payload.type == "token_count" and payload.info is not None:
            self.count_event(payload.info, recorded=record.ordinal is not None)
        if len(self.messages) > len(self.times):
            moment = from_iso(record.timestamp)
            seconds = moment.timestamp() if moment is not None else None
            self.times.extend([seconds] * (len(self.messages) - len(self.times)))

    def meet(self, front: Builder) -> None:
        """See `Builder.meet`: there are no pages."""


def read_usage(path: str) -> list[Usage] | None:
    """Each model call of a rollout once; None for a file whose first lines may be another session's, or that is
    none of Codex' own generations of rollouts: those are read in full. Raises `OSError`."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        head = identify(_first_lines(fd, size), path)
        if head.bare or head.copied or not head.meta.id:
            return None
        counter = _Counter(head.session_id)
        for line in lines_with(fd, _TELLING, size):
            if _TELLING.search(line.data, 0, _TYPE) is not None:
                counter.feed(line)
    return _calls(head.session_id, counter)


def _first_lines(fd: int, size: int) -> Iterator[Line]:
    """The lines from the first on; so that the first few are had without cutting the whole file."""
    end = 0
    for line in lines(fd, 0, min(size, _HEAD)):
        if line.complete:
            end = line.offset + len(line.data) + 1
            yield line
    yield from lines(fd, end, size)


def _calls(session_id: str, counter: _Counter) -> list[Usage]:
    seen: set[str] = set()
    calls: list[Usage] = []
    for message, seconds in zip(counter.messages, counter.times, strict=True):
        if message.usage_key not in seen:
            seen.add(message.usage_key)
            calls.append(_call(session_id, message, seconds, counter.first_model))
    return calls


def _call(session_id: str, message: Message, seconds: float | None, model: str | None) -> Usage:
    return replace(usage_of(session_id, message, model=model), time=seconds)
