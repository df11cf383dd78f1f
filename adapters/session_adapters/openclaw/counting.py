"""Counts the events of a session of OpenClaw's, a few at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from session_adapters.growing.sessions import Mark
from session_adapters.openclaw.database import ClawFacts
from session_adapters.openclaw.event_stores import ClawEvent, unpacked_event
from session_adapters.openclaw.events import ClawColumns, read_events
from session_adapters.openclaw.rules import ClawCounts
from session_adapters.reading.bounds import Stint
from session_adapters.reading.sqlite_limits import Ration
from session_adapters.reading.sqlite_rows import DAMAGE, as_text
from session_adapters.tree.records import ENTRIES

__all__ = ["CHUNK", "KEPT", "counts_in", "counts_of", "feed", "marks_in"]

CHUNK = 256
"""Events that are read at a time."""
KEPT = 1024
"""Events of which it is kept what hangs on what."""


def counts_in(
    connection: apsw.Connection, schema: ClawColumns, one: ClawFacts, stint: Stint | None
) -> tuple[ClawCounts, int]:
    """What a session comes to, and the number of events for which there was no room. What is settled is let go of,
    for thousands of events take megabytes: where a branch or the leaf leads back to it, they are read again."""
    counts = counts_of(one)
    rest = _feed_all(counts, connection, schema, one, stint, keep=one.events <= KEPT)
    if counts.led_away or counts.goes_elsewhere or (one.leaf and counts.tree.find(one.leaf) is None):
        counts = counts_of(one)
        rest = _feed_all(counts, connection, schema, one, stint, keep=True)
    return counts, rest


def _feed_all(
    counts: ClawCounts,
    connection: apsw.Connection,
    schema: ClawColumns,
    one: ClawFacts,
    stint: Stint | None,
    *,
    keep: bool,
) -> int:
    """Give the events; the number of those for which there is no room. But with `keep` what is settled is let go of:
    thousands of events take megabytes."""
    at, ration = 0, Ration(stint=stint)
    while not ration.spent and (rows := read_events(connection, schema, one.session_id, at, CHUNK)):
        feed(counts, ration.take(unpacked_event(*row) for row in rows))
        at = rows[-1][0] + 1
        if not keep and len(counts.tree) > KEPT:
            counts.let_go()
    return one.events - ration.taken if ration.spent else 0


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
    sizes = [f"sum(octet_length({name}))" for name in ("event_json", "event_zstd") if name in schema.events]
    when = ["max(created_at)"] if "created_at" in schema.events else []
    figures = ", ".join(["count(*)", "max(seq)", *sizes, *when])
    events = f"SELECT CAST(session_id AS BLOB), {figures} FROM transcript_events GROUP BY session_id"  # noqa: S608
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
