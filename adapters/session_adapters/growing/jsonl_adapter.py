"""What adapters share whose agent keeps one JSONL file per session."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from copy import copy
from itertools import chain
from typing import ClassVar, Generic, TypeVar

from session_adapters.activity import Activity
from session_adapters.base import Adapter, Report, Root, Source, unique
from session_adapters.growing.counter import Begun, LinesCounter, Pairs
from session_adapters.growing.file import GrowingFile
from session_adapters.growing.texts import LinesReader, place_of, turn_above, turn_start
from session_adapters.model import Message, Session, SessionSummary
from session_adapters.reading.damaged_places import reading_session, reason_of
from session_adapters.reading.ends import marked_lines
from session_adapters.reading.files import open_file
from session_adapters.reading.folders import problem_in, report_damage
from session_adapters.reading.lines import LINE_LIMIT, is_whole, lines
from session_adapters.reading.searchable import Rewritten, Text
from session_adapters.session_counts import SessionFold, messages_usage
from session_adapters.transcript import PAGE, Builder, Change, Transcript
from session_adapters.usage import CallPack, Usage, unpacked

__all__ = ["AROUND", "JsonlAdapter", "JsonlTranscript"]

AROUND = 16 << 10
"""Bytes before and behind a message that are read first for those around it, and of the end for where it stands."""
PART = 1 << 19
"""Bytes of a part that is read alone: half of what is taken from a database. Small parts take hardly longer here,
where nobody has to ask first what stands where."""


class JsonlAdapter(Adapter):
    """Lists files by their roots, sums them up by their ends or in one bounded pass, which tells every call of a
    model too, and searches what its interpreter makes of them."""

    head: ClassVar[int] = 16 << 10
    """Bytes at the beginning of a file that `summaries` reads."""
    tail: ClassVar[int] = 16 << 10
    """Bytes at its end."""
    page: int = PAGE
    """Bytes of a transcript that `open` reads at a time."""
    copied_calls: ClassVar[bool] = False
    """A call that was copied from a parent is told from the session's own by its key, in every file that has it."""

    @abstractmethod
    def listed(self, root: Root, report: Report) -> Iterator[Source]:
        """Every session file under a root."""

    @abstractmethod
    def counted(self, source: Source, report: Report, *, exact: bool) -> Pairs[SessionFold]:
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
        yield from unpacked(self._packs(self._counted(source, lambda problem: None, report, exact=True), session_ids))

    def counter(self, source: Source) -> LinesCounter[SessionFold]:
        """See `Adapter.counter`."""
        return LinesCounter(self.begin, lambda one, say: self._counted(one, say, say, exact=True), self._packs)

    def begin(self, source: Source, fd: int, size: int) -> Begun[SessionFold] | None:
        """What takes every line of a source once, and comes to what `counted` tells; see `LinesCounter`."""
        return None

    def _packs(self, counted: Pairs[SessionFold], session_ids: Collection[str] | None = None) -> Iterator[CallPack]:
        for summary, fold in counted:
            if session_ids is None or summary.session_id in session_ids:
                yield from fold.packs(summary, copies=self.copied_calls)

    def open_at(self, source: Source, session_id: str, message_id: str, size: int) -> Transcript:
        """See `Adapter.open_at`."""
        if message_id:
            narrow = copy(self)
            narrow.page = 1  # its last line
            opened = narrow.open(source, session_id)
            if opened.complete or (isinstance(opened, JsonlTranscript) and opened.seek(message_id, size)):
                return opened
        return self.open(source, session_id)

    def open_end(self, source: Source, session_id: str) -> Transcript:
        """See `Adapter.open_end`."""
        narrow = copy(self)
        narrow.page = AROUND
        return narrow.open(source, session_id)

    def session_calls(self, source: Source, session: Session) -> Iterator[Usage]:
        """See `Adapter.session_calls`."""
        return messages_usage(session)

    def _counted(self, source: Source, note: Report, report: Report, *, exact: bool) -> Pairs[SessionFold]:
        """`counted`, where damage is said to `note`, and to `report` why nothing could be read."""
        try:
            return self.counted(source, note, exact=exact)
        except FileNotFoundError:  # removed since it was listed
            return ()
        except (OSError, ValueError) as error:
            report(problem_in(source, f"cannot be read: {reason_of(error)}"))
            return ()

    def texts(self, source: Source, report: Report, session_id: str | None = None) -> Iterator[Text]:
        """See `Adapter.texts`."""
        try:
            reader = self.text_reader(source)
        except FileNotFoundError:  # removed since it was listed
            return
        except OSError as error:
            report(problem_in(source, f"cannot be read: {reason_of(error)}"))
            return
        if reader is None:
            yield from super().texts(source, report, session_id)
            return
        if session_id not in (None, reader.session_id):
            return
        try:
            for _, text in reader.read():
                yield text
        except FileNotFoundError:  # removed since it was listed
            return
        except OSError as error:
            report(problem_in(source, f"cannot be read: {reason_of(error)}"))
        except Rewritten as error:  # while it was read
            report(problem_in(source, str(error)))
        report_damage(source, reader.builder.damaged, report, session_id=reader.session_id)

    def text_reader(self, source: Source) -> LinesReader | None:
        """See `Adapter.text_reader`. Raises `OSError`."""
        return None


