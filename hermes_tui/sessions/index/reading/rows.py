"""SQL for the rows that answer a question, and for their messages.

Each statement gives all it finds as one value: for each row that SQLite gives, this thread would have to wait for the
others.
"""
# ruff: noqa: S608 - what is put into the statements is ours

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache

import apsw
import msgspec

from hermes_tui.sessions.index.reading.questions import Case, Field, Name, Question
from hermes_tui.sessions.index.schema import ROLE
from hermes_tui.sessions.index.source_state import VISIBILITY

__all__ = ["Facts", "Place", "Value", "field_of", "holding", "names_of", "page", "select_rows", "select_words"]

Value = str | int
Meant = Callable[[Name], Sequence[int]]
Place = tuple[str, str, str, str]
"""Agent, path and native id of a source, native id of a session."""
Facts = tuple[int, int, str, str, str, str, str, int | None, str, int, int, int]
"""A row's number twice over, plus one for prose; of its source the number, agent, path and native id; native id of
the session; key of the message, its time in milliseconds, its role, its visibility; how many rows it stands for, and
the last of them."""

_FACTS = """
SELECT json_group_array(json_array(wanted.number, source.id, source.agent, source.path, source.native,
    session.native, message.key, message.at, message.role, message.visibility, wanted.many, wanted.last))
FROM ({wanted}) AS wanted CROSS JOIN message ON message.id = wanted.number >> 1
    JOIN session ON session.id = message.session JOIN source ON source.id = session.source
"""
_EACH = "SELECT id * 2 + said AS number, 1 AS many, id * 2 + said AS last FROM ({rows})"
_REWOUND = VISIBILITY.index("rewound")
_GROUPED = f"""
SELECT max(found.number) AS number, count(*) AS many, min(found.number) AS last
FROM (SELECT id * 2 + said AS number FROM ({{rows}})) AS found
    CROSS JOIN message ON message.id = found.number >> 1 {{only}}
GROUP BY message.session, message.visibility = {_REWOUND}, message.role = 'user', found.number & 1
"""
_HOLDING = """
SELECT json_group_array(json_array(
    source.id, wanted.said, json_array(source.agent, source.path, source.native, session.native)))
FROM (SELECT DISTINCT message.session AS id, said FROM ({rows}) AS found
        CROSS JOIN message ON message.id = found.id WHERE message.visibility <> ?) AS wanted
    CROSS JOIN session ON session.id = wanted.id CROSS JOIN source ON source.id = session.source
"""
_AMONG = """
WHERE message.session IN (SELECT session.id FROM json_each(?) AS wanted
    CROSS JOIN source ON source.agent = value ->> 0 AND source.path = value ->> 1 AND source.native = value ->> 2
    CROSS JOIN session ON session.source = source.id AND session.native = value ->> 3)
"""
EVER = (0, 1 << 62)
"""All rows: the first, and the one behind the last."""
_STRETCHES = 40
"""Stretches of `called`, each in the order of its messages, that SQLite may merge as they are read."""
_LOOKS = 4
"""Looks into `called` that are worth it for each row, where nearly every row is of the name."""
_DECODER = msgspec.json.Decoder(list[Facts])
_HELD = msgspec.json.Decoder(list[tuple[int, int, Place]])


def field_of(prose: int) -> Field:
    """The table of a row, by the last bit of its number."""
    return "prose" if prose else "tool"


def page(
    connection: apsw.Connection,
    asked: Question,
    fields: Sequence[Field],
    low: int,
    below: int,
    *,
    most: int = -1,
    each: bool = False,
    among: Collection[Place] | None = None,
) -> list[Facts]:
    """What is known of `most` rows whose numbers are below `below`, the newest first; or, unless `each` is wanted, of
    the newest in each session that the user wrote, and of the newest by others: each stands for those like it, and
    how well a session fits depends on no more. Only of sessions `among` those, where they are given."""
    rows, bound = _rows(asked, fields, names_of(connection), low, below)
    if not rows:
        return []
    bound.append(most)
    listed = f"{rows} ORDER BY id DESC, said DESC LIMIT ?"
    wanted = (_EACH if each else _GROUPED).format(rows=listed, only="" if among is None else _AMONG)
    if among is not None:
        bound.append(msgspec.json.encode(list(among)).decode())
    return sorted(_DECODER.decode(connection.execute(_FACTS.format(wanted=wanted), bound).get), reverse=True)


def holding(
    connection: apsw.Connection, asked: Question, fields: Sequence[Field], *, rewound: bool
) -> list[tuple[int, int, Place]]:
    """The sessions in which anything is found: the number of the source, 1 for prose, and where it is. Messages that
    were taken back count where they are wanted."""
    rows, bound = _rows(asked, fields, names_of(connection), 0, 1 << 63)
    if not rows:
        return []
    sql = _HOLDING.format(rows=rows)
    return _HELD.decode(connection.execute(sql, (*bound, -1 if rewound else _REWOUND)).get)


