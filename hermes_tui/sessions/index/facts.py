"""The messages that rows stand for."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import msgspec

from hermes_tui.sessions.index.rows import RUNS
from hermes_tui.sessions.index.standing import VISIBILITY

__all__ = ["Facts", "facts"]

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
_EACH = "(SELECT value AS number FROM json_each(?))"
_REWOUND = VISIBILITY.index("rewound")
_GROUPED = f"""
(SELECT max(value) AS number, sum({{units}}) AS units
    FROM json_each(?) CROSS JOIN message ON message.id = value / {RUNS}
    GROUP BY message.session, message.visibility = {_REWOUND}, value % {RUNS})
"""  # noqa: S608
_DECODER = msgspec.json.Decoder(list[Facts])


def facts(connection: apsw.Connection, numbers: Sequence[int], wordless: Sequence[int], *, each: bool) -> list[Facts]:
    """What is known of each row, or else of the newest of each session, which stands for the others; the newest
    first. Rows of the runs in `wordless` stand for all units of their messages."""
    units = _units(wordless)
    wanted = _EACH if each else _GROUPED.format(units=units.format(number="value"))
    columns = _COLUMNS.format(units=units.format(number="wanted.number") if each else "wanted.units")
    sql = _FACTS.format(columns=columns, wanted=wanted, runs=RUNS)
    found = _DECODER.decode(connection.execute(sql, (msgspec.json.encode(numbers).decode(),)).get)
    return found if each else sorted(found, reverse=True)


def _units(wordless: Sequence[int]) -> str:
    """SQL: how many units of a message a row stands for."""
    places = ", ".join(str(RUNS - 1 - run) for run in wordless)
    return f"CASE WHEN {{number}} % {RUNS} IN ({places}) THEN {_UNITS} ELSE 1 END" if wordless else "1"
