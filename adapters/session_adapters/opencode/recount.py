"""Counts the sessions of a database, and again only what changed in them.

Of a long session what came since is counted. OpenCode writes a row again while an answer comes in, and the time with
it: `max(time_updated)` tells that.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import apsw

from session_adapters.growing.sessions import LONG, OPEN, STEP, KeptSessions, Mark, Recounted
from session_adapters.model import SessionSummary
from session_adapters.opencode.schema import sessions_of
from session_adapters.opencode.summary import OpenCodeFold
from session_adapters.opencode.tables import MESSAGE_ROW, OpenCodeRows
from session_adapters.opencode.units import OpenCodeFacts, OpenCodeUnit, OpenCodeUnits, marked
from session_adapters.reading.sqlite import read_database
from session_adapters.reading.sqlite_limits import Ration
from session_adapters.reading.sqlite_rows import DAMAGE, as_text

__all__ = ["CountedSession", "Recount", "RecountedSession", "batches", "said_of_all", "sums_until", "tells_changes"]

T = TypeVar("T")
_FIGURES = "count(*), sum(octet_length({0}data)), max({0}time_updated)"
_TOLD_BY = {"session_id", "id", "data", "time_created", "time_updated"}
"""Columns without which nothing tells that a row changed."""
_TAIL = 256
"""Messages that may have come since a part was settled."""
_PAGE = 200


class _Settled(NamedTuple):
    """What the messages of a long session came to that are not written any more."""

    fold: OpenCodeFold
    facts: tuple[Any, ...]
    """What the session says of all its messages."""
    last: OpenCodeUnit
    mark: Mark
    """Changes with these messages."""


class CountedSession(NamedTuple):
    """What a session came to; the rest as in `OpenCodeFold`."""

    summary: SessionSummary
    first: int | None
    last_copied: int | None
    own_times: Collection[int]

    @classmethod
    def of(cls, fold: OpenCodeFold, facts: OpenCodeFacts, path: str) -> CountedSession:
        """What is in the fold."""
        return cls(fold.summary(facts, path), fold.first, fold.last_copied, array("q", fold.own_times))


RecountedSession = Recounted[CountedSession, _Settled]


class Recount:
    """What the sessions of one database came to. For one thread at a time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.kept: KeptSessions[CountedSession, _Settled] = KeptSessions()

    def count(self, rows: OpenCodeRows, batch: Sequence[OpenCodeFacts]) -> dict[str, RecountedSession]:
        """What each of these sessions came to. Nothing is kept of it."""
        marks = _marks(rows, batch)
        found: dict[str, RecountedSession] = {}
        for facts in batch:
            mark = marks.get(facts.id)
            if (before := self.kept.same(facts.id, mark)) is not None:
                found[facts.id] = before
            elif mark is not None and (gone_on := self._gone_on(rows, facts, mark)) is not None:
                found[facts.id] = gone_on[0]
        rest = list({facts.id: facts for facts in batch if facts.id not in found}.values())  # a page may stand twice
        units = rows.units(rest, parts=False)
        for facts in rest:
            mark = marks.get(facts.id)
            found[facts.id], _ = self._counted(rows, facts, units.pop(facts.id), OpenCodeFold(), mark)
        return found

    def added_up(self, session_id: str) -> tuple[SessionSummary, OpenCodeFold] | None:
        """See `Adapter.added_up`: of a session whose settled part is known and what it was; None for another. Any
        thread may ask. Raises as `read_database` does."""
        if self.kept.settled(session_id) is None:
            return None

        def read(connection: apsw.Connection) -> tuple[SessionSummary, OpenCodeFold] | None:
            rows = OpenCodeRows(connection)
            facts = next(sessions_of(connection, rows.schema, lambda lost: None, session_id), None)
            found = self._gone_on(rows, facts, ()) if facts is not None else None
            return None if found is None or rows.lost or rows.left else (found[0].counted.summary, found[1])

        return read_database(self._path, read)

    def _counted(
        self,
        rows: OpenCodeRows,
        facts: OpenCodeFacts,
        units: OpenCodeUnits,
        fold: OpenCodeFold,
        mark: Mark | None,
        settled: _Settled | None = None,
        start: int = 0,
    ) -> tuple[RecountedSession, OpenCodeFold]:
        """With the units from `start` on, which come after those that are in `fold`."""
        rows.ration = Ration(stint=rows.stint)
        stop = len(units) - OPEN
        is_long = stop - start > (LONG if settled is None else STEP)
        if mark is not None and is_long and units.are_all(MESSAGE_ROW):
            _add(fold, rows, facts, units, range(start, stop))
            start, last = stop, units[stop - 1]
            sums = sums_until(rows, facts, last)
            settled = _Settled(fold.copy(), said_of_all(facts), last, sums) if sums is not None else None
        _add(fold, rows, facts, units, range(start, len(units)))
        fold.warnings = len(rows.lost.get(facts.id, ())) + rows.left[facts.id]
        return Recounted(CountedSession.of(fold, facts, self._path), mark, settled), fold

    def _gone_on(
        self, rows: OpenCodeRows, facts: OpenCodeFacts, mark: Mark
    ) -> tuple[RecountedSession, OpenCodeFold] | None:
        """A session of which the settled part is what it was; None for another."""
        settled = self.kept.settled(facts.id)
        if settled is None or settled.facts != said_of_all(facts) or facts.revert:
            return None
        tail = rows.units([facts], parts=False, most=_TAIL)[facts.id]
        place = next((at for at, unit in enumerate(tail) if unit.id == settled.last.id), -1)
        if place < 0 or not tail.are_all(MESSAGE_ROW) or settled.mark != sums_until(rows, facts, settled.last):
            return None
        return self._counted(rows, facts, tail, settled.fold.copy(), mark, settled, start=place + 1)


