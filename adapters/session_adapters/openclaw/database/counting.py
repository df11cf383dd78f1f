"""Counts the events of a session of OpenClaw's, a few at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw

from session_adapters.growing.sessions import LONG, MOST, KeptSessions, Mark
from session_adapters.model import SessionSummary
from session_adapters.openclaw.database.event_stores import ClawEvent, unpacked_event
from session_adapters.openclaw.database.events import CHUNK, ClawColumns, read_events
from session_adapters.openclaw.database.tables import ClawFacts
from session_adapters.openclaw.rules import ClawCounts
from session_adapters.reading.bounds import Stint
from session_adapters.reading.sqlite_limits import Ration
from session_adapters.reading.sqlite_rows import DAMAGE, as_text
from session_adapters.tree.records import ENTRIES

__all__ = ["KEPT", "Count", "Kept", "batches", "count_of", "counts_of", "feed", "marks_in"]

KEPT = 1024
"""Events of which it is kept what hangs on what."""

_BATCH_SESSIONS, _BATCH_EVENTS = 200, 20_000
"""How much is asked for while a database is open once."""


class Count:
    """The count of a session, which goes on with the events that come later."""

    def __init__(self, one: ClawFacts, stint: Stint | None) -> None:
        self.counts = counts_of(one)
        self._ration = Ration(stint=stint)
        self._next = 0
        """Number of the event behind those that are counted."""
        self._mark: Mark | None = None
        """Changes with those that are counted."""

    def add(self, connection: apsw.Connection, schema: ClawColumns, one: ClawFacts, *, keep: bool) -> None:
        """Count the events behind. But with `keep` what is settled is let go of: thousands of events take
        megabytes."""
        while not self._ration.spent:
            rows = read_events(connection, schema, one.session_id, self._next, CHUNK)
            if not rows:
                break
            feed(self.counts, self._ration.take(unpacked_event(*row) for row in rows))
            self._next = rows[-1][0] + 1
            if not keep and len(self.counts.tree) > KEPT:
                self.counts.let_go()

    def leads_back(self, one: ClawFacts) -> bool:
        """Whether a branch or the leaf leads to what may have been let go of."""
        counts = self.counts
        return counts.led_away or counts.goes_elsewhere or bool(one.leaf and counts.tree.find(one.leaf) is None)

    def left(self, one: ClawFacts) -> int:
        """The number of events for which there is no room."""
        return one.events - self._ration.taken if self._ration.spent else 0

    def settle(self, connection: apsw.Connection, schema: ClawColumns, one: ClawFacts) -> None:
        """Be able to go on from here, if nothing in it leads elsewhere and all could be read."""
        counts = self.counts
        ends = counts.header is not None and counts.leaf() is not None and counts.leaf() == counts.tree.last()
        if ends and not self._ration.spent and not counts.damaged and one.events > LONG:
            self._mark = _sums_before(connection, schema, one.session_id, self._next)

    def goes_on(self, connection: apsw.Connection, schema: ClawColumns, one: ClawFacts) -> bool:
        """Whether what was counted is what it was. The new events are counted then."""
        counts = self.counts
        same = self._mark is not None and counts.forked_at == one.forked_at
        if not same or self._mark != _sums_before(connection, schema, one.session_id, self._next):
            return False
        counts.known_leaf, self._mark = one.leaf, None
        self.add(connection, schema, one, keep=False)
        return not self.leads_back(one)

    @property
    def is_known(self) -> bool:
        """Whether it can go on."""
        return self._mark is not None


class Kept(KeptSessions[SessionSummary, None]):
    """Of the sessions of one database; counts of long ones, each for one thread at a time, besides."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, Count] = {}

    def take(self, key: str) -> Count | None:
        """The count of a session, which nobody else has from now on."""
        return self._counts.pop(key, None)

    def give(self, key: str, count: Count) -> None:
        """Have it for the next time."""
        if not count.is_known:
            return
        count.counts.let_go()
        self._counts[key] = count
        for other in list(self._counts)[:-MOST]:
            self._counts.pop(other, None)


