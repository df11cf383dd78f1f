"""What can be searched in a `state.db`, read faster than one conversation after the other; and what of it is new.

Hermes adds rows, takes some back (`active`, `compacted`) and deletes them, and never changes their words (facts:
hermes.md 2.3). Their lengths are looked at all the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import apsw

from session_adapters.hermes.messages import HermesConversation, role_of, spoken_text, visibility_of
from session_adapters.hermes.queries import ALL, CONTENT_LIMIT, HermesSchema, page_ids, read_rows
from session_adapters.hermes.records import HermesMessageRow
from session_adapters.reading.searchable import SessionTexts, Text, texts_of
from session_adapters.reading.sqlite import DatabaseUnreadable, read_database
from session_adapters.reading.sqlite_rows import as_float, as_text, select_list
from session_adapters.times import from_epoch

__all__ = ["new_texts", "prose_texts"]

Otherwise = Callable[[str], Iterable[Text]]
"""Gives what can be read of a session in a part of the file that is damaged."""

_PAGE = 2000
"""Rows after which a read ends: a writer's checkpoint waits for the end of a read."""
_SPAN = 10_000
"""The same, of rows that are only looked at."""
_SILENT = "('tool', 'function', 'system', 'developer')"
_PLAIN = re.compile(r"[\w.:|=-]+", re.ASCII)
"""Ids that stand in JSON as they are."""


# What was said -----------------------------------------------------------------------------------------------


def prose_texts(path: str, otherwise: Otherwise) -> Iterator[Text]:
    """What was said in every session. Raises as `read_database` does, but only before it returns."""
    return _prose_of(path, read_database(path, _sessions), otherwise)


def _prose_of(path: str, ids: Sequence[str], otherwise: Otherwise) -> Iterator[Text]:
    at, after = 0, -ALL
    while at < len(ids):
        try:
            page = read_database(path, _Said(ids, at, after).read)
        except DatabaseUnreadable:
            rest = [text for text in otherwise(ids[at]) if text.prose and int(text.message_id) > after]
            page = _Page(rest, at + 1, -ALL)
        at, after = page.at, page.after
        yield from page.texts


class _Page(NamedTuple):
    texts: list[Text]
    at: int
    """Where to go on: the session, and the row after which."""
    after: int


class _Said(NamedTuple):
    """Reads on from the row `after` of the session `ids[at]`."""

    ids: Sequence[str]
    at: int
    after: int

    def read(self, connection: apsw.Connection) -> _Page:
        """The next page."""
        schema = HermesSchema.of(connection)
        found: list[Text] = []
        at, after = self.at, self.after
        if not schema.has_messages or "content" not in schema.messages:
            return _Page(found, len(self.ids), after)
        names = ("role", "timestamp", "active", "compacted", "codex_message_items")
        query = (
            f"SELECT id, CASE WHEN octet_length(content) <= {CONTENT_LIMIT} THEN CAST(content AS BLOB) END,"  # noqa: S608
            f" {select_list(schema.messages, names)} FROM messages"
            f" WHERE session_id = ?1 AND +id > ?2 AND lower(role) NOT IN {_SILENT} ORDER BY +id LIMIT {_PAGE}"
        )
        while at < len(self.ids) and len(found) < _PAGE:
            number = 0
            for row in connection.execute(query, (self.ids[at], after)):
                number, after = number + 1, row[0]
                text = _said(self.ids[at], *row)
                if text is not None:
                    found.append(text)
            if number < _PAGE:
                at, after = at + 1, -ALL
        return _Page(found, at, after)


def _said(
    session_id: str, id_: int, content: Any, role: Any, time: Any, active: Any, compacted: Any, items: Any
) -> Text | None:
    spoken = role_of(as_text(role) or "")
    if spoken not in ("user", "assistant"):
        return None
    text = spoken_text(spoken, as_text(content) or "", as_text(items))
    moment = from_epoch(as_float(time))
    at = None if moment is None else moment.timestamp()
    return Text(session_id, str(id_), spoken, at, text, "", visibility_of(active, compacted)) if text else None


def _sessions(connection: apsw.Connection) -> list[str]:
    HermesSchema.of(connection)
    rows = connection.execute("SELECT CAST(id AS BLOB) FROM sessions NOT INDEXED")
    return [found for (id_,) in rows if (found := as_text(id_)) and "\ufffd" not in found]


# What is new -------------------------------------------------------------------------------------------------


