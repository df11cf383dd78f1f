"""The SQL that reads transcripts from `openclaw-agent.sqlite`.

Events one by one, and packed ones as a whole. Format: stores/openclaw FACTS.md «SQLite schema».
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from zlib import crc32

import apsw

from session_adapters.reading.sqlite_limits import SESSION_ROWS, held
from session_adapters.reading.sqlite_rows import as_float, as_int, as_text, columns, select_list

__all__ = ["CHUNK", "EVENT_LIMIT", "Archive", "ClawColumns", "Marks", "archive_of", "marks_of", "read_events"]

CHUNK = 256
"""Events that are read at a time, if they are short."""
EVENT_LIMIT = 32 << 20
"""Bytes of an event; a larger one is named and never held in memory."""
_WALKED = 64 << 10
"""Bytes of an event's text, behind which its time is looked for."""


class Marks:
    """Of each event its number, its size and what changes when it was written anew: in columns, for an object for
    each would be kept as long as the session is shown."""

    def __init__(self, events: Iterable[tuple[Any, ...]] = ()) -> None:
        """Each event as its number, its size and whatever else tells of it."""
        self.numbers, self.sizes, self.checks = array("q"), array("q"), array("L")
        for event in events:
            self.numbers.append(event[0] if isinstance(event[0], int) else 0)
            self.sizes.append(next((one for one in event[1:] if isinstance(one, int)), 0))
            self.checks.append(crc32(repr(event).encode("utf-8", "replace")))

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.numbers, self.sizes, self.checks, strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Marks) and self.columns == other.columns

    @property
    def columns(self) -> tuple[array[int], ...]:
        """Numbers, sizes and what changes."""
        return self.numbers, self.sizes, self.checks

    def part(self, start: int = 0, stop: int | None = None) -> Marks:
        """Those of some of the events."""
        if start == 0 and stop in (None, len(self)):
            return self
        found = Marks()
        found.numbers, found.sizes, found.checks = (column[start:stop] for column in self.columns)
        return found

    def reverse(self) -> None:
        """Put the last one first."""
        for column in self.columns:
            column.reverse()


class ClawColumns(NamedTuple):
    """The columns that there are."""

    nodes: frozenset[str]
    windows: frozenset[str]
    events: frozenset[str]
    identities: frozenset[str]
    indexed: frozenset[str]
    watermarks: frozenset[str]
    cold: frozenset[str]
    archives: frozenset[str]

    @classmethod
    def of(cls, connection: apsw.Connection) -> ClawColumns:
        """By asking the database."""
        return cls(
            columns(connection, "session_nodes"),
            columns(connection, "session_windows"),
            columns(connection, "transcript_events"),
            columns(connection, "transcript_event_identities"),
            columns(connection, "session_transcript_index_state"),
            columns(connection, "transcript_rewrite_watermarks"),
            columns(connection, "session_transcript_cold_archives"),
            columns(connection, "session_transcript_archives"),
        )

    @property
    def has_events(self) -> bool:
        """There are transcripts."""
        return {"session_id", "seq"} <= self.events and bool({"event_json", "event_zstd"} & self.events)


class Archive(NamedTuple):
    """A transcript that was put away as a whole."""

    encoding: str
    size: int
    """Bytes unpacked, as the database says; 0 where it does not."""
    name: str
    blob: bytes | None
    """None where it is in a file of that name."""
    reason: str = ""
    """deleted or reset; empty for one that is cold alone."""