def _add(fold: OpenCodeFold, rows: OpenCodeRows, facts: OpenCodeFacts, units: OpenCodeUnits, places: range) -> None:
    for some in batches(places, _PAGE):
        page = units[some[0] : some[-1] + 1]
        found = rows.contents(page, facts.id)
        for unit in page:
            fold.add(marked(unit, found.get(unit.id, [])))


def said_of_all(facts: OpenCodeFacts) -> tuple[Any, ...]:
    """What a session says of all its messages."""
    return facts.generation, facts.created, facts.forked_from, facts.boundary, facts.revert, facts.revert_inside


def tells_changes(rows: OpenCodeRows) -> bool:
    """Whether the tables have what tells that a row changed."""
    schema = rows.schema
    there = [have for have in (schema.message, schema.part, schema.session_message) if have]
    return bool(schema.message and schema.part) and all(have >= _TOLD_BY for have in there)


def _marks(rows: OpenCodeRows, batch: Sequence[OpenCodeFacts]) -> dict[str, Mark]:
    """What changes with each of these sessions, where that can be told."""
    if not tells_changes(rows):
        return {}
    schema = rows.schema
    tables = {"message": schema.message, "part": schema.part, "session_message": schema.session_message}
    found: dict[str, list[Any]] = {facts.id: [facts] for facts in batch if facts.generation in ("1.x", "2.x")}
    ids = json.dumps(list(found))
    for table, have in tables.items():
        if have:
            query = (
                f"SELECT CAST(session_id AS BLOB), {_FIGURES.format('')} FROM {table}"  # noqa: S608
                " WHERE session_id IN (SELECT value FROM json_each(?)) GROUP BY session_id"
            )
            try:
                for key, *figures in rows.connection.execute(query, (ids,)):
                    found[as_text(key) or ""] += table, *figures
            except (*DAMAGE, KeyError):  # counting says what is damaged
                return {}
    return {key: tuple(figures) for key, figures in found.items()}


def sums_until(rows: OpenCodeRows, facts: OpenCodeFacts, last: OpenCodeUnit) -> Mark | None:
    """What changes with the messages up to this one, of tables that tell changes; None where one is damaged."""
    if last.created is None:
        return None
    until = "m.session_id = ? AND (m.time_created, m.id) <= (?, ?)"
    bound = facts.id, last.created, last.id
    found: list[Any] = []
    for query in (
        f"SELECT {_FIGURES.format('m.')} FROM message m WHERE {until}",  # noqa: S608
        f"SELECT {_FIGURES.format('p.')} FROM message m JOIN part p ON p.message_id = m.id WHERE {until}",  # noqa: S608
    ):
        try:
            found += next(iter(rows.connection.execute(query, bound)))
        except DAMAGE:
            return None  # reading them says so
    return tuple(found)


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items, so many at a time."""
    for at in range(0, len(items), size):
        yield items[at : at + size]
