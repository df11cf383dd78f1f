"""The SQL that lists the sessions of Hermes' `state.db`, one or ten thousand.

Counts come from the rows, not from the counter columns, which a rewind leaves as they were.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from session_adapters.hermes.lineage import Relations
from session_adapters.hermes.messages import plain_text
from session_adapters.hermes.records import SESSIONS, USAGE, HermesKin, HermesSessionRow, UsageRow
from session_adapters.hermes.row_counts import PREFIX, RowCounts
from session_adapters.reading.bounds import Stint
from session_adapters.reading.sqlite import DatabaseUnreadable
from session_adapters.reading.sqlite_rows import DAMAGE, as_float, as_text, columns, insertion, select_list

__all__ = ["CONTENT_LIMIT", "Census", "HermesSchema", "Note", "marks_of", "money_rows", "take_census"]

CONTENT_LIMIT = 32 << 20
"""Bytes. A longer message is listed without its text, which is never held in memory."""
_MANY = 2_000
"""Rows between two looks at the time."""
_SPAN = 50_000
"""Rows read in one statement: a writer's checkpoint waits for the end of a statement, not for all of them."""

_NUMBER = """CASE WHEN typeof("timestamp") IN ('real', 'integer') THEN "timestamp" END"""
"""A text is no time, nor need it be one that can be decoded."""
_RELATED = frozenset(HermesKin._fields)

Note = Callable[[str, str], None]
"""Where damage is told: (place, reason)."""


class HermesSchema(NamedTuple):
    """The columns that a database really has."""

    sessions: frozenset[str]
    messages: frozenset[str]
    usage: frozenset[str]

    @classmethod
    def of(cls, connection: apsw.Connection) -> HermesSchema:
        """Raises `DatabaseUnreadable` where the table of sessions is missing."""
        schema = cls(
            columns(connection, "sessions"),
            columns(connection, "messages"),
            columns(connection, "session_model_usage", views=True),
        )
        if "id" not in schema.sessions:
            raise DatabaseUnreadable("it has no table of sessions: it is not Hermes' or was never finished")
        return schema

    @property
    def has_messages(self) -> bool:
        """Whether messages can be told apart by session and order."""
        return {"id", "session_id", "role"} <= self.messages


class Census(NamedTuple):
    """Everything that summaries are made of."""

    sessions: dict[str, HermesSessionRow]
    by_session: dict[str, RowCounts]
    usage: dict[str, list[UsageRow]]
    complete: bool
    """No part of the table of messages was lost."""


def take_census(connection: apsw.Connection, note: Note, session_id: str | None = None) -> Census:
    """The sessions of a database with what their messages add up to; with `session_id` only that one, and the
    bare rows of those it continues and that continue it."""
    schema, stint = HermesSchema.of(connection), Stint()
    ids = None if session_id is None else _family(connection, schema, session_id)
    unlisted: list[str] = []

    def of_sessions(place: str, reason: str) -> None:
        note(place, reason)
        unlisted.extend([reason] if place == "table sessions" else [])

    sessions = _sessions(connection, schema, ids, of_sessions, stint)
    by_session = {key: RowCounts() for key in sessions}
    strays: list[int] = []
    complete = schema.has_messages
    if not complete:
        note("table messages", "it is missing or has no columns for session, role and order")
    else:
        steps: tuple[Callable[[], bool], ...] = (
            lambda: _count(connection, schema, by_session, ids, strays, stint),
            lambda: _scan(connection, schema, by_session, session_id, stint),
            lambda: _pictured(connection, by_session),
        )
        for step in steps:
            try:
                if not step():
                    note("table messages", "there are too many to count for a list, counts are too low")
                    complete = False
            except DAMAGE as error:
                note("table messages", f"a part of it is damaged, counts are too low ({error})")
                complete = False
    if ids is None and strays and complete and not unlisted:  # else they may belong to sessions that were left out
        note("table messages", f"{sum(strays)} messages belong to no session that there is")
    return Census(sessions, by_session, _usage(connection, schema, session_id, note, stint), complete)


