"""An adapter for an agent whose files of lines say all: it lacks a builder."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from session_adapters.base import Report, Root, SessionMissing, SessionUnreadable, Source
from session_adapters.growing.counter import Begun, Pairs
from session_adapters.growing.jsonl_adapter import JsonlAdapter, JsonlTranscript
from session_adapters.growing.texts import LinesReader
from session_adapters.model import EPOCH, Problem, Session, SessionSummary
from session_adapters.reading.ends import read_ends
from session_adapters.reading.files import open_file
from session_adapters.reading.folders import file_source, problem_in, report_damage, status_of
from session_adapters.reading.lines import Line, is_whole, lines
from session_adapters.session_counts import SessionFold
from session_adapters.text import one_line
from session_adapters.transcript import Builder

__all__ = ["LinesAdapter"]


class _Survey:
    """What messages add up to that are let go once they are settled."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._fold = SessionFold()

    def give(self, line: Line) -> None:
        """Take in the next line."""
        self.builder.give(line)
        if self.builder.take_full():
            self._fold.add(self.builder.drain())

    @property
    def so_far(self) -> SessionFold:
        """What all of them add up to by now."""
        fold = self._fold.copy()
        fold.add(self.builder.messages)
        return fold


class LinesAdapter(JsonlAdapter):
    """Reads `<id>.jsonl` directly below each root. Title, times and counts are those of the messages."""

    @abstractmethod
    def builder(self, source: Source) -> Builder:
        """What makes messages of the lines of a file."""

    def listed(self, root: Root, report: Report) -> Iterator[Source]:
        """See `JsonlAdapter.listed`."""

        def problem(path: Path, what: str, error: OSError) -> None:
            reason = f"cannot be {what}: {error.strerror or error}"
            report(Problem(agent=self.name, path=str(path), reason=reason))

        try:
            paths = sorted(path for path in root.path.iterdir() if path.suffix == ".jsonl")
        except FileNotFoundError:
            return  # nobody uses the agent here
        except OSError as error:
            problem(root.path, "listed", error)
            return
        for path in paths:
            status = status_of(str(path), partial(problem, path, "looked at"))
            if status is not None:
                place = {"root": str(root.path), "layout": root.layout}
                yield file_source(self.name, str(path), status, session_id=path.stem, **place)

    def counted(self, source: Source, report: Report, *, exact: bool) -> Pairs[SessionFold]:
        """See `JsonlAdapter.counted`."""
        survey = _Survey(self.builder(source))
        with open_file(source.path) as fd:
            size = os.fstat(fd).st_size
            ends = None if exact else read_ends(fd, size, self.head, self.tail)
            for line in (*ends.head, *ends.tail) if ends is not None else lines(fd, 0, size):
                if line.complete or (not line.too_long and is_whole(line.data)):
                    survey.give(line)
        return self._summed(source, survey, size, report, partial=ends is not None and not ends.whole)

    def begin(self, source: Source, fd: int, size: int) -> Begun[SessionFold]:
        """See `JsonlAdapter.begin`."""
        survey = _Survey(self.builder(source))
        return Begun(survey, lambda one, size, report: self._summed(one, survey, size, report, partial=False))

    def _summed(
        self, source: Source, survey: _Survey, size: int, report: Report, *, partial: bool
    ) -> Pairs[SessionFold]:
        fold, damaged = survey.so_far, survey.builder.damaged
        report_damage(source, damaged, report)
        if not fold.messages:
            if not damaged:
                report(problem_in(source, "holds no message"))
            return ()
        return ((_summary(source, fold, size, len(damaged), partial=partial), fold),)

    def open(self, source: Source, session_id: str) -> JsonlTranscript[Builder]:
        """See `Adapter.open`."""
        return self._open(source, session_id, self.page)

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`."""
        transcript, fold = self._open(source, session_id, sys.maxsize), SessionFold()
        fold.add(transcript.messages)
        damaged = transcript.builder.damaged
        if damaged and not fold.messages:
            raise SessionUnreadable(f"cannot read {source.path}: {transcript.problems[0].reason}")
        return Session.of(_summary(source, fold, transcript.size, len(damaged)), transcript.messages)

    def _open(self, source: Source, session_id: str, page: int) -> JsonlTranscript[Builder]:
        if session_id != source.session_id:
            raise SessionMissing(f"{self.name} session {session_id} is not in {source.path}")
        return JsonlTranscript(self.name, session_id, source.path, lambda: self.builder(source), page=page)

    def text_reader(self, source: Source) -> LinesReader | None:
        """See `Adapter.text_reader`."""
        return LinesReader(source.path, source.session_id, self.builder(source))


def _summary(source: Source, fold: SessionFold, size: int, warnings: int, *, partial: bool = False) -> SessionSummary:
    created = fold.oldest or EPOCH
    return SessionSummary(
        **fold.fields(),
        agent=source.agent,
        session_id=source.session_id,
        title=one_line(fold.first_prompt) or source.session_id,
        preview=one_line(fold.prompt, 200),
        created_at=created,
        updated_at=fold.newest or created,
        partial=partial,
        path=source.path,
        size=size,
        warnings=warnings,
    )
