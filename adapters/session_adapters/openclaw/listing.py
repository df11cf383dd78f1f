"""Summaries of OpenClaw's files and databases, from their ends or in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from msgspec.structs import asdict, replace

from session_adapters.base import Source
from session_adapters.growing.sessions import Mark, Recounted
from session_adapters.model import SessionSummary
from session_adapters.openclaw.database.counting import (
    Count,
    Kept,
    batches,
    count_of,
    counts_of,
    feed,
    marks_in,
)
from session_adapters.openclaw.database.event_stores import ClawEvent, ClawStore, unpacked_archive, unpacked_event
from session_adapters.openclaw.database.events import CHUNK, Archive, ClawColumns, archive_of, read_events
from session_adapters.openclaw.database.tables import ClawFacts, sessions_of
from session_adapters.openclaw.file_stores import ClawDocumentStore, PackedShelf
from session_adapters.openclaw.index import described
from session_adapters.openclaw.places import AGENT, DATABASE, DOCUMENT, FILE, FileName, StateDir, agent_of
from session_adapters.openclaw.rules import ClawCounts
from session_adapters.reading.bounds import TOO_MANY, Stint, excess
from session_adapters.reading.damaged_places import REPORTED
from session_adapters.reading.sqlite import DatabaseUnreadable, read_database
from session_adapters.reading.sqlite_rows import DAMAGE
from session_adapters.text import one_line
from session_adapters.times import from_millis, parse_time
from session_adapters.tree.ends import gather

__all__ = [
    "NoSession",
    "Note",
    "database_facts",
    "database_sessions",
    "database_summaries",
    "file_session",
    "recounted",
]

FULL_SIZE = 4 << 20
"""Bytes. A smaller database is read in full at once."""
FIRST, LAST = 8, 4
"""Events of a longer transcript that are read for a quick look."""

Note = Callable[[str, str], None]
"""(place, reason) of what could not be read."""


class NoSession(ValueError):
    """A file holds nothing that is a session. The text says what it is instead."""


# Databases ---------------------------------------------------------------------------------------------------


class _Counted(NamedTuple):
    counts: ClawCounts
    partial: bool
    archive: Archive | None
    going: Count | None = None
    """Goes on with what comes later."""


def database_facts(path: str, note: Note, wanted: str | None = None, stint: Stint | None = None) -> list[ClawFacts]:
    """The sessions of a database, without what their events say. Raises `DatabaseUnreadable`."""

    def read(connection: apsw.Connection) -> tuple[list[ClawFacts], list[tuple[str, str]]]:
        lost: list[tuple[str, str]] = []
        schema = ClawColumns.of(connection)
        return list(sessions_of(connection, schema, lambda *one: lost.append(one), wanted, stint)), lost

    sessions, lost = read_database(path, read)
    for place, reason in lost:
        note(place, reason)
    return sessions


def database_summaries(
    source: Source, state: StateDir, note: Note, *, exact: bool, wanted: str | None = None
) -> list[SessionSummary]:
    """The sessions of a database, or those of the key that `wanted` belongs to. Raises `DatabaseUnreadable`."""
    return [summary for summary, _ in database_sessions(source, state, note, exact=exact, wanted=wanted)]


def recounted(source: Source, state: StateDir, note: Note, kept: Kept) -> list[SessionSummary]:
    """The sessions of a database, exact: of those that did not change what they came to before. Raises
    `DatabaseUnreadable`."""
    sessions = database_facts(source.path, note)
    marks: dict[str, Mark] = {}
    with suppress(DatabaseUnreadable):  # there is too much for one look: what can be read is counted as ever
        marks = read_database(source.path, partial(marks_in, sessions))
    known = {one.id: same for one in sessions if (same := kept.same(one.id, marks.get(one.id))) is not None}
    rest = [one for one in sessions if one.id not in known]
    fresh: dict[str, Recounted[SessionSummary, None]] = {}
    damaged: set[str] = set()
    found = database_sessions(source, state, note, exact=True, sessions=rest, kept=kept)
    for one, (summary, _) in zip(rest, found, strict=True):
        fresh[one.id] = Recounted(summary, marks.get(one.id))
        if summary.partial or summary.warnings:
            damaged.add(one.id)
    kept.keep(fresh, damaged)
    kept.forget_others(known.keys() | fresh.keys())
    return [(known.get(one.id) or fresh[one.id]).counted for one in sessions]


def database_sessions(
    source: Source,
    state: StateDir,
    note: Note,
    *,
    exact: bool,
    wanted: str | None = None,
    sessions: Sequence[ClawFacts] | None = None,
    kept: Kept | None = None,
) -> Iterator[tuple[SessionSummary, ClawCounts]]:
    """The same, each with what was gathered of it, which is good until the next one is asked for; of `sessions`,
    where those were listed already. What is `kept` of long ones is gone on with."""

    stint = Stint()
    if sessions is None:
        sessions = database_facts(source.path, note, wanted, stint)
    full = exact or source.size <= FULL_SIZE
    late = False
    for batch in batches(sessions):
        late = late or (stint.over and not exact)
        if late:
            found = [_Counted(counts_of(one), True, None) for one in batch]
        else:
            found = read_database(source.path, partial(_count, batch, None if exact else stint, kept, full=full))
        for one, counted in zip(batch, found, strict=True):
            if counted.archive is not None and full:
                counts = counts_of(one)
                try:
                    lines = unpacked_archive(counted.archive, source.path)
                    feed(counts, (ClawEvent(number, line) for number, line in enumerate(lines)))
                except OSError as error:
                    note(f"session {one.id}", error.strerror or str(error))
                    counted = counted._replace(partial=False)
                else:
                    counted = _Counted(counts, False, counted.archive)
            for place, reason in counted.counts.damaged.places(limit=REPORTED):
                note(f"session {one.id}, {place}", reason)
            yield _of_database(one, counted, source, state), counted.counts
            if kept is not None and counted.going is not None:
                kept.give(one.id, counted.going)
    if late:
        note("table session_nodes", f"sessions could not be counted: {TOO_MANY}")


def _count(
    batch: Sequence[ClawFacts],
    stint: Stint | None,
    kept: Kept | None,
    connection: apsw.Connection,
    *,
    full: bool,
) -> list[_Counted]:
    schema = ClawColumns.of(connection)
    found: list[_Counted] = []
    for one in batch:
        counts, going = counts_of(one), None
        if not one.events:
            try:
                archive = archive_of(connection, schema, one.session_id, data=full)
            except DAMAGE as error:
                counts.damaged.add("archive", f"a part of it is damaged ({error})")
                archive = None
            found.append(_Counted(counts, archive is not None, archive))
            continue
        whole = full or one.events <= FIRST + LAST
        try:
            if whole:
                going = count_of(connection, schema, one, stint, kept)
                counts = going.counts
                if rest := going.left(one):
                    counts.damaged.add("", excess(rest, "last"), rest)
                    whole = False
            else:
                first = read_events(connection, schema, one.session_id, 0, FIRST)
                # The last ones: no number is as high as that.
                last = read_events(connection, schema, one.session_id, 1 << 62, LAST, backwards=True)
                feed(counts, (unpacked_event(*row) for row in (*first, *last)))
        except DAMAGE as error:  # a damaged page: what was read of this one stands, the others are not touched by it
            counts.damaged.add("events", f"a part of them is damaged ({error})")
            whole = False
        found.append(_Counted(counts, not whole, None, going))
    return found


def _of_database(one: ClawFacts, counted: _Counted, source: Source, state: StateDir) -> SessionSummary:
    node, window = one.node, one.window
    raw: dict[str, Any] = {
        "layout": DATABASE,
        "sessionId": one.session_id,
        "windows": list(one.windows),
        "events": one.events,
        "current": one.id == one.key,
    }
    header = counted.counts.header
    if header is not None and header.parent_session:
        raw["parentSession"] = header.parent_session
    if counted.archive is not None:
        raw["packed"] = True
    found = counted.counts.summary(
        AGENT,
        state.tagged(one.id),
        profile=source.profile,
        partial=counted.partial,
        path=source.path,
        raw=raw,
        archived=bool(one.archived_as == "deleted"),
        kind="fork" if one.forked_at is not None or raw.get("parentSession") else "session",
    )
    if one.archived_as:
        found = replace(found, end_reason=one.archived_as)
    columns = {**(asdict(window) if window is not None else {})}
    if node is not None:
        columns |= {name: value for name, value in asdict(node).items() if value is not None}
        if node.fork_source_session_key:
            parent = state.tagged(node.fork_source_session_key)
            found = replace(found, parent_id=parent, forked_from=parent)
        if node.fork_source_entry_id:
            found = replace(found, raw={**found.raw, "forkEntryId": node.fork_source_entry_id})
    if one.key:
        found = described(found, one.key, one.entry, state, columns)
    if one.previous_id is not None:
        first = state.tagged(one.first_id) if one.first_id else None
        parent = state.tagged(one.previous_id)
        found = replace(found, kind="continuation", parent_id=parent, forked_from=None, lineage_id=first)
    found = _dated(found, columns)
    began = from_millis(one.began)
    return found if began is None else replace(found, created_at=min(began, found.created_at))


def _dated(summary: SessionSummary, columns: dict[str, Any]) -> SessionSummary:
    """A session in which nothing was said yet, or whose events cannot be had now, by the times of its row."""
    if summary.updated_at.timestamp() > 0:
        return summary
    created = from_millis(columns.get("created_at")) or from_millis(columns.get("updated_at")) or summary.created_at
    return replace(summary, created_at=created, updated_at=from_millis(columns.get("updated_at")) or created)


# Files -------------------------------------------------------------------------------------------------------


def file_session(source: Source, state: StateDir, note: Note, *, exact: bool) -> tuple[SessionSummary, ClawCounts]:
    """The session of a file, with what was gathered of it. Raises `OSError` and `NoSession`."""
    if source.layout == DOCUMENT:
        return _document(source, state, note)
    counts = ClawCounts()
    whole = True
    if source.layout == FILE:
        whole = gather(source.path, counts, exact=exact)
    else:
        _feed_shelf(counts, PackedShelf(source.path))
    if not counts.is_session:
        raise NoSession("it holds no session that can be read" if counts.damaged else "it holds no session")
    for place, reason in counts.damaged.places(limit=REPORTED):
        note(place, reason)
    name = FileName.of(Path(source.path).name)
    why = name.why if name is not None else ""
    header = counts.header
    raw: dict[str, Any] = {
        "layout": source.layout,
        "sessionId": name.stem if name is not None else source.session_id,
        "agentId": agent_of(source.path),
    }
    if header is not None:
        raw["headerId"] = header.id
        raw["version"] = header.version
        if header.parent_session:
            raw["parentSession"] = header.parent_session
    found = counts.summary(
        AGENT,
        source.session_id,
        profile=source.profile,
        partial=not whole,
        path=source.path,
        size=source.size,
        raw=raw,
        archived=why == "deleted",
        kind="fork" if raw.get("parentSession") else "session",
    )
    return replace(found, end_reason=why) if why else found, counts


def _feed_shelf(counts: ClawCounts, shelf: ClawStore) -> None:
    numbers = shelf.look().marks.numbers
    for at in range(0, len(numbers), CHUNK):
        feed(counts, shelf.rows(numbers[at], CHUNK), shelf.place)


def _document(source: Source, state: StateDir, note: Note) -> tuple[SessionSummary, ClawCounts]:
    """A session of the document's layout (spec 004 §4.2.9)."""
    shelf, counts = ClawDocumentStore(source.path), ClawCounts()
    _feed_shelf(counts, shelf)
    document = shelf.document
    if document.messages is None:
        raise NoSession("it has no messages")
    for place, reason in counts.damaged.places(limit=REPORTED):
        note(place, reason)
    folder = Path(source.path).parent.name
    channel = document.channel if isinstance(document.channel, str) and document.channel else folder
    found = counts.summary(
        AGENT,
        source.session_id,
        profile=source.profile,
        path=source.path,
        size=source.size,
        source=channel,
        raw={"layout": DOCUMENT, "channel": channel, "sessionId": Path(source.path).stem},
    )
    models = found.models or ((document.model,) if document.model else ())
    created = parse_time(document.created_at) or found.created_at
    found = replace(
        found,
        title=one_line(document.title or "") or found.title,
        cwd=document.cwd,
        created_at=min(created, found.created_at) if found.created_at.timestamp() > 0 else created,
        updated_at=found.updated_at if counts.tree else parse_time(document.updated_at) or created,
        model=models[0] if models else None,
        models=models,
    )
    return found, counts
