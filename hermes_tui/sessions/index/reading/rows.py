"""The newest rows that answer a question."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import islice

import apsw
import msgspec

from hermes_tui.sessions.index.reading.named import Named
from hermes_tui.sessions.index.reading.postings import Stream, common
from hermes_tui.sessions.index.reading.questions import Ask, Question

__all__ = ["RUNS", "FoundRows", "Run", "every_row", "newest"]

RUNS = 16
"""Runs of a search, at most. A row's number, that many times over, and the place of the run from behind make one
number: the larger, the earlier it comes."""
_LAST = RUNS - 1
_MATCHING = "SELECT rowid AS id, {run} AS run FROM {table} WHERE {table} MATCH ? AND rowid >= ? AND rowid < ?"
_FIRST = 64
"""Rows of one kind that are read first, to find those that it has in common with another."""
_DEAR = 2048
"""The same where words are only begun: FTS5 makes a list of all rows first, each time."""
_BEGUN = 4
"""Times as many rows of an answer are read then."""
_LARGEST = 1 << 16
_APART = ["long", "tool"]
"""Tables of which no two have the same row."""
_ROWS = msgspec.json.Decoder(list[int])

Run = Sequence[Question]
"""Questions of which the answers are of one kind: a row counts once, however many of them it answers."""


class FoundRows:
    """The rows that answer the questions of any run, newest first. They are read some at a time, more each time than
    are asked for, which costs little: while nothing is written they hold."""

    def __init__(self, named: Named, runs: Sequence[Run], low: int, high: int, first: int) -> None:
        """Of those from `low` up to, not including, `high`; `first` of them are read first."""
        self._named = named
        self._runs = runs
        self._low = low
        self._below = high * RUNS
        """They were read down to this number."""
        self._plain = all(one.plain for run in runs for one in run)
        self._shared = len({run[0].field for run in runs}) < len(runs) or any(run[0].wordless for run in runs[1:])
        self._size = first * _BEGUN if any(ask.begun for run in runs for one in run for ask in one.asks) else first
        self._commit = -1
        self._kept: list[int] = []
        self._over = False

    def take(self, connection: apsw.Connection, commit: int, most: int) -> list[int]:
        """The next `most` of them, as numbers; fewer when there are no more. Where several runs may find the same
        unit, all numbers of a message are taken together. `commit` is that which the index is at."""
        if commit != self._commit and self._kept:
            self._below, self._over = self._kept[0] + 1, False
            self._kept = []
        self._commit = commit
        taken, self._kept = self._kept[:most], self._kept[most:]
        while len(taken) < most and not self._over:
            found = self._read(connection)
            missing = most - len(taken)
            taken += found[:missing]
            self._kept = found[missing:]
        while self._shared and taken:
            if not self._kept and not self._over:
                self._kept = self._read(connection)
            if not self._kept or self._kept[0] // RUNS != taken[-1] // RUNS:
                break
            taken.append(self._kept.pop(0))
        return taken

    def _read(self, connection: apsw.Connection) -> list[int]:
        read = _one_statement if self._plain else _by_streams
        # The newest row of each run that was not read yet.
        before = [-((_LAST - run - self._below) // RUNS) for run in range(len(self._runs))]
        found = read(connection, self._named, self._runs, self._low, before, self._size)
        self._over = len(found) < self._size
        self._below = found[-1] if found else 0
        self._size = min(self._size * 4, _LARGEST)
        return found


def every_row(runs: Sequence[Run], low: int, before: Sequence[int]) -> tuple[str, list[str | int]]:
    """SQL for all rows that answer plain questions, with the run of each, in any order, and what to bind to it: those
    from `low` up to, not including, what stands in `before` for the run. A row counts once in a run."""
    asks = [(number, [one.asks[0] for one in run]) for number, run in enumerate(runs)]
    once = all(len(some) == 1 or sorted(ask.table for ask in some) == _APART for _, some in asks)
    every = [(number, ask) for number, some in asks for ask in some]
    sql = (_MATCHING.format(table=ask.table, run=number) for number, ask in every)
    bindings = [value for number, ask in every for value in (ask.expression, low, before[number])]
    return (" UNION ALL " if once else " UNION ").join(sql), bindings


def _one_statement(
    connection: apsw.Connection, _: Named, runs: Sequence[Run], low: int, before: Sequence[int], size: int
) -> list[int]:
    # SQLite merges them as they come, and reads no further than the limit. All of them are one value: for each row
    # that it gives, this thread would have to wait for the others.
    every, values = every_row(runs, low, before)
    sql = f"SELECT json_group_array(id * {RUNS} + {_LAST} - run) FROM ({every} ORDER BY id DESC, run LIMIT ?)"  # noqa: S608
    return _ROWS.decode(connection.execute(sql, (*values, size)).get)


def _by_streams(
    connection: apsw.Connection, named: Named, runs: Sequence[Run], low: int, before: Sequence[int], size: int
) -> list[int]:
    streams = [
        _numbered(newest(connection, named, one, low, before[number]), _LAST - number)
        for number, run in enumerate(runs)
        for one in run
    ]
    return list(islice(_merged(streams), size))


def _numbered(rows: Iterator[int], place: int) -> Iterator[int]:
    return (row * RUNS + place for row in rows)


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
    """The rows of one question alone, newest first."""
    units = question.units
    wanted = [_matching(connection, ask, low) for ask in question.asks]
    wanted += [named.stream(connection, name, low, units) for name in question.names]
    unwanted = [named.stream(connection, name, low, units) for name in question.nameless]
    unwanted += [_matching(connection, ask, low) for ask in question.without]
    return common(wanted, unwanted, high)


def _matching(connection: apsw.Connection, ask: Ask, low: int) -> Stream:
    sql = f"SELECT json_group_array(id) FROM ({_MATCHING.format(table=ask.table, run=0)} ORDER BY id DESC LIMIT ?)"  # noqa: S608

    def read(below: int, most: int) -> list[int]:
        return _ROWS.decode(connection.execute(sql, (ask.expression, low, below, most)).get)

    return Stream(read, _DEAR if ask.begun else _FIRST, dear=ask.begun)