def count_of(
    connection: apsw.Connection, schema: ClawColumns, one: ClawFacts, stint: Stint | None, kept: Kept | None
) -> Count:
    """What a session comes to, by what is kept of it, if that is so still. Where a branch or the leaf leads back to
    what was let go of, all is read again."""
    found = kept.take(one.id) if kept is not None else None
    if found is None or not found.goes_on(connection, schema, one):
        found = Count(one, stint)
        found.add(connection, schema, one, keep=one.events <= KEPT)
        if found.leads_back(one):
            found = Count(one, stint)
            found.add(connection, schema, one, keep=True)
    if kept is not None:
        found.settle(connection, schema, one)
    return found


def batches(sessions: Sequence[ClawFacts]) -> Iterator[list[ClawFacts]]:
    """So many sessions as are read while a database is open once."""
    batch: list[ClawFacts] = []
    events = 0
    for one in sessions:
        batch.append(one)
        events += one.events
        if len(batch) >= _BATCH_SESSIONS or events >= _BATCH_EVENTS:
            yield batch
            batch, events = [], 0
    if batch:
        yield batch


def counts_of(one: ClawFacts) -> ClawCounts:
    """Counts that were given nothing yet."""
    counts = ClawCounts()
    counts.forked_at, counts.known_leaf = one.forked_at, one.leaf
    return counts


def feed(counts: ClawCounts, rows: Iterable[ClawEvent], what: str = "event") -> None:
    """Give the events; damage is noted."""
    for row in rows:
        if row.reason:
            counts.damaged.add(f"{what} {row.number}", row.reason)
            continue
        entries, lost = ENTRIES.all(row.data)
        if lost:
            counts.damaged.add(f"{what} {row.number}", f"the {what} is damaged")
        for entry in entries:
            counts.take(entry)


def marks_in(sessions: Sequence[ClawFacts], connection: apsw.Connection) -> dict[str, Mark]:
    """What changes with each session that has events; nothing where a part of them is damaged."""
    schema = ClawColumns.of(connection)
    if not schema.has_events:
        return {}
    events = f"SELECT CAST(session_id AS BLOB), {_figures(schema)} FROM transcript_events GROUP BY session_id"  # noqa: S608
    written = "SELECT CAST(session_id AS BLOB), generation FROM transcript_rewrite_watermarks"
    anew: dict[str | None, Any] = {}
    try:
        sums = {as_text(key): row for key, *row in connection.execute(events)}
        if {"session_id", "generation"} <= schema.watermarks:
            anew = {as_text(key): generation for key, generation in connection.execute(written)}
    except DAMAGE:
        return {}  # counting says so
    return {
        one.id: (one, anew.get(one.session_id), *sums[one.session_id]) for one in sessions if one.session_id in sums
    }


def _sums_before(connection: apsw.Connection, schema: ClawColumns, session_id: str, number: int) -> Mark | None:
    """What changes with the events before that number; None where one is damaged."""
    events = f"SELECT {_figures(schema)} FROM transcript_events WHERE session_id = ? AND seq < ?"  # noqa: S608
    written = "SELECT generation FROM transcript_rewrite_watermarks WHERE session_id = ?"
    anew: Any = None
    try:
        (sums,) = connection.execute(events, (session_id, number))
        if {"session_id", "generation"} <= schema.watermarks:
            anew = next(connection.execute(written, (session_id,)), None)
    except DAMAGE:
        return None
    return session_id, anew, *sums


def _figures(schema: ClawColumns) -> str:
    sizes = [f"sum(octet_length({name}))" for name in ("event_json", "event_zstd") if name in schema.events]
    when = ["max(created_at)"] if "created_at" in schema.events else []
    return ", ".join(["count(*)", "max(seq)", *sizes, *when])
