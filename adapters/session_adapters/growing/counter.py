"""Sums up a session file, and again by its new lines alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from session_adapters.base import Report, Source
from session_adapters.growing.file import GrowingFile
from session_adapters.model import SessionSummary
from session_adapters.reading.files import Line, is_whole, open_file
from session_adapters.usage import Counted, Usage

__all__ = ["Begun", "LinesCounter", "Pairs", "Survey"]


class Survey(Protocol):
    """What an agent knows of the lines of a file by now."""

    def give(self, line: Line) -> None:
        """Take in the next line."""


S = TypeVar("S", bound=Survey)
F = TypeVar("F")
Pairs = Sequence[tuple[SessionSummary, F]]
"""Each session with what tells its calls."""


class Begun(NamedTuple, Generic[S]):
    """A survey that was given nothing yet."""

    survey: S
    is_settled: Callable[[], bool] = lambda: True
    """Whether what the beginning of the file told, when this was begun, is what it will tell with more behind it."""


class LinesCounter(Generic[S, F]):
    """Of one file of lines. Keeps what it must know of the part that was read; is used by one thread at a time."""

    def __init__(
        self,
        begin: Callable[[Source, int, int], Begun[S] | None],
        sum_up: Callable[[Source, S, int, Report], Pairs[F] | None],
        whole: Callable[[Source, Report], Pairs[F]],
        calls: Callable[[Pairs[F]], Iterable[Usage]],
    ) -> None:
        """`begin` is given the source, its open file and its size; None where lines have to be looked at twice.
        `sum_up` leaves the survey as it is, and gives None where it cannot tell; `whole` reads everything. The first
        two may raise `OSError` and `ValueError`, for which `whole` says what there is to say."""
        self._begin = begin
        self._sum_up = sum_up
        self._whole = whole
        self._calls = calls
        self._begun: Begun[S] | None = None
        self._file = GrowingFile()

    def __call__(self, source: Source, report: Report) -> Counted:
        """See `Adapter.counter`."""
        try:
            with open_file(source.path) as fd:
                status = os.fstat(fd)
                survey = self._read(source, fd, status)
            found = None if survey is None else self._sum_up(source, survey, status.st_size, report)
        except (OSError, ValueError):
            found = None
        if found is None:
            self._begun = None
            found = self._whole(source, report)
        return [summary for summary, _ in found], self._calls(found)

    def _read(self, source: Source, fd: int, status: os.stat_result) -> S | None:
        """The survey of all lines; None where there is none."""
        if self._begun is None or not self._begun.is_settled() or not self._file.goes_on(fd, status):
            self._begun, self._file = self._begin(source, fd, status.st_size), GrowingFile()
            self._file.goes_on(fd, status)
        if self._begun is None:
            return None
        survey = self._begun.survey
        for line in self._file.new(fd, status.st_size):
            if not line.complete:
                self._file.leave(fd, line)
                # Whoever reads all of it counts a last line that only lacks its end.
                return None if line.too_long or is_whole(line.data) else survey
            survey.give(line)
        return survey
