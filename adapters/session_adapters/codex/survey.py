"""A rollout read for a list: its ends, or all of it once, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from session_adapters.codex.document import document_lines
from session_adapters.codex.messages import CodexBuilder
from session_adapters.codex.records import Payload
from session_adapters.codex.rollout import Head, identify, own_start
from session_adapters.codex.splice import TOO_LONG
from session_adapters.codex.tally import Tally
from session_adapters.files import Ends, Line, is_whole, lines, open_file, read_ends
from session_adapters.model import Message, ToolCall

__all__ = ["Survey", "survey_document", "survey_rollout"]

_DRAIN = 256
"""Lines after which finished messages are counted and forgotten."""
_LONG_HEAD = 1 << 20
"""Bytes that are read where the first prompt comes late (after long instructions)."""


_CALL = ToolCall(tool_call_id="", tool_name="")


class _Glance(CodexBuilder):
    """Passes over what tools were given and gave, which may be long: a list only counts calls and results."""

    def _call(self, item: Payload, kind: str, when: datetime | None) -> None:
        index = self._reply(item.id, when)
        message = self.messages[index]
        calls = (*message.tool_calls, _CALL)
        self.change(index, replace(message, tool_calls=calls, timestamp=when or message.timestamp))

    def _output(self, item: Payload, when: datetime | None) -> None:
        self._say("tool", item_id=item.id, when=when)


class Survey:
    """What was found."""

    def __init__(self, head: Head, size: int, *, partial: bool = False) -> None:
        self.head = head
        self.size = size
        self.partial = partial
        self.tally = Tally()
        self.builders: list[CodexBuilder] = []
        self._messages = False

    @property
    def damaged(self) -> list[tuple[int, str]]:
        """(offset, reason)"""
        return [one for builder in self.builders for one in builder.damaged]

    @property
    def is_empty(self) -> bool:
        """No session is in there: neither a header nor a message."""
        return not self.head.meta.id and not self._messages

    def feed(self, run: Iterable[Line], *, own_from: int = 0) -> CodexBuilder:
        """Count a run of lines."""
        builder = _Glance(self.head.session_id, parent=self.head.copied, own_from=own_from)
        self.builders.append(builder)
        for number, line in enumerate(run):
            if line.too_long:
                builder.damaged.append((line.offset, TOO_LONG))
            elif line.complete or is_whole(line.data):
                builder.feed(line)
            if number % _DRAIN == _DRAIN - 1:
                self._count(builder.drain())
        self._count(builder.messages)
        return builder

    def _count(self, messages: list[Message]) -> None:
        self._messages = self._messages or bool(messages)
        self.tally.add(messages)


def survey_document(path: str) -> Survey:
    """One of the oldest rollouts. Raises `OSError`, `ValueError`."""
    found = document_lines(path)
    survey = Survey(identify(found, path), Path(path).stat().st_size)
    survey.feed(found)
    return survey


def survey_rollout(path: str, *, head: int, tail: int, exact: bool) -> Survey:
    """The first `head` and the last `tail` bytes, or everything. Raises `OSError`."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        ends = read_ends(fd, size, head, tail)
        if ends.whole:
            return _whole(Survey(identify(ends.head, path), size), ends.head, ends.head)
        if exact:
            return _whole(Survey(identify(lines(fd, 0, size), path), size), lines(fd, 0, size), lines(fd, 0, size))
        survey = _ends(ends, path, size)
        if not survey.tally.prompt and head < _LONG_HEAD:
            longer = read_ends(fd, size, _LONG_HEAD, tail)
            if longer.whole:
                return _whole(Survey(identify(longer.head, path), size), longer.head, longer.head)
            survey = _ends(longer, path, size)
        return survey


def _whole(survey: Survey, probed: Iterable[Line], run: Iterable[Line]) -> Survey:
    own_from = own_start(probed, survey.head) if survey.head.copied else 0
    survey.feed(run, own_from=own_from)
    return survey


def _ends(ends: Ends, path: str, size: int) -> Survey:
    survey = Survey(identify(ends.head, path), size, partial=True)
    own_from = tail_from = 0
    if survey.head.copied:
        own_from = own_start(ends.head, survey.head)
        if ends.tail and ends.head and own_from > ends.head[-1].offset:
            tail_from = own_start(ends.tail, survey.head)
            # No sign of where the copy ends: the newest lines are taken for the session's own.
            tail_from = tail_from if tail_from <= ends.tail[-1].offset else 0
    first = survey.feed(ends.head, own_from=own_from)
    survey.tally.gap()
    last = survey.feed(ends.tail, own_from=tail_from)
    survey.tally.spent(last.total or first.total, first.baseline, survey.head)
    return survey