B = TypeVar("B", bound=Builder)


class JsonlTranscript(Transcript, Generic[B]):
    """A conversation in one append-only file of JSON lines.

    For what is earlier it is read again from further up, each time twice as far: a line may belong to one far above
    it. Append-only until proven otherwise: the offset and the bytes before it are kept; when the file shrank or
    differs in those bytes, it is read anew. A torn last line waits for its newline.
    """

    def __init__(self, agent: str, session_id: str, path: str, builder: Callable[[], B], *, page: int = PAGE) -> None:
        super().__init__(agent, session_id, path)
        self.size = self.start = 0
        """Bytes of the file when it was last looked at, and where in it the loaded messages begin."""
        self.builder = builder()
        """What the loaded messages were made by."""
        self._new_builder = builder
        self._page = page
        with reading_session(agent, session_id, path), open_file(path) as fd:
            self._load(fd, os.fstat(fd))

    def _load(self, fd: int, status: os.stat_result) -> None:
        """Read the last page into a new builder. Raises `OSError`, and then nothing has changed."""
        size = status.st_size
        self.is_cut = False
        begin = turn_above if AROUND <= self._page < PAGE else turn_start
        self._read(fd, begin(self.builder, fd, size, self._page), size, self._page)

    @property
    def activity(self) -> Activity:
        """See `Transcript.activity`."""
        return self.builder.activity

    @property
    def loaded(self) -> int:
        """How many bytes the loaded messages take."""
        return self._file.end - self.start

    def _read(self, fd: int, start: int, stop: int, span: int) -> None:
        """Read what stands between the two into a new builder; `span` bytes are wanted. Raises `OSError`, and then
        nothing has changed."""
        known = dict(vars(self))
        try:
            self._run(fd, start, stop, span)
            if start and self.builder.replays:
                self._run(fd, 0, stop, sys.maxsize)
        except OSError:
            vars(self).update(known)
            raise
        self.messages = self.builder.messages
        self.builder.take_change()

    def _run(self, fd: int, start: int, stop: int, span: int) -> None:
        self.builder = self._new_builder()
        self.start, self._file = start, GrowingFile(fd, start)
        self.complete = start == 0 and self.lead(span - stop)
        self._feed(fd, stop)

    def lead(self, room: int) -> bool:
        """Give the builder what comes before the file, in other ones, if about `room` bytes; whether that is all."""
        return True

    def _feed(self, fd: int, stop: int) -> None:
        """Give the lines from the known end to the builder, and remember how far it got."""
        self.size = stop
        for line in self._file.new(fd, stop):
            if line.complete:
                self.builder.give(line)
            elif not line.too_long and is_whole(line.data):
                self.builder.feed(line)
            else:
                self._file.leave(fd, line)
                break
        self._note_damage()

    def _note_damage(self) -> None:
        self.problems = self.builder.damaged.problems(self.agent, self.path, self.session_id)

    def stream(self) -> Iterator[tuple[float, Sequence[Message]]] | None:
        """See `Transcript.stream`. Ends early where the file cannot be read any more."""
        other = copy(self)  # with a builder of its own
        other.builder = self._new_builder()

        def read() -> Iterator[tuple[float, Sequence[Message]]]:
            other.lead(sys.maxsize)
            try:
                with open_file(other.path) as fd:
                    stop = os.fstat(fd).st_size
                    other.builder.look_ahead(lines(fd, 0, stop))
                    for line in lines(fd, 0, stop):
                        if line.complete or (not line.too_long and is_whole(line.data)):
                            other.builder.give(line)
                        if other.builder.take_full():
                            yield line.offset / stop, other.builder.drain()
            except OSError:
                pass  # following the file says that it is gone
            self.problems = other.builder.damaged.problems(self.agent, self.path, self.session_id)
            yield 1.0, other.builder.messages

        return read()

    def load_part(self, step: int) -> bool:
        """See `Transcript.load_part`. False too where a line changes what stands above the part, or in the first."""
        try:
            with open_file(self.path) as fd:
                status = os.fstat(fd)
                if not self._file.goes_on(fd, status) or (
                    not self.start if step < 0 else step > 0 and not self.is_cut
                ):
                    return False
                if step < 0:
                    start, stop = turn_start(self.builder, fd, self.start, PART), self.start
                else:
                    start = self._file.end if step else 0
                    stop = start + PART
                    stop = turn_start(self.builder, fd, stop, PART // 4) if stop < status.st_size else status.st_size
                self._run(fd, start, stop, 0 if start else sys.maxsize)
                while self._file.end == start and stop < status.st_size:  # it is less than a line
                    stop = min(stop + PART, status.st_size)
                    self._feed(fd, stop)
                self.messages, self.is_cut = self.builder.messages, stop < status.st_size
                self.builder.take_change()
                self.begins = start / max(1, status.st_size)
                marks = () if start else self.builder.replaying
                is_changed = bool(marks) and any(marked_lines(fd, self._file.end, status.st_size, marks))
        except OSError:
            return False
        return not (is_changed or (start and self.builder.replays))

    def seek(self, message_id: str, size: int) -> bool:
        """Be what stands around a message: at least `size` messages before and after it, or all there are, none of
        which a later line changes. False where that cannot be told, and then this is of no use any more."""
        span, start, size = AROUND, -1, size + 1  # one more says whether it goes on
        with suppress(OSError), open_file(self.path) as fd:
            end = os.fstat(fd).st_size
            place = place_of(fd, message_id, end)
            while place is not None and start:
                higher = turn_above(self.builder, fd, place, span)
                span *= 2
                if higher == start:  # one turn is longer than that
                    continue
                start, stop = higher, min(place + AROUND, end)
                self._run(fd, start, stop, 0 if start else sys.maxsize)
                # First as far up as it has to be: whatever follows would be read again.
                while (at := self._place(message_id)) is None or (
                    (at >= size or not start) and at + size >= self.builder.settled()
                ):
                    if stop == end:
                        break
                    self._feed(fd, stop := min(stop + AROUND, end))
                if at is None or (start and self.builder.replays) or not all(one.id for one in self.builder.messages):
                    return False
                if at >= size or self.complete:
                    self.is_cut = stop < end
                    self.messages = self.builder.messages[: self.builder.settled() if self.is_cut else None]
                    return True
        return False

    def _place(self, message_id: str) -> int | None:
        return next((index for index, one in enumerate(self.builder.messages) if one.id == message_id), None)

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        before = len(self.messages)
        while not self.complete and len(self.messages) <= before:
            try:
                with open_file(self.path) as fd:
                    if not self._file.goes_on(fd, os.fstat(fd)):
                        return 0
                    loaded = self.loaded
                    more = max(loaded, self._page)
                    self._read(fd, turn_start(self.builder, fd, self.start, more), self._file.end, loaded + more)
            except OSError:
                return 0
        return max(0, len(self.messages) - before)

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        try:
            with open_file(self.path) as fd:
                status = os.fstat(fd)
                if self._file.goes_on(fd, status):
                    change, page = None, self._page  # a line may be longer, and is taken from its beginning each time
                    while change is None and (page == self._page or (self.is_cut and page <= LINE_LIMIT)):
                        stop = min(status.st_size, self.size + page) if self.is_cut else status.st_size
                        self.is_cut = stop < status.st_size and self.is_cut
                        self._feed(fd, stop) if stop != self.size else self._note_damage()
                        messages = self.builder.messages  # made anew where they have to be, which is a change
                        change, page = self.builder.take_change(), 2 * page
                    if self.start and self.builder.replays:
                        self._read(fd, 0, stop, sys.maxsize)
                    else:
                        self.messages = messages
                        return Change(first=change)
                else:
                    self._load(fd, status)
        except FileNotFoundError:
            return Change(gone=True)
        except OSError as error:
            self._note_damage()
            self.problems.append(self.problem(f"cannot be read now: {reason_of(error)}"))
            return Change()
        return Change(first=0, rewritten=True)