def names_of(connection: apsw.Connection) -> Meant:
    """What gives the numbers of the names that begin with a role, or have a tool or a file in them."""

    @cache
    def meant(name: Name) -> Sequence[int]:
        held = "substr(text, 1, length(?2)) = ?2" if name.kind == ROLE else "instr(text, ?2) > 0"
        found = connection.execute(f"SELECT id FROM name WHERE kind = ?1 AND {held}", (name.kind, name.value))
        return [number for (number,) in found]

    return meant


def _rows(asked: Question, fields: Sequence[Field], meant: Meant, low: int, below: int) -> tuple[str, list[Value]]:
    """Each row once in a table; SQLite merges them as they come, and reads no further than it must."""
    # `below` is a number as `Facts` has it: of each row there are two, and that of prose is the larger one.
    alone = len(asked.cases) == 1
    every = [
        select
        for field in fields
        for case in asked.cases
        for select in select_rows(case, field, meant, (low, (below - (field == "prose") + 1) >> 1), alone=alone)
    ]
    union = " UNION ALL " if len(every) <= len(fields) and alone else " UNION "
    return union.join(sql for sql, _ in every), [value for _, bound in every for value in bound]


def select_rows(
    case: Case, field: Field, meant: Meant, span: tuple[int, int] = EVER, *, alone: bool
) -> Iterator[tuple[str, list[Value]]]:
    """The rows of a case in a table, as `id` and `said`."""
    if case.words:
        yield select_words(case, field, meant, span)
        return
    said = int(field == "prose")
    more = _conditions(case, case.names[1:], "one.message", meant, span)
    if case.unwanted:
        more.append((f"+one.message NOT IN (SELECT rowid FROM {field} WHERE {field} MATCH ?)", [case.unwanted]))
    rest = "".join(f" AND {sql}" for sql, _ in more)
    bound = [*span, *(value for _, values in more for value in values)]
    numbers = meant(case.names[0])
    has = "prose IS NOT NULL OR tool IS NULL" if said else "tool IS NOT NULL"  # one without any text counts as prose
    sql = f"""SELECT DISTINCT one.message AS id, {said} AS said FROM called AS one
        CROSS JOIN message ON message.id = one.message AND ({has})
        WHERE one.message >= ? AND one.message < ?{rest}"""
    if alone and len(numbers) <= (_LOOKS if more else _STRETCHES):
        for number in numbers:
            yield f"{sql} AND name = {number}", list(bound)
    else:
        yield f"{sql} AND name IN (SELECT value FROM json_each(?))", [*bound, _listed(numbers)]


def select_words(
    case: Case, field: Field, meant: Meant, span: tuple[int, int] = EVER, more: str = ""
) -> tuple[str, list[Value]]:
    """The rows of a case with words in a table, as `id` and `said`, and what else is to be told of each."""
    conditions = _conditions(case, case.names, f"{field}.rowid", meant, span)
    rest = "".join(f" AND {sql}" for sql, _ in conditions)
    columns = f"rowid AS id, {int(field == 'prose')} AS said{more}"
    sql = f"SELECT {columns} FROM {field} WHERE {field} MATCH ? AND rowid >= ? AND rowid < ?{rest}"
    return sql, [case.words, *span, *(value for _, values in conditions for value in values)]


def _conditions(
    case: Case, names: Iterable[Name], row: str, meant: Meant, span: tuple[int, int]
) -> list[tuple[str, list[Value]]]:
    found = [_named(row, name, meant(name), span) for name in names]
    return found + [_named(f"NOT {row}", name, meant(name), span) for name in case.nameless]


def _named(row: str, name: Name, numbers: Sequence[int], span: tuple[int, int]) -> tuple[str, list[Value]]:
    """That a row is of the name; `row` may begin with NOT. The plus keeps SQLite from going through the names' rows
    instead."""
    negated, _, row = row.rpartition(" ")
    if name.kind == ROLE and len(numbers) <= _LOOKS:
        which = f"name IN ({', '.join(map(str, numbers))})"
        return f"{negated} EXISTS (SELECT 1 FROM called WHERE {which} AND message = {row})", []
    which = "name IN (SELECT value FROM json_each(?)) AND message >= ? AND message < ?"
    return f"+{row} {negated} IN (SELECT message FROM called WHERE {which})", [_listed(numbers), *span]


def _listed(numbers: Sequence[int]) -> str:
    return msgspec.json.encode(list(numbers)).decode()
