"""Queries Hermes' own full-text indexes.

They cover the content of a row and, since 0.13, its tool's name and calls.

`messages_fts` knows words. `messages_fts_trigram`, which newer homes have, knows any three characters in a row: it is
asked for runs of Han, Kana and Hangul, which the former takes for one word each. A run of one or two characters is
in neither, and then, as where there is no such index, Hermes reads every row with `LIKE`; so does this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import apsw

from session_adapters.hermes.messages import role_of, visibility_of
from session_adapters.hermes.session_queries import HermesSchema
from session_adapters.reading.searchable import Text
from session_adapters.reading.sqlite_rows import as_float, as_text, select_list

__all__ = ["ask_index"]

_WORDS = "messages_fts"
_TRIGRAMS = "messages_fts_trigram"
_LEAST = 3
"""Characters of a run that trigrams know."""
_BY_SESSION = "idx_messages_session"
_FEW = 64
"""Of so many sessions, at most, the rows are found by that index: those of others, which lie all over the file, are
not read for what session they are of."""


def ask_index(
    connection: apsw.Connection,
    expression: str,
    runs: Sequence[str],
    session_ids: Collection[str] | None = None,
    *,
    thorough: bool,
) -> Sequence[Text] | None:
    """The rows that match, newest first; those of `session_ids` alone, where given. None where there is no index to
    ask or it cannot be read. Unless `thorough` no row is read for a run that no index knows."""
    schema = HermesSchema.of(connection)
    if not schema.has_messages or (expression and not _exists(connection, _WORDS)) or not (expression or runs):
        return None
    trigrams = _exists(connection, _TRIGRAMS)
    if not thorough and not all(trigrams and len(run) >= _LEAST for run in runs):
        return None
    few: Collection[str] = ()
    if (
        session_ids is not None
        and len(session_ids) <= _FEW
        and not any("\ufffd" in one for one in session_ids)  # read from bytes that are no text, not what stands there
        and _exists(connection, _BY_SESSION, "index")
    ):
        few = session_ids
    found = list(_conditions("+id" if few else "id", expression, runs, trigrams=trigrams))
    conditions = [condition for condition, _ in found]
    if few:
        conditions.append(f"session_id IN ({', '.join('?' * len(few))})")
    names = select_list(schema.messages, ("timestamp", "active", "compacted"))
    query = (
        f"SELECT id, CAST(session_id AS BLOB), CAST(role AS BLOB), {names} FROM messages"  # noqa: S608 - our names
        f" WHERE {' AND '.join(conditions)} ORDER BY id DESC"
    )
    try:
        return [
            Text(
                session,
                str(id_),
                role_of(as_text(role) or ""),
                as_float(time),
                "",
                "",
                visibility_of(active, compacted),
            )
            for id_, raw, role, time, active, compacted in connection.execute(
                query, [*(value for _, value in found), *few]
            )
            for session in (as_text(raw) or "",)
            if session_ids is None or session in session_ids
        ]
    except (apsw.SQLError, apsw.CorruptError):  # a table of that name that is no FTS5, or one that is damaged
        return None


def _conditions(id_: str, expression: str, runs: Sequence[str], *, trigrams: bool) -> Iterator[tuple[str, str]]:
    """Conditions on a row of `messages`, each with the value that it asks with. With `+id` for `id_` SQLite does
    not begin with the rows that match."""
    if expression:
        yield _in(id_, _WORDS), expression
    for run in runs:
        if trigrams and len(run) >= _LEAST:
            quoted = run.replace('"', '""')
            yield _in(id_, _TRIGRAMS), f'"{quoted}"'
        else:
            yield "instr(content, ?)", run


def _in(id_: str, table: str) -> str:
    return f"{id_} IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)"  # noqa: S608 - our names


def _exists(connection: apsw.Connection, name: str, kind: str = "table") -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ? AND type = ?", (name, kind))
    return bool(found.fetchall())
