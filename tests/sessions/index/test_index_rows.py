"""The rows of an answer, read some at a time, and what they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.index.reading.facts import facts
from hermes_tui.sessions.index.reading.named import Named
from hermes_tui.sessions.index.reading.names import IndexNames
from hermes_tui.sessions.index.reading.questions import Ask, Question
from hermes_tui.sessions.index.reading.rows import RUNS, FoundRows, Run, every_row
from hermes_tui.sessions.index.schema import open_writer

_PROSE = Question("prose", (Ask("prose", '"word"'),))
_BEGUN = Question("prose", (Ask("prose", '"wo"*'),))
_TOOL = Question("tool", (Ask("tool", '"word"'),))
_SHORT = Question("prose", (Ask("short", '"wor"'),))
_LONG = Question("tool", (Ask("long", '"word"'),))
_BOTH = Question("tool", (Ask("tool", '"word"'), Ask("long", '"word"')))


def _filled(path: Path, **tables: Sequence[int]) -> apsw.Connection:
    connection = open_writer(path)
    for table, rows in tables.items():
        text = "wor" if table == "short" else "word"
        connection.executemany(f"INSERT INTO {table}(rowid, text) VALUES(?, '{text}')", ((row,) for row in rows))
    return connection


def _rows(runs: Sequence[Run], low: int = 0, high: int = 1 << 62, first: int = 4) -> FoundRows:
    return FoundRows(Named(IndexNames(), ""), runs, low, high, first)


def _told(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Rows and runs."""
    return [(number // RUNS, RUNS - 1 - number % RUNS) for number in numbers]


@given(
    said=st.sets(st.integers(1, 60)),
    begun=st.sets(st.integers(1, 60)),
    wrote=st.sets(st.integers(1, 60)),
    much=st.sets(st.integers(1, 60)),
    first=st.integers(1, 5),
    most=st.integers(1, 7),
    low=st.integers(0, 30),
    high=st.integers(20, 70),
)
@examples(60)
@pytest.mark.parametrize(
    "runs", [([_PROSE], [_TOOL]), ([_BEGUN], [_TOOL]), ([_PROSE], [_TOOL, _BOTH]), ([_PROSE, _SHORT], [_TOOL, _LONG])]
)
def test_every_row_comes_once_however_many_are_taken(
    tmp_path_factory: pytest.TempPathFactory,
    runs: Sequence[Run],
    said: set[int],
    begun: set[int],
    wrote: set[int],
    much: set[int],
    first: int,
    most: int,
    low: int,
    high: int,
) -> None:
    much -= wrote  # what tools wrote is either long or not
    tables = {"prose": [*said], "short": [*begun], "tool": [*wrote], "long": [*much]}
    connection = _filled(tmp_path_factory.mktemp("rows") / "i.db", **tables)
    rows = _rows(runs, low, high, first)
    found: list[int] = []
    while taken := rows.take(connection, 1, most):
        found += taken
        assert len(taken) == most or not rows.take(connection, 1, most)
    every, bindings = every_row(runs, low, [high, high])
    plain = all(one.plain for run in runs for one in run)
    at_once = sorted(connection.execute(every, bindings)) if plain else None
    connection.close()
    expected = [(row, 0) for row in (said | begun if _SHORT in runs[0] else said)]
    expected += [(row, 1) for row in (wrote | much if _LONG in runs[1] else wrote)]
    inside = [(row, run) for row, run in expected if low <= row < high]
    assert _told(found) == sorted(inside, key=lambda one: (-one[0], one[1]))
    assert at_once is None or at_once == sorted(inside)


@pytest.mark.parametrize("runs", [([_PROSE], [_TOOL]), ([_PROSE], [_BOTH])], ids=["one statement", "by streams"])
def test_what_is_written_in_between_is_right(runs: Sequence[Run], tmp_path: Path) -> None:
    connection = _filled(tmp_path / "i.db", prose=range(1, 41), tool=range(1, 41), long=range(1, 41))
    rows = _rows(runs, first=32)
    assert _told(rows.take(connection, 1, 4)) == [(40, 0), (40, 1), (39, 0), (39, 1)]
    connection.execute("DELETE FROM tool WHERE rowid = 38")
    connection.execute("DELETE FROM prose WHERE rowid = 37")
    connection.execute("INSERT INTO prose(rowid, text) VALUES(50, 'word')")  # newer than what was given
    rest = rows.take(connection, 2, 1000)
    connection.close()
    assert _told(rest[:4]) == [(38, 0), (37, 1), (36, 0), (36, 1)]
    assert len(rest) == 2 + 36 * 2


def test_what_a_message_is_called_may_be_anything(tmp_path: Path) -> None:
    connection = open_writer(tmp_path / "i.db")
    strange = 'a"\\\n\x00\x1b é漢\U0001f600'
    connection.execute("INSERT INTO source VALUES(1, 'a', ?, ?, '', 2, 0, 0)", (strange, strange))
    connection.execute("INSERT INTO session(id, source, native) VALUES(1, 1, ?)", (strange,))
    columns = "id, session, key, at, role, visibility, prose, tool"
    connection.execute(f"INSERT INTO message({columns}) VALUES(7, 1, ?, NULL, 'user', 0, 1, 1)", (strange,))
    connection.execute(f"INSERT INTO message({columns}) VALUES(9, 1, 'b', 5, 'tool', 0, NULL, 1)")
    numbers = [9 * RUNS, 7 * RUNS + 1]
    newer, older = facts(connection, numbers, [RUNS - 1], each=True)
    assert newer == (9 * RUNS, 1, "a", strange, strange, strange, "b", 5, "tool", 0, 0, 1)
    assert older == (7 * RUNS + 1, 1, "a", strange, strange, strange, strange, None, "user", 0, 1, 1)
    # Asked by a run that is of no words, a message is as many units as it has texts.
    assert [one[-1] for one in facts(connection, numbers, [RUNS - 1, RUNS - 2], each=True)] == [1, 2]
    # One for each session, run, and whether the user wrote it.
    connection.execute(f"INSERT INTO message({columns}) VALUES(8, 1, 'c', 4, 'assistant', 0, 1, 1)")
    same = facts(connection, [9 * RUNS, 8 * RUNS, 7 * RUNS], [RUNS - 1], each=False)
    assert [(one[0], one[-1]) for one in same] == [(9 * RUNS, 3), (7 * RUNS, 2)]
    connection.close()
