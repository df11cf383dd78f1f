"""Which rows belong to a session: found by the foreign keys that the store has.

`messages` is deleted first, as Hermes does; what else points at a session goes with it, because its table says so
(`ON DELETE CASCADE`). A table that does not say so is one that nobody here knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from hermes_tui.lifecycle.lane_index.rows import StoredLanes
from hermes_tui.lifecycle.operations.plan import Removal

__all__ = ["SessionTables", "is_gone", "quoted", "removal", "session_tables"]


class SessionTables(msgspec.Struct, frozen=True, kw_only=True):
    """The tables that point at sessions, `sessions` itself left out."""

    columns: Mapping[str, str]
    """Table → its column with the session's id; rows that are deleted with the session."""
    unknown: tuple[str, ...] = ()
    """Tables that keep a session from being deleted."""


def session_tables(rows: StoredLanes) -> SessionTables:
    """Look them up. Raises what `rows` raises."""
    columns, unknown = {}, []
    for (table,) in rows.select("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"):
        for _, _, target, column, _, _, on_delete, *_ in rows.select(f"PRAGMA foreign_key_list({quoted(table)})"):
            if target != "sessions" or table == "sessions":
                continue
            if table == "messages" or on_delete == "CASCADE":
                columns[str(table)] = str(column)
            else:
                unknown.append(str(table))
    return SessionTables(columns=columns, unknown=tuple(unknown))


def removal(rows: StoredLanes, tables: SessionTables, session_id: str, *, only: Iterable[str] = ()) -> Removal:
    """What is removed of a session: its row and all that belongs to it, or `only` rows of these tables."""
    wanted = list(only) or list(tables.columns)
    counts = {}
    for table in wanted:
        query = f"SELECT count(*) FROM {quoted(table)} WHERE {quoted(tables.columns[table])} = ?"  # noqa: S608
        counts[table] = int(rows.select(query, (session_id,))[0][0])
    last = rows.select("SELECT COALESCE(MAX(id), 0) FROM messages WHERE session_id = ?", (session_id,))[0][0]
    whole = {} if only else {"sessions": 1}
    return Removal(session_id=session_id, tables={**counts, **whole}, last_message=int(last))


def is_gone(rows: StoredLanes, one: Removal) -> bool:
    """Whether what is to be removed is not there. Raises what `rows` raises."""
    if "sessions" in one.tables:
        return rows.session(one.session_id) is None
    return not rows.select("SELECT 1 FROM messages WHERE session_id = ? LIMIT 1", (one.session_id,))


def quoted(name: str) -> str:
    """A name as SQLite takes it, whatever stands in it."""
    return '"' + name.replace('"', '""') + '"'
