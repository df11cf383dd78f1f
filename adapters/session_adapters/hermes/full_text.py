"""Hermes' own search index: `messages_fts`, over the content of a row and, since 0.13, its tool's name and calls.

Newer homes have a second one of trigrams, for texts without blanks. It finds parts of words, so it answers another
question, and is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from session_adapters.hermes.messages import role_of, visibility_of
from session_adapters.hermes.queries import Schema
from session_adapters.searchable import Text
from session_adapters.sqlite_rows import as_float, as_text, select_list

__all__ = ["ask_index"]

_TABLE = "messages_fts"


def ask_index(connection: apsw.Connection, expression: str) -> Sequence[Text] | None:
    """The rows that match, newest first; None where there is no index or it cannot be read."""
    schema = Schema.of(connection)
    if not schema.has_messages or not _exists(connection):
        return None
    names = select_list(schema.messages, ("timestamp", "active", "compacted"))
    query = (
        f"SELECT id, CAST(session_id AS BLOB), CAST(role AS BLOB), {names} FROM messages"  # noqa: S608 - our names
        f" WHERE id IN (SELECT rowid FROM {_TABLE} WHERE {_TABLE} MATCH ?) ORDER BY id DESC"
    )
    try:
        return [
            Text(as_text(session) or "", str(id_), role_of(as_text(role) or ""), as_float(time), "", "", shown)
            for id_, session, role, time, active, compacted in connection.execute(query, (expression,))
            if (shown := visibility_of(active, compacted))
        ]
    except (apsw.SQLError, apsw.CorruptError):  # a table of that name that is no FTS5, or one that is damaged
        return None


def _exists(connection: apsw.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table'", (_TABLE,))
    return bool(found.fetchall())
