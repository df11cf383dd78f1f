"""Reading other programs' databases: right, without a trace, and in nobody's way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from databases import (
    count_rows,
    crashed_writer,
    make_rows,
    nothing_left_open,
    run_python,
    shared_folder,
    tree,
    unprivileged,
)
from session_adapters.reading import files, sqlite, sqlite_limits
from session_adapters.reading.copying import copies
from session_adapters.reading.sqlite import DatabaseMissing, DatabaseUnreadable, database_stamp, read_database

ROWS = [f"INSERT INTO t VALUES ({number})" for number in range(10)]


def make_hot_journal(path: Path) -> Path:
    """Ten rows, and a transaction that died after some of its pages had reached the file."""
    make_rows(path, "DELETE")
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
        return make_rows(path), 10
    if kind == "clean DELETE":
        return make_rows(path, "DELETE"), 10
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
    assert [read_database(path, count_rows) for _ in range(3)] == [rows] * 3
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
            "import sys; from session_adapters.reading.sqlite import read_database\n"
            "print(read_database(sys.argv[1], lambda c: c.execute('SELECT count(*) FROM t').get))"
        )
        assert run_python(code, path, user=unprivileged()).stdout.strip() == str(rows)
        assert tree(folder) == before


def test_copies_are_private_and_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setenv("TMPDIR", str(copies))
    folder = tmp_path / "store"
    folder.mkdir()
    path, rows = state("crashed, no -shm", folder)
    modes: list[int] = []

    def look(connection: apsw.Connection) -> int:
        modes.extend(child.stat().st_mode & 0o777 for child in copies.iterdir())
        return count_rows(connection)

    assert read_database(path, look) == rows
    assert modes == [0o700]
    assert not list(copies.iterdir())


@pytest.mark.parametrize("named", [None, "closed", "."])
def test_without_a_temporary_directory_nothing_is_written_where_we_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str | None
) -> None:
    """Python's own choice is the working directory then, and that may be a store."""
    folder = tmp_path / "store"
    folder.mkdir()
    path, _ = state("crashed, no -shm", folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr(files, "TEMPORARY", (str(tmp_path / "neither"), str(path)))
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    if named:
        monkeypatch.setenv("TMPDIR", named)
    before = tree(folder)
    with pytest.raises(DatabaseUnreadable, match="no directory for temporary files can be written to; name one"):
        _count(path)
    assert tree(folder) == before


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
    assert read_database(path, count_rows) == 10
    assert len(missed) == 1


@pytest.mark.parametrize("anew", [False, True])
def test_a_log_that_is_emptied_while_it_is_copied_leads_to_nothing_older(
    anew: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it was in the database already; a first part of it would undo the rest."""
    path = tmp_path / "state.db"
    with closing(apsw.Connection(str(tmp_path / "live.db"))) as live:
        live.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (n); INSERT INTO t VALUES (0)").fetchall()
        for number in range(40):
            live.execute("UPDATE t SET n = ?", (number,))
        assert live.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall() == [(0, 42, 42)]
        for suffix in ("", "-wal"):
            shutil.copy(tmp_path / f"live.db{suffix}", f"{path}{suffix}")
    copy_file, torn = copies.copy_file, 0

    def copy(source: str, target: str, path: str) -> None:
        nonlocal torn
        copy_file(source, target, path)
        if source.endswith("-wal") and not torn:
            torn += 1
            os.truncate(target, Path(target).stat().st_size // 2)
            if anew:  # by other frames, of which there are as many already
                Path(source).write_bytes(b"\0" * 32 + Path(source).read_bytes()[32:])
            else:
                os.truncate(source, 0)

    monkeypatch.setattr(copies, "copy_file", copy)
    assert read_database(path, lambda found: found.execute("SELECT n FROM t").get) == 39
    assert torn == 1


@pytest.mark.parametrize("name", ["a b.db", "a?mode=rwc.db", "a#b.db", "a%41.db", "ü&x=1;.db", "\udcff.db", "-n"])
def test_any_file_name_is_only_a_file_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a?b#c%d"
    folder.mkdir()
    path = folder / name
    plain = make_rows(tmp_path / "plain.db")
    plain.rename(path)
    assert read_database(path, count_rows) == 10
    monkeypatch.chdir(folder)
    assert read_database(name, count_rows) == 10
    crashed_writer(plain, "CREATE TABLE t (n)", *ROWS)
    for suffix in ("", "-wal"):  # no -shm: a copy has to be made
        plain.with_name(plain.name + suffix).rename(folder / (name + suffix))
    assert read_database(path, count_rows) == 10


def test_a_link_is_followed_to_the_log_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path, rows = state("crashed", tmp_path / "real")
    link = tmp_path / "link.db"
    link.symlink_to(path)
    assert read_database(link, count_rows) == rows
    assert database_stamp(link) == database_stamp(path)


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
            read_database(path, count_rows)
    for path in (tmp_path / "missing", text / "below"):
        with pytest.raises(DatabaseUnreadable):
            read_database(path, count_rows)
    with pytest.raises(DatabaseMissing):
        read_database(tmp_path / "missing", count_rows)


def test_a_copy_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = state("crashed, no -shm", tmp_path)
    monkeypatch.setattr(copies, "COPY_LIMIT", 1000)
    with pytest.raises(DatabaseUnreadable, match="over the limit"):
        read_database(path, count_rows)


def test_a_read_that_takes_too_long_is_broken_off(tmp_path: Path) -> None:
    path = make_rows(tmp_path / "state.db", rows=1000)
    with pytest.raises(DatabaseUnreadable, match="took too long"):
        read_database(path, lambda c: c.execute("SELECT count(*) FROM t a, t b, t c").get, timeout=0)


def test_five_seconds_are_the_most_for_what_is_read_of_a_session() -> None:
    assert sqlite_limits.READ_SECONDS + sqlite_limits.SESSION_ROWS * sqlite_limits.ROW_SECONDS <= 5.0


def test_a_slow_processor_has_the_longer_the_more_rows_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_rows(tmp_path / "state.db", rows=60_000)
    monkeypatch.setattr(sqlite_limits, "READ_SECONDS", 0.0)
    for size in (0, 1 << 40):
        monkeypatch.setattr(sqlite_limits, "SMALL", size)
        assert len(read_database(path, lambda c: c.execute("SELECT * FROM t").fetchall())) == 60_000
        with pytest.raises(DatabaseUnreadable, match="took too long"):
            read_database(path, lambda c: c.execute("SELECT count(*) FROM t a, t b").get)


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
        assert read_database(path, count_rows) == rows


def test_the_readers_own_errors_come_through_and_leave_nothing_open(tmp_path: Path) -> None:
    path = make_rows(tmp_path / "state.db")
    with nothing_left_open():
        for _ in range(50):
            with pytest.raises(KeyError):
                read_database(path, lambda c: {}[c.execute("SELECT count(*) FROM t").get])


def test_a_log_that_is_none_is_said_and_not_waited_for(tmp_path: Path) -> None:
    """Of a program that died; SQLite looks for its beginning for ten seconds, and then says `locking protocol`."""
    path, _ = state("crashed", tmp_path)
    for one in (path, path.with_name("state.db-wal")):
        one.write_bytes(b"\xff" * one.stat().st_size)
    with pytest.raises(DatabaseUnreadable, match="it is not an SQLite database"):
        read_database(path, count_rows)


def test_a_damaged_log_that_a_program_has_open_is_read_as_that_program_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    owner = apsw.Connection(str(path))
    for statement in ("PRAGMA journal_mode = WAL", "CREATE TABLE t (n)", *ROWS):
        owner.execute(statement).fetchall()
    owner.close()
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('INSERT INTO t VALUES (10)'); c.commit()\n"
        "print('open', flush=True); sys.stdin.read(); print(c.execute('SELECT count(*) FROM t').fetchone()[0])"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == "open\n"
        with path.with_name("state.db-wal").open("r+b") as log:
            log.write(bytes(8))
        assert read_database(path, count_rows) == 11
        program.stdin.close()
        assert program.stdout.read() == "11\n"


@pytest.mark.parametrize("kind", STATES)
def test_descriptors_and_connections_stay_the_same_over_200_reads(kind: str, tmp_path: Path) -> None:
    path, _ = state(kind, tmp_path)
    with nothing_left_open():
        for _ in range(200 if "journal" not in kind and "no -shm" not in kind else 40):
            read_database(path, count_rows)


@examples(60)
@given(data=st.data())
def test_damage_is_an_error_with_a_reason_or_no_error(data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.unlink(missing_ok=True)
    whole = bytearray(make_rows(path, rows=2000).read_bytes())
    if data.draw(st.booleans(), "truncate"):
        whole = whole[: data.draw(st.integers(0, len(whole)), "length")]
    else:
        for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=20), "bytes"):
            whole[at] ^= 1 << data.draw(st.integers(0, 7), "bit")
    path.write_bytes(whole)
    before = tree(tmp_path)
    try:
        assert read_database(path, count_rows) >= 0
    except DatabaseUnreadable as error:
        assert str(error)
        assert not str(error).endswith(".")
    assert tree(tmp_path) == before


@pytest.fixture
def left_behind(tmp_path: Path) -> Path:
    """A database with a log that no program has open any more, and without the shared memory."""
    path = tmp_path / "left" / "x.db"
    path.parent.mkdir()
    made = tmp_path / "made.db"
    with closing(apsw.Connection(str(made))) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE t (x)")
        db.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(100)])
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{made}{suffix}", f"{path}{suffix}")
    return path


def _count(path: Path) -> int:
    return len(read_database(path, lambda db: db.execute("SELECT x FROM t").fetchall()))


def test_a_large_copy_is_made_once_and_given_back(left_behind: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    copy_file = copies.copy_file

    def counted(source: str, target: str, path: str) -> None:
        made.append(target)
        copy_file(source, target, path)

    monkeypatch.setattr(copies, "copy_file", counted)
    monkeypatch.setattr(copies, "KEPT_FROM", 0)
    monkeypatch.setattr(copies, "KEPT_SECONDS", 0.2)
    assert [_count(left_behind) for _ in range(3)] == [100] * 3
    assert len(made) == 2
    os.utime(left_behind, (1, 1))
    assert _count(left_behind) == 100 and len(made) == 4
    until = time.monotonic() + 20
    while any(Path(one).parent.exists() for one in made) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(Path(one).parent.exists() for one in made)


def test_a_log_that_takes_too_long_is_not_gone_through_again_and_again(
    left_behind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(f"{left_behind}-shm").write_bytes(bytes(32 << 10))  # without a program that keeps it up to date
    monkeypatch.setattr(sqlite, "OPENING_SECONDS", -1.0)
    with pytest.raises(DatabaseUnreadable, match="open it once with its own program"):
        _count(left_behind)
    monkeypatch.setattr(sqlite, "OPENING_SECONDS", 1.5)
    assert _count(left_behind) == 100
