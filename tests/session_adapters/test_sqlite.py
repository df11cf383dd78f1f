"""Reading other programs' databases: right, without a trace, and in nobody's way."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from databases import crashed_writer, open_descriptors, run_python, shared_folder, tree, unprivileged
from session_adapters import sqlite
from session_adapters.sqlite import (
    DatabaseMissing,
    DatabaseUnreadable,
    database_source,
    database_stamp,
    hold_locks,
    read_database,
)
from session_adapters.sqlite_rows import as_float, as_int, as_text, columns, select_list

ROWS = [f"INSERT INTO t VALUES ({number})" for number in range(10)]


def count(connection: apsw.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM t").get)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def make(path: Path, mode: str = "WAL", rows: int = 10) -> Path:
    """A database of `rows` rows, cleanly closed."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE t (n)")
        connection.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(rows)])
        connection.commit()
    return path


def make_hot_journal(path: Path) -> Path:
    """Ten rows, and a transaction that died after some of its pages had reached the file."""
    make(path, "DELETE")
    crashed_writer(
        path,
        "PRAGMA cache_size = 1",
        "PRAGMA cache_spill = 1",
        "BEGIN IMMEDIATE",
        "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s LIMIT 20000) INSERT INTO t SELECT n FROM s",
        mode="DELETE",
    )
    assert path.with_name(path.name + "-journal").stat().st_size > 0
    return path


def state(kind: str, folder: Path) -> tuple[Path, int]:
    """A database in one of the states of the ladder, and how many rows it truly has."""
    path = folder / "state.db"
    if kind == "clean WAL":
        return make(path), 10
    if kind == "clean DELETE":
        return make(path, "DELETE"), 10
    if kind == "hot journal":
        return make_hot_journal(path), 10
    crashed_writer(path, "CREATE TABLE t (n)", *ROWS)
    crashed_writer(path, "INSERT INTO t VALUES (10)")
    if kind == "crashed, no -shm":
        path.with_name("state.db-shm").unlink()
    else:
        assert kind == "crashed"
    assert path.with_name("state.db-wal").stat().st_size > 0
    return path, 11


STATES = ["clean WAL", "clean DELETE", "hot journal", "crashed", "crashed, no -shm"]


@pytest.mark.parametrize("kind", STATES)
def test_every_committed_row_is_read_and_nothing_is_touched(kind: str, tmp_path: Path) -> None:
    path, rows = state(kind, tmp_path)
    before = tree(tmp_path)
    stamp = database_stamp(path)
    assert [read_database(path, count) for _ in range(3)] == [rows] * 3
    assert tree(tmp_path) == before
    assert database_stamp(path) == stamp


@pytest.mark.parametrize("kind", STATES)
def test_it_reads_as_well_where_it_may_not_write(kind: str) -> None:
    with shared_folder() as folder:
        path, rows = state(kind, folder)
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        before = tree(folder)
        code = (
            "import sys; from session_adapters.sqlite import read_database\n"
            "print(read_database(sys.argv[1], lambda c: c.execute('SELECT count(*) FROM t').get))"
        )
        assert run_python(code, path, user=unprivileged()).stdout.strip() == str(rows)
        assert tree(folder) == before


def test_copies_are_private_and_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(copies))
    folder = tmp_path / "store"
    folder.mkdir()
    path, rows = state("crashed, no -shm", folder)
    modes: list[int] = []

    def look(connection: apsw.Connection) -> int:
        modes.extend(child.stat().st_mode & 0o777 for child in copies.iterdir())
        return count(connection)

    assert read_database(path, look) == rows
    assert modes == [0o700]
    assert not list(copies.iterdir())


