"""Lists the sessions in `openclaw-agent.sqlite`: keys, windows, deleted ones.

Tables with credentials or memory are never asked. Format: stores/openclaw FACTS.md «SQLite schema».
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import apsw

from session_adapters.openclaw.database.events import ClawColumns, archive_of
from session_adapters.openclaw.records import ENTRY, NODES, WINDOWS, IndexEntry, KeyNode, TranscriptWindow
from session_adapters.reading.bounds import TOO_LARGE, Stint
from session_adapters.reading.sqlite import DatabaseUnreadable, read_database
from session_adapters.reading.sqlite_limits import Ration
from session_adapters.reading.sqlite_rows import DAMAGE, as_float, as_int, as_text, insertion, select_list

__all__ = ["ClawFacts", "events_in", "running_keys", "sessions_of"]

_SPOKEN = "('message', 'custom_message', 'compaction', 'branch_summary')"
_NO_ENTRY = IndexEntry()
UNKNOWN = -1
"""`ClawFacts.events` where they cannot be counted."""

Note = Callable[[str, str], None]
"""(place, reason) of what could not be read."""


class ClawFacts(NamedTuple):
    """A session without its events."""

    id: str
    """The key; of an older window its own id."""
    session_id: str
    """The window's."""
    node: KeyNode | None
    window: TranscriptWindow | None
    entry: IndexEntry
    windows: tuple[str, ...] = ()
    """All windows of the key, oldest first."""
    previous_id: str | None = None
    """The session that this one continues."""
    first_id: str | None = None
    events: int = 0
    forked_at: float | None = None
    """Seconds."""
    leaf: str | None = None
    archived_as: str = ""
    """deleted or reset: it is in the archive alone."""
    key: str = ""
    began: float | None = None
    """When the oldest of the windows was made that this one repeats, and that are not listed; milliseconds."""


def sessions_of(
    connection: apsw.Connection,
    schema: ClawColumns,
    note: Note,
    wanted: str | None = None,
    stint: Stint | None = None,
) -> Iterator[ClawFacts]:
    """Every session once, or those of the key that `wanted` (a key, or the id of a window) belongs to."""
    given: set[str] = set()
    for one in _sessions_of(connection, schema, note, wanted, stint or Stint()):
        if one.id in given:  # a page that stands twice
            note(f"session {one.id}", "the database has it more than once, one of them is left out")
        else:
            given.add(one.id)
            yield one


def _sessions_of(
    connection: apsw.Connection, schema: ClawColumns, note: Note, wanted: str | None, stint: Stint
) -> Iterator[ClawFacts]:
    owner = None if wanted is None else _owner(connection, schema, wanted)
    nodes: dict[str, KeyNode] = {}
    if {"session_key", "current_session_id"} <= schema.nodes:
        query = f"SELECT {NODES.select(schema.nodes)} FROM session_nodes"  # noqa: S608 - names are ours
        try:
            for node in NODES.listed(
                _of_owner(connection, "session_nodes", query, owner), "session_nodes", note, stint
            ):
                nodes[node.session_key] = node
        except DAMAGE as error:
            note("table session_nodes", f"a part of it is damaged, keys of sessions are missing ({error})")
    elif schema.nodes:
        note("table session_nodes", "it has no columns for key and session")
    windows: dict[str, list[TranscriptWindow]] = {}
    if {"session_id", "session_key"} <= schema.windows:
        query = f"SELECT {WINDOWS.select(schema.windows)} FROM session_windows"  # noqa: S608 - names are ours
        try:
            rows = _of_owner(connection, "session_windows", query, owner)
            for window in WINDOWS.listed(rows, "session_windows", note, stint):
                windows.setdefault(window.session_key, []).append(window)
        except DAMAGE as error:  # those so far stay
            note("table session_windows", f"a part of it is damaged, earlier windows are missing ({error})")
    known = {window.session_id for some in windows.values() for window in some}
    known |= {node.current_session_id for node in nodes.values()}
    asked = known if wanted is None else known | {wanted}  # a window that was lost has its own id alone
    counts = _counts(connection, schema, note, asked, stint if wanted is None else None)
    for key in {**nodes, **windows}:
        if wanted is None and stint.over:
            note("table session_nodes", f"{TOO_LARGE}: not all of its sessions are read")
            return
        yield from _of_key(connection, schema, key, nodes.get(key), windows.get(key, []), counts)
    for session_id in sorted(counts.keys() - known):  # events whose window was lost
        leaf, count = counts[session_id]
        yield ClawFacts(session_id, session_id, None, None, _NO_ENTRY, (session_id,), events=count, leaf=leaf)
    yield from _archived(connection, schema, note, known, wanted)


