"""The newest rows that answer a question, and the messages that they stand for."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import apsw

from hermes_tui.sessions.index.named import Named, Stream
from hermes_tui.sessions.index.questions import Ask, Question
from hermes_tui.sessions.index.standing import VISIBILITY

__all__ = ["Facts", "Page", "Run", "newest", "page"]

Facts = tuple[int, int, str, str, str, str, str, int | None, str, int, int, int, int, int, int]
_FACTS = """
SELECT message.id, source.id, source.agent, source.path, source.native, session.native, message.key, message.at,
    message.role, message.visibility, message.prose IS NOT NULL OR message.tool IS NULL, wanted.number, wanted.first,
    wanted.rows, wanted.run
FROM {wanted} AS wanted CROSS JOIN message ON message.id = wanted.id JOIN session ON session.id = message.session
    JOIN source ON source.id = session.source
ORDER BY message.id DESC
"""
_MATCHING = "SELECT rowid AS id, {run} AS run FROM {table} WHERE {table} MATCH ? AND rowid >= ? AND rowid < ?"
_STEPS = 64
"""Rows after which it is quicker to look the next one up than to go on to it."""
_UNITS = "max(1, (message.prose IS NOT NULL) + (message.tool IS NOT NULL))"
_REWOUND = VISIBILITY.index("rewound")
_GROUPED = f"""
(SELECT max(message.id) AS id, run, sum({{units}}) AS number, min(message.id) AS first, count(*) AS rows
    FROM {{rows}} CROSS JOIN message ON message.id = found.id
    GROUP BY message.session, message.visibility = {_REWOUND}, run)
"""  # noqa: S608
_EACH = "(SELECT id, run, {units} AS number, id AS first, 1 AS rows FROM {rows} CROSS JOIN message USING (id))"
_RUNS = 16
"""Runs of a search, at most: that many times a row's number, and the run, make one number."""
_LISTED = f"(SELECT value / {_RUNS} AS id, value % {_RUNS} AS run FROM json_each(?)) AS found"  # noqa: S608

Run = Sequence[Question]
"""Questions of which the answers are of one kind: a row counts once, however many of them it answers."""


class Page(NamedTuple):
    """A stretch of an answer."""

    messages: list[Facts]
    """Newest first."""
    before: Sequence[int] | None
    """For each run the row below which it goes on; None where there are no more."""


def page(
    connection: apsw.Connection,
    named: Named,
    runs: Sequence[Run],
    low: int,
    before: Sequence[int],
    size: int,
    *,
    each: bool,
) -> Page:
    """The newest `size` rows that answer the questions of any run, of those from `low` up to, not including, where
    the run goes on: the message of each, or else of each session the newest of them, and how many they are."""
    bindings: tuple[str | int, ...]
    if all(one.plain for run in runs for one in run):
        asks = [(number, one.asks[0]) for number, run in enumerate(runs) for one in run]
        # SQLite merges them as they come, and reads no further than the limit.
        every = " UNION ".join(_MATCHING.format(table=ask.table, run=number) for number, ask in asks)
        rows = f"({every} ORDER BY id DESC, run LIMIT ?) AS found"
        bindings = (*(value for number, ask in asks for value in (ask.expression, low, before[number])), size)
    else:
        streams = [
            _numbered(newest(connection, named, one, low, before[number]), number)
            for number, run in enumerate(runs)
            for one in run
        ]
        rows, bindings = _LISTED, (json.dumps(list(islice(_merged(streams), size))),)
    wanted = (_EACH if each else _GROUPED).format(units=_units(runs), rows=rows)
    found = list(connection.execute(_FACTS.format(wanted=wanted), bindings))
    if sum(rows for *_, rows, _ in found) < size:
        return Page(found, None)
    last = min(first for *_, first, _, _ in found)
    done = {run for *_, first, _, run in found if first == last}
    return Page(found, [last if number in done else last + 1 for number in range(len(runs))])


def _units(runs: Sequence[Run]) -> str:
    """SQL: how many units of a message a row stands for."""
    wordless = ", ".join(str(number) for number, run in enumerate(runs) if run[0].wordless)
    return f"CASE WHEN run IN ({wordless}) THEN {_UNITS} ELSE 1 END" if wordless else "1"


def _numbered(rows: Iterator[int], run: int) -> Iterator[int]:
    return (row * _RUNS + run for row in rows)


def _merged(streams: Sequence[Iterator[int]]) -> Iterator[int]:
    """The numbers that are in any of them, the largest first, each once."""
    if len(streams) == 1:
        yield from streams[0]
        return
    last = None
    for row in heapq.merge(*streams, reverse=True):
        if row != last:
            yield row
        last = row


def newest(connection: apsw.Connection, named: Named, question: Question, low: int, high: int) -> Iterator[int]:
    """The rows alone, newest first."""
    streams = [_matching(connection, ask, low) for ask in question.asks]
    streams += [named.stream(connection, name, low, question.units) for name in question.names]
    rows = streams[0](high) if len(streams) == 1 else _common(streams, high)
    for name in question.nameless:
        rows = _absent(rows, named.stream(connection, name, low, question.units))
    for ask in question.without:
        rows = _absent(rows, _matching(connection, ask, low))
    return rows


def _matching(connection: apsw.Connection, ask: Ask, low: int) -> Stream:
    sql = f"{_MATCHING.format(table=ask.table, run=0)} ORDER BY id DESC"
    return lambda before: (row for row, _ in connection.execute(sql, (ask.expression, low, before)))


def _absent(rows: Iterator[int], unwanted: Stream) -> Iterator[int]:
    """Those that are not among others, which go on as they do."""
    others: Iterator[int] = iter(())
    other: int | None = None
    for row in rows:
        if other is None or other > row:
            other = next((one for one in islice(others, _STEPS) if one <= row), None)
            if other is None:
                others = unwanted(row + 1)
                other = next(others, -1)
        if other != row:
            yield row


def _common(streams: Sequence[Stream], high: int) -> Iterator[int]:
    """The rows that all of them have: in turn, each goes on to where the others are."""
    running = [stream(high) for stream in streams]
    target = next(running[0], None)
    agreed, turn = 1, 1
    while target is not None:
        at = turn % len(streams)
        row = next((row for row in islice(running[at], _STEPS) if row <= target), None)
        if row is None:
            running[at] = streams[at](target + 1)
            row = next(running[at], None)
        agreed = agreed + 1 if row == target else 1
        target = row
        if agreed == len(streams) and target is not None:
            yield target
            target, agreed = next(running[at], None), 1
        turn += 1
