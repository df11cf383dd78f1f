"""What cannot be opened or written is refused in one sentence, and nothing is changed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from databases import locked, run_python, tree
from hermes_tui.errors import SessionNotFound, StoreBusy, StoreError
from hermes_tui.lifecycle.state_db.connection import store
from hermes_tui.lifecycle.state_db.database import SessionDB
from hermes_tui.lifecycle.state_db.titles import TitleRefused
from support import REPOSITORY


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one session of one message, closed, with nothing beside it."""
    path = tmp_path / "home" / "state.db"
    with SessionDB(path) as db:
        db.create_session("a", "cli")
        db.append_message("a", "user", "hello")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    assert [one.name for one in path.parent.iterdir()] == ["state.db"]
    return path


def contents(path: Path) -> list[object]:
    connection = sqlite3.connect(path)
    found = [
        connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall() for table in ("sessions", "messages")
    ]
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    return [*found]


def assert_sentence(error: BaseException, *words: str) -> None:
    text = str(error)
    assert text.endswith(".")
    assert "\n" not in text
    for word in words:
        assert word in text


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: path.write_bytes(b"no database at all\n" * 500), "not an SQLite database"),
        (lambda path: overwrite(path, 0, b"\xff" * 100), "not an SQLite database"),
        (lambda path: overwrite(path, 100, b"\xff" * 3000), "damaged"),
        (lambda path: os.truncate(path, 5000), "damaged"),
        (lambda path: path.chmod(0o444), "chmod u+w"),
        (lambda path: path.parent.chmod(0o555), "chmod u+w"),
        (lambda path: (path.unlink(), path.mkdir()), "not a regular file"),
        (make_pipe, "not a regular file"),
        (lambda path: (path.unlink(), sqlite3.connect(path).execute("CREATE TABLE t (x)")), "not Hermes'"),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_cannot_be_written_is_left_alone(path: Path, spoil: Callable[[Path], object], reason: str) -> None:
    spoil(path)
    before = tree(path.parent)
    with pytest.raises(StoreError) as caught:
        SessionDB(path)
    assert_sentence(caught.value, str(path.parent), reason)
    assert tree(path.parent) == before
    path.parent.chmod(0o755)


def test_a_store_of_another_user_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    before = tree(path.parent)
    with pytest.raises(StoreError) as caught:
        SessionDB(path)
    assert_sentence(caught.value, "belongs to another user", "65534" if os.geteuid() == 0 else "uid")
    assert tree(path.parent) == before


def test_no_store_to_read_and_no_place_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        SessionDB(tmp_path / "none.db", read_only=True)
    assert_sentence(caught.value, "There is no session store")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as caught:
        SessionDB(tmp_path / "file" / "state.db")
    assert_sentence(caught.value, "cannot be made")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "isolated-home"]


@contextmanager
def small(pages: int) -> Iterator[None]:
    """Databases that are opened meanwhile hold no more than that many pages, as on a disk that is full."""

    def limit(connection: apsw.Connection) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    apsw.connection_hooks.append(limit)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(limit)