def _owner(connection: apsw.Connection, schema: ClawColumns, wanted: str) -> str:
    """The key that `wanted` is, or a window of."""
    asked = []
    if {"session_id", "session_key"} <= schema.windows:
        asked.append("SELECT session_key FROM session_windows WHERE session_id = ?")
    if {"session_key", "current_session_id"} <= schema.nodes:
        asked.append("SELECT session_key FROM session_nodes WHERE current_session_id = ?")
    for query in asked:
        for (key,) in connection.execute(query, (wanted,)):
            return as_text(key) or wanted
    return wanted


def _of_key(
    connection: apsw.Connection,
    schema: ClawColumns,
    key: str,
    node: KeyNode | None,
    windows: list[TranscriptWindow],
    counts: dict[str, tuple[str | None, int]],
) -> Iterator[ClawFacts]:
    windows.sort(key=lambda window: (window.created_at or 0, window.session_id))
    current = node.current_session_id if node is not None else ""
    ids = [window.session_id for window in windows]
    order = [id_ for id_ in ids if id_ != current] + ([current] if current else [])
    by_id = {window.session_id: window for window in windows}
    entry = _NO_ENTRY
    if node is not None and node.entry_json:
        try:
            entry = ENTRY.one(node.entry_json.encode())
        except ValueError:
            entry = _NO_ENTRY  # the columns say most of it again
    forked_at = None
    if node is not None and (node.fork_source_session_key or node.fork_source_session_id):
        times = [time for time in (node.created_at, *(window.created_at for window in windows)) if time]
        forked_at = min(times) / 1000 if times else None
    previous: str | None = None
    first: str | None = None
    began: float | None = None
    for at, session_id in enumerate(order):
        leaf, count = counts.get(session_id, (None, 0))
        window = by_id.get(session_id)
        if session_id != current and _is_repeated(connection, schema, session_id, order[at + 1 :], count):
            began = began or (window.created_at if window is not None else None)
            continue
        id_ = key if session_id == current else session_id
        known = (node, window, entry, tuple(order), previous, first, count, forked_at, leaf, "", key, began)
        yield ClawFacts(id_, session_id, *known)
        previous, first, began = id_, first or id_, None


def _is_repeated(
    connection: apsw.Connection, schema: ClawColumns, session_id: str, later: list[str], count: int
) -> bool:
    """Whether a later window has all that was said in this one: rewinding copies everything."""
    if not count:
        if "session_id" not in schema.cold:
            return True
        query = "SELECT 1 FROM session_transcript_cold_archives WHERE session_id = ?"
        return next(connection.execute(query, (session_id,)), None) is None
    if not {"session_id", "event_id", "event_type"} <= schema.identities or not later:
        return False
    query = (
        "SELECT count(*) FROM transcript_event_identities AS one WHERE session_id = ?1"  # noqa: S608 - constants
        f" AND event_type IN {_SPOKEN} AND NOT EXISTS (SELECT 1 FROM transcript_event_identities AS other"
        " WHERE other.session_id IN (SELECT value FROM json_each(?2)) AND other.event_id = one.event_id)"
    )
    return not next(connection.execute(query, (session_id, json.dumps(later))))[0]


def _of_owner(connection: apsw.Connection, table: str, query: str, owner: str | None) -> Iterator[tuple[Any, ...]]:
    if owner is None:
        return connection.execute(f"{query} ORDER BY {insertion(connection, table)} DESC")
    return connection.execute(f"{query} WHERE session_key = ?", (owner,))


