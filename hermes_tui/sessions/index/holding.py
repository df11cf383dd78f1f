"""Which sessions hold anything that is asked for.

Every row that matches is looked at once, and nothing of it is kept but its session: tens of thousands of rows take a
small part of the time in which they are told one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw
import msgspec

from hermes_tui.sessions.index.rows import Run, every_row
from hermes_tui.sessions.index.standing import VISIBILITY

__all__ = ["Place", "holding", "numbers_of"]

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
_NUMBERS = """
SELECT json_group_array(session.id) FROM json_each(?) AS wanted
    CROSS JOIN source ON source.agent = value ->> 0 AND source.path = value ->> 1 AND source.native = value ->> 2
    CROSS JOIN session ON session.source = source.id AND session.native = value ->> 3
"""
_NONE = -1
"""No visibility."""
_HELD = msgspec.json.Decoder(list[tuple[int, int, Place]])


def holding(
    connection: apsw.Connection, runs: Sequence[Run], low: int, high: int, *, rewound: bool
) -> list[tuple[int, int, Place]]:
    """The sessions in which plain questions find anything: the number of the source, that of the run, and where it
    is. Messages that were taken back count where they are wanted."""
    rows, bindings = every_row(runs, low, [high] * len(runs))
    hidden = _NONE if rewound else VISIBILITY.index("rewound")
    return _HELD.decode(connection.execute(_HOLDING.format(rows=rows), (*bindings, hidden)).get)


def numbers_of(connection: apsw.Connection, places: Iterable[Place]) -> list[int]:
    """The sessions as the index numbers them; without those that are not in it."""
    listed = msgspec.json.encode(list(places)).decode()
    return msgspec.json.decode(connection.execute(_NUMBERS, (listed,)).get, type=list[int])
