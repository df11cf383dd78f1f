"""What adapters share whose agent keeps one JSONL file per session."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import ClassVar

from session_adapters.base import Adapter, Report, Root, Source, unique
from session_adapters.fold import SessionFold, messages_usage
from session_adapters.model import Problem, Session, SessionSummary
from session_adapters.reading.damage import REPORTED, Damage, reason_of
from session_adapters.reading.follower import LinesReader
from session_adapters.reading.searchable import Text
from session_adapters.transcript import PAGE
from session_adapters.usage import Usage

__all__ = ["JsonlAdapter", "problem_in", "report_damage"]


class JsonlAdapter(Adapter):
    """Lists files by their roots, sums them up by their ends or in one bounded pass, which tells every call of a
    model too, and searches what its interpreter makes of them."""

    head: ClassVar[int] = 16 << 10
    """Bytes at the beginning of a file that `summaries` reads."""
    tail: ClassVar[int] = 16 << 10
    """Bytes at its end."""
    page: ClassVar[int] = PAGE
    """Bytes of a transcript that `open` reads at a time."""
    copied_calls: ClassVar[bool] = False
    """A call that was copied from a parent is told from the session's own by its key, in every file that has it."""

    @abstractmethod
    def listed(self, root: Root, report: Report) -> Iterator[Source]:
        """Every session file under a root."""

    @abstractmethod
    def counted(self, source: Source, report: Report, *, exact: bool) -> Sequence[tuple[SessionSummary, SessionFold]]:
        """The sessions in `source` (see `Adapter.summaries`), each with what its messages add up to. Raises `OSError`
        and `ValueError` for a file that cannot be read."""

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`."""
        return unique(chain.from_iterable(self.listed(root, report) for root in self.roots()))

    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        """See `Adapter.summaries`."""
        return tuple(summary for summary, _ in self._counted(source, report, report, exact=exact))

    def usage(self, source: Source, report: Report, session_ids: Collection[str] | None = None) -> Iterator[Usage]:
        """See `Adapter.usage`: of the pass that sums up the file."""
        yield from self._calls(self._counted(source, lambda problem: None, report, exact=True), session_ids)

    def in_full(self, source: Source, report: Report) -> tuple[Sequence[SessionSummary], Iterable[Usage]]:
        """See `Adapter.in_full`."""
        counted = self._counted(source, report, report, exact=True)
        return [summary for summary, _ in counted], self._calls(counted)

    def _calls(
        self, counted: Iterable[tuple[SessionSummary, SessionFold]], session_ids: Collection[str] | None = None
    ) -> Iterator[Usage]:
        for summary, fold in counted:
            if session_ids is None or summary.session_id in session_ids:
                yield from fold.usage(summary, copies=self.copied_calls)

    def session_calls(self, source: Source, session: Session) -> Iterator[Usage]:
        """See `Adapter.session_calls`."""
        return messages_usage(session)

    def _counted(
        self, source: Source, note: Report, report: Report, *, exact: bool
    ) -> Sequence[tuple[SessionSummary, SessionFold]]:
        """`counted`, where damage is said to `note`, and to `report` why nothing could be read."""
        try:
            return self.counted(source, note, exact=exact)
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
