"""Updates the index from the stores: prose first, newest first, then the rest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from operator import attrgetter
from time import monotonic, process_time, time
from typing import NamedTuple, TypeVar

import apsw
import msgspec

from hermes_tui.sessions.adapters import AdapterBroken, Adapters
from hermes_tui.sessions.index.source_state import CHEAP, REST_SHARE, Key, Level, Report, has_text_key, key_of
from hermes_tui.sessions.index.writing.text_writer import Sink
from hermes_tui.sessions.index.writing.writer import IndexWriter
from session_adapters.base import Adapter, Source
from session_adapters.model import Problem
from session_adapters.presence import may_have_sessions
from session_adapters.reading.bounds import unread
from session_adapters.reading.searchable import SessionTexts, Text, TextReader
from session_adapters.text import scrub

__all__ = ["FULL_LOOK_AFTER", "LONGEST_REST", "ONCE", "TRY_AGAIN", "WARM_SOURCES", "Indexer"]

T = TypeVar("T")

FULL_LOOK_AFTER = 300.0
"""Seconds between two looks at every store at least, whatever is told: nobody tells of what is deleted."""
LONGEST_REST = 86_400
"""Seconds; to be left alone for longer than this is a mistake of the clock."""
TRY_AGAIN = 900
"""Seconds after which a source is tried again that could not be read and was not written to since: it is searched in
its store meanwhile, and the next indexer tries it at once."""
_KEPT = 20
"""An indexer that would need a second to know again what it knows is kept for so many, doing nothing."""
_LEAST = 60.0
"""Seconds for which it is kept at least where sources are written to: starting another one is half a second of work,
taking in a line no more than a thousandth."""
_LONGEST = 120.0
ONCE = 16 << 20
"""Bytes of a session's file that is read once, for what was said and for the rest: to read it twice takes longer than
it is worth to find what was said a little sooner. A store with an index of its own, which is asked meanwhile, too."""
WARM_SOURCES = 16
"""Sources that were written to lately, whose readers are kept."""


class _AdapterFailed(Exception):
    """The source cannot be read."""


class _Stopped(Exception):
    """It was asked to stop."""


class _Warm(NamedTuple):
    reader: TextReader
    sink: Sink
    cost: float
    """Processor seconds that making it took."""


class Indexer:
    """Does it in steps; after each, `stop` is asked whether that is enough."""

    def __init__(
        self,
        connection: apsw.Connection,
        adapters: Adapters,
        *,
        pid: int = 0,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._writer = IndexWriter(connection, self._committed)
        self._adapters = adapters
        self._pid = pid
        self._stop = stop
        self._sources = 0
        self._left_out: list[str] = []
        self._looked = -inf
        self._said: Report | None = None
        self._failed: dict[Key, tuple[int, ...]] = {}
        self._warm: OrderedDict[Key, _Warm] = OrderedDict()
        self._followed = False
        """Some of the sources are written to while it is there."""

    @property
    def patience(self) -> float:
        """Seconds for which it is worth to be kept: coming back, it would have to read again what it knows now. None
        where nothing that was there was written to."""
        if not self._followed:
            return 0.0
        return min(_LONGEST, max(_LEAST, _KEPT * sum(warm.cost for warm in self._warm.values())))

    def run(self, told: Sequence[Source] = ()) -> bool:
        """Take in what is new, in the sources that somebody `told` are different, or in every store if none are named
        or that was not done for long. Whether it got to the end. Raises `apsw.Error`."""
        try:
            if not told or monotonic() - self._looked >= FULL_LOOK_AFTER:
                listed: Iterable[Source] = self._look()
            else:
                listed = [one for one in told if one.agent in self._adapters.names and has_text_key(one)]
                self._sources += sum(key_of(source) not in self._writer.sources() for source in listed)
            fresh, changed, started = self._sorted_out(listed)
            self._followed = self._followed or bool(changed)
            self._commit()
            # What is followed comes first, then what was said, of everything, and only then what tools wrote.
            self._each(changed, self._change)
            once = [source for source in fresh if self._read_once(source)]
            twice = [source for source in fresh if not self._read_once(source)]
            self._each(twice, self._prose)
            self._each(once, self._all)
            self._each([*twice, *started], self._all)
        except _Stopped:
            return False
        except BaseException:
            # What was not committed is forgotten, but the sinks that are kept have noted it as there.
            self._said = None
            self._warm.clear()
            raise
        finally:
            self._writer.abandon()
        return True

    def _committed(self) -> None:
        if self._stop():
            raise _Stopped

    def _each(self, sources: Iterable[Source], step: Callable[[Adapter, Source], None]) -> None:
        for source in sorted(sources, key=attrgetter("modified"), reverse=True):  # the newest first
            self._guarded(source, step)
            self._writer.commit_when_full()
        self._commit()

    def _sorted_out(self, listed: Iterable[Source]) -> tuple[list[Source], list[Source], list[Source]]:
        """Sources of which there is nothing, those written to since, and those of which the rest is missing."""
        known = self._writer.sources()
        fresh: list[Source] = []
        changed: list[Source] = []
        started: list[Source] = []
        for source in listed:
            one = known.get(key_of(source))
            if one is None or one.level == Level.NOTHING:
                fresh.append(source)
            elif one.stamp != source.stamp:
                changed.append(source)
            elif one.level != Level.ALL:
                started.append(source)
        return fresh, changed, started

    def _read_once(self, source: Source) -> bool:
        if source.size <= ONCE:
            return False
        if source.session_id:
            return True
        try:
            return self._adapters.get(source.agent).has_index
        except AdapterBroken:  # reading it says so
            return False

    def _commit(self) -> None:
        report = Report(
            pid=self._pid,
            sources=self._sources,
            failed=len(self._failed),
            left_out=len(self._left_out),
            left_out_path=scrub(self._left_out[0]) if self._left_out else "",
        )
        if report != self._said:  # else an indexer with nothing to do would write all the same
            self._said = report
            said = msgspec.json.encode(report).decode()
            self._writer.run("INSERT OR REPLACE INTO meta VALUES('report', ?)", (said,))
        self._writer.commit()

    # Finding -----------------------------------------------------------------------------------------------

    def _look(self) -> Iterable[Source]:
        """Every source there is; those that are no more are taken out."""
        listed: list[Source] = []
        unsure: set[str] = set()  # agents of which some may not have been seen: of these nothing is taken out
        environment = self._adapters.environment
        for agent in self._adapters.names:
            if not may_have_sessions(agent, environment):
                continue
            problems: list[Problem] = []
            try:
                listed += self._adapters.get(agent).sources(problems.append)
            except Exception:  # an adapter of somebody else's; `doctor` says what is wrong with it
                unsure.add(agent)
            if problems:
                unsure.add(agent)
        there = {key_of(source): source for source in listed if has_text_key(source)}
        self._left_out = [source.path for source in listed if not has_text_key(source)]
        for key in [key for key in self._writer.sources() if key not in there and key[0] not in unsure]:
            self._warm.pop(key, None)
            self._writer.forget(key)
        self._sources = len(there)
        self._looked = monotonic()
        return there.values()

    # Reading -----------------------------------------------------------------------------------------------

    def _prose(self, adapter: Adapter, source: Source) -> None:
        """What was said in a source of which there is nothing yet."""
        self._take(adapter, source, Level.PROSE)

    def _all(self, adapter: Adapter, source: Source) -> None:
        """Everything in a source that differs from what there is."""
        self._take(adapter, source, Level.ALL)

    def _take(self, adapter: Adapter, source: Source, level: Level) -> None:
        problems: list[Problem] = []
        before = ""
        prose_only = level == Level.PROSE
        sink = Sink(self._writer, source, prose_only=prose_only)
        renewed: Iterable[SessionTexts] | None = None
        if not prose_only:  # of many sessions only what is new is taken in, where it can be read so
            marks = self._writer.marks(sink.number)
            renewed = next(_guarded(lambda: (adapter.new_texts(source, problems.append, marks),)))
        if renewed is not None:
            sink.renew(_each_guarded(renewed))
            before = self._writer.sources()[key_of(source)].lost  # of sessions that were not read again
        else:
            sink.take(_guarded(lambda: adapter.texts(source, problems.append)))
            if problems and not sink.taken:
                raise _AdapterFailed  # not readable now is not the same as empty
        more = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
        lost = f"{problems[0].reason}{more}" if problems else ""
        sink.finish(level, source, lost or before)

    def _change(self, adapter: Adapter, source: Source) -> None:
        """What is different in a source that was written to: who was written to once is written to again, so its
        reader is kept, and next time only the new lines are read."""
        key = key_of(source)
        warm = self._warm.pop(key, None)
        try:
            if warm is not None:
                warm.sink.follow(_guarded(warm.reader.read))
        except _AdapterFailed:
            warm = None
        if warm is None:
            began = process_time()
            reader = next(_guarded(lambda: (adapter.text_reader(source),)))
            if reader is None:
                self._again(adapter, source)
                return
            sink = Sink(self._writer, source)
            sink.take(text for _, text in _guarded(reader.read))
            warm = _Warm(reader, sink, process_time() - began)
        warm.sink.keep(warm.reader.unsettled)
        warm.sink.finish(Level.ALL, source, unread(warm.reader.lost) if warm.reader.lost else "")
        self._warm[key] = warm
        if len(self._warm) > WARM_SOURCES:
            self._warm.popitem(last=False)

    def _again(self, adapter: Adapter, source: Source) -> None:
        """A source for which there is no better way, now and then."""
        began = time()
        known = self._writer.sources().get(key_of(source))
        # A look that was cheap is not put off, nor one that a mistake of the clock has put off for days.
        if known is not None and began + REST_SHARE * CHEAP < known.again <= began + LONGEST_REST:
            return
        worked = process_time()
        self._all(adapter, source)
        worked = process_time() - worked
        self._writer.rest(source, int(time() + REST_SHARE * worked))

    def _guarded(self, source: Source, step: Callable[[Adapter, Source], None]) -> None:
        """Do it; whatever an adapter does wrong costs this source alone, until it is written to or tried again."""
        key = key_of(source)
        if self._failed.get(key) == source.stamp and time() < self._writer.sources()[key].again:
            return
        self._failed.pop(key, None)
        try:
            step(self._adapters.get(source.agent), source)
        except (_AdapterFailed, AdapterBroken):
            self._failed[key] = source.stamp
            self._writer.mark(source, Level.NOTHING)
            self._writer.rest(source, int(time() + TRY_AGAIN))


def _each_guarded(found: Iterable[SessionTexts]) -> Iterator[SessionTexts]:
    """The same, with what reading the texts raises told apart, too."""
    for one in _guarded(lambda: found):
        yield one._replace(texts=_guarded(partial(_same, one.texts)))


def _same(texts: Iterable[Text]) -> Iterable[Text]:
    return texts


def _guarded(read: Callable[[], Iterable[T]]) -> Iterator[T]:
    """What `read` gives, with everything that an adapter raises told apart from what the index does."""
    try:
        yield from read()
    except Exception as error:
        raise _AdapterFailed from error
