"""The SQL that reads the rows of one Hermes session."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from session_adapters.hermes.records import MESSAGES, HermesMessageRow
from session_adapters.hermes.session_queries import CONTENT_LIMIT, HermesSchema
from session_adapters.reading.bounds import excess
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.sqlite_limits import SESSION_ROWS, Ration, first_of_newest
from session_adapters.reading.sqlite_rows import DAMAGE, VALUE_LIMIT, as_text, each_or_alone, select_list

__all__ = ["ALL", "HermesMark", "HermesRows"]

ALL = 1 << 62
"""After every row id."""
_PART = 1000
"""Messages read in one statement."""


class HermesMark(NamedTuple):
    """What tells that a row was rewound, compacted or edited, without reading its text."""

    id: int
    active: int | None = None
    compacted: int | None = None
    content: int | None = None
    """Bytes, as in the next one."""
    calls: int | None = None
    asks: int | None = None
    """A user speaks."""


class HermesRows(NamedTuple):
    """Rows of a session in the order of their ids."""

    rows: list[HermesMessageRow]
    lost: list[tuple[int, str]]
    """What could not be read of them: (id, reason)."""
    left: int = 0
    """Rows before these that are left out: there are too many, or too much is in them."""

    def tell(self, damaged: Damage) -> None:
        """What of the session is not there."""
        if self.left:
            before = f"before message {self.rows[0].id}" if self.rows else ""
            damaged.add(before, excess(self.left), self.left)
        for id_, reason in self.lost:
            damaged.add(f"message {id_}", reason)


def read_marks(
    connection: apsw.Connection, schema: HermesSchema, session_id: str, first: int, before: int = ALL
) -> list[HermesMark]:
    """The marks of a session's rows from the id `first` on, those before the id `before`."""
    have = schema.messages
    flags = select_list(have, ("active", "compacted"))
    sizes = ", ".join(f"octet_length({name})" if name in have else "NULL" for name in ("content", "tool_calls"))
    asks = "lower(role) IN ('user', 'human')"
    query = f"SELECT id, {flags}, {sizes}, {asks} FROM messages WHERE "  # noqa: S608 - names of our own
    try:
        rows = connection.execute(
            f"{query} session_id = ?1 AND +id >= ?2 AND +id < ?3 ORDER BY +id LIMIT {SESSION_ROWS}",
            (session_id, first, before),
        )
        return [HermesMark(*row) for row in rows]
    except DAMAGE:
        ids = page_ids(connection, session_id, before, SESSION_ROWS)
    # One by one, in a table that is damaged: a row that cannot be read has an empty mark.
    found: list[HermesMark] = []
    for id_ in ids:
        if id_ < first:
            continue
        try:
            row = next(iter(connection.execute(query + " id = ?1", (id_,))), None)
        except DAMAGE:
            row = None
        found.append(HermesMark(id_) if row is None else HermesMark(*row))
    return found


def page_ids(connection: apsw.Connection, session_id: str, before: int, limit: int) -> list[int]:
    """The ids of the last `limit` rows of a session before the id `before`, in order."""
    # `+id`, here and below, keeps SQLite from walking through the rows of all other sessions in the order of ids.
    rows = connection.execute(
        "SELECT id FROM messages WHERE session_id = ?1 AND +id < ?2 ORDER BY +id DESC LIMIT ?3",
        (session_id, before, limit),
    )
    return [id_ for (id_,) in rows][::-1]


def next_ids(connection: apsw.Connection, session_id: str, after: int, limit: int) -> list[int]:
    """The ids of the first `limit` rows of a session after the id `after`, in order."""
    rows = connection.execute(
        "SELECT id FROM messages WHERE session_id = ?1 AND +id > ?2 ORDER BY +id LIMIT ?3", (session_id, after, limit)
    )
    return [id_ for (id_,) in rows]


def share_before(connection: apsw.Connection, session_id: str, first: int) -> float:
    """Which part of a session's rows come before the id `first`; from the index alone."""
    query = "SELECT avg(+id < ?2) FROM messages WHERE session_id = ?1"
    ((share,),) = connection.execute(query, (session_id, first))
    return float(share or 0)


def session_rows(connection: apsw.Connection, schema: HermesSchema, session_id: str, after: int = -ALL) -> HermesRows:
    """The rows of a session after an id."""
    ids = [id_ for id_ in page_ids(connection, session_id, ALL, SESSION_ROWS) if id_ > after]
    read = read_rows(connection, schema, ids)
    return read._replace(left=read.left + _before(connection, session_id, after, len(ids)))


