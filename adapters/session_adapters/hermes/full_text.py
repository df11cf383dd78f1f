"""Hermes' own search indexes, over the content of a row and, since 0.13, its tool's name and calls.

`messages_fts` knows words. `messages_fts_trigram`, which newer homes have, knows any three characters in a row: it is
asked for runs of Han, Kana and Hangul, which the former takes for one word each. A run of one or two characters is
in neither, and then, as where there is no such index, Hermes reads every row with `LIKE`; so does this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from session_adapters.hermes.messages import role_of, visibility_of
from session_adapters.hermes.queries import Schema
from session_adapters.searchable import Text
from session_adapters.sqlite_rows import as_float, as_text, select_list

__all__ = ["ask_index"]

_WORDS = "messages_fts"
_TRIGRAMS = "messages_fts_trigram"
_LEAST = 3
"""Characters of a run that trigrams know."""


def ask_index(
    connection: apsw.Connection, expression: str, runs: Sequence[str], *, thorough: bool
) -> Sequence[Text] | None:
    """The rows that match, newest first; None where there is no index to ask or it cannot be read. Unless `thorough`
    no row is read for a run that no index knows."""
    schema = Schema.of(connection)
    if not schema.has_messages or (expression and not _exists(connection, _WORDS)) or not (expression or runs):
        return None
    names = select_list(schema.messages, ("timestamp", "active", "compacted"))
    trigrams = _exists(connection, _TRIGRAMS)
    if not thorough and not all(trigrams and len(run) >= _LEAST for run in runs):
        return None
    found = list(_conditions(expression, runs, trigrams=trigrams))
    query = (
        f"SELECT id, CAST(session_id AS BLOB), CAST(role AS BLOB), {names} FROM messages"  # noqa: S608 - our names
        f" WHERE {' AND '.join(condition for condition, _ in found)} ORDER BY id DESC"
    )
    try:
        return [
            Text(as_text(session) or "", str(id_), role_of(as_text(role) or ""), as_float(time), "", "", shown)
            for id_, session, role, time, active, compacted in connection.execute(
                query, [value for _, value in found]
            )
            if (shown := visibility_of(active, compacted))
        ]
    except (apsw.SQLError, apsw.CorruptError):  # a table of that name that is no FTS5, or one that is damaged
        return None


def _conditions(expression: str, runs: Sequence[str], *, trigrams: bool) -> Iterator[tuple[str, str]]:
    """Conditions on a row of `messages`, each with the value that it asks with."""
    if expression:
        yield _in(_WORDS), expression
    for run in runs:
        if trigrams and len(run) >= _LEAST:
            quoted = run.replace('"', '""')
            yield _in(_TRIGRAMS), f'"{quoted}"'
        else:
            yield "instr(content, ?)", run


def _in(table: str) -> str:
    return f"id IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)"  # noqa: S608 - our names


def _exists(connection: apsw.Connection, table: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table'", (table,))
    return bool(found.fetchall())