def archive_of(
    connection: apsw.Connection, schema: ClawColumns, session_id: str, *, data: bool = True
) -> Archive | None:
    """The transcript of a window that has no events in the table any more; without `data` only that there is one."""
    blob_column = "archive_blob" if data else "no column"
    if "session_id" in schema.cold:
        values = select_list(schema.cold, ("raw_bytes", "archive_name", blob_column))
        query = f"SELECT {values} FROM session_transcript_cold_archives WHERE session_id = ?"  # noqa: S608
        for size, name, blob in connection.execute(query, (session_id,)):
            return Archive("zstd", as_int(size) or 0, as_text(name) or "", blob if isinstance(blob, bytes) else None)
    if {"session_id", "archive_blob"} <= schema.archives:
        values = select_list(schema.archives, ("encoding", "archive_name", blob_column, "reason", "created_at"))
        query = f"SELECT {values} FROM session_transcript_archives WHERE session_id = ?"  # noqa: S608
        rows = sorted(connection.execute(query, (session_id,)), key=lambda row: as_float(row[4]) or 0.0)
        if rows:
            encoding, name, blob, reason, _ = rows[-1]
            held = blob if isinstance(blob, bytes) else None
            return Archive(as_text(encoding) or "", 0, as_text(name) or "", held, as_text(reason) or "")
    return None


def marks_of(
    connection: apsw.Connection, schema: ClawColumns, session_id: str, most: int = SESSION_ROWS
) -> tuple[Any, Marks]:
    """What tells whether the events of a window were written anew, and a mark for each (of more than `most` the
    last); no text is read."""
    generation = None
    if {"session_id", "generation"} <= schema.watermarks:
        query = "SELECT generation FROM transcript_rewrite_watermarks WHERE session_id = ?"
        generation = next(connection.execute(query, (session_id,)), None)
    if not schema.has_events:
        return generation, Marks()
    sizes = [f"octet_length({name})" for name in ("event_json", "event_zstd") if name in schema.events]
    # What stands behind a text of megabytes takes all of its pages to come to; a rewrite changes the generation too.
    short = " + ".join(f"coalesce({size}, 0)" for size in sizes)
    when = [f"CASE WHEN {short} <= {_WALKED} THEN created_at END"] if "created_at" in schema.events else []
    for wanted in (["seq", *sizes, *when], ["seq"]):  # numbers alone stand in the key's index, if a page is damaged
        query = (
            f"SELECT {', '.join(wanted)} FROM transcript_events WHERE session_id = ?"  # noqa: S608
            f" ORDER BY seq DESC LIMIT {most}"
        )
        try:
            marks = Marks(connection.execute(query, (session_id,)))
        except apsw.CorruptError:
            if wanted == ["seq"]:
                raise
        else:
            marks.reverse()
            return generation, marks
    return generation, Marks()


def read_events(
    connection: apsw.Connection,
    schema: ClawColumns,
    session_id: str,
    start: int,
    count: int,
    *,
    backwards: bool = False,
) -> list[tuple[int, bytes | None, bytes | None, int | None]]:
    """(number, text, compressed text, size of it) of `count` events from number `start` on, or of the last ones
    below it, in their order; of fewer where much is in them. Both texts are None for one over `EVENT_LIMIT`, or on a
    damaged page."""
    condition, order = ("seq < ?2", "DESC") if backwards else ("seq >= ?2", "ASC")
    where = f"WHERE session_id = ?1 AND {condition} ORDER BY seq {order} LIMIT ?3"
    texts = [
        f"CASE WHEN octet_length({name}) <= {EVENT_LIMIT} THEN CAST({name} AS BLOB) END"
        if name in schema.events
        else "NULL"
        for name in ("event_json", "event_zstd")
    ]
    columns_ = ", ".join((*texts, "event_utf8_bytes" if "event_utf8_bytes" in schema.events else "NULL"))
    query = f"SELECT seq, {columns_} FROM transcript_events {where}"  # noqa: S608 - names are ours
    bound = (session_id, start, count)
    try:
        rows = held(connection.execute(query, bound))
    except apsw.CorruptError:
        numbers = [row[0] for row in connection.execute(f"SELECT seq FROM transcript_events {where}", bound)]  # noqa: S608
        one = f"SELECT seq, {columns_} FROM transcript_events WHERE session_id = ? AND seq = ?"  # noqa: S608
        rows = []
        for number in numbers:
            try:
                rows.append(next(connection.execute(one, (session_id, number)), (number, None, None, None)))
            except apsw.CorruptError:
                rows.append((number, None, None, None))
    found = [(as_int(row[0]) or 0, row[1], row[2], as_int(row[3])) for row in rows]
    return found[::-1] if backwards else found
