"""Search texts of a `state.db`, and which of them are new.

Hermes adds rows, takes some back (`active`, `compacted`) and deletes them, and never changes their words (facts:
hermes.md 2.3). Their lengths are looked at all the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any
from zlib import crc32

import apsw

from session_adapters.base import Report
from session_adapters.hermes.message_queries import ALL, exists, read_rows, session_rows, sized_ids
from session_adapters.hermes.messages import HermesConversation
from session_adapters.hermes.records import HermesMessageRow
from session_adapters.hermes.session_queries import HermesSchema
from session_adapters.model import Problem, SessionUnreadable
from session_adapters.reading.bounds import excess, unread
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.searchable import PagedTexts, SessionTexts, Text, pages, texts_of
from session_adapters.reading.sqlite import DatabaseUnreadable, SessionGone, read_database, reading_stored
from session_adapters.reading.sqlite_rows import as_text, select_list

__all__ = ["ALIKE", "PAGE_ROWS", "every_text", "new_texts", "session_texts"]

Otherwise = Callable[[str], Iterable[Text]]
"""Gives what can be read of a session in a part of the file that is damaged."""

PAGE_ROWS = 2_000
"""Rows after which a read ends: a writer's checkpoint waits for the end of a read, and they are held together."""
ALIKE = 8
"""Rows whose calls may be the one that a result answers, by its id: the last ones."""
_PLAIN = re.compile(r"[\w.:|=-]+", re.ASCII)
"""Ids that stand in JSON as they are."""


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


def new_texts(path: str, marks: Mapping[str, str], otherwise: Otherwise, report: Report) -> Iterator[SessionTexts]:
    """See `Adapter.new_texts`. Raises as `read_database` does, but only before it returns."""

    names = read_database(path, _names)
    found = {session_id: _Mark(marks.get(session_id, "")) for session_id in names}
    by_key = {session_id.encode(): mark for session_id, mark in found.items()}
    after = -ALL
    while rows := read_database(path, partial(_looks, after)):
        for id_, key, *rest in rows:
            mark = by_key.get(key)
            if mark is not None:
                mark.feed(id_, rest)
        after = rows[-1][0]
    # What nothing was said in has no texts: of a million such sessions none is opened.
    spoken = ((session_id, mark) for session_id, mark in found.items() if mark.last > -ALL)
    return (
        SessionTexts(
            session_id,
            str(mark),
            mark.known is None,
            () if mark.known == mark.last else _from(path, session_id, mark.known, otherwise, report),
        )
        for session_id, mark in spoken
    )


def every_text(path: str, otherwise: Otherwise, report: Report) -> Iterator[Text]:
    """The texts of every session. Raises as `read_database` does, but only before it returns."""
    names = read_database(path, partial(_names, spoken=True))
    return chain.from_iterable(_from(path, session_id, None, otherwise, report) for session_id in names)


def _names(connection: apsw.Connection, *, spoken: bool = False) -> list[str]:
    """The ids of all sessions, or of those in which something was said."""
    schema = HermesSchema.of(connection)
    if spoken and not schema.has_messages:
        return []
    where = " WHERE id IN (SELECT session_id FROM messages)" if spoken else ""
    rows = connection.execute(f"SELECT CAST(id AS BLOB) FROM sessions NOT INDEXED{where}")  # noqa: S608
    return [found for (id_,) in rows if (found := as_text(id_)) and "\ufffd" not in found]


def _looks(after: int, connection: apsw.Connection) -> list[Any]:
    """The next rows of all sessions, without their texts."""
    schema = HermesSchema.of(connection)
    if not schema.has_messages:
        return []
    lengths = (f"octet_length({name})" for name in ("content", "tool_calls") if name in schema.messages)
    facts = ", ".join((select_list(schema.messages, ("active", "compacted")), *lengths))
    query = f"SELECT id, CAST(session_id AS BLOB), {facts} FROM messages WHERE id > ?1 ORDER BY id LIMIT {PAGE_ROWS}"  # noqa: S608
    return connection.execute(query, (after,)).fetchall()


def _from(path: str, session_id: str, known: int | None, otherwise: Otherwise, report: Report) -> Iterator[Text]:
    """The texts of the rows after the id `known`, or of all."""
    reading = _Pages(path, session_id)
    try:
        yield from reading.texts() if known is None else reading.added(known)
    except DatabaseUnreadable:
        yield from islice(otherwise(session_id), reading.given, None)
        return
    if reading.left:
        report(Problem(agent="hermes", path=path, reason=excess(reading.left), session_id=session_id))


