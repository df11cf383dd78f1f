"""What a list shows of a Codex session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from session_adapters.codex.document import document_lines
from session_adapters.codex.messages import CodexBuilder
from session_adapters.codex.records import CodexUsage, Payload, normalised
from session_adapters.codex.rollout import RolloutHead, identify, own_start, relation_of
from session_adapters.codex.tokens import minus
from session_adapters.model import EPOCH, Message, ToolCall
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.ends import marked_lines, read_ends
from session_adapters.reading.files import open_file
from session_adapters.reading.lines import Line, is_whole, lines
from session_adapters.session_counts import SessionFold
from session_adapters.text import one_line
from session_adapters.times import from_iso

__all__ = ["CodexSurvey", "spent", "summary_fields", "survey_document", "survey_rollout"]


def spent(fold: SessionFold, total: CodexUsage | None, baseline: CodexUsage | None, head: RolloutHead) -> None:
    """Let the thread's running total stand for calls in the part that was not read. A fork's starts at its parent's:
    without the `baseline` it says nothing."""
    if total is not None and (baseline is not None or relation_of(head).forked_from is None):
        fold.at_least(normalised(minus(total, baseline or CodexUsage())))


def summary_fields(
    fold: SessionFold, head: RolloutHead, builders: Iterable[CodexBuilder], title: str
) -> dict[str, Any]:
    """The fields of a `SessionSummary` that the content of a rollout decides. `title`: the name that the user gave,
    if any."""
    made = list(builders)
    meta = head.meta
    relation = relation_of(head)
    chosen = [name for one in made for name in reversed(one.contexts)]
    models = tuple(dict.fromkeys((*fold.own_models, *chosen, *fold.models)))
    newest = fold.newest or max((one.newest for one in made if one.newest is not None), default=None)
    # A header that is lost tells nothing; the newest message is no stand-in, or the session would move up.
    known = [when for when in (head.named_at, *(one.first for one in made)) if when is not None]
    created = from_iso(meta.timestamp) or min(known, default=EPOCH)
    # Where the thread was started: a name, or for helpers an object with one key.
    source = meta.source if isinstance(meta.source, str) and meta.source else None
    if isinstance(meta.source, dict):
        source = next((key for key, value in meta.source.items() if value is not None), None)
    return {
        **fold.fields(),
        "agent": "codex",
        "session_id": head.session_id,
        "title": one_line(title or fold.prompt),
        "preview": one_line(fold.prompt, 200),
        "created_at": created,
        "updated_at": newest or created,
        "model": models[0] if models else None,
        "models": models,
        "cwd": next((one.cwd for one in reversed(made) if one.cwd), None) or meta.cwd,
        "git_branch": meta.git.branch if meta.git else None,
        "source": source,
        "kind": relation.kind,
        "parent_id": relation.parent_id,
        "forked_from": relation.forked_from,
        "warnings": sum(len(one.damaged) for one in made),
        "raw": _raw(fold, head),
    }


def _raw(fold: SessionFold, head: RolloutHead) -> dict[str, Any]:
    meta = head.meta
    facts = {
        "cliVersion": meta.cli_version,
        "originator": meta.originator,
        "threadSource": meta.thread_source,
        "modelProvider": meta.model_provider,
        "historyMode": meta.history_mode,
        "agentNickname": meta.agent_nickname,
        "agentRole": meta.agent_role,
        "commit": meta.git.commit_hash if meta.git else None,
        "historyBase": meta.history_base.thread_id if meta.history_base else None,
        "compactions": fold.compactions,
        "inheritedMessages": fold.inherited,
    }
    return {name: value for name, value in facts.items() if value}


# A whole rollout --------------------------------------------------------------------------------------------


_REACH = 1 << 20
"""Bytes at each end beyond which the first prompt, which may come after long instructions, and the newest message are
not looked for."""
_MARKS = (b'"turn_context"',)
"""Lines between the ends that tell of models and directories."""

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


class CodexSurvey:
    """What was found."""

    def __init__(self, head: RolloutHead, size: int) -> None:
        self.head = head
        self.size = size
        self.partial = False
        self.fold = SessionFold()
        self.builders: list[CodexBuilder] = []
        self._running: CodexBuilder | None = None
        self._messages = False

    @property
    def damaged(self) -> Damage:
        """By offset."""
        found = Damage()
        for builder in self.builders:
            found.extend(builder.damaged)
        return found

    @property
    def has_messages(self) -> bool:
        """Something stands behind the header."""
        return self._messages or (self._running is not None and bool(self._running.messages))

    @property
    def is_empty(self) -> bool:
        """No session is in there: neither a header nor a message."""
        return not self.head.meta.id and not self.has_messages

    def feed(self, run: Iterable[Line], *, own_from: int = 0) -> None:
        """Count a run of lines."""
        builder = self.builder(own_from)
        for line in run:
            self._give(builder, line)
        self.count(builder)

    def give(self, line: Line) -> None:
        """Take in the next line of a rollout that is read from its beginning on, and has no copies."""
        self._running = self._running or self.builder(0)
        self._give(self._running, line)

    def so_far(self, size: int) -> CodexSurvey:
        """What was found by now, in so many bytes; this one may be given more."""
        found = copy(self)
        found.size, found.fold, found.builders = size, self.fold.copy(), [*self.builders]
        if self._running is not None:
            found.count(self._running)
        return found

    def _give(self, builder: CodexBuilder, line: Line) -> None:
        _take(builder, line)
        if builder.take_full():
            self._count(builder.drain())

    def builder(self, own_from: int) -> CodexBuilder:
        """One for a run of lines that is not counted yet."""
        return _Glance(self.head.session_id, parent=self.head.copied, own_from=own_from)

    def count(self, builder: CodexBuilder) -> None:
        """Count what a run of lines made."""
        self.builders.append(builder)
        self._count(builder.messages)

    def _count(self, messages: list[Message]) -> None:
        self._messages = self._messages or bool(messages)
        self.fold.add(messages)


def _take(builder: CodexBuilder, line: Line) -> None:
    """A torn last line waits to be finished."""
    if line.too_long or line.complete or is_whole(line.data):
        builder.give(line)


def survey_document(path: str) -> CodexSurvey:
    """One of the oldest rollouts. Raises `OSError`, `ValueError`."""
    found = document_lines(path)
    survey = CodexSurvey(identify(found, path), Path(path).stat().st_size)
    survey.feed(found)
    return survey


def survey_rollout(path: str, *, head: int, tail: int, exact: bool) -> CodexSurvey:
    """The first `head` and the last `tail` bytes, or everything. Raises `OSError`."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        if exact:
            return _whole(lambda: lines(fd, 0, size), path, size)
        glance = _Ends(path, size)
        ends = read_ends(fd, size, head, tail, reach=_REACH, begun=glance.begun, ended=glance.ended)
        if ends.whole:
            return _whole(lambda: (*ends.head, *ends.tail), path, size) if ends.tail else glance.survey
        return glance.finish(marked_lines(fd, *ends.gap, _MARKS))