def _before(connection: apsw.Connection, session_id: str, after: int, number: int) -> int:
    """How many rows of a session after an id are before the last `number`, which are all that are looked at."""
    if number < SESSION_ROWS:
        return 0
    query = "SELECT count(*) FROM messages WHERE session_id = ?1 AND +id > ?2"
    ((every,),) = connection.execute(query, (session_id, after))
    return int(every) - number


def sized_ids(
    connection: apsw.Connection, schema: HermesSchema, session_id: str
) -> tuple[Sequence[int], Sequence[int], int]:
    """The rows that `session_rows` reads of a session: their ids, the bytes in each, and how many rows before
    them are left out. Nothing that they say is held."""
    sizes = " + ".join(_size(name) for name in MESSAGES.names if name in schema.messages)
    query = f"SELECT id, {sizes} FROM messages WHERE session_id = ?1 ORDER BY +id DESC LIMIT {SESSION_ROWS}"  # noqa: S608
    ids, bytes_of = array("q"), array("q")
    try:
        for id_, size in connection.execute(query, (session_id,)):
            ids.append(id_)
            bytes_of.append(size)
    except DAMAGE:  # reading them one by one says which
        ids = array("q", page_ids(connection, session_id, ALL, SESSION_ROWS)[::-1])
        bytes_of = array("q", [0] * len(ids))
    left = _before(connection, session_id, -ALL, len(ids))
    ids.reverse()
    bytes_of.reverse()
    first = first_of_newest(bytes_of)
    return ids[first:], bytes_of[first:], left + first


def _size(name: str) -> str:
    """An expression for the bytes that a value has as `_backwards` reads it: for a `Ration` a number has none, nor
    has what is too long."""
    long = CONTENT_LIMIT if name == "content" else VALUE_LIMIT
    kind = "" if name == "content" else f" AND typeof({name}) IN ('text', 'blob')"
    return f"CASE WHEN octet_length({name}) <= {long}{kind} THEN octet_length({name}) ELSE 0 END"


def read_rows(connection: apsw.Connection, schema: HermesSchema, ids: Sequence[int]) -> HermesRows:
    """The rows with these ids; where that is too much at once, the last of them."""
    found: list[HermesMessageRow] = []
    lost: list[tuple[int, str]] = []
    ration = Ration()
    for rows in _backwards(connection, schema, ids, ration, lost):
        found += rows
    left = len(ids) - len(found) if ration.spent else 0
    return HermesRows(found[::-1], lost[::-1], left)


def _backwards(
    connection: apsw.Connection,
    schema: HermesSchema,
    ids: Sequence[int],
    ration: Ration,
    lost: list[tuple[int, str]],
) -> Iterator[list[HermesMessageRow]]:
    """The rows with these ids from the last on, some at a time, as far as there is room."""
    columns = [select_list(schema.messages, (name,)) for name in MESSAGES.names]
    size_of = "0"
    if "content" in schema.messages:
        size_of = "octet_length(content)"
        cut = f"CASE WHEN {size_of} <= {CONTENT_LIMIT} THEN CAST(content AS BLOB) END"
        columns[MESSAGES.names.index("content")] = cut
    query = (
        f"SELECT {size_of}, {', '.join(columns)} FROM messages"  # noqa: S608 - names of our own
        " WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id DESC"
    )
    for stop in range(len(ids), 0, -_PART):
        part = ids[max(0, stop - _PART) : stop]
        rows: list[Any] = each_or_alone(
            part[::-1],
            lambda some: ration.take(connection.execute(query, (json.dumps(list(some)),))),
            lambda id_, error: lost.append((id_, f"the row is damaged ({error})")),
        )
        found: list[HermesMessageRow] = []
        for size, *values in rows:
            found.append(MESSAGES.read(values))
            if (size or 0) > CONTENT_LIMIT:
                lost.append((found[-1].id, f"its text is too large to be read ({size} bytes)"))
        yield found
        if ration.spent:
            return


def exists(connection: apsw.Connection, session_id: str) -> bool:
    """Whether there is a session of that id, read from the index of ids."""
    return bool(connection.execute("SELECT 1 FROM sessions WHERE id = ?1", (session_id,)).fetchall())


def model_of(connection: apsw.Connection, schema: HermesSchema, session_id: str) -> str | None:
    """The model that a session talks to, as its row says."""
    if "model" not in schema.sessions:
        return None
    rows: Iterable[tuple[Any]] = connection.execute(
        "SELECT CAST(model AS BLOB) FROM sessions WHERE id = ?1", (session_id,)
    )
    return next((as_text(model) for (model,) in rows), None) or None
