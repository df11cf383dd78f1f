"""Counts the words of a query in the messages that it finds, for their rank.

FTS5 is asked for the rows and for where in each the phrases stand; what was thought stands at the beginning of a
message's tool text and is not counted. How long a message is it has noted beside each row.
"""
# ruff: noqa: S608 - what is put into the statements is ours

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import apsw
import msgspec

from hermes_tui.sessions.index.reading.questions import Field, Question
from hermes_tui.sessions.index.reading.rows import Place, Value, names_of, select_rows, select_words
from hermes_tui.sessions.index.schema import TABLES

__all__ = ["Collected", "Counted", "collected", "counted", "frequency", "note_collected", "prepare"]

_FUNCTION = "hermes_tui_places"
_FIELDS: Sequence[Field] = ("prose", "tool")
_PHRASE = re.compile(r'"(?:[^"]|"")*"\*?')
_COUNTED = 50
"""Occurrences in a row; more are not counted."""
_MOST_PLACES = 400
"""Of one phrase in one row, those that were thought among them."""
_MOST_EXACT = 1_000
"""Rows of a phrase that are looked at; of more it is enough to know how many there are."""
_MOST_ROWS = 50_000
"""A phrase that stands in more counts as little as it can anyhow."""
_SAID = "SELECT json_group_array(id) FROM (SELECT rowid AS id FROM prose WHERE prose MATCH ? LIMIT ?)"
_WROTE = f"""
SELECT json_group_array(iif(places ->> '$[0][#-1]' >= coalesce(thought, 0), found.id, -found.id)) FROM (
    SELECT rowid AS id, {_FUNCTION}(tool) AS places FROM tool WHERE tool MATCH ? LIMIT ?) AS found
    CROSS JOIN message ON message.id = found.id
"""
"""A row is negative in which the phrase was only thought, as far as its first places tell."""

_FACTS = """
SELECT json_group_array(json_array(found.said, found.which, found.places, source.id, source.agent, source.path,
    source.native, session.native, message.id, message.key, message.at, message.role, message.visibility,
    coalesce(message.thought, 0), (SELECT hex(sz) FROM prose_docsize WHERE id = message.id),
    (SELECT hex(sz) FROM tool_docsize WHERE id = message.id)))
FROM ({rows}) AS found CROSS JOIN message ON message.id = found.id
    JOIN session ON session.id = message.session JOIN source ON source.id = session.source
"""
_AMONG = """
+{row} IN (SELECT message.id FROM json_each(?) AS wanted
    CROSS JOIN source ON source.agent = value ->> 0 AND source.path = value ->> 1 AND source.native = value ->> 2
    CROSS JOIN session ON session.source = source.id AND session.native = value ->> 3
    CROSS JOIN message ON message.session = session.id)
"""
_COMMITS = "(SELECT value FROM meta WHERE key='commits')"
_NOTED = f"SELECT value -> 1 FROM meta WHERE key='collected' AND value ->> 0 = {_COMMITS}"
_NOTE = f"INSERT OR REPLACE INTO meta VALUES('collected', json_array({_COMMITS}, json_array(?, ?)))"
_PAIR = msgspec.json.Decoder(tuple[int, int])
_PLACES = msgspec.json.Decoder(list[list[int]])


class _Row(msgspec.Struct, frozen=True, array_like=True):
    """As `_FACTS` has it."""

    said: int
    which: int
    """Case of the question."""
    places: str
    source: int
    agent: str
    path: str
    native: str
    session: str
    row: int
    key: str
    at: int | None
    role: str
    visibility: int
    thought: int
    prose: str | None
    """Words of its prose, and then of its tool text, as FTS5 notes them, in hexadecimal."""
    tool: str | None

    @property
    def length(self) -> int:
        """Words of the message, without those that were thought."""
        every = sum(_numbers(bytes.fromhex(size))[0] for size in (self.prose, self.tool) if size)
        return max(0, every - self.thought)


_ROWS = msgspec.json.Decoder(list[_Row])


class Collected(NamedTuple):
    """All messages that there are."""

    messages: int
    average: float
    """Words of one."""


class Counted(NamedTuple):
    """A row that was found, and how often the phrases stand in its message, as far as its rows were found."""

    row: int
    said: bool
    """It is one of prose."""
    source: int
    """Number of the source."""
    place: Place
    key: str
    at: int | None
    """Milliseconds since the epoch."""
    role: str
    visibility: int
    """As `source_state.VISIBILITY` numbers them."""
    counts: Mapping[str, int]
    """Phrase, as FTS5 is asked for it → how often."""
    length: int
    """Words of the message."""


def prepare(connection: apsw.Connection) -> None:
    """Have a connection know what the statements here ask for."""
    connection.register_fts5_function(_FUNCTION, _places)


def _places(api: apsw.FTS5ExtensionApi, *_: Any) -> str:
    """Of each phrase of the expression where it stands in the row, in words from its beginning."""
    found = [api.phrase_column_offsets(phrase, 0)[:_MOST_PLACES] for phrase in range(api.phrase_count)]
    return msgspec.json.encode(found).decode()