def _whole(run: Callable[[], Iterable[Line]], path: str, size: int) -> CodexSurvey:
    survey = CodexSurvey(identify(run(), path), size)
    survey.feed(run(), own_from=own_start(run(), survey.head) if survey.head.copied else 0)
    return survey


class _Ends:
    """The ends of a long rollout, as they are read."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._size = size
        self._first: list[Line] = []
        self._tail: list[Line] = []
        self._own_from = 0

    def begun(self, new: Sequence[Line]) -> bool:
        """See `read_ends`: whether the first prompt is there."""
        self._first += new
        self.survey = CodexSurvey(identify(self._first, self._path), self._size)
        self._own_from = own_start(self._first, self.survey.head) if self.survey.head.copied else 0
        self.survey.feed(self._first, own_from=self._own_from)
        return bool(self.survey.fold.own_prompt)

    def ended(self, new: Sequence[Line]) -> bool:
        """See `read_ends`: whether a message is there."""
        self._tail[:0] = new
        own_from, head, last = 0, self.survey.head, self._tail
        if head.copied and last and self._first and self._own_from > self._first[-1].offset:
            own_from = own_start(last, head)
            # No sign of where the copy ends: the newest lines are taken for the session's own.
            own_from = own_from if own_from <= last[-1].offset else 0
        self._last = self.survey.builder(own_from)
        for line in last:
            _take(self._last, line)
        return bool(self._last.messages)

    def finish(self, middle: Iterable[Line]) -> CodexSurvey:
        """The survey of both; of the lines between them those in `middle` were read."""
        survey, first = self.survey, self.survey.builders[0]
        survey.partial = True
        survey.fold.gap()
        if not survey.head.copied:  # it is not known whose lines they are
            between = survey.builder(0)
            for line in middle:
                _take(between, line)
            survey.count(between)
        survey.count(self._last)
        spent(survey.fold, self._last.total or first.total, first.baseline, survey.head)
        return survey
