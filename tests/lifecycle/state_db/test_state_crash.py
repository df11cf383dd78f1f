"""A process that dies while it writes: what it did is there whole, or not at all."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chances import chance
from hermes_tui.lifecycle.state_db.database import SessionDB
from lifecycle.state_crash import WORK
from support import REPOSITORY

Contents = list[list[tuple[object, ...]]]
PROGRAM = Path(__file__).parents[1] / "state_crash.py"


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    search = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


def contents(path: Path) -> Contents:
    """All that is in a store; a file without tables has nothing in it."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = [
        connection.execute(f"SELECT * FROM {table}").fetchall()
        for table in ("sqlite_master", "schema_version", "sessions", "messages")
        if table == "sqlite_master" or table in tables
    ]
    if "messages_fts" in tables:
        found.append(connection.execute("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'more'").fetchall())
    connection.close()
    return found


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A store with a compressed conversation, one that is over, and a helper."""
    path = tmp_path / "made" / "state.db"
    with SessionDB(path, clock=lambda: 1_700_000_000.0) as db:
        db.create_session("a", "telegram")
        db.set_session_title("a", "Taken")
        db.end_session("a", "compression")
        db.create_session("b", "telegram", parent_session_id="a")
        db.create_session("c", "subagent", parent_session_id="a", model_config={"_delegate_from": "a"})
        db.end_session("c", "done")
        for number in range(4):
            db.append_message("abc"[number % 3], "user", f"message {number}", timestamp=float(number))
    return path


def killed_at_every_statement(work: str, store: Path, folder: Path, before: Contents) -> None:
    statements = int(run(PROGRAM, work, store, folder).stdout)
    after = contents(folder / str(statements) / "state.db")
    assert after != before
    found = [contents(folder / str(number) / "state.db") for number in range(1, statements)]
    assert all(one in (before, after) for one in found)
    assert before in found
    for number in range(1, statements):  # and whoever comes next finds it usable
        with SessionDB(folder / str(number) / "state.db") as db:
            db.create_session("next", "cli")
            db.append_message("next", "user", "next")


@pytest.mark.parametrize("work", [name for name in WORK if name != "open"])
def test_killed_before_each_statement(work: str, made: Path, tmp_path: Path) -> None:
    killed_at_every_statement(work, made, tmp_path / work, contents(made))


@pytest.mark.parametrize("version", ["v1", "v3", "v5"])
def test_killed_while_a_store_is_brought_up(version: str, store: Callable[..., Path], tmp_path: Path) -> None:
    path = store("hermes", "old_versions", version, ".hermes") / "state.db"
    killed_at_every_statement("open", path, tmp_path / "copies", contents(path))


def test_killed_while_a_store_is_made(tmp_path: Path) -> None:
    statements = int(run(PROGRAM, "open", tmp_path / "none", tmp_path / "copies").stdout)
    whole = contents(tmp_path / "copies" / str(statements) / "state.db")
    for number in range(1, statements):
        assert contents(tmp_path / "copies" / str(number) / "state.db") in ([[]], whole)
        with SessionDB(tmp_path / "copies" / str(number) / "state.db") as db:
            db.create_session("next", "cli")
        # Another whole one, whoever began it.
        assert contents(tmp_path / "copies" / str(number) / "state.db")[:2] == whole[:2]


WRITER = """
import sys
from pathlib import Path
from hermes_tui.lifecycle.state_db.database import SessionDB
db = SessionDB(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    id_ = f"{sys.argv[2]}-{number}"
    with db.transaction():
        db.create_session(id_, "cli")
        for text in ("one", "two", "three"):
            db.append_message(id_, "user", text * 500)
    print(id_, flush=True)
"""


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """By chance rather than by statement: what was said to be written is there, and nothing by halves."""
    path = tmp_path / "state.db"
    dice = chance(7)
    said: set[str] = set()
    for life in range(8):
        search = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(life)],
            env={**os.environ, "PYTHONPATH": search},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout is not None
        for _ in range(dice.randint(1, 60)):
            said.add(writer.stdout.readline().strip())
        writer.kill()
        said.update(writer.communicate()[0].splitlines()[:-1])
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    counts = dict(connection.execute("SELECT session_id, count(*) FROM messages GROUP BY session_id"))
    rows = {id_ for (id_,) in connection.execute("SELECT id FROM sessions WHERE message_count = 3")}
    assert rows == set(counts)
    assert set(counts.values()) == {3}
    assert said <= rows
    assert len(rows) <= len(said) + 2 * 8  # of each life one may not have been said, and the last line is not trusted
    connection.close()
