"""The newest rows that answer a question, and the messages that they stand for."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import apsw

from hermes_tui.sessions.index.named import Known, Named, Stream
from hermes_tui.sessions.index.questions import Ask, Question
from hermes_tui.sessions.index.writer import VISIBILITY

__all__ = ["Facts", "Page", "newest", "page"]

Facts = tuple[int, int, str, str, str, str, str, int | None, str, int, int, int, int, int]
_FACTS = """
SELECT message.id, source.id, source.agent, source.path, source.native, session.native, message.key, message.at,
    message.role, message.visibility, message.prose IS NOT NULL OR message.tool IS NULL, wanted.number, wanted.first,
    wanted.rows
FROM {wanted} AS wanted CROSS JOIN message ON message.id = wanted.id JOIN session ON session.id = message.session
    JOIN source ON source.id = session.source
ORDER BY message.id DESC
"""
_MATCHING = "SELECT rowid AS id FROM {table} WHERE {table} MATCH ? AND rowid >= ? AND rowid < ?"
_STEPS = 64
"""Rows after which it is quicker to look the next one up than to go on to it."""
_UNITS = "max(1, (message.prose IS NOT NULL) + (message.tool IS NOT NULL))"
_REWOUND = VISIBILITY.index("rewound")
_GROUPED = f"""
(SELECT max(message.id) AS id, sum({{units}}) AS number, min(message.id) AS first, count(*) AS rows
    FROM {{rows}} CROSS JOIN message ON message.id = found.id
    GROUP BY message.session, message.visibility = {_REWOUND})
"""  # noqa: S608
_EACH = "(SELECT id, {units} AS number, id AS first, 1 AS rows FROM {rows} CROSS JOIN message USING (id))"
_LISTED = "(SELECT value AS id FROM json_each(?)) AS found"


class Page(NamedTuple):
    """A stretch of an answer."""

    messages: list[Facts]
    """Newest first."""
    last: int | None
    """The row at which it ends; None where there are no more."""


def page(
    connection: apsw.Connection,
    asked: Sequence[Question],
    known: Known,
    low: int,
    high: int,
    size: int,
    *,
    each: bool,
) -> Page:
    """The newest `size` rows that answer any of the questions, of those from `low` up to, not including, `high`: the
    message of each, or else of each session the newest of them, and how many they are."""
    bindings: tuple[str | int, ...]
    if all(one.plain for one in asked):
        asks = [one.asks[0] for one in asked]
        every = " UNION ".join(_MATCHING.format(table=ask.table) for ask in asks)  # which SQLite merges as they come
        rows = f"({every} ORDER BY id DESC LIMIT ?) AS found"
        bindings = (*(value for ask in asks for value in (ask.expression, low, high)), size)
    else:
        streams = [newest(connection, question, known, low, high) for question in asked]
        rows, bindings = _LISTED, (json.dumps(list(islice(_merged(streams), size))),)
    wanted = (_EACH if each else _GROUPED).format(units=_UNITS if asked[0].wordless else "1", rows=rows)
    found = list(connection.execute(_FACTS.format(wanted=wanted), bindings))
    whole = sum(row[-1] for row in found) >= size
    return Page(found, min(row[-2] for row in found) if whole else None)


def _merged(streams: Sequence[Iterator[int]]) -> Iterator[int]:
    """The rows that are in any of them, newest first, each once."""
    if len(streams) == 1:
        yield from streams[0]
        return
    last = None
    for row in heapq.merge(*streams, reverse=True):
        if row != last:
            yield row
        last = row


def newest(connection: apsw.Connection, question: Question, known: Known, low: int, high: int) -> Iterator[int]:
    """The rows alone, newest first. `known` is kept from one page to the next."""
    named = Named(connection, known)
    streams = [_matching(connection, ask, low) for ask in question.asks]
    streams += [named.stream(name, low, question.unit) for name in question.names]
    rows = streams[0](high) if len(streams) == 1 else _common(streams, high)
    for name in question.nameless:
        rows = _absent(rows, named.stream(name, low))
    for ask in question.without:
        rows = _absent(rows, _matching(connection, ask, low))
    return rows


def _matching(connection: apsw.Connection, ask: Ask, low: int) -> Stream:
    sql = f"{_MATCHING.format(table=ask.table)} ORDER BY id DESC"
    return lambda before: (row for (row,) in connection.execute(sql, (ask.expression, low, before)))


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
