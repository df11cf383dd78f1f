"""Tells by its tables which OpenCode layout a database has; lists its sessions.

The file name says nothing: three layouts share it (FACTS.md «Spec layout»), and an upgraded database keeps the old
order of columns and, in 2.x, the old tables beside the new.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import apsw

from session_adapters.opencode.records import (
    DOCUMENT_SESSIONS,
    INFO,
    SESSIONS,
    DocumentSession,
    InfoRecord,
    OpenCodeSessionRow,
)
from session_adapters.opencode.units import Generation, Lost, OpenCodeFacts
from session_adapters.reading.bounds import Stint
from session_adapters.reading.sqlite import DatabaseUnreadable
from session_adapters.reading.sqlite_limits import SESSION_ROWS
from session_adapters.reading.sqlite_rows import DAMAGE, RowReader, columns, insertion
from session_adapters.text import scrub

__all__ = [
    "OpenCodeSchema",
    "backwards",
    "bounded",
    "facts_of_info",
    "facts_of_session",
    "own_title",
    "sessions_of",
]


_PLACEHOLDER = re.compile(r"(?:New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z?")
_TABLES = ("session_v2", "session", "sessions")
"""Newest first: a session is read from the first that has it."""


class OpenCodeSchema(NamedTuple):
    """The columns that there are; an absent table has none."""

    session_v2: frozenset[str]
    session: frozenset[str]
    sessions: frozenset[str]
    message: frozenset[str]
    part: frozenset[str]
    session_message: frozenset[str]
    messages: frozenset[str]
    tool_calls: frozenset[str]

    @classmethod
    def of(cls, connection: apsw.Connection) -> OpenCodeSchema:
        """Raises `DatabaseUnreadable` where there is no table of sessions."""
        schema = cls(*(columns(connection, name) for name in cls._fields))
        if not any("id" in getattr(schema, name) for name in _TABLES):
            raise DatabaseUnreadable("it has no table of sessions: it is not OpenCode's or was never finished")
        return schema

    @property
    def has_messages(self) -> bool:
        """1.x: messages can be told apart by session."""
        return {"id", "session_id", "data"} <= self.message

    @property
    def has_parts(self) -> bool:
        """1.x: parts can be told apart by message."""
        return {"id", "message_id", "data"} <= self.part

    @property
    def has_entries(self) -> bool:
        """The rows of 2.x, and of 1.18's v2 interface."""
        return {"id", "session_id", "type", "data"} <= self.session_message

    @property
    def has_document(self) -> bool:
        """The document's messages."""
        return {"id", "session_id", "role"} <= self.messages


def sessions_of(
    connection: apsw.Connection,
    schema: OpenCodeSchema,
    note: Callable[[Lost], None],
    session_id: str | None = None,
    stint: Stint | None = None,
) -> Iterator[OpenCodeFacts]:
    """Every session once, or the one asked for, from the newest of the tables that have it."""
    seen: set[str] = set()
    for table in _TABLES:
        have: frozenset[str] = getattr(schema, table)
        if "id" not in have:
            continue
        kind: RowReader[Any] = DOCUMENT_SESSIONS if table == "sessions" else SESSIONS
        query = f"SELECT {kind.select(have)} FROM {table}"  # noqa: S608 - names of our own
        try:
            order = f" ORDER BY {insertion(connection, table)} DESC"
            query += " WHERE id = ?1" if session_id is not None else order
            rows = connection.execute(query, () if session_id is None else (session_id,))
            for row in kind.listed(rows, table, lambda place, reason: note(Lost(place, reason)), stint):
                if not row.id or "\ufffd" in row.id:
                    note(Lost(f"table {table}", "a session has no readable id"))
                elif row.id not in seen:
                    seen.add(row.id)
                    yield _facts(row, table)
        except DAMAGE as error:
            note(Lost(f"table {table}", f"a part of it is damaged, sessions are missing ({error})"))


def _facts(row: Any, table: str) -> OpenCodeFacts:
    if isinstance(row, DocumentSession):
        return OpenCodeFacts(
            id=row.id,
            generation="document",
            title=row.title or "",
            directory=row.cwd or None,
            forked_from=row.parent_id or None,
            created=row.created_at,
            updated=row.updated_at,
            model=row.model or None,
        )
    return facts_of_session(row, "2.x" if table == "session_v2" else "1.x")


def facts_of_session(row: OpenCodeSessionRow, generation: Generation) -> OpenCodeFacts:
    """A row of `session` or `session_v2`."""
    revert, inside = _revert(_decoded(row.revert))
    chosen = _decoded(row.model)
    named = chosen.get("id") if isinstance(chosen, dict) else None
    raw = {
        "projectId": row.project_id,
        "agent": row.agent,
        "shareUrl": row.share_url,
        "idleOutcome": row.idle_outcome,
    }
    return OpenCodeFacts(
        id=row.id,
        generation=generation,
        title=own_title(row.title),
        directory=row.directory or None,
        parent_id=row.parent_id or None,
        forked_from=row.fork_session_id or None,
        created=row.time_created,
        updated=row.time_updated,
        model=scrub(named) if isinstance(named, str) and named else None,
        version=row.version or None,
        archived=bool(row.time_archived),
        revert=revert,
        revert_inside=inside,
        boundary=row.fork_boundary or None,
        raw={key: value for key, value in raw.items() if value},
    )


def facts_of_info(data: bytes, generation: Generation, session_id: str, place: str) -> OpenCodeFacts:
    """The file of a session in the trees from before the databases. `place` is the name of the directory that it
    lies under. Raises `ValueError` for a file that holds none, or another session than its name says."""
    try:
        info: InfoRecord = INFO.one(data)
    except ValueError as error:
        raise ValueError("it is not valid JSON") from error
    if info.id != session_id:
        raise ValueError("it holds another session than its name says")
    revert, inside = _revert(info.revert)
    times = info.time
    raw = {"projectId": info.project_id or place}
    return OpenCodeFacts(
        id=info.id,
        generation=generation,
        title=own_title(info.title),
        directory=info.directory or None,
        parent_id=info.parent_id or None,
        created=times.created if times else None,
        updated=times.updated if times else None,
        version=info.version or None,
        archived=bool(times and times.archived),
        revert=revert,
        revert_inside=inside,
        raw=raw,
    )


def own_title(title: str | None) -> str:
    """The title, unless it is one of OpenCode's placeholders for none."""
    return "" if not title or _PLACEHOLDER.fullmatch(title.strip()) else title


def _decoded(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _revert(value: Any) -> tuple[str | None, bool]:
    """The first message that is undone, and whether only parts of it are."""
    if not isinstance(value, dict) or not isinstance(value.get("messageID"), str):
        return None, False
    return scrub(value["messageID"]), isinstance(value.get("partID"), str)


def backwards(have: Collection[str], *order: str, most: int = SESSION_ROWS) -> str:
    """The last rows of each session first, as many as there is room for."""
    names = ("session_id", *(name for name in order if name in have))
    return f"ORDER BY {', '.join(f'{name} DESC' for name in names)} LIMIT {most}"


def bounded(id_: str, data: str, limit: int) -> str:
    """Id, content as bytes and its size; the content is not even loaded where it is too large."""
    return (
        f"CAST({id_} AS BLOB), CASE WHEN octet_length({data}) <= {limit} THEN CAST({data} AS BLOB) END,"
        f" octet_length({data})"
    )
