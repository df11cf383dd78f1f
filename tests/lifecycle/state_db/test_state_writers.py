"""Many processes on one store, the real Hermes among them: no message is lost, nobody hears that it is locked."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from chances import TIMES
from hermes_tui.lifecycle.state_db.database import SessionDB
from oracle.hermes import Oracle, oracle_python
from session_adapters.reading.sqlite import read_database
from support import REPOSITORY

WRITES = 120 * TIMES
"""Messages of each writer: 120 take a few seconds, 3000 a minute or two."""

WRITER = """
import importlib, json, sys
from pathlib import Path
module, path, name, number = sys.argv[1:]
db = importlib.import_module(module).SessionDB(Path(path))
written, errors = [], []
print("ready", flush=True)
sys.stdin.readline()
try:
    db.create_session(name, "cli")
except Exception as error:
    errors.append(repr(error))
for count in range(int(number)):
    try:
        session = name if count % 3 else "shared"
        written.append(db.append_message(session, "user", f"{name} message {count}", tool_calls=[{}]))
        if count % 20 == 0:
            db.set_session_title(name, f"{name} #{count}")
            db.search_messages(name, limit=2)
        if count % 50 == 7:
            db.end_session(name, "over"); db.reopen_session(name)
    except Exception as error:
        errors.append(repr(error))