def test_a_journal_that_goes_while_it_is_copied_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next transaction may have made another one by the time that is noticed."""
    path = make_hot_journal(tmp_path / "state.db")
    journal, away = path.with_name("state.db-journal"), path.with_name("away")
    real = subprocess.run
    missed: list[str] = []

    def run(argv: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        hide = argv[2].endswith("-journal") and not missed
        if hide:
            missed.append(argv[2])
            journal.rename(away)
        try:
            return real(argv, **options)
        finally:
            if hide:
                away.rename(journal)

    monkeypatch.setattr("subprocess.run", run)
    assert read_database(path, count) == 10
    assert len(missed) == 1


@pytest.mark.parametrize("name", ["a b.db", "a?mode=rwc.db", "a#b.db", "a%41.db", "ü&x=1;.db", "\udcff.db", "-n"])
def test_any_file_name_is_only_a_file_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a?b#c%d"
    folder.mkdir()
    path = folder / name
    plain = make(tmp_path / "plain.db")
    plain.rename(path)
    assert read_database(path, count) == 10
    monkeypatch.chdir(folder)
    assert read_database(name, count) == 10
    crashed_writer(plain, "CREATE TABLE t (n)", *ROWS)
    for suffix in ("", "-wal"):  # no -shm: a copy has to be made
        plain.with_name(plain.name + suffix).rename(folder / (name + suffix))
    assert read_database(path, count) == 10


def test_a_link_is_followed_to_the_log_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path, rows = state("crashed", tmp_path / "real")
    link = tmp_path / "link.db"
    link.symlink_to(path)
    assert read_database(link, count) == rows
    assert database_stamp(link) == database_stamp(path)


# A writer at work --------------------------------------------------------------------------------------------

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
        before = names(folder)
        while writer.poll() is None:
            try:
                seen.append(read_database(path, both))
            except DatabaseUnreadable as error:
                assert "faster than it can be read" in str(error)
            assert names(folder) <= before
        busy = json.loads(writer.stdout.read())
    assert busy == [0] * 80
    assert len(seen) > 50
    assert all(first == second for first, second in seen)
    assert seen == sorted(seen)
    assert before == {"state.db", "state.db-wal", "state.db-shm"}
    # A writer that closes while we read is not the last one out, and leaves its log for the next to take in.
    assert names(folder) <= before
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
    path = make(tmp_path / "state.db", mode)
    with held_by(path, *statements):
        there = names(tmp_path)
        assert read_database(path, count) == 10
        assert names(tmp_path) == there


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_reading_beside_a_writer_of_the_same_process_neither_waits_nor_drops_its_locks(
    mode: str, tmp_path: Path
) -> None:
    """POSIX takes a process's locks on a file when any of its descriptors of that file is closed."""
    path = make(tmp_path / "state.db", mode)
    take = (
        "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
        "try: c.execute('BEGIN IMMEDIATE'); print('free')\nexcept sqlite3.OperationalError: print('locked')"
    )
    with hold_locks(path):
        own = apsw.Connection(str(path))
        assert count(own) == 10
        assert read_database(path, count) == 10
        own.execute("BEGIN IMMEDIATE")
        own.execute("DELETE FROM t")
        for _ in range(3):
            assert read_database(path, count) == 10
        assert run_python(take, path).stdout == "locked\n"
        own.execute("ROLLBACK")
        own.close()
    assert run_python(take, path).stdout == "free\n"


def test_a_writer_of_the_same_process_waits_for_a_lockless_read_to_end(tmp_path: Path) -> None:
    path = make(tmp_path / "state.db")
    reading, go_on = threading.Event(), threading.Event()

    def slow(connection: apsw.Connection) -> int:
        reading.set()
        assert go_on.wait(30)
        return count(connection)

    reader = threading.Thread(target=read_database, args=(path, slow))
    reader.start()
    assert reading.wait(30)
    held = threading.Event()

    def write() -> None:
        with hold_locks(path):
            held.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert not held.wait(0.1), "the writer waits until the lockless connection is closed"
    go_on.set()
    assert held.wait(30)
    reader.join()
    writer.join()


def test_a_read_is_repeated_when_the_file_moved_under_it(tmp_path: Path) -> None:
    path = make(tmp_path / "state.db")
    other = make(tmp_path / "other.db", rows=25)
    calls = 0

    def read(connection: apsw.Connection) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            other.replace(path)
        return count(connection)

    assert read_database(path, read) == 25
    assert calls == 2


def test_a_file_that_never_rests_is_given_up(tmp_path: Path) -> None:
    path = make(tmp_path / "state.db")
    moment = 10**9

    def read(connection: apsw.Connection) -> None:
        nonlocal moment
        moment += 1
        os.utime(path, ns=(moment, moment))

    with pytest.raises(DatabaseUnreadable, match="changes faster than it can be read"):
        read_database(path, read)