def marks_of(connection: apsw.Connection) -> dict[str, int] | None:
    """For each session in the order of a list what changes with anything that its summary is made of: its row, the
    number, times and ids of its messages, how many of them are live, what it used, and how it came from others. No
    message is read: an index has all that, and Hermes writes no text again in its place. None where something is
    missing or damaged, or belongs to nobody."""
    schema, notes = HermesSchema.of(connection), list[str]()
    if not schema.has_messages or not {"active", "timestamp"} <= schema.messages or _RELATED - schema.sessions:
        return None

    def note(place: str, reason: str) -> None:
        notes.append(place)

    spoken: dict[str, tuple[Any, ...]] = {}
    used: dict[str, int] = {}
    rows: dict[str, Sequence[Any]] = {}
    try:
        for key, *tally in connection.execute(
            f"SELECT CAST(session_id AS BLOB), max({_NUMBER}), min({_NUMBER}), count(*), max(id), total(id),"  # noqa: S608
            " count(active), total(active) FROM messages GROUP BY session_id"
        ):
            spoken[as_text(key) or ""] = tuple(tally)
        if schema.usage:
            query = f"SELECT {USAGE.select(schema.usage)} FROM session_model_usage"  # noqa: S608 - names of our own
            for row in USAGE.rationed(connection.execute(query), "session_model_usage", note):
                name = as_text(row[0]) or ""
                used[name] = hash((used.get(name), row))
        query = (
            f"SELECT {SESSIONS.select(schema.sessions)} FROM sessions"  # noqa: S608 - names of our own
            f" ORDER BY {insertion(connection, 'sessions')} DESC"
        )
        for row in SESSIONS.rationed(connection.execute(query), "sessions", note):
            rows[as_text(row[0]) or ""] = row
            if str in map(type, row):  # it stands for a long text, which has to be told of
                return None
    except DAMAGE:
        return None
    if notes or spoken.keys() - rows.keys() or any("\ufffd" in key or not key for key in rows):
        return None
    kin = {key: HermesKin.of(row) for key, row in rows.items()}
    last = {key: moment for key, tally in spoken.items() if (moment := as_float(tally[0])) is not None}
    relations = Relations(kin, last)
    return {
        key: hash((row, spoken.get(key), used.get(key), relations[key], relations.root(key), relations.tip(key)))
        for key, row in rows.items()
    }


def _family(connection: apsw.Connection, schema: HermesSchema, session_id: str) -> str:
    """As a JSON list: the session, all it descends from, and all that continue it."""
    if not {"parent_session_id", "end_reason"} <= schema.sessions:
        return json.dumps([session_id])
    rows = connection.execute(
        "WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT s.parent_session_id FROM sessions s JOIN up ON s.id = up.id"
        " WHERE s.parent_session_id IS NOT NULL),"
        " down(id) AS (SELECT ?1 UNION SELECT c.id FROM down JOIN sessions p ON p.id = down.id"
        " JOIN sessions c ON c.parent_session_id = p.id WHERE p.end_reason = 'compression')"
        " SELECT CAST(id AS BLOB) FROM up UNION SELECT CAST(id AS BLOB) FROM down",
        (session_id,),
    )
    return json.dumps([as_text(id_) for (id_,) in rows])


def _sessions(
    connection: apsw.Connection, schema: HermesSchema, ids: str | None, note: Note, stint: Stint
) -> dict[str, HermesSessionRow]:
    query = f"SELECT {SESSIONS.select(schema.sessions)} FROM sessions"  # noqa: S608 - names of our own
    if ids is not None:
        query += " WHERE id IN (SELECT value FROM json_each(?1))"
    found: dict[str, HermesSessionRow] = {}
    try:
        rows = connection.execute(
            f"{query} ORDER BY {insertion(connection, 'sessions')} DESC", () if ids is None else (ids,)
        )
        for row in SESSIONS.listed(rows, "sessions", note, stint):
            if "\ufffd" in row.id or not row.id:
                note("table sessions", "a session has no readable id")
            else:
                found[row.id] = row
    except DAMAGE as error:
        note("table sessions", f"a part of it is damaged, sessions are missing ({error})")
    return found


def _count(
    connection: apsw.Connection,
    schema: HermesSchema,
    by_session: Mapping[str, RowCounts],
    ids: str | None,
    strays: list[int],
    stint: Stint,
) -> bool:
    """Messages and times of every session: an index holds both, so that no message is read. Whether it was done; of
    other sessions than those in `by_session`, `strays` gets the numbers."""
    times = f"min({_NUMBER}), max({_NUMBER})" if "timestamp" in schema.messages else "NULL, NULL"
    query = f"SELECT CAST(session_id AS BLOB), count(*), {times} FROM messages"  # noqa: S608 - names of our own
    if ids is not None:
        query += " WHERE session_id IN (SELECT value FROM json_each(?1))"
    for key, count, first, last in connection.execute(query + " GROUP BY session_id", () if ids is None else (ids,)):
        counts = by_session.get(as_text(key) or "")
        if counts is not None:
            counts.messages, counts.first, counts.last = count, as_float(first), as_float(last)
        else:
            strays.append(count)
            if not len(strays) % _MANY and stint.over:
                return False
    return True


