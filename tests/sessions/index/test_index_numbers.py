"""Numbers of rows, which no two messages share."""

from __future__ import annotations

from pathlib import Path

import apsw

from hermes_tui.sessions.index.rowids import Numbers
from hermes_tui.sessions.index.schema import open_writer


def test_each_message_has_a_number_of_its_own(tmp_path: Path) -> None:
    """More messages than a second has numbers for go on in the next ones, also by another indexer."""
    connection = open_writer(tmp_path / "i.db")
    given: list[int] = []
    for seconds in ([7] * 900 + [8, 5, 6, 7], [7, 8, 9, 5] * 300, [-3, 1 << 60]):
        numbers = Numbers(connection)
        for second in seconds:
            number = numbers.next(second)
            assert number >> 8 >= min(max(second, 0), 1 << 37)
            given.append(number)
        facts = ((number, 1, str(number), None, "user", 0) for number in given[-len(seconds) :])
        columns = "id, session, key, at, role, visibility"
        connection.executemany(f"INSERT INTO message({columns}) VALUES(?,?,?,?,?,?)", facts)
    assert len(set(given)) == len(given)
    assert max(given[:900]) >> 8 == 10
    connection.close()


def test_numbers_are_asked_for_seldom(tmp_path: Path) -> None:
    """Once for whatever is later than all there is, else once for what was written within minutes."""
    connection = open_writer(tmp_path / "i.db")
    numbers = (((second << 8) + 3, 1, "", "user", 0) for second in range(10_000, 12_000, 7))
    connection.executemany("INSERT INTO message(id, session, key, role, visibility) VALUES(?,?,?,?,?)", numbers)
    there = {row for (row,) in connection.execute("SELECT id FROM message")}
    asked: list[str] = []
    connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))
    made = Numbers(connection)
    given = [made.next(second) for second in range(12_000, 14_000)]
    assert len(asked) == 1
    given += [made.next(second) for second in range(10_000, 12_000)]
    assert len(asked) < 12
    connection.trace_v2(0)
    assert len(set(given)) == len(given)
    assert there.isdisjoint(given)
    assert [number >> 8 for number in given] == [*range(12_000, 14_000), *range(10_000, 12_000)]
    connection.close()


def test_seconds_are_not_kept_in_mind_for_ever(tmp_path: Path) -> None:
    """An indexer may stay for weeks."""
    connection = open_writer(tmp_path / "i.db")
    numbers = Numbers(connection)
    given: list[int] = []
    for second in range(0, 30_000, 3):
        given.append(numbers.next(second))
        facts = (given[-1], 1, str(second), "user", 0)
        connection.execute("INSERT INTO message(id, session, key, role, visibility) VALUES(?,?,?,?,?)", facts)
        numbers.trim()
    assert len(numbers) < 5_000
    given += [numbers.next(second) for second in range(0, 30_000, 3)]
    assert len(set(given)) == len(given)
    connection.close()
