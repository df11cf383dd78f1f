"""Queries the index; safe for several threads, and beside the writer.

Nothing here writes or waits for one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import apsw
import msgspec

from hermes_tui.sessions.index.reading.answers import Field, Figures, Hit, IndexCoverage
from hermes_tui.sessions.index.reading.coverage import Stock
from hermes_tui.sessions.index.reading.facts import Facts, facts, held_by
from hermes_tui.sessions.index.reading.named import Named
from hermes_tui.sessions.index.reading.names import IndexNames
from hermes_tui.sessions.index.reading.pool import Pool, Stop
from hermes_tui.sessions.index.reading.questions import Question, questions
from hermes_tui.sessions.index.reading.rows import RUNS, FoundRows, Run
from hermes_tui.sessions.index.reading.session_query import Place, can_tell, holding, numbers_of
from hermes_tui.sessions.index.schema import SECOND, TOOL, IndexUnusable
from hermes_tui.sessions.index.source_state import VISIBILITY, Level, Report
from hermes_tui.sessions.query.tree import Tree
from session_adapters.base import Source

__all__ = ["Field", "Figures", "Hit", "IndexCoverage", "SearchIndex"]

_FIRST = 24
_FIRST_GROUPED = 512
"""Rows that are read at first. Of those that are told by session more are wanted."""
_PAGE = 128
"""Rows of which it is looked up first what they are, to tell them by session; then twice as many each time."""
_LARGEST = 1 << 14
_HIGHEST = 1 << 62
_STATE = "SELECT (SELECT value FROM meta WHERE key='generation'), (SELECT value FROM meta WHERE key='commits')"


class SearchIndex:
    """The index in one file. Opening it never fails; `coverage` is empty while there is none, and `problem` says
    why."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pool = Pool(path)
        self._ask = self._pool.ask
        self._names = IndexNames()
        self._stock = Stock()

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
        fields: Iterable[Field] = ("prose", "tool"),
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
        asked = questions(tree, fields, coverage)
        if asked is None:
            return None
        low = 0 if since is None else int(since) << SECOND
        high = _HIGHEST if until is None else (int(until) + 1) << SECOND
        runs = _alike(asked)
        if among is not None and not each and all(one.plain for one in asked):
            return self._held(among, runs, coverage, low, high, stop)
        return self._pages(runs, coverage, low, high, stop, each=each)

    def holding(
        self, tree: Tree, coverage: IndexCoverage, *, rewound: bool = False, stop: Stop | None = None
    ) -> Collection[Place] | None:
        """The sessions of covered sources in which some unit satisfies `tree`, of those that `search` would give:
        much sooner. None where the index cannot tell without a look at them. Raises `IndexUnusable`."""
        asked = questions(tree, ("prose", "tool"), coverage)
        if asked is None or not all(map(can_tell, asked)):
            return None
        runs = _alike(asked)
        levels = [run[0].level for run in runs]

        def read(connection: apsw.Connection) -> set[Place]:
            _commit(connection, coverage)
            meant = partial(self._names.meant, connection, coverage.generation)
            found = holding(connection, meant, runs, rewound=rewound)
            covered = coverage.numbers
            return {place for source, run, place in found if covered.get(source, Level.NOTHING) >= levels[run]}

        return (self._pool.ask_until(read, stop) or ()) if runs else ()

    def _held(
        self,
        among: Collection[Place],
        runs: Sequence[Run],
        coverage: IndexCoverage,
        low: int,
        high: int,
        stop: Stop | None,
    ) -> Iterator[Hit]:
        def read(connection: apsw.Connection) -> list[Facts]:
            _commit(connection, coverage)
            sessions = numbers_of(connection, among)
            return held_by(connection, sessions, runs, low, high) if sessions else []

        found = self._pool.ask_until(read, stop) if runs else None
        yield from _hits(found or (), [run[0] for run in runs], coverage, each=False)

    def _pages(
        self, runs: Sequence[Run], coverage: IndexCoverage, low: int, high: int, stop: Stop | None, *, each: bool
    ) -> Iterator[Hit]:
        def read(connection: apsw.Connection) -> tuple[int, list[Facts]]:
            connection.execute("BEGIN")  # so that the numbers mean the messages that were found
            try:
                numbers = rows.take(connection, _commit(connection, coverage), size)
                return len(numbers), facts(connection, _once(numbers, kinds), wordless, each=each)
            finally:
                connection.execute("COMMIT")

        rows = FoundRows(Named(self._names, coverage.generation), runs, low, high, _FIRST if each else _FIRST_GROUPED)
        kinds = [run[0] for run in runs]
        wordless = [number for number, kind in enumerate(kinds) if kind.wordless]
        size = _FIRST if each else _PAGE
        while runs:
            found = self._pool.ask_until(read, stop)
            if found is None:
                return
            number, messages = found
            yield from _hits(messages, kinds, coverage, each=each)
            if number < size:
                return
            size = min(size * 2, _LARGEST)


def _alike(asked: Iterable[Question]) -> list[Run]:
    found: dict[tuple[Field, bool, Level, bool], list[Question]] = {}
    for one in asked:
        found.setdefault((one.field, one.exact, one.level, one.wordless), []).append(one)
    return list(found.values())


def _once(numbers: Sequence[int], kinds: Sequence[Question]) -> list[int]:
    """Each unit once, though several runs have found it: by the one that knows most of it."""
    if len(kinds) == 1:
        return list(numbers)
    best: dict[tuple[int, Field | None], int] = {}
    for number in numbers:
        message, kind = number // RUNS, _kind(number, kinds)
        key = message, None if kind.wordless else kind.field
        known = best.get(key)
        if known is None or _doubt(kind) < _doubt(_kind(known, kinds)):
            best[key] = number
    return [number for (message, field), number in best.items() if field is None or (message, None) not in best]


def _kind(number: int, kinds: Sequence[Question]) -> Question:
    return kinds[RUNS - 1 - number % RUNS]


def _doubt(kind: Question) -> tuple[bool, Level]:
    return not kind.exact, kind.level


def _hits(found: Iterable[Facts], kinds: Sequence[Question], coverage: IndexCoverage, *, each: bool) -> Iterator[Hit]:
    for number, source, agent, path, native, session_id, key, at, role, visibility, said, units in found:
        row, kind = number // RUNS, _kind(number, kinds)
        if coverage.numbers.get(source, Level.NOTHING) >= kind.level:
            time = at / 1000 if at is not None else float(row >> SECOND)
            message_id, shown = key.partition("\0")[0], VISIBILITY[visibility]
            message = agent, path, native, session_id, message_id, time, role, shown
            if not kind.wordless:
                yield Hit(*message, kind.field, row, kind.exact, units)
            elif each and units == 2:
                yield Hit(*message, "prose", row, kind.exact)
                yield Hit(*message, "tool", row, kind.exact)
            else:
                yield Hit(*message, "prose" if said else "tool", row, kind.exact, units)


def _commit(connection: apsw.Connection, coverage: IndexCoverage) -> int:
    """The number of the last commit to the index; raises `IndexUnusable` where it is another than was looked at."""
    generation, commit = next(connection.execute(_STATE))
    if generation != coverage.generation:
        raise IndexUnusable("it was made anew while it was asked")
    return int(commit)
