"""What a list shows of a session: read from its ends, or from all of it, once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from copy import copy
from datetime import UTC, datetime
from typing import Any

from session_adapters.base import Source
from session_adapters.gemini.builder import GeminiBuilder, GeminiFacts
from session_adapters.gemini.document import feed_document, feed_document_ends, is_document
from session_adapters.gemini.places import DOCUMENT, name_of, parent_id
from session_adapters.model import EPOCH, Message, SessionKind, SessionSummary
from session_adapters.reading.bounds import DOCUMENT_LIMIT
from session_adapters.reading.ends import marked_lines, read_ends
from session_adapters.reading.files import open_file, read_at
from session_adapters.reading.lines import Line, is_whole, lines
from session_adapters.session_counts import SessionFold
from session_adapters.text import one_line, scrub

__all__ = ["PROBE", "GeminiCounts", "GeminiSurvey", "summary_of", "survey"]

PROBE = 4 << 10
"""Bytes that tell a document from lines."""
_REACH = 1 << 20
"""Bytes at each end beyond which an unusual log is not searched for its first prompt or newest message."""
_MARKS = (b'"summary"', b'"directories"')
"""Lines between the ends that tell of the session itself."""
_WORKSPACE = re.compile(r"Workspace Directories:\**\s*\n\s*-\s*(/[^\n]*)")


_ASKED = ("message", "command")


class GeminiSurvey:
    """What was read of a file."""

    def __init__(
        self,
        builder: GeminiBuilder,
        size: int,
        *,
        before: _Sums | None = None,
        partial: bool = False,
        newest: bool = True,
    ) -> None:
        """`before`: of what the builder has no more."""
        self.builder = builder
        self.sums = before.copy() if before is not None else _Sums()
        self.sums.add(builder.messages)
        self.size = size
        self.partial = partial
        self.newest = newest
        """The newest message is among what was read."""

    @property
    def has_conversation(self) -> bool:
        """Something is there beside the header and the description of the workspace; Gemini itself does not list
        what has nothing."""
        return self.partial or self.sums.said


class GeminiCounts:
    """Sums up a log that grows, and keeps its last turns."""

    def __init__(self, found: Iterable[Line]) -> None:
        """`found`: the lines that there are, of which each is given later."""
        self._builder = GeminiBuilder(glance=True)
        self._builder.look_ahead(found)
        self._before = _Sums()
        """Of what was let go of."""

    def give(self, line: Line) -> None:
        """Take in the next line."""
        self._builder.give(line)
        if self._builder.take_full():
            self._before.add(self._builder.drain())

    def so_far(self, size: int) -> GeminiSurvey | None:
        """What was found by now, in so many bytes; None where a line changed what was let go of."""
        if self._builder.goes_back:
            return None
        self._before.add(self._builder.drain())
        return GeminiSurvey(self._builder, size, before=self._before)


class _Sums:
    """What messages add up to, those of the beginning first."""

    def __init__(self) -> None:
        self.fold = SessionFold()
        self.compacted = 0
        self.said = False
        """One is more than a notice."""
        self._prompt: str | None = None
        self._plain_prompt: str | None = None

    def add(self, messages: Iterable[Message]) -> None:
        """Take in the next messages."""
        self.fold.add(messages)
        for message in messages:
            self.compacted += message.visibility == "compacted"
            self.said = self.said or message.kind != "notice"
            if message.role == "user" and message.kind in _ASKED:
                if self._prompt is None:
                    self._prompt = message.content
                if self._plain_prompt is None and not message.content.lstrip().startswith(("/", "?")):
                    self._plain_prompt = message.content

    @property
    def first_prompt(self) -> str:
        """As the agent has it: the first that is no command, else the first."""
        return (self._prompt or "") if self._plain_prompt is None else self._plain_prompt

    def copy(self) -> _Sums:
        """Another one, which may be given what comes next."""
        other = copy(self)
        other.fold = self.fold.copy()
        return other


def survey(path: str, *, head: int, tail: int, exact: bool) -> GeminiSurvey:
    """The first `head` and the last `tail` bytes, or everything. Raises `OSError`."""
    builder = GeminiBuilder(glance=True)
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        if is_document(read_at(fd, 0, min(size, PROBE))):
            if (exact and size <= DOCUMENT_LIMIT) or size <= head + tail:
                feed_document(read_at(fd, 0, size), builder)
                return GeminiSurvey(builder, size)
            feed_document_ends(fd, size, builder, head=head, tail=tail, reach=_REACH)
            if size > DOCUMENT_LIMIT:
                builder.damaged.add(0, f"the document is too large to be read as a whole ({size:,} bytes)")
            return GeminiSurvey(builder, size, partial=True)
        if exact:
            _feed(lines(fd, 0, size), builder)
            return GeminiSurvey(builder, size)

        def begun(new: Iterable[Line]) -> bool:
            _feed(new, builder)
            return builder.facts.asked

        def ended(last: Iterable[Line]) -> bool:
            return any(b'"timestamp"' in line.data and not line.data.startswith(b'{"$set"') for line in last)

        ends = read_ends(fd, size, head, tail, reach=_REACH, begun=begun, ended=ended)
        for line in marked_lines(fd, *ends.gap, _MARKS):
            builder.note(line)
        _feed(ends.tail, builder)
        return GeminiSurvey(builder, size, partial=not ends.whole, newest=ends.ended)


def _feed(found: Iterable[Line], builder: GeminiBuilder) -> None:
    """A torn last line waits to be finished."""
    for line in found:
        if line.too_long and line.complete:
            builder.skip(line)
        elif line.complete or (not line.too_long and is_whole(line.data)):
            builder.feed(line)


# Summing up ------------------------------------------------------------------------------------------------------


def summary_of(source: Source, found: GeminiSurvey, cwd: str | None) -> SessionSummary:
    """The summary; `cwd` is the directory that the file's place tells."""
    facts, sums = found.builder.facts, found.sums
    parent = parent_id(source)
    kind: SessionKind = "subagent" if parent is not None or facts.kind == "subagent" else "session"
    preview = sums.first_prompt
    newest = facts.newest if found.newest else datetime.fromtimestamp(source.modified, UTC)
    created = facts.started or facts.oldest or newest or EPOCH
    return SessionSummary(
        **sums.fold.fields(),
        agent="gemini",
        session_id=facts.session_id or source.session_id or name_of(source),
        title=one_line(facts.summary or preview),
        created_at=created,
        updated_at=newest or created,
        cwd=cwd or _directory(facts),
        kind=kind,
        parent_id=parent,
        preview=one_line(preview, 200),
        partial=found.partial,
        path=source.path,
        size=found.size,
        warnings=len(found.builder.damaged),
        raw=_raw(source, facts, sums),
    )


def _directory(facts: GeminiFacts) -> str | None:
    """The first of the workspace's, which a helper's header or the description for the model names."""
    if facts.directories:
        return scrub(facts.directories[0])
    named = _WORKSPACE.search(facts.context)
    return scrub(named[1].strip()) if named else None


def _raw(source: Source, facts: GeminiFacts, sums: _Sums) -> dict[str, Any]:
    found: dict[str, Any] = {
        "layout": DOCUMENT if facts.document else source.layout,
        "idIsLost": not (facts.session_id or source.session_id),
        "projectHash": facts.project_hash,
        "summary": facts.summary,
        "resumed": max(0, facts.headers - 1),
        "rewoundMessages": sums.fold.rewound,
        "compactedMessages": sums.compacted,
        "compactions": sums.fold.compactions,
        "directories": facts.directories,
        "safety": facts.safety,
    }
    return {name: value for name, value in found.items() if value}
