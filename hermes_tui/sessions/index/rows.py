"""The newest rows that answer a question, and the messages that they stand for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice

import apsw

from hermes_tui.sessions.index.named import Named, Stream
from hermes_tui.sessions.index.questions import Ask, Question

__all__ = ["FACTS", "Facts", "newest", "page"]

Facts = tuple[int, int, str, str, str, str, str, int | None, str, int]
FACTS = """
SELECT message.id, source.id, source.agent, source.path, source.native, session.native, message.key, message.at,
    message.role, message.visibility
FROM message JOIN session ON session.id = message.session JOIN source ON source.id = session.source
"""
_STEPS = 64
"""Rows after which it is quicker to look the next one up than to go on to it."""


def page(connection: apsw.Connection, question: Question, low: int, high: int, size: int) -> list[Facts]:
    """The newest messages, of rows from `low` up to, not including, `high`."""
    rows = json.dumps(list(islice(newest(connection, question, low, high), size)))
    which = "WHERE message.id IN (SELECT value FROM json_each(?)) ORDER BY message.id DESC"
    return list(connection.execute(f"{FACTS} {which}", (rows,)))


def newest(connection: apsw.Connection, question: Question, low: int, high: int) -> Iterator[int]:
    """The rows alone, newest first."""
    named = Named(connection)
    streams = [_matching(connection, ask, low) for ask in question.asks]
    streams += [named.stream(name, low) for name in question.names]
    rows = streams[0](high) if len(streams) == 1 else _common(streams, high)
    if not question.asks:
        unit = "tool IS NOT NULL" if question.field == "tool" else "prose IS NOT NULL OR tool IS NULL"
        rows = (row for row in rows if connection.execute(f"SELECT {unit} FROM message WHERE id=?", (row,)).get)  # noqa: S608
    for name in question.nameless:
        rows = named.without(name, rows)
    for ask in question.without:
        rows = _unmatched(connection, ask, rows)
    return rows


def _matching(connection: apsw.Connection, ask: Ask, low: int) -> Stream:
    table = ask.table
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC"  # noqa: S608
    return lambda before: (row for (row,) in connection.execute(sql, (ask.expression, low, before)))


def _unmatched(connection: apsw.Connection, ask: Ask, rows: Iterator[int]) -> Iterator[int]:
    sql = f"SELECT 1 FROM {ask.table} WHERE {ask.table} MATCH ? AND rowid = ?"  # noqa: S608
    return (row for row in rows if connection.execute(sql, (ask.expression, row)).get is None)


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
