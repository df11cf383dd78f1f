"""Asks the index. Safe for several threads, and beside the writer; nothing here writes or waits for one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import apsw
import msgspec

from hermes_tui.sessions.index.answers import Coverage, Field, Figures, Hit
from hermes_tui.sessions.index.named import Named
from hermes_tui.sessions.index.names import Names
from hermes_tui.sessions.index.pool import Pool, Stop
from hermes_tui.sessions.index.questions import Question, questions
from hermes_tui.sessions.index.rows import Facts, Page, Run, page
from hermes_tui.sessions.index.schema import SECOND, IndexUnusable
from hermes_tui.sessions.index.standing import VISIBILITY, Level, Report
from hermes_tui.sessions.index.stock import Stock, generation_of
from hermes_tui.sessions.query.tree import Tree
from session_adapters.base import Source

__all__ = ["Coverage", "Field", "Figures", "Hit", "Index"]

_FIRST = 24
_FIRST_GROUPED = 128
"""Rows at first; each time four times as many. Of those that are told by session more are wanted."""
_LARGEST = 1 << 16


class Index:
    """The index in one file. Opening it never fails; `coverage` is empty while there is none, and `problem` says
    why."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pool = Pool(path)
        self._ask = self._pool.ask
        self._names = Names()
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

    def coverage(self, sources: Iterable[Source]) -> Coverage:
        """How much of `sources` is in the index as they are now, by their stamps. While nothing was written it is
        the same answer again: a search begins with this at every key."""
        try:
            return self._ask(lambda connection: self._stock.coverage(connection, sources))
        except IndexUnusable:
            return Coverage("", {}, {})

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
            return Figures(report.sources, prose, everything, report.failed, messages)

        try:
            return self._ask(read)
        except IndexUnusable:
            return None

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
        coverage: Coverage,
        *,
        fields: Iterable[Field] = ("prose", "tool"),
        since: float | None = None,
        until: float | None = None,
        stop: Stop | None = None,
        each: bool = True,
    ) -> Iterator[Hit] | None:
        """The units of covered sources that may satisfy `tree`, newest first: none that does is missing, one that
        does not may be among them. In `prose` at `Level.PROSE` and more, in `tool` at `Level.ALL`. None where the
        query cannot be asked of the index: what it covers must be read too.

        Unless `each` is wanted, the newest unit of a session stands for those that follow it closely, as
        `Hit.number` says; there may be more of the session further on. The answer is read in pages as it is taken,
        and ends when `stop` says so, also within a page. Raises `IndexUnusable`, from the iterator too.
        """
        asked = questions(tree, fields, coverage)
        if asked is None:
            return None
        low = 0 if since is None else int(since) << SECOND
        high = (1 << 62) if until is None else (int(until) + 1) << SECOND
        return self._pages(_alike(asked), coverage, low, high, stop, each=each)

    def _pages(
        self, runs: Sequence[Run], coverage: Coverage, low: int, high: int, stop: Stop | None, *, each: bool
    ) -> Iterator[Hit]:
        def read(connection: apsw.Connection) -> Page:
            _same(connection, coverage)
            return page(connection, named, runs, low, before, size, each=each)

        named = Named(self._names, coverage.generation)
        size = _FIRST if each else _FIRST_GROUPED
        before: Sequence[int] = [high] * len(runs)
        while runs:
            found = self._pool.ask_until(read, stop)
            if found is None:
                return
            yield from _hits(found.messages, [run[0] for run in runs], coverage, each=each)
            if found.before is None:
                return
            before = found.before
            size = min(size * 4, _LARGEST)


def _alike(asked: Iterable[Question]) -> list[Run]:
    found: dict[tuple[Field, bool, Level, bool], list[Question]] = {}
    for one in asked:
        found.setdefault((one.field, one.exact, one.level, one.wordless), []).append(one)
    return list(found.values())


def _hits(rows: Iterable[Facts], kinds: Sequence[Question], coverage: Coverage, *, each: bool) -> Iterator[Hit]:
    for row, source, agent, path, native, session_id, key, at, role, visibility, said, number, _, _, run in rows:
        kind = kinds[run]
        if coverage.numbers.get(source, Level.NOTHING) >= kind.level:
            time = at / 1000 if at is not None else float(row >> SECOND)
            message_id, shown = key.partition("\0")[0], VISIBILITY[visibility]
            place = agent, path, native, session_id, message_id, time, role, shown
            if not kind.wordless:
                yield Hit(*place, kind.field, row, kind.exact, number)
            elif each and number == 2:
                yield Hit(*place, "prose", row, kind.exact)
                yield Hit(*place, "tool", row, kind.exact)
            else:
                yield Hit(*place, "prose" if said else "tool", row, kind.exact, number)


def _same(connection: apsw.Connection, coverage: Coverage) -> None:
    if generation_of(connection) != coverage.generation:
        raise IndexUnusable("it was made anew while it was asked")
