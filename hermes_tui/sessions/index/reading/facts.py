"""The messages that rows stand for."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import msgspec

from hermes_tui.sessions.index.reading.rows import RUNS, Run, every_row
from hermes_tui.sessions.index.source_state import VISIBILITY

__all__ = ["Facts", "facts", "held_by"]

Facts = tuple[int, int, str, str, str, str, str, int | None, str, int, int, int]
"""Number of the row; of its source the number, agent, path and native id; native id of the session; key of the
message, its time in milliseconds, its role, its visibility; 1 where it says something, or has no tool text; how many
units it stands for."""
_COLUMNS = """wanted.number, source.id, source.agent, source.path, source.native, session.native, message.key,
    message.at, message.role, message.visibility, message.prose IS NOT NULL OR message.tool IS NULL, {units}"""
# One value for all of them: for each row that SQLite gives, this thread would have to wait for the others.
_FACTS = """
SELECT json_group_array(json_array({columns}))
FROM {wanted} AS wanted CROSS JOIN message ON message.id = wanted.number / {runs}
    JOIN session ON session.id = message.session JOIN source ON source.id = session.source
"""
_UNITS = "max(1, (message.prose IS NOT NULL) + (message.tool IS NOT NULL))"
_LISTED = "SELECT value AS number FROM json_each(?)"
_REWOUND = VISIBILITY.index("rewound")
_GROUPED = f"""
(SELECT max(found.number) AS number, sum({{units}}) AS units
    FROM ({{rows}}) AS found CROSS JOIN message ON message.id = found.number / {RUNS} {{only}}
    GROUP BY message.session, message.visibility = {_REWOUND}, message.role = 'user', found.number % {RUNS})
"""  # noqa: S608
_AMONG = "WHERE message.session IN (SELECT value FROM json_each(?))"
_DECODER = msgspec.json.Decoder(list[Facts])


def facts(connection: apsw.Connection, numbers: Sequence[int], wordless: Sequence[int], *, each: bool) -> list[Facts]:
    """What is known of each row, the newest first; or else of the newest in each session that the user wrote, and of
    the newest by others: each stands for those like it, and how well a session fits depends on no more. Rows of the
    runs in `wordless` stand for all units of their messages."""
    units = _units(wordless)
    listed = msgspec.json.encode(numbers).decode()
    if each:
        return _read(connection, f"({_LISTED})", units.format(number="wanted.number"), (listed,))
    grouped = _GROUPED.format(rows=_LISTED, only="", units=units.format(number="found.number"))
    return sorted(_read(connection, grouped, "wanted.units", (listed,)), reverse=True)


def held_by(
    connection: apsw.Connection, sessions: Sequence[int], runs: Sequence[Run], low: int, high: int
) -> list[Facts]:
    """What of a few sessions answers plain questions, grouped as `facts` does: all of it."""
    every, bindings = every_row(runs, low, [high] * len(runs))
    rows = f"SELECT id * {RUNS} + {RUNS - 1} - run AS number FROM ({every})"  # noqa: S608
    grouped = _GROUPED.format(rows=rows, only=_AMONG, units="1")
    found = _read(connection, grouped, "wanted.units", (*bindings, msgspec.json.encode(sessions).decode()))
    return sorted(found, reverse=True)


def _read(connection: apsw.Connection, wanted: str, units: str, bindings: tuple[str | int, ...]) -> list[Facts]:
    sql = _FACTS.format(columns=_COLUMNS.format(units=units), wanted=wanted, runs=RUNS)
    return _DECODER.decode(connection.execute(sql, bindings).get)


def _units(wordless: Sequence[int]) -> str:
    """SQL: how many units of a message a row stands for."""
    places = ", ".join(str(RUNS - 1 - run) for run in wordless)
    return f"CASE WHEN {{number}} % {RUNS} IN ({places}) THEN {_UNITS} ELSE 1 END" if wordless else "1"