db.close()
print(json.dumps([written, errors]))
"""


def start(python: Path | str, module: str, path: Path, name: str, writes: int) -> subprocess.Popen[str]:
    """A writer that waits for a line before it begins."""
    search = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
    ours = module.startswith("hermes_tui")
    environment = {**os.environ, "HERMES_HOME": str(path.parent), **({"PYTHONPATH": search} if ours else {})}
    return subprocess.Popen(
        [str(python), "-c", WRITER, module, str(path), name, str(writes)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=path.parent,
    )


def run_writers(
    path: Path, programs: list[tuple[Path | str, str]], watch: Callable[[], object]
) -> dict[str, list[int]]:
    """Let all write at once, and call `watch` meanwhile; the ids of the messages by writer."""
    writers = {
        f"writer-{number}": start(python, module, path, f"writer-{number}", WRITES)
        for number, (python, module) in enumerate(programs)
    }
    for writer in writers.values():
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers.values():
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    while any(writer.poll() is None for writer in writers.values()):
        watch()
    written: dict[str, list[int]] = {}
    for name, writer in writers.items():
        ids, errors = json.loads(writer.communicate()[0])
        assert errors == []
        written[name] = ids
    return written


def assert_nothing_lost(path: Path, written: dict[str, list[int]]) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    contents = dict(connection.execute("SELECT id, content FROM messages"))
    for name, ids in written.items():
        assert [contents.pop(id_) for id_ in ids] == [f"{name} message {count}" for count in range(WRITES)]
        found = connection.execute(f"SELECT count(*) FROM messages_fts WHERE messages_fts MATCH '\"{name}\"'")
        assert found.fetchone() == (WRITES,)
    assert contents == {}
    counted = connection.execute(
        "SELECT message_count - (SELECT count(*) FROM messages m WHERE m.session_id = s.id), tool_call_count"
        " - message_count FROM sessions s"
    ).fetchall()
    assert set(counted) == {(0, 0)}
    connection.close()


def test_eight_writers_half_of_them_the_real_hermes(hermes: Oracle, tmp_path: Path) -> None:
    hermes.home_is(tmp_path / "home")
    hermes.open()
    hermes.db("create_session", "shared", "cli")
    path = tmp_path / "home" / "state.db"
    counts: list[int] = []

    def watch() -> None:
        """Readers neither fail nor see less than before: one beside a store, one of the adapters, the real one."""
        counts.append(
            read_database(path, lambda connection: len(connection.execute("SELECT 1 FROM messages").fetchall()))
        )
        with SessionDB(path, read_only=True) as reader:
            counts.append(reader.message_count())
        counts.append(hermes.db("message_count"))

    ours = (sys.executable, "hermes_tui.lifecycle.state_db.database")
    theirs = (oracle_python(), "hermes_state")
    written = run_writers(path, [ours, theirs] * 4, watch)
    hermes.close_store()
    assert counts == sorted(counts)
    assert_nothing_lost(path, written)


def test_eight_writers_of_ours_with_one_that_has_it_open_all_the_time(tmp_path: Path) -> None:
    path = tmp_path / "home" / "state.db"
    with SessionDB(path) as db:
        db.create_session("shared", "cli")
        counts: list[int] = []
        written = run_writers(
            path,
            [(sys.executable, "hermes_tui.lifecycle.state_db.database")] * 8,
            lambda: counts.append(db.message_count()),
        )
        assert counts == sorted(counts)
    assert_nothing_lost(path, written)


def test_eight_that_make_the_same_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "home" / "state.db"
    code = (
        "import sys\nfrom pathlib import Path\nfrom hermes_tui.lifecycle.state_db.database import SessionDB\n"
        "print('ready', flush=True)\nsys.stdin.readline()\n"
        "with SessionDB(Path(sys.argv[1])) as db: db.create_session(sys.argv[2], 'cli')"
    )
    search = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), str(number)],
            env={**os.environ, "PYTHONPATH": search},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    for maker in makers:
        assert maker.stdout is not None
        assert maker.stdout.readline() == "ready\n"
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.write("go\n")
        maker.stdin.flush()
    for maker in makers:
        assert maker.communicate()[1] == ""
    with SessionDB(path, read_only=True) as db:
        assert db.session_count() == 8
        assert db.schema.is_current


def test_threads_share_one_store(tmp_path: Path) -> None:
    with SessionDB(tmp_path / "state.db") as db:
        db.create_session("shared", "cli")
        failures: list[BaseException] = []

        def write(name: str) -> None:
            try:
                for count in range(40):
                    with db.transaction():
                        db.append_message("shared", "user", f"{name} {count} a")
                        db.append_message("shared", "user", f"{name} {count} b")
                    assert db.message_count() % 2 == 0, "another thread's transaction was seen by halves"
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=write, args=(f"thread {number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        texts = [row["content"] for row in db.get_messages("shared")]
        assert [text[:-1] for text in texts[::2]] == [text[:-1] for text in texts[1::2]]
        assert len(texts) == 6 * 40 * 2


def test_a_transaction_within_another(tmp_path: Path) -> None:
    with SessionDB(tmp_path / "state.db") as db:
        db.create_session("a", "cli")
        with db.transaction():
            db.append_message("a", "user", "kept")
            with pytest.raises(KeyError), db.transaction():
                db.append_message("a", "user", "undone")
                with db.transaction():
                    db.end_session("a", "undone too")
                raise KeyError
            assert db.message_count("a") == 1
            db.append_message("a", "user", "kept too")
        with pytest.raises(KeyError), db.transaction():
            db.clear_messages("a")
            raise KeyError
        assert [row["content"] for row in db.get_messages("a")] == ["kept", "kept too"]
        row = db.get_session("a")
        assert row is not None
        assert (row["message_count"], row["ended_at"]) == (2, None)


def test_the_log_is_taken_in_every_fifty_writes_and_at_the_end(tmp_path: Path) -> None:
    """Watched at the file of the database itself, which nothing else writes here."""
    path = tmp_path / "state.db"
    hook: Callable[[apsw.Connection], None] = lambda connection: connection.wal_autocheckpoint(0)  # noqa: E731
    apsw.connection_hooks.append(hook)
    try:
        with SessionDB(path) as db:  # making it was the first write
            db.create_session("a", "cli")
            written = [path.stat().st_mtime_ns]
            for _ in range(47):
                db.append_message("a", "user", "x" * 10_000)
            written.append(path.stat().st_mtime_ns)
            db.append_message("a", "user", "x")
            written.append(path.stat().st_mtime_ns)
            db.append_message("a", "user", "y" * 50_000)
            written.append(path.stat().st_mtime_ns)
        written.append(path.stat().st_mtime_ns)
    finally:
        apsw.connection_hooks.remove(hook)
    assert written[0] == written[1] < written[2] == written[3] < written[4]


def test_closing_leaves_the_log_to_others(tmp_path: Path) -> None:
    """A gateway that lost its locks on the database must not lose the log that it is writing as well."""
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("a", "cli")
        log = (tmp_path / "state.db-wal").stat().st_ino
    assert (tmp_path / "state.db-wal").stat().st_ino == log