# Refusals ----------------------------------------------------------------------------------------------------


def test_each_reason_is_one_sentence(tmp_path: Path) -> None:
    empty, text, folder, pipe = (tmp_path / name for name in ("empty", "text", "folder", "pipe"))
    empty.touch()
    text.write_text("no database, but long enough to be taken for a header " * 100)
    folder.mkdir()
    os.mkfifo(pipe)
    for path, reason in (
        (empty, "the file is empty"),
        (text, "it is not an SQLite database"),
        (folder, "it is not a regular file"),
        (pipe, "it is not a regular file"),
    ):
        with pytest.raises(DatabaseUnreadable, match=f"^{reason}$"):
            read_database(path, count)
    for path in (tmp_path / "missing", text / "below"):
        with pytest.raises(DatabaseUnreadable):
            read_database(path, count)
    with pytest.raises(DatabaseMissing):
        read_database(tmp_path / "missing", count)


def test_a_copy_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = state("crashed, no -shm", tmp_path)
    monkeypatch.setattr(sqlite, "COPY_LIMIT", 1000)
    with pytest.raises(DatabaseUnreadable, match="over the limit"):
        read_database(path, count)


def test_a_read_that_takes_too_long_is_broken_off(tmp_path: Path) -> None:
    path = make(tmp_path / "state.db", rows=1000)
    with pytest.raises(DatabaseUnreadable, match="took too long"):
        read_database(path, lambda c: c.execute("SELECT count(*) FROM t a, t b, t c").get, timeout=0)


def test_nothing_can_be_written_through_a_connection(tmp_path: Path) -> None:
    for kind in STATES:
        folder = tmp_path / kind
        folder.mkdir()
        path, rows = state(kind, folder)
        before = tree(folder)
        for statement in ("DELETE FROM t", "CREATE TABLE x (y)", "PRAGMA user_version = 3"):
            with pytest.raises(DatabaseUnreadable):
                read_database(path, lambda c, s=statement: c.execute(s).fetchall())  # type: ignore[misc]
        with suppress(DatabaseUnreadable):
            read_database(path, lambda c: c.execute("PRAGMA journal_mode = DELETE").fetchall())
        assert tree(folder) == before
        assert read_database(path, count) == rows


def test_the_readers_own_errors_come_through_and_leave_nothing_open(tmp_path: Path) -> None:
    path = make(tmp_path / "state.db")
    before = open_descriptors()
    for _ in range(50):
        with pytest.raises(KeyError):
            read_database(path, lambda c: {}[c.execute("SELECT count(*) FROM t").get])
    assert open_descriptors() == before


@pytest.mark.parametrize("kind", STATES)
def test_descriptors_and_connections_stay_the_same_over_200_reads(kind: str, tmp_path: Path) -> None:
    path, _ = state(kind, tmp_path)
    before = (open_descriptors(), len(apsw.connections()))
    for _ in range(200 if "journal" not in kind and "no -shm" not in kind else 40):
        read_database(path, count)
    assert (open_descriptors(), len(apsw.connections())) == before


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_an_error_with_a_reason_or_no_error(data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.unlink(missing_ok=True)
    whole = bytearray(make(path, rows=2000).read_bytes())
    if data.draw(st.booleans(), "truncate"):
        whole = whole[: data.draw(st.integers(0, len(whole)), "length")]
    else:
        for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=20), "bytes"):
            whole[at] ^= 1 << data.draw(st.integers(0, 7), "bit")
    path.write_bytes(whole)
    before = tree(tmp_path)
    try:
        assert read_database(path, count) >= 0
    except DatabaseUnreadable as error:
        assert str(error)
        assert not str(error).endswith(".")
    assert tree(tmp_path) == before


# Stamps, sources and rows ------------------------------------------------------------------------------------


def test_the_stamp_changes_with_each_commit(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (n)")
        stamps = [database_stamp(path)]
        for number in range(5):
            connection.execute("INSERT INTO t VALUES (?)", (number,))
            stamps.append(database_stamp(path))
            assert read_database(path, count) == number + 1
            assert database_stamp(path) == stamps[-1]
    assert len(set(stamps)) == 6


def test_a_source_is_made_of_stat_alone(tmp_path: Path) -> None:
    path, _ = state("crashed", tmp_path)
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