def _counts(
    connection: apsw.Connection, schema: ClawColumns, note: Note, ids: set[str], of_all: Stint | None
) -> dict[str, tuple[str | None, int]]:
    """By window: OpenClaw's own leaf, where it is up to date, and how many events there are; of all windows, as far
    as that time is enough, where one is given."""
    if not schema.has_events:
        note("table transcript_events", "it is missing or has no columns for session and event")
        return {}
    asked = "SELECT session_id, count(*), max(seq) FROM transcript_events"
    leaves: dict[str, tuple[str | None, int | None]] = {}
    if {"session_id", "indexed_seq", "leaf_event_id", "needs_rebuild"} <= schema.indexed:
        query = (
            "SELECT session_id, leaf_event_id, indexed_seq FROM session_transcript_index_state"
            " WHERE needs_rebuild = 0 AND session_id IN (SELECT value FROM json_each(?))"
        )
        with suppress(*DAMAGE):  # a help, not the truth: the events tell the leaf too
            known = connection.execute(query, (json.dumps(sorted(ids)),))
            leaves = {row[0]: (as_text(row[1]), as_int(row[2])) for row in known}
    if of_all is None:
        query = f"{asked} WHERE session_id IN (SELECT value FROM json_each(?)) GROUP BY session_id"  # noqa: S608
        rows = list(connection.execute(query, (json.dumps(sorted(ids)),)))
    else:
        try:
            ration = Ration.of_list(of_all)
            rows = list(ration.take(connection.execute(f"{asked} GROUP BY session_id")))
            if ration.spent:
                reason = f"{TOO_LARGE}: the events of {ration.taken} sessions are counted, no more"
                note("table transcript_events", reason)
        except DAMAGE as error:
            note("table transcript_events", f"part of it cannot be read ({error})")
            rows = [_counted(connection, asked, session_id) for session_id in sorted(ids)]
    found: dict[str, tuple[str | None, int]] = {}
    for session_id, count, last in rows:
        leaf, indexed = leaves.get(session_id, (None, None))
        found[session_id] = (leaf if indexed == last else None, count)
    return found


def _counted(connection: apsw.Connection, asked: str, session_id: str) -> tuple[str, int, int | None]:
    """One row of the same, where others cannot be read."""
    try:
        _, count, last = next(connection.execute(f"{asked} WHERE session_id = ?", (session_id,)))
    except DAMAGE:
        return session_id, UNKNOWN, None
    return session_id, count, last


# Archives ----------------------------------------------------------------------------------------------------


def _archived(
    connection: apsw.Connection, schema: ClawColumns, note: Note, known: set[str], wanted: str | None
) -> Iterator[ClawFacts]:
    """Deleted and reset sessions whose transcript the database keeps."""
    if not {"session_id", "archive_blob"} <= schema.archives:
        return
    values = select_list(schema.archives, ("session_id", "session_key", "reason", "created_at"))
    query = f"SELECT {values} FROM session_transcript_archives"  # noqa: S608 - names are ours
    bound = () if wanted is None else (wanted,)
    newest: dict[str, tuple[float, str, str]] = {}
    try:
        for row in connection.execute(query if wanted is None else f"{query} WHERE session_id = ?", bound):
            session_id, key, reason = (as_text(value) or "" for value in row[:3])
            if session_id not in known:
                found = (as_float(row[3]) or 0.0, reason, key)
                newest[session_id] = max(newest.get(session_id, found), found)
    except DAMAGE as error:
        note("table session_transcript_archives", f"a part of it is damaged ({error})")
    for session_id, (_, reason, key) in newest.items():
        yield ClawFacts(
            session_id, session_id, None, None, _NO_ENTRY, (session_id,), archived_as=reason or "archived", key=key
        )


# Single questions, which `summaries` answers where the database cannot be read ----------------------------------


def events_in(path: str, session_id: str) -> tuple[str, int] | None:
    """The window of a session and how many events it has, 1 where it was put away; None when it is not there."""

    def read(connection: apsw.Connection) -> tuple[str, int] | None:
        schema = ClawColumns.of(connection)
        for one in sessions_of(connection, schema, lambda place, reason: None, session_id):
            if session_id in (one.id, one.session_id):
                packed = archive_of(connection, schema, one.session_id, data=False) is not None
                return one.session_id, one.events or int(packed)
        return None

    try:
        return read_database(path, read)
    except (DatabaseUnreadable, OSError):
        return None


def running_keys(path: str) -> list[str]:
    """The keys whose row says that they run now."""

    def read(connection: apsw.Connection) -> list[str]:
        if not {"session_key", "status"} <= ClawColumns.of(connection).nodes:
            return []
        query = "SELECT session_key FROM session_nodes WHERE status = 'running'"
        return [as_text(key) or "" for (key,) in connection.execute(query)]

    try:
        return read_database(path, read)
    except (DatabaseUnreadable, OSError):
        return []
