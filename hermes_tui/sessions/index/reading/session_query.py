"""Which sessions hold anything that is asked for.

Every row that matches is looked at once, and nothing of it is kept but its session: tens of thousands of rows take a
small part of the time in which they are told one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import apsw
import msgspec

from hermes_tui.sessions.index.reading.questions import Name, Question
from hermes_tui.sessions.index.reading.rows import Run
from hermes_tui.sessions.index.source_state import VISIBILITY

__all__ = ["Place", "can_tell", "holding", "numbers_of"]

Place = tuple[str, str, str, str]
"""Agent, path and native id of a source, native id of a session."""

# One value for all of them: for each row that SQLite gives, this thread would have to wait for the others.
_HOLDING = """
SELECT json_group_array(json_array(
    source.id, wanted.run, json_array(source.agent, source.path, source.native, session.native)))
FROM (SELECT DISTINCT message.session AS id, run FROM ({rows}) AS found
        CROSS JOIN message ON message.id = found.id WHERE message.visibility <> ?) AS wanted
    CROSS JOIN session ON session.id = wanted.id CROSS JOIN source ON source.id = session.source
"""
_MATCHING = "SELECT rowid AS id, {run} AS run FROM {table} WHERE {table} MATCH ?"
_CALLED = """
SELECT message AS id, {run} AS run FROM called WHERE name IN (SELECT value FROM json_each(?)) AND unit IN ({units})
"""
_NUMBERS = """
SELECT json_group_array(session.id) FROM json_each(?) AS wanted
    CROSS JOIN source ON source.agent = value ->> 0 AND source.path = value ->> 1 AND source.native = value ->> 2
    CROSS JOIN session ON session.source = source.id AND session.native = value ->> 3
"""
_NONE = -1
"""No visibility."""
_HELD = msgspec.json.Decoder(list[tuple[int, int, Place]])


def can_tell(question: Question) -> bool:
    """Whether it is one question to one table, to words or to a name, with nothing that must be looked at."""
    return question.exact and (question.plain or _is_name(question))


def _is_name(question: Question) -> bool:
    return question.wordless and len(question.names) == 1 and not question.nameless


def holding(
    connection: apsw.Connection, meant: Callable[[Name], Sequence[int]], runs: Sequence[Run], *, rewound: bool
) -> list[tuple[int, int, Place]]:
    """The sessions in which such questions find anything: the number of the source, that of the run, and where it
    is. `meant` gives the numbers of a name. Messages that were taken back count where they are wanted."""
    every = list(_rows(meant, runs))
    hidden = _NONE if rewound else VISIBILITY.index("rewound")
    sql = _HOLDING.format(rows=" UNION ALL ".join(sql for sql, _ in every))
    return _HELD.decode(connection.execute(sql, [*(value for _, bound in every for value in bound), hidden]).get)


def _rows(meant: Callable[[Name], Sequence[int]], runs: Sequence[Run]) -> Iterator[tuple[str, Sequence[str | int]]]:
    for number, run in enumerate(runs):
        for one in run:
            if one.plain:
                sql = _MATCHING.format(table=one.asks[0].table, run=number)
                yield sql, (one.asks[0].expression,)
            else:
                units = ", ".join(map(str, one.units))
                numbers = msgspec.json.encode(list(meant(one.names[0]))).decode()
                yield _CALLED.format(run=number, units=units), (numbers,)


def numbers_of(connection: apsw.Connection, places: Iterable[Place]) -> list[int]:
    """The sessions as the index numbers them; without those that are not in it."""
    listed = msgspec.json.encode(list(places)).decode()
    return msgspec.json.decode(connection.execute(_NUMBERS, (listed,)).get, type=list[int])