def _scan(
    connection: apsw.Connection,
    schema: HermesSchema,
    by_session: Mapping[str, RowCounts],
    session_id: str | None,
    stint: Stint,
) -> bool:
    """Turns, tool calls and first prompts, from one pass over the table in the order of ids. Whether it was done."""
    names = ("role", "active", "compacted", "observed")
    content = "NULL"
    if "content" in schema.messages:  # a longer one is loaded whole for its beginning
        content = f"CASE WHEN octet_length(content) <= {CONTENT_LIMIT} THEN CAST(content AS BLOB) END"
    calls = "NULL"
    if "tool_calls" in schema.messages:
        calls = f"CASE WHEN octet_length(tool_calls) <= {CONTENT_LIMIT} THEN tool_calls END"
    query = (
        f"SELECT id, CAST(session_id AS BLOB), {select_list(schema.messages, names)},"  # noqa: S608
        f" CASE role WHEN 'tool' THEN NULL WHEN 'user' THEN substr({content}, 1, {PREFIX})"
        f" ELSE substr({content}, 1, 60) END,"
        f" CASE WHEN {calls} IS NULL OR {calls} = '' OR role <> 'assistant' THEN 0"
        f" WHEN NOT json_valid({calls}) THEN -1"
        f" WHEN json_type({calls}) = 'array' THEN json_array_length({calls}) ELSE 1 END"
        " FROM messages"
    )
    # `+id` keeps SQLite from walking through the rows of all other sessions.
    one = " WHERE session_id = ?2 AND +id > ?1 ORDER BY +id"
    query += (" WHERE id > ?1 ORDER BY id" if session_id is None else one) + f" LIMIT {_SPAN}"
    by_key = {key.encode(): counts for key, counts in by_session.items()}
    after = -(1 << 62)
    number = _SPAN
    done = True
    while number == _SPAN:
        number = 0
        rows = connection.execute(query, (after,) if session_id is None else (after, session_id))
        for number, row in enumerate(rows, 1):
            after, key = row[0], row[1]
            counts = by_key.get(key)
            if counts is not None:
                counts.feed(after, *row[2:])
            if not number % _MANY and stint.over:
                done = False
                break
        if not done:
            break
    for counts in by_key.values():
        counts.close()
    return done


def _pictured(connection: apsw.Connection, by_session: Mapping[str, RowCounts]) -> bool:
    """First prompts with pictures in them have to be read whole for their words."""
    wanted = {counts.prompt_id: counts for counts in by_session.values() if counts.prompt_id is not None}
    if not wanted:
        return True
    for id_, content in connection.execute(
        "SELECT id, CAST(content AS BLOB) FROM messages WHERE id IN (SELECT value FROM json_each(?1))"
        " AND octet_length(content) <= ?2",
        (json.dumps(list(wanted)), CONTENT_LIMIT),
    ):
        wanted[id_].preview = plain_text(as_text(content) or "")[: PREFIX * 4]
    return True


def _usage(
    connection: apsw.Connection, schema: HermesSchema, session_id: str | None, note: Note, stint: Stint
) -> dict[str, list[UsageRow]]:
    found: dict[str, list[UsageRow]] = {}
    if not {"session_id", "model"} <= schema.usage:
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'session_model_usage'").fetchall():
            note("table session_model_usage", "it is no plain table or lacks columns, tokens may be too low")
        return found
    query = f"SELECT {USAGE.select(schema.usage)} FROM session_model_usage"  # noqa: S608 - names of our own
    if session_id is not None:
        query += " WHERE session_id = ?1"
    try:
        rows = connection.execute(query, () if session_id is None else (session_id,))
        for row in USAGE.listed(rows, "session_model_usage", note, stint):
            found.setdefault(row.session_id, []).append(row)
    except DAMAGE as error:
        note("table session_model_usage", f"a part of it is damaged, tokens may be too low ({error})")
    return found


def money_rows(
    connection: apsw.Connection, schema: HermesSchema, session_id: str | None = None
) -> tuple[dict[str, HermesSessionRow], dict[str, list[UsageRow]]]:
    """The sessions by id, or that one, and what each used by model, without their messages. Damage is reported by
    `take_census`."""

    def quiet(place: str, reason: str) -> None: ...

    stint, ids = Stint(), None if session_id is None else json.dumps([session_id])
    return (
        _sessions(connection, schema, ids, quiet, stint),
        _usage(connection, schema, session_id, quiet, stint),
    )