def test_a_full_disk_changes_nothing(path: Path) -> None:
    before = contents(path)
    with small(path.stat().st_size // 4096), SessionDB(path) as db:
        with pytest.raises(StoreError) as caught:
            db.append_message("a", "user", "x" * 1_000_000)
        assert_sentence(caught.value, str(path), "full", "nothing was written")
        with pytest.raises(StoreError, match="full"), db.transaction():
            db.end_session("a", "x")
            db.append_message("a", "user", "x" * 1_000_000)
        assert db.get_session("a") is not None
        db.end_session("a", "it works again")
        db.reopen_session("a")
    assert contents(path) == before


def test_a_disk_that_is_full_while_a_store_is_brought_up(store: Callable[..., Path]) -> None:
    path = store("hermes", "old_versions", "v1", ".hermes") / "state.db"
    before = contents(path)
    with small(path.stat().st_size // 4096), pytest.raises(StoreError, match="full"):
        SessionDB(path)
    assert contents(path) == before
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT version FROM schema_version").fetchall() == [(1,)]
    connection.close()


def in_a_process(code: str, path: Path) -> str:
    """What Python code prints about a store, in a process whose limits are its own."""
    return subprocess.run(
        [sys.executable, "-B", "-c", code, str(path)],
        env={"PYTHONPATH": os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_file_that_may_not_grow(path: Path) -> None:
    """The system refuses to write, in the middle of it."""
    before = contents(path)
    code = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from hermes_tui.errors import StoreError\nfrom hermes_tui.lifecycle.state_db.database import SessionDB\n"
        "db = SessionDB(Path(sys.argv[1]))\nresource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try: db.append_message('a', 'user', 'x' * 1_000_000)\nexcept StoreError as error: print(error)\n"
    )
    said = in_a_process(code, path)
    assert "nothing was written" in said
    assert contents(path) == before


def test_a_disk_without_room_is_said_to_be_full(path: Path) -> None:
    """SQLite calls it an error of input or output when the memory that processes share cannot be made."""
    before = contents(path)
    code = (
        "import resource, shutil, sys\nfrom pathlib import Path\n"
        "from hermes_tui.errors import StoreError\nfrom hermes_tui.lifecycle.state_db.database import SessionDB\n"
        "usage = shutil.disk_usage\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "for free in (1 << 40, 0):\n"
        "    shutil.disk_usage = lambda place: usage(place)._replace(free=free)\n"
        "    try: SessionDB(Path(sys.argv[1])).append_message('a', 'user', 'x')\n"
        "    except StoreError as error: print(error)\n"
    )
    said = in_a_process(code, path)
    with_room, without = said.splitlines()
    assert str(path) in with_room
    assert "the disk does not take or give it; nothing was written" in with_room
    assert "is full; nothing was written, make room" in without
    assert contents(path) == before


def test_a_file_system_that_is_mounted_read_only(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No mode of a file helps there."""
    mounted = os.statvfs(path)

    class ReadOnly:
        f_flag = mounted.f_flag | os.ST_RDONLY

    monkeypatch.setattr(os, "statvfs", lambda place: ReadOnly)
    before = tree(path.parent)
    with pytest.raises(StoreError) as caught:
        SessionDB(path)
    assert_sentence(caught.value, str(path), "mounted read-only", "mount it writable")
    assert tree(path.parent) == before


def test_a_lock_that_is_never_given_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(store, "BUSY_TIMEOUT", 1)
    monkeypatch.setattr(time, "sleep", pauses.append)
    with SessionDB(path) as db, locked(path) as release:
        with pytest.raises(StoreBusy) as caught:
            db.end_session("a", "x")
        assert_sentence(caught.value, str(path), "locked", "nothing was changed", "try again")
        row = db.get_session("a")
        assert row is not None
        assert row["ended_at"] is None
        assert f"process {release()} (python" in str(caught.value)
    assert len(pauses) == 14
    assert all(0.020 <= pause <= 0.150 for pause in pauses)
    assert len(set(pauses)) == 14


def test_a_lock_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BUSY_TIMEOUT", 1)
    with SessionDB(path) as db, locked(path) as release:
        monkeypatch.setattr(time, "sleep", lambda seconds: release() and None)
        db.end_session("a", "at last")
        row = db.get_session("a")
    assert row is not None
    assert row["end_reason"] == "at last"


def test_who_keeps_it_locked_is_told_once_while_trying_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BUSY_TIMEOUT", 1)
    told: list[str] = []
    pauses: list[float] = []
    with (
        store.Store(path, read_only=False, clock=time.time, waiting=told.append) as opened,
        locked(path) as release,
    ):
        pids: list[int] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                pids.append(release())

        monkeypatch.setattr(time, "sleep", sleep)
        with opened.transaction():
            opened.execute("UPDATE sessions SET end_reason = 'at last'")
    assert len(pauses) == 3
    assert len(told) == 1
    assert told[0].startswith(f"process {pids[0]} (python")


def test_a_store_that_was_replaced_is_not_written(path: Path) -> None:
    with SessionDB(path) as db:
        db.end_session("a", "x")
        copy = path.with_name("other.db")
        copy.write_bytes(path.read_bytes())
        copy.replace(path)
        with pytest.raises(StoreError) as caught:
            db.reopen_session("a")
        assert_sentence(caught.value, "replaced or removed")
        path.unlink()
        with pytest.raises(StoreError, match="replaced or removed"):
            db.rows("SELECT 1")


def test_what_is_closed_says_so(path: Path) -> None:
    db = SessionDB(path)
    db.close()
    db.close()
    with pytest.raises(StoreError, match="was closed"):
        db.end_session("a", "x")
    with pytest.raises(StoreError, match="was closed"):
        db.rows("SELECT 1")


def test_what_there_is_not(path: Path) -> None:
    with SessionDB(path) as db:
        for refused in (
            lambda: db.append_message("b", "user", "x"),
            lambda: db.replace_messages("b", [{"role": "user", "content": "x"}]),
            lambda: db.create_session("c", "cli", parent_session_id="b"),
        ):
            with pytest.raises(SessionNotFound) as caught:
                refused()
            assert_sentence(caught.value, "There is no session b")
        with pytest.raises(TitleRefused) as refusal:
            db.set_session_title("a", "x" * 101)
        assert_sentence(refusal.value, "101", "100")
        assert not db.set_session_title("b", "x")
        with pytest.raises(TypeError, match="colour"):
            db.append_message("a", "user", "x", colour="red")
        with pytest.raises(TypeError, match="colour"):
            db.create_session("d", "cli", colour="red")
        with pytest.raises(RuntimeError, match="transaction"):
            db.execute("DELETE FROM messages")
        assert db.message_count() == 1


def test_text_that_is_none_is_told(path: Path) -> None:
    run_python(
        'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute("UPDATE messages SET content ='
        " CAST(x'ff41' AS TEXT)\"); c.commit()",
        path,
    )
    for read_only in (False, True):
        with SessionDB(path, read_only=read_only) as db:
            with pytest.raises(StoreError) as caught:
                db.get_messages("a")
            assert_sentence(caught.value, "no UTF-8")
            assert db.get_session("a") is not None
