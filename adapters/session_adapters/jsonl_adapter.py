"""What adapters share whose agent keeps one JSONL file per session."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import ClassVar

from session_adapters.base import Adapter, Report, Root, Source, unique
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.damage import REPORTED, Damage, reason_of
from session_adapters.reading.follower import LinesReader
from session_adapters.reading.searchable import Text
from session_adapters.transcript import PAGE

__all__ = ["JsonlAdapter", "problem_in", "report_damage"]


class JsonlAdapter(Adapter):
    """Lists files by their roots, sums them up by their ends, and searches what its interpreter makes of them."""

    head: ClassVar[int] = 16 << 10
    """Bytes at the beginning of a file that `summaries` reads."""
    tail: ClassVar[int] = 16 << 10
    """Bytes at its end."""
    page: ClassVar[int] = PAGE
    """Bytes of a transcript that `open` reads at a time."""

    @abstractmethod
    def listed(self, root: Root, report: Report) -> Iterator[Source]:
        """Every session file under a root."""

    @abstractmethod
    def summarised(self, source: Source, report: Report, *, exact: bool) -> Sequence[SessionSummary]:
        """See `Adapter.summaries`. Raises `OSError` and `ValueError` for a file that cannot be read."""

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`."""
        return unique(chain.from_iterable(self.listed(root, report) for root in self.roots()))

    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        """See `Adapter.summaries`."""
        try:
            return self.summarised(source, report, exact=exact)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            report(problem_in(source, f"cannot be read: {reason_of(error)}"))
            return ()

    def texts(self, source: Source, report: Report, session_id: str | None = None) -> Iterator[Text]:
        """See `Adapter.texts`."""
        try:
            reader = self.text_reader(source)
        except FileNotFoundError:
            return
        except OSError as error:
            report(problem_in(source, f"cannot be read: {reason_of(error)}"))
            return
        if reader is None:
            yield from super().texts(source, report, session_id)
        elif session_id in (None, reader.session_id):
            yield from _texts(reader, source, report)

    def text_reader(self, source: Source) -> LinesReader | None:
        """See `Adapter.text_reader`. Raises `OSError`."""
        return None


def _texts(reader: LinesReader, source: Source, report: Report) -> Iterator[Text]:
    try:
        for _, text in reader.read():
            yield text
    except FileNotFoundError:
        return
    except OSError as error:
        report(problem_in(source, f"cannot be read: {reason_of(error)}"))
    report_damage(source, reader.builder.damaged, report)


def problem_in(source: Source, reason: str, place: str = "", session_id: str = "") -> Problem:
    """A problem of a source; `session_id` is one that its path does not tell."""
    return Problem(
        agent=source.agent,
        path=source.path,
        reason=reason,
        place=place,
        session_id=session_id or source.session_id,
    )


def report_damage(
    source: Source, damaged: Damage, report: Report, *, unit: str = "byte", session_id: str = ""
) -> None:
    """Report the first of the damaged places, and how many more there are."""
    wanted = session_id or source.session_id
    for problem in damaged.problems(source.agent, source.path, wanted, unit=unit, limit=REPORTED):
        report(problem)
