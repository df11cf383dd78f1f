"""Reading a database that others write: neither waits for the other, and what is read is whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from databases import (
    count_rows,
    make_rows,
    names_in,
    run_python,
)
from session_adapters.reading.sqlite import DatabaseUnreadable, hold_locks, read_database

WRITER = """
import json, sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], timeout=1.0, isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("CREATE TABLE t (n)")
connection.execute("CREATE TABLE u (n)")
print("ready", flush=True)
busy = []
for number in range(400):
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO t VALUES (?)", (number,))
    connection.execute("INSERT INTO u VALUES (?)", (number,))
    connection.execute("COMMIT")
    if number % 5 == 4:
        busy.append(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
    time.sleep(0.002)
print(json.dumps(busy), flush=True)
"""


def test_a_live_writer_is_never_blocked_and_every_read_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    path = folder / "state.db"
    seen: list[tuple[int, int]] = []

    def both(connection: apsw.Connection) -> tuple[int, int]:
        row: Any = connection.execute("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)").fetchall()[0]
        return row[0], row[1]

    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        before = names_in(folder)
        while writer.poll() is None:
            try:
                seen.append(read_database(path, both))
            except DatabaseUnreadable as error:
                assert "faster than it can be read" in str(error)
            assert names_in(folder) <= before
        busy = json.loads(writer.stdout.read())
    assert busy == [0] * 80
    assert len(seen) > 50
    assert all(first == second for first, second in seen)
    assert seen == sorted(seen)
    assert before == {"state.db", "state.db-wal", "state.db-shm"}
    # A writer that closes while we read is not the last one out, and leaves its log for the next to take in.
    assert names_in(folder) <= before
    assert read_database(path, both) == (400, 400)


@contextmanager
def held_by(path: Path, *statements: str) -> Iterator[None]:
    """Another process has run these statements and keeps its connection open."""
    code = (
        "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for s in sys.argv[2:]: c.execute(s).fetchall()\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path), *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
        process.stdin.close()


@pytest.mark.parametrize(
    ("mode", "statements"),
    [
        ("DELETE", ["BEGIN EXCLUSIVE"]),
        ("DELETE", ["BEGIN EXCLUSIVE", "INSERT INTO t VALUES (99)"]),
        ("WAL", ["BEGIN EXCLUSIVE", "INSERT INTO t VALUES (99)"]),
        ("WAL", ["PRAGMA locking_mode = EXCLUSIVE", "BEGIN", "INSERT INTO t VALUES (99)"]),
        ("WAL", ["INSERT INTO t VALUES (99)", "DELETE FROM t WHERE n = 99"]),
    ],
)
def test_a_lock_keeps_nobody_from_reading_what_is_committed(mode: str, statements: list[str], tmp_path: Path) -> None:
    path = make_rows(tmp_path / "state.db", mode)
    with held_by(path, *statements):
        there = names_in(tmp_path)
        assert read_database(path, count_rows) == 10
        assert names_in(tmp_path) == there


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_reading_beside_a_writer_of_the_same_process_neither_waits_nor_drops_its_locks(
    mode: str, tmp_path: Path
) -> None:
    """POSIX takes a process's locks on a file when any of its descriptors of that file is closed."""
    path = make_rows(tmp_path / "state.db", mode)
    take = (
        "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
        "try: c.execute('BEGIN IMMEDIATE'); print('free')\nexcept sqlite3.OperationalError: print('locked')"
    )
    with hold_locks(path):
        own = apsw.Connection(str(path))
        assert count_rows(own) == 10
        assert read_database(path, count_rows) == 10
        own.execute("BEGIN IMMEDIATE")
        own.execute("DELETE FROM t")
        for _ in range(3):
            assert read_database(path, count_rows) == 10
        assert run_python(take, path).stdout == "locked\n"
        own.execute("ROLLBACK")
        own.close()
    assert run_python(take, path).stdout == "free\n"


def test_a_writer_of_the_same_process_waits_for_a_lockless_read_to_end(tmp_path: Path) -> None:
    path = make_rows(tmp_path / "state.db")
    reading, go_on = threading.Event(), threading.Event()

    def slow(connection: apsw.Connection) -> int:
        reading.set()
        assert go_on.wait(60)
        return count_rows(connection)

    reader = threading.Thread(target=read_database, args=(path, slow))
    reader.start()
    assert reading.wait(60)
    held = threading.Event()

    def write() -> None:
        with hold_locks(path):
            held.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert not held.wait(0.1), "the writer waits until the lockless connection is closed"
    go_on.set()
    assert held.wait(60)
    reader.join()
    writer.join()


def test_a_read_is_repeated_when_the_file_moved_under_it(tmp_path: Path) -> None:
    path = make_rows(tmp_path / "state.db")
    other = make_rows(tmp_path / "other.db", rows=25)
    calls = 0

    def read(connection: apsw.Connection) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            other.replace(path)
        return count_rows(connection)

    assert read_database(path, read) == 25
    assert calls == 2


def test_a_file_that_never_rests_is_given_up(tmp_path: Path) -> None:
    path = make_rows(tmp_path / "state.db")
    moment = 10**9

    def read(connection: apsw.Connection) -> None:
        nonlocal moment
        moment += 1
        os.utime(path, ns=(moment, moment))

    with pytest.raises(DatabaseUnreadable, match="changes faster than it can be read"):
        read_database(path, read)