class _Mark:
    """What the rows of a session add up to now, and how far that is what it was when it was last read."""

    __slots__ = ("_before", "_check", "_rows", "known", "last")

    def __init__(self, before: str) -> None:
        """`before` is what it was as text; empty for a session that was not read."""
        self._before = tuple(before.split())
        self._rows = self._check = 0
        self.last = -ALL
        """Id of the last row."""
        self.known: int | None = None
        """Id of the last row that was read, where nothing up to it has changed."""
        self._compare()

    def feed(self, id_: int, facts: Sequence[Any]) -> None:
        """The next row, with what may change of it."""
        self._rows += 1
        self._check = crc32(repr(facts).encode(), self._check)
        self.last = id_
        if self._before:
            self._compare()

    def _compare(self) -> None:
        if self._before == (str(self._rows), str(self.last), str(self._check)):
            self.known = self.last

    def __str__(self) -> str:
        return f"{self._rows} {self.last} {self._check}"


def new_texts(path: str, marks: Mapping[str, str], otherwise: Otherwise) -> Iterator[SessionTexts]:
    """See `Adapter.new_texts`. Raises as `read_database` does, but only before it returns."""
    found = read_database(path, lambda connection: _marks(connection, marks))
    return (_session_texts(path, session_id, mark, otherwise) for session_id, mark in found.items())


def _marks(connection: apsw.Connection, marks: Mapping[str, str]) -> dict[str, _Mark]:
    found = {session_id: _Mark(marks.get(session_id, "")) for session_id in _sessions(connection)}
    schema = HermesSchema.of(connection)
    if not schema.has_messages:
        return found
    by_key = {session_id.encode(): mark for session_id, mark in found.items()}
    lengths = (f"octet_length({name})" for name in ("content", "tool_calls") if name in schema.messages)
    facts = ", ".join((select_list(schema.messages, ("active", "compacted")), *lengths))
    query = f"SELECT id, CAST(session_id AS BLOB), {facts} FROM messages WHERE id > ?1 ORDER BY id LIMIT {_SPAN}"  # noqa: S608
    after = -ALL
    while rows := _fetched(connection, query, after):
        for id_, key, *rest in rows:
            mark = by_key.get(key)
            if mark is not None:
                mark.feed(id_, rest)
        after = rows[-1][0]
    return found


def _fetched(connection: apsw.Connection, query: str, after: int) -> list[Any]:
    return connection.execute(query, (after,)).fetchall()


def _session_texts(path: str, session_id: str, mark: _Mark, otherwise: Otherwise) -> SessionTexts:
    texts: Iterable[Text] = ()
    if mark.known is None or mark.known != mark.last:
        texts = _from(path, session_id, mark.known, otherwise)
    return SessionTexts(session_id, str(mark), mark.known is None, texts)


def _from(path: str, session_id: str, known: int | None, otherwise: Otherwise) -> Iterator[Text]:
    """The texts of the rows after the id `known`, or of all."""

    def read(connection: apsw.Connection) -> list[Text]:
        schema = HermesSchema.of(connection)
        if not schema.has_messages:
            return []
        ids = [id_ for id_ in page_ids(connection, session_id, ALL, ALL) if known is None or id_ > known]
        rows, _ = read_rows(connection, schema, ids)
        above = _asking(connection, schema, session_id, known, rows) if known is not None else []
        conversation = HermesConversation(None)
        for row in (*above, *rows):
            conversation.add(row)
        return list(texts_of(session_id, conversation.messages, len(above)))

    try:
        texts: Iterable[Text] = read_database(path, read)
    except DatabaseUnreadable:
        texts = otherwise(session_id)
    yield from texts


def _asking(
    connection: apsw.Connection, schema: HermesSchema, session_id: str, known: int, rows: Sequence[HermesMessageRow]
) -> list[HermesMessageRow]:
    """The rows up to the id `known` with the calls that `rows` answer: a result that has none says more itself."""
    answered = {row.tool_call_id for row in rows if row.tool_call_id}
    if not answered or "tool_calls" not in schema.messages:
        return []
    query = "SELECT id FROM messages WHERE session_id = ?1 AND +id <= ?2 AND tool_calls <> ''"
    if all(map(_PLAIN.fullmatch, answered)):
        query += " AND EXISTS (SELECT 1 FROM json_each(?3) WHERE instr(tool_calls, value))"
    else:
        query += " AND ?3 <> ''"
    found = connection.execute(f"{query} ORDER BY +id", (session_id, known, json.dumps(sorted(answered))))
    return read_rows(connection, schema, [id_ for (id_,) in found])[0]
