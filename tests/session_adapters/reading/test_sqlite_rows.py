"""Stamps and sources of databases, and rows whatever their types."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from databases import (
    count_rows,
    crashed_writer,
)
from session_adapters.reading import sqlite_limits
from session_adapters.reading.sqlite import DatabaseUnreadable, database_source, database_stamp, read_database
from session_adapters.reading.sqlite_limits import first_of_newest, held
from session_adapters.reading.sqlite_rows import as_float, as_int, as_text, columns, select_list

_LARGE = bytes(9 << 20)


def test_the_stamp_changes_with_each_commit(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (n)")
        stamps = [database_stamp(path)]
        for number in range(5):
            connection.execute("INSERT INTO t VALUES (?)", (number,))
            stamps.append(database_stamp(path))
            assert read_database(path, count_rows) == number + 1
            assert database_stamp(path) == stamps[-1]
    assert len(set(stamps)) == 6


def test_a_source_is_made_of_stat_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    crashed_writer(path, "CREATE TABLE t (n)", "INSERT INTO t VALUES (1)")
    source = database_source("x", path, root="r", layout="l", profile="p")
    wal = path.with_name("state.db-wal").stat()
    assert source.size == path.stat().st_size + wal.st_size
    assert source.modified == pytest.approx(max(path.stat().st_mtime, wal.st_mtime), abs=1e-6)
    assert (source.agent, source.path, source.session_id) == ("x", str(path), "")
    with pytest.raises(FileNotFoundError):
        database_source("x", tmp_path / "missing")


def test_columns_are_found_by_name_and_missing_ones_are_null(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE "odd name" (b, a)')
        connection.execute("INSERT INTO \"odd name\" VALUES (CAST(x'c328' AS TEXT), 7)")
        connection.commit()

    def read(connection: apsw.Connection) -> tuple[frozenset[str], frozenset[str], object]:
        have = columns(connection, "odd name")
        row = connection.execute(f'SELECT {select_list(have, ("a", "x", "b"), prefix="o.")} FROM "odd name" o')
        return have, columns(connection, "none"), row.fetchall()[0]

    assert read_database(path, read) == (frozenset("ab"), frozenset(), (7, None, b"\xc3("))


def test_values_are_taken_as_what_they_can_be() -> None:
    assert [as_text(value) for value in (None, b"a\x00b", b"\xff", 3, 1.5)] == [None, "a\x00b", "\ufffd", "3", "1.5"]
    assert [as_int(value) for value in (None, 3, 3.9, b"12", b"x", float("inf"), 1 << 62)] == [
        None, 3, 3, 12, None, None, 1 << 62,
    ]  # fmt: skip
    assert [as_float(value) for value in (None, b"1.5", b"nan", 1e999, 2)] == [None, 1.5, None, None, 2.0]


def test_a_column_whose_name_is_no_text_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (n, spoilt)")
    path.write_bytes(path.read_bytes().replace(b"spoilt", b"sp\xffilt"))
    assert read_database(path, lambda connection: columns(connection, "t")) == {"n", "sp\ufffdilt"}


def test_a_reason_is_one_line_whatever_the_schema_is_called(tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    connection = apsw.Connection(str(path))
    connection.execute('CREATE TABLE "evil\n\x1b[2Jname" (a)')
    connection.execute("PRAGMA writable_schema = 1")
    connection.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE broken('")
    connection.close()
    with pytest.raises(DatabaseUnreadable) as caught:
        read_database(path, lambda connection: connection.execute("SELECT * FROM sqlite_master").fetchall())
    assert "evil" in str(caught.value)
    assert str(caught.value).isprintable()


def test_rows_are_not_fetched_by_their_number_alone() -> None:
    """Fifty values of 9 MB were, and the guard of the memory refused the database."""
    fetched: list[int] = []

    def rows() -> Iterator[tuple[int, bytes]]:
        for number in range(50):
            fetched.append(number)
            yield number, _LARGE

    found = held(rows())
    assert [number for number, _ in found] == fetched == [0]
    assert len(held(iter([(0, 2 * _LARGE), (1, b"")]))) == 1, "one at least"
    assert len(held((number, b"x") for number in range(1000))) == 1000


def test_of_too_many_rows_the_last_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_limits, "SESSION_LIMIT", 10 << 10)
    assert first_of_newest([]) == first_of_newest([0] * 10) == first_of_newest([4 << 10, 4 << 10]) == 0
    assert first_of_newest([0] * 25) == 15
    assert first_of_newest([0, 9 << 10, 4 << 10, 3 << 10]) == 2
    assert first_of_newest([0, 10 << 10]) == 2, "one that does not fit hides those before it"


def test_few_pages_of_a_large_database_are_held(tmp_path: Path) -> None:
    """However much of it is read."""
    path = tmp_path / "large.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, text)")
        connection.execute(
            "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s LIMIT 5000)"
            " INSERT INTO t SELECT n, hex(randomblob(500)) FROM s"
        )
    assert path.stat().st_size > 5_000_000
    apsw.memory_high_water(True)
    before = apsw.memory_used()
    read = read_database(path, lambda one: sum(len(str(text)) for (text,) in one.execute("SELECT text FROM t")))
    assert read == 5_000_000
    assert apsw.memory_high_water() - before < 700_000
