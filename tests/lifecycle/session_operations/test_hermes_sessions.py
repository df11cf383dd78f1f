"""`hermes-tui hermes sessions` as it is typed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hermes_tui.cli.execute import execute


@pytest.fixture
def home(store: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return store("hermes", "home")


def row(home: Path, session: str) -> tuple[object, ...] | None:
    with closing(sqlite3.connect(home / ".hermes" / "state.db")) as raw:
        found: tuple[object, ...] | None = raw.execute(
            "SELECT title, end_reason, message_count FROM sessions WHERE id = ?", (session,)
        ).fetchone()
    return found


def an_id(home: Path, where: str) -> str:
    with closing(sqlite3.connect(home / ".hermes" / "state.db")) as raw:
        return str(raw.execute(f"SELECT id FROM sessions WHERE {where} ORDER BY id LIMIT 1").fetchone()[0])


def run(home: Path, *words: str) -> int:
    return execute(["--home", str(home), "hermes", "sessions", *words])


def test_it_asks_shows_does_and_takes_back(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    session = an_id(home, "end_reason IS NOT NULL AND message_count > 1 AND end_reason <> 'compression'")
    before = row(home, session)
    assert run(home, "delete", session) == 10, "nobody is there to confirm"
    said = capfd.readouterr()
    assert f"deletes {session}" in said.out
    assert "--yes" in said.err
    assert run(home, "delete", session, "--dry-run") == 0
    assert row(home, session) == before
    assert run(home, "delete", f"hermes:{session}", "--yes") == 0
    assert row(home, session) is None
    capfd.readouterr()
    assert run(home, "log", "--json") == 0
    (logged,) = json.loads(capfd.readouterr().out)
    assert (logged["state"], logged["request"]["session"]) == ("done", session)
    assert run(home, "undo", logged["operation"], "--yes") == 0
    assert row(home, session) == before
    assert run(home, "log") == 0
    assert "undone" in capfd.readouterr().out


def test_each_command(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ended = an_id(home, "end_reason IN ('user_exit', 'cli_close') AND archived = 0")
    assert run(home, "rename", ended, "A better name", "--yes") == 0
    assert run(home, "reopen", ended, "--yes") == 0
    assert run(home, "clear", ended, "--yes") == 0
    assert row(home, ended) == ("A better name", None, 0)
    assert run(home, "end", ended, "--reason", "over", "--yes") == 0
    assert row(home, ended) == ("A better name", "over", 0)
    assert run(home, "end", ended, "--yes") == 10
    assert "ended already (over)" in capfd.readouterr().out
    assert run(home, "prune", "--empty", "--yes") == 0
    assert row(home, ended) is None
    assert run(home, "rename", "no-such", "x", "--yes") == 8
    assert "has no session 'no-such'" in capfd.readouterr().err


def test_read_only(home: Path) -> None:
    session = an_id(home, "1")
    before = row(home, session)
    assert execute(["--home", str(home), "--read-only", "hermes", "sessions", "rename", session, "x", "--yes"]) == 10
    assert row(home, session) == before