def collected(connection: apsw.Connection) -> Collected:
    """How many messages there are and how long they are: as the writer noted it, else, or where something was written
    since, by a look at each of them."""
    noted = connection.execute(_NOTED).get
    messages, words = _PAIR.decode(noted) if noted is not None else _added_up(connection)
    return Collected(messages, words / messages if messages else 0.0)


def note_collected(connection: apsw.Connection) -> None:
    """Spare readers the look at each message; by the writer, when it is through."""
    if connection.execute(_NOTED).get is None:
        connection.execute(_NOTE, _added_up(connection))


def _added_up(connection: apsw.Connection) -> tuple[int, int]:
    """Messages, and words in them."""
    messages = int(connection.execute("SELECT count(*) FROM message").get)
    thought = int(connection.execute("SELECT coalesce(sum(thought), 0) FROM message").get)
    words = 0
    for table in TABLES:
        # FTS5 keeps the number of words, behind that of the rows, in the first row of a table's data.
        record = connection.execute(f"SELECT block FROM {table}_data WHERE id = 1").get
        words += _numbers(record)[1] if record else 0
    return messages, words - thought


def _numbers(record: bytes) -> list[int]:
    """SQLite's integers of variable length, one after the other."""
    found: list[int] = []
    value = length = 0
    for byte in record:
        length += 1
        if length == 9:  # the last byte there can be: all eight of its bits count
            found.append(value << 8 | byte)
        elif byte & 0x80:
            value = value << 7 | byte & 0x7F
            continue
        else:
            found.append(value << 7 | byte)
        value = length = 0
    return found


def frequency(connection: apsw.Connection, phrase: str) -> int:
    """In how many messages a phrase stands. Where they are many it may be more, by those that only thought it or have
    it twice, and where they are very many not all are counted."""
    limits = (phrase, _MOST_EXACT + 1)
    rows = [connection.execute(sql, limits).get for sql in (_SAID, _WROTE)]
    found = [msgspec.json.decode(one, type=list[int]) for one in rows]
    if all(len(one) <= _MOST_EXACT for one in found):
        return len({row for one in found for row in one if row > 0})
    sql = "SELECT count(*) FROM (SELECT 1 FROM {0} WHERE {0} MATCH ? LIMIT ?)"
    return sum(int(connection.execute(sql.format(table), (phrase, _MOST_ROWS)).get) for table in TABLES)


def counted(
    connection: apsw.Connection, asked: Question, most: int, among: Collection[Place] | None = None
) -> list[Counted]:
    """The newest rows of a question, at most `most`, with what stands in their messages; of sessions `among` those
    alone."""
    meant = names_of(connection)
    selects: list[str] = []
    bound: list[Value] = []
    for number, case in enumerate(asked.cases):
        for field in _FIELDS:
            if case.words:
                more = f", {number} AS which, {_FUNCTION}({field}) AS places"
                each = [select_words(case, field, meant, more=more)]
            else:
                more = f"SELECT id, said, {number} AS which, '[]' AS places FROM"
                each = [(f"{more} ({sql}) WHERE 1", one) for sql, one in select_rows(case, field, meant, alone=False)]
            only = "" if among is None else _AMONG.format(row=f"{field}.rowid" if case.words else "id")
            selects += [f"{sql} AND {only}" if only else sql for sql, _ in each]
            for _, values in each:
                bound += values if among is None else [*values, msgspec.json.encode(list(among)).decode()]
    rows = f"{' UNION ALL '.join(selects)} ORDER BY id DESC, said DESC LIMIT ?"
    found = _ROWS.decode(connection.execute(_FACTS.format(rows=rows), (*bound, most)).get)
    return _together(found, [_PHRASE.findall(case.words) for case in asked.cases])


def _together(found: Sequence[_Row], phrases: Sequence[Sequence[str]]) -> list[Counted]:
    """The rows, with what stands in both those of a message added up."""
    counts: dict[tuple[int, int], dict[str, int]] = {}
    for one in found:
        thought = 0 if one.said else one.thought
        each = counts.setdefault((one.row, one.said), {})
        for phrase, offsets in zip(phrases[one.which], _PLACES.decode(one.places), strict=True):
            number = min(_COUNTED, sum(offset >= thought for offset in offsets) if thought else len(offsets))
            # Several cases may have found the row: what stands in it is not added up for them.
            each[phrase] = max(number, each.get(phrase, 0))
    hits: dict[tuple[int, int], Counted] = {}
    for one in found:
        prose, tool = (counts.get((one.row, said), {}) for said in (1, 0))
        both = {phrase: prose.get(phrase, 0) + tool.get(phrase, 0) for phrase in {**prose, **tool}}
        place = (one.agent, one.path, one.native, one.session)
        facts = (one.row, bool(one.said), one.source, place, one.key, one.at, one.role, one.visibility)
        hits[one.row, one.said] = Counted(*facts, both, one.length)
    return list(hits.values())
