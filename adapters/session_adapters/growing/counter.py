"""Sums up a session file, and again by its new lines alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from session_adapters.base import Report, Source
from session_adapters.growing.file import GrowingFile
from session_adapters.model import SessionSummary
from session_adapters.reading.files import open_file
from session_adapters.reading.lines import Line, is_whole
from session_adapters.usage import CallPack, Counted

__all__ = ["Begun", "LinesCounter", "Pairs", "Survey"]


class Survey(Protocol):
    """What an agent knows of the lines of a file by now."""

    def give(self, line: Line) -> None:
        """Take in the next line."""


F = TypeVar("F")
Pairs = Sequence[tuple[SessionSummary, F]]
"""Each session with what tells its calls."""


class Begun(NamedTuple, Generic[F]):
    """A survey that was given nothing yet."""

    survey: Survey
    sum_up: Callable[[Source, int, Report], Pairs[F] | None]
    """What the lines so far come to, in so many bytes; more may be given afterwards. None where it cannot tell: then
    one that is begun anew may. May raise `OSError` and `ValueError`."""
    is_settled: Callable[[], bool] = lambda: True
    """Whether what the beginning of the file told, when this was begun, is what it will tell with more behind it."""


class LinesCounter(Generic[F]):
    """Of one file of lines. Keeps what it must know of the part that was read; is used by one thread at a time."""

    def __init__(
        self,
        begin: Callable[[Source, int, int], Begun[F] | None],
        whole: Callable[[Source, Report], Pairs[F]],
        calls: Callable[[Pairs[F]], Iterable[CallPack]],
    ) -> None:
        """`begin` is given the source, its open file and its size; None where lines have to be looked at twice. It
        may raise `OSError` and `ValueError`, of which `whole`, which reads everything, says what there is to say."""
        self._begin = begin
        self._whole = whole
        self._calls = calls
        self._known: tuple[GrowingFile, Begun[F]] | None = None

    def __call__(self, source: Source, report: Report) -> Counted:
        """See `Adapter.counter`."""
        try:
            found = self._go_on(source, report)
        except (OSError, ValueError):
            found = None
        if found is None:
            self._known = None
            found = self._whole(source, report)
        return [summary for summary, _ in found], self._calls(found)

    def _go_on(self, source: Source, report: Report) -> Pairs[F] | None:
        """What the file comes to by its new lines, or by all of them, once; None where they are not enough."""
        with open_file(source.path) as fd:
            status = os.fstat(fd)
            known = self._known
            if known is not None and known[1].is_settled() and known[0].goes_on(fd, status):
                if not self._take_in(*known, fd, status.st_size):
                    return None
                found = known[1].sum_up(source, status.st_size, report)
                if found is not None:
                    return found
            # What is kept is not enough, or nothing is: once more from the beginning.
            begun = self._begin(source, fd, status.st_size)
            known = self._known = None if begun is None else (GrowingFile(fd), begun)
            if known is None or not self._take_in(*known, fd, status.st_size):
                return None
            return known[1].sum_up(source, status.st_size, report)

    @staticmethod
    def _take_in(file: GrowingFile, begun: Begun[F], fd: int, size: int) -> bool:
        """Give it the lines that are new; False where whoever reads all of it counts more than those."""
        for line in file.new(fd, size):
            if not line.complete:
                file.leave(fd, line)
                return not (line.too_long or is_whole(line.data))  # it may only lack its end
            begun.survey.give(line)
        return True
