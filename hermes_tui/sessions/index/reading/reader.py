"""Queries the index; safe for several threads, and beside the writer.

Nothing here writes or waits for one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from time import monotonic, sleep, time
from typing import NamedTuple

import apsw
import msgspec

from hermes_tui.sessions.index.reading.counting import Collected, Counted, collected, counted, frequency
from hermes_tui.sessions.index.reading.coverage import IndexCoverage, Stock, generation_of
from hermes_tui.sessions.index.reading.expression import phrase_of
from hermes_tui.sessions.index.reading.pool import Pool, Stop
from hermes_tui.sessions.index.reading.questions import Field, Question, question
from hermes_tui.sessions.index.reading.rows import Facts, Place, field_of, holding, page
from hermes_tui.sessions.index.schema import SECOND, TOOL, IndexUnusable
from hermes_tui.sessions.index.source_state import CHEAP, REST_SHARE, VISIBILITY, Level, Report
from hermes_tui.sessions.query.tree import Tree
from session_adapters.base import Source

__all__ = ["Field", "Figures", "Hit", "IndexCoverage", "Place", "SearchIndex", "hit_of"]

_FIRST = 24
_FIRST_GROUPED = 512
"""Rows that are read at first. Of those that are told by session more are wanted."""
_GROWTH = 2
"""Times as many are read next, and at first where words are only begun, which costs most of what all would."""
_LARGEST = 1 << 16
_KEPT = 300.0
"""Seconds for which it is not looked again how many messages there are, where they are many."""
_MANY = 20_000
_HIGHEST = 1 << 62
_MOST_BEHIND = 16
"""Sources that a search has taken in first. Of more the index has only begun."""
PATIENCE = 0.25
"""Seconds that it waits for that."""
_LOOK = 0.005
_FIELDS: Sequence[Field] = ("prose", "tool")


class Hit(NamedTuple):
    """A unit that a query found."""

    agent: str
    path: str
    source_id: str
    """`Source.session_id` of the source."""
    session_id: str
    message_id: str
    time: float
    """Seconds since the epoch; where the message has no time, that of the one before it or of the file."""
    role: str
    visibility: str
    field: Field
    row: int
    exact: bool = True
    """False where the index does not know all that was asked for."""
    number: int = 1
    """Units that it stands for."""


class Figures(NamedTuple):
    """How much there is in an index; see `service.Progress`."""

    sources: int
    prose: int
    everything: int
    failed: int
    left_out: int
    left_out_path: str
    messages: int


class SearchIndex:
    """The index in one file. Opening it never fails; `coverage` is empty while there is none, and `problem` says
    why."""

    def __init__(self, path: Path, hurry: Callable[[Sequence[Source]], bool] = lambda sources: False) -> None:
        """`hurry` has sources taken in at once, and says whether anybody does that."""
        self.path = path
        self._hurry = hurry
        self._pool = Pool(path)
        self._ask = self._pool.ask
        self._stock = Stock()
        self._collected: tuple[str, float, Collected] | None = None

    @property
    def problem(self) -> str:
        """Why there was nothing to ask last time, one sentence without a full stop; empty when there was."""
        return self._pool.problem

    @property
    def damaged(self) -> bool:
        """The file must be made anew."""
        return self._pool.damaged

    def close(self) -> None:
        """Give back what is open. The index may be used again."""
        self._pool.close()

    def rest(self) -> None:
        """See `Pool.rest`; to be called now and then."""
        self._pool.rest()

    # What there is -----------------------------------------------------------------------------------------

    def coverage(self, sources: Iterable[Source]) -> IndexCoverage:
        """How much of `sources` is in the index as they are now, by their stamps. While nothing was written it is
        the same answer again: a search begins with this at every key."""
        try:
            return self._ask(lambda connection: self._stock.coverage(connection, sources))
        except IndexUnusable:
            return IndexCoverage("", {}, {})

    def lacking(self, sources: Iterable[Source], now: float) -> list[Source] | None:
        """Those with which an indexer would find something to do: not everything is there of them as they are now,
        without those that could not be read as they are, or are left alone for a while. None while there is no index
        to ask."""
        try:
            return self._ask(lambda connection: self._stock.lacking(connection, sources, now))
        except IndexUnusable:
            return None

    def caught_up(self, before: IndexCoverage, sources: Sequence[Source], stop: Stop | None) -> IndexCoverage:
        """How much of `sources` there is once those of which there was nothing `before` were taken in: of what was
        written to, the new lines are read sooner than all of it is searched. As `before` where nobody is at work on
        the index, and with less where that takes long."""
        # What was cheap to look through counts as lacking, though it is still left alone.
        lacking = self.lacking(sources, time() + REST_SHARE * CHEAP) or ()
        behind = [source for source in lacking if before.level(source) is Level.NOTHING]
        now = before
        if 0 < len(behind) <= _MOST_BEHIND and self._hurry(behind):
            until = monotonic() + PATIENCE
            while monotonic() < until and not (stop and stop()):
                sleep(_LOOK)
                now = self.coverage(sources)
                if all(now.level(source) is Level.ALL for source in behind):
                    break
        return now

    def figures(self) -> Figures | None:
        """How much there is; None while there is nothing to ask."""

        def read(connection: apsw.Connection) -> Figures:
            levels: dict[int, int] = dict(connection.execute("SELECT level, count(*) FROM source GROUP BY level"))
            said = connection.execute("SELECT value FROM meta WHERE key='report'").get
            report = msgspec.json.decode(said, type=Report) if isinstance(said, str) else Report()
            messages = int(connection.execute("SELECT count(*) FROM message").get)
            everything = levels.get(Level.ALL, 0)
            prose = everything + levels.get(Level.PROSE, 0)
            left_out = (report.left_out, report.left_out_path)
            return Figures(report.sources, prose, everything, report.failed, *left_out, messages)

        try:
            return self._ask(read)
        except IndexUnusable:
            return None

    def tools(self) -> list[str]:
        """Names of the tools that were called, in lower case; none while there is nothing to ask."""
        sql = "SELECT text FROM name WHERE kind = ? ORDER BY text"
        try:
            return self._ask(lambda connection: [text for (text,) in connection.execute(sql, (TOOL,))])
        except IndexUnusable:
            return []

    def indexer(self) -> int | None:
        """The process that last said what it had to do; None where none did."""
        sql = "SELECT value FROM meta WHERE key='report'"
        try:
            said = self._ask(lambda connection: connection.execute(sql).get)
        except IndexUnusable:
            return None
        return (msgspec.json.decode(said, type=Report).pid or None) if isinstance(said, str) else None

    # Searching ---------------------------------------------------------------------------------------------

    def search(
        self,
        tree: Tree,
        coverage: IndexCoverage,
        *,
        fields: Sequence[Field] = _FIELDS,
        since: float | None = None,
        until: float | None = None,
        stop: Stop | None = None,
        each: bool = True,
        among: Collection[Place] | None = None,
    ) -> Iterator[Hit] | None:
        """The units of covered sources that may satisfy `tree`, newest first: none that does is missing, one that
        does not may be among them. In `prose` at `Level.PROSE` and more, in `tool` at `Level.ALL`. None where the
        query cannot be asked of the index: what it covers must be read too.

        Unless `each` is wanted, the newest unit of a session stands for those that follow it closely, as
        `Hit.number` says; there may be more of the session further on. Units of other sessions than those `among`
        which is searched may be left out. The answer is read in pages as it is taken, and ends when `stop` says so,
        also within a page. Raises `IndexUnusable`, from the iterator too.
        """
        asked = question(tree)
        if asked is None:
            return None
        low = 0 if since is None else int(since) << SECOND
        high = _HIGHEST if until is None else (int(until) + 1) << SECOND
        return self._pages(asked, fields, coverage, low, high, stop, each=each, among=None if each else among)

    def holding(
        self, tree: Tree, coverage: IndexCoverage, *, rewound: bool = False, stop: Stop | None = None
    ) -> Collection[Place] | None:
        """The sessions of covered sources in which some unit satisfies `tree`, of those that `search` would give:
        much sooner. None where the index cannot tell without a look at them. Raises `IndexUnusable`."""
        asked = question(tree)
        if asked is None or not asked.exact:
            return None

        def read(connection: apsw.Connection) -> set[Place]:
            _check(connection, coverage)
            return {
                place
                for source, prose, place in holding(connection, asked, _FIELDS, rewound=rewound)
                if coverage.numbers.get(source, Level.NOTHING) >= asked.level(field_of(prose))
            }

        return self._pool.ask_until(read, stop) or ()

    def counted(
        self, tree: Tree, coverage: IndexCoverage, most: int, *, among: Collection[Place] | None = None
    ) -> list[Counted]:
        """The newest rows, at most `most`, that satisfy `tree`, of sessions `among` those alone; each with how often
        its words stand in the message. None of them where the index does not tell exactly. Raises `IndexUnusable`."""
        asked = question(tree)
        if asked is None or not asked.exact:
            return []

        def read(connection: apsw.Connection) -> list[Counted]:
            _check(connection, coverage)
            return counted(connection, asked, most, among)

        levels = coverage.numbers
        return [
            one for one in self._ask(read) if levels.get(one.source, Level.NOTHING) >= asked.level(field_of(one.said))
        ]

    def collected(self) -> Collected:
        """How many messages there are in the index, a few minutes ago at most. Raises `IndexUnusable`."""

        def read(connection: apsw.Connection) -> Collected:
            generation, known = generation_of(connection), self._collected
            kept = _KEPT if known is not None and known[2].messages > _MANY else 0.0
            if known is None or known[0] != generation or known[1] < monotonic() - kept:
                known = self._collected = (generation, monotonic(), collected(connection))
            return known[2]

        return self._ask(read)

    def frequency(self, leaf: Tree) -> int:
        """In how many texts one condition on words holds; 0 where the index cannot tell. Raises `IndexUnusable`."""
        phrase = phrase_of(leaf)
        return self._ask(lambda connection: frequency(connection, phrase)) if phrase else 0

    def _pages(
        self,
        asked: Question,
        fields: Sequence[Field],
        coverage: IndexCoverage,
        low: int,
        high: int,
        stop: Stop | None,
        *,
        each: bool,
        among: Collection[Place] | None,
    ) -> Iterator[Hit]:
        def read(connection: apsw.Connection) -> list[Facts]:
            _check(connection, coverage)
            return page(connection, asked, fields, low, below, most=size, each=each, among=among)

        below = high << 1
        size = (_FIRST if each else _FIRST_GROUPED) * (_GROWTH if asked.begun else 1)
        if among is not None:
            size = -1  # all at once: the sessions are few
        while found := self._pool.ask_until(read, stop):
            for number, source, agent, path, native, session_id, key, at, role, visibility, many, _ in found:
                row, field = number >> 1, field_of(number & 1)
                if coverage.numbers.get(source, Level.NOTHING) >= asked.level(field):
                    time = at / 1000 if at is not None else float(row >> SECOND)
                    place, message_id = (agent, path, native, session_id), key.partition("\0")[0]
                    shown = VISIBILITY[visibility]
                    yield Hit(*place, message_id, time, role, shown, field, row, asked.exact, many)
            # Fewer rows than were asked for: there are no more.
            if sum(rows for *_, rows, _ in found) != size:
                return
            below = min(last for *_, last in found)
            size = min(size * _GROWTH, _LARGEST)


def _check(connection: apsw.Connection, coverage: IndexCoverage) -> None:
    """Raises `IndexUnusable` where the index is another than was looked at."""
    if generation_of(connection) != coverage.generation:
        raise IndexUnusable("it was made anew while it was asked")


def hit_of(one: Counted) -> Hit:
    """The unit of a row."""
    time = one.at / 1000 if one.at is not None else float(one.row >> SECOND)
    visibility, field = VISIBILITY[one.visibility], field_of(one.said)
    return Hit(*one.place, one.key.partition("\0")[0], time, one.role, visibility, field, one.row)
