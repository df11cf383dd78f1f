"""The newest rows that answer a question, and the messages that they stand for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice

import apsw

from hermes_tui.sessions.index.questions import Question

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
    if question.other_table:
        rows = json.dumps(list(islice(newest(connection, question, low, high), size)))
        which = "WHERE message.id IN (SELECT value FROM json_each(?)) ORDER BY message.id DESC"
        return list(connection.execute(f"{FACTS} {which}", (rows,)))
    table = question.table
    facts = FACTS.replace("FROM message", f"FROM {table} CROSS JOIN message ON message.id = {table}.rowid")
    between = f"{table}.rowid >= ? AND {table}.rowid < ? ORDER BY {table}.rowid DESC LIMIT ?"
    asked = (question.expression, low, high, size)
    return list(connection.execute(f"{facts} WHERE {table}.{table} MATCH ? AND {between}", asked))


def newest(connection: apsw.Connection, question: Question, low: int, high: int) -> Iterator[int]:
    """The rows alone, newest first."""

    def rows(table: str, expression: str) -> Callable[[int], Iterator[int]]:
        sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC"  # noqa: S608
        return lambda before: (row for (row,) in connection.execute(sql, (expression, low, before)))

    first = rows(question.table, question.expression)
    if not question.other_table:
        return first(high)
    return _both(first, rows(question.other_table, question.other_expression), high)


def _both(behind: Callable[[int], Iterator[int]], ahead: Callable[[int], Iterator[int]], high: int) -> Iterator[int]:
    """The rows that two questions have in common: in turn, each goes on to where the other one is."""
    lagging, leading = behind(high), ahead(high)
    target = next(leading, None)
    while target is not None:
        row = next((row for row in islice(lagging, _STEPS) if row <= target), None)
        if row is None:
            lagging = behind(target + 1)
            row = next(lagging, None)
        if row is None:
            return
        if row == target:
            yield row
            target = next(leading, None)
        else:
            lagging, leading, behind, ahead, target = leading, lagging, ahead, behind, row