def session_texts(path: str, session_id: str) -> Iterator[Text]:
    """See `Adapter.session_texts`."""
    reading = _Pages(path, session_id)
    with reading_stored("hermes", session_id, path):
        yield from reading.texts(listed=True)
    if reading.left:
        raise SessionUnreadable(excess(reading.left))
    if reading.damaged:
        raise SessionUnreadable(unread(len(reading.damaged)))


class _Pages:
    """Reads the texts of a session. Raises as `read_database` does, also after some of them."""

    def __init__(self, path: str, session_id: str) -> None:
        self._path, self._session_id = path, session_id
        self.given = self.left = 0
        """Texts so far; rows for which there is no room."""
        self.damaged = Damage()

    def texts(self, *, listed: bool = False) -> Iterator[Text]:
        """All of them, a page at a time. With `listed` raises `SessionGone` for one that has no row of its own."""
        texts = PagedTexts(self._session_id)

        def ids_of(connection: apsw.Connection) -> tuple[Sequence[int], Sequence[int], int]:
            schema = HermesSchema.of(connection)
            if listed and not exists(connection, self._session_id):
                raise SessionGone(self._session_id)
            return sized_ids(connection, schema, self._session_id) if schema.has_messages else ((), (), 0)

        ids, sizes, self.left = read_database(self._path, ids_of)
        for span in pages(sizes):
            conversation, left = read_database(self._path, partial(self._page, ids[span]))
            self.damaged.extend(conversation.damaged)
            self.left += left
            yield from self._counted(texts.of(conversation.messages))

    def added(self, known: int) -> Iterator[Text]:
        """Those of the rows after the id `known`."""

        def read(connection: apsw.Connection) -> tuple[list[Text], int]:
            schema = HermesSchema.of(connection)
            if not schema.has_messages:
                return [], 0
            rows, _, left = session_rows(connection, schema, self._session_id, known)
            above = _asking(connection, schema, self._session_id, known, rows)
            conversation = HermesConversation(None)
            for row in (*above, *rows):
                conversation.add(row)
            return list(texts_of(self._session_id, conversation.messages, len(above))), left

        texts, self.left = read_database(self._path, read)
        yield from self._counted(texts)

    def _counted(self, texts: Iterable[Text]) -> Iterator[Text]:
        for text in texts:
            self.given += 1
            yield text

    def _page(self, ids: Sequence[int], connection: apsw.Connection) -> tuple[HermesConversation, int]:
        rows = read_rows(connection, HermesSchema.of(connection), ids)
        conversation = HermesConversation(None)
        for row in rows.rows:
            conversation.add(row)
        rows.tell(conversation.damaged)
        return conversation, rows.left


def _asking(
    connection: apsw.Connection, schema: HermesSchema, session_id: str, known: int, rows: Sequence[HermesMessageRow]
) -> list[HermesMessageRow]:
    """The rows up to the id `known` with the calls that `rows` answer: a result that has none says more itself."""
    answered = {row.tool_call_id for row in rows if row.tool_call_id}
    if not answered or "tool_calls" not in schema.messages:
        return []
    held = "messages m WHERE m.session_id = ?1 AND +m.id <= ?2 AND m.tool_calls <> ''"
    if all(map(_PLAIN.fullmatch, answered)):
        # Some models name the calls of each turn alike: of a long session that would be all of it.
        named = f"json_each(?3) named, {held} AND instr(m.tool_calls, named.value)"
        exact = "instr(m.tool_calls, '\"' || named.value || '\"') > 0"
        nth = f"row_number() OVER (PARTITION BY named.value ORDER BY {exact} DESC, m.id DESC) AS nth"
        query = f"SELECT DISTINCT id FROM (SELECT m.id AS id, {nth} FROM {named}) WHERE nth <= {ALIKE} ORDER BY id"  # noqa: S608
    else:
        query = f"SELECT m.id FROM {held} AND ?3 <> '' ORDER BY +m.id"  # noqa: S608
    found = connection.execute(query, (session_id, known, json.dumps(sorted(answered))))
    return read_rows(connection, schema, [id_ for (id_,) in found]).rows
