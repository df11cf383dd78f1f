"""Stores of every version: made, brought up to version 6, or left as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from databases import run_python, tree
from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.state_db.database import SessionDB
from support import STORES

OLD = STORES / "hermes" / "old_versions"
DOCUMENTED = [f"v{number}" for number in range(1, 7)]
NEWER = sorted(path.name for path in OLD.iterdir() if path.name not in DOCUMENTED)
Copy = Callable[..., Path]

# Spec 000, column by column.
SESSIONS = """id source user_id model model_config system_prompt parent_session_id started_at ended_at end_reason
message_count tool_call_count input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens
billing_provider billing_base_url billing_mode estimated_cost_usd actual_cost_usd cost_status cost_source
pricing_version title"""
MESSAGES = """id session_id role content tool_call_id tool_calls tool_name timestamp token_count finish_reason
reasoning reasoning_details codex_reasoning_items"""


def plain(path: Path, query: str) -> list[Any]:
    """By another SQLite, from a store that is closed."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def columns(path: Path, table: str) -> set[str]:
    return {name for (name,) in plain(path, f"SELECT name FROM pragma_table_info('{table}')")}


def assert_version_6(path: Path) -> None:
    assert columns(path, "sessions") == set(SESSIONS.split())
    assert columns(path, "messages") == set(MESSAGES.split())
    assert plain(path, "SELECT version FROM schema_version") == [(6,)]
    names = {name for (name,) in plain(path, "SELECT name FROM sqlite_master")}
    assert names >= {
        *("idx_sessions_source", "idx_sessions_parent", "idx_sessions_started", "idx_sessions_title_unique"),
        *(
            "idx_messages_session",
            "messages_fts",
            "messages_fts_insert",
            "messages_fts_delete",
            "messages_fts_update",
        ),
    }
    assert plain(path, "PRAGMA integrity_check") == [("ok",)]
    assert plain(path, "PRAGMA foreign_key_check") == []


def test_a_new_store_is_version_6_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / ".hermes" / "state.db"
    with SessionDB(path) as db:
        db.create_session("a", "cli")
        assert db.value("PRAGMA journal_mode") == "wal"
    assert_version_6(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    before = plain(path, "SELECT name, sql FROM sqlite_master")
    with SessionDB(path):
        pass
    assert plain(path, "SELECT name, sql FROM sqlite_master") == before


def test_the_default_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> None:
    with SessionDB() as db:
        assert db.path == isolated_home / ".hermes" / "state.db"
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "elsewhere"))
    with SessionDB() as db:
        assert db.path == tmp_path / "elsewhere" / "state.db"


@pytest.mark.parametrize("version", DOCUMENTED)
def test_the_documented_versions_are_brought_up(version: str, store: Copy) -> None:
    path = store("hermes", "old_versions", version, ".hermes") / "state.db"
    old = columns(path, "sessions"), columns(path, "messages")
    kept = [
        (table, ", ".join(sorted(names)), plain(path, f"SELECT {', '.join(sorted(names))} FROM {table} ORDER BY id"))
        for table, names in zip(("sessions", "messages"), old, strict=True)
    ]
    words = plain(path, "SELECT id FROM messages WHERE content LIKE '%docker%' ORDER BY id")
    with SessionDB(path) as db:
        assert [hit["id"] for hit in db.search_messages("docker", sort="oldest", limit=99)] == [
            id_ for (id_,) in words
        ]
        assert db.search_messages("docker", limit=1)[0]["context"]
    assert_version_6(path)
    for table, names, rows in kept:
        assert plain(path, f"SELECT {names} FROM {table} ORDER BY id") == rows


def test_what_the_index_missed_while_triggers_were_missing_is_made_good(store: Copy) -> None:
    """The index of an old store knows a row that was deleted without a trigger, and not what became of another."""
    path = store("hermes", "old_versions", "v2", ".hermes") / "state.db"
    connection = sqlite3.connect(path)
    first, second = (id_ for (id_,) in connection.execute("SELECT id FROM messages ORDER BY id LIMIT 2"))
    connection.execute("DELETE FROM messages WHERE id = ?", (first,))
    connection.execute("UPDATE messages SET content = 'wholly otherwise' WHERE id = ?", (second,))
    connection.commit()
    connection.close()
    with SessionDB(path) as db:
        assert [hit["id"] for hit in db.search_messages("wholly")] == [second]
        with db.transaction():  # raises when the index and the messages differ
            db.execute("INSERT INTO messages_fts(messages_fts, rank) VALUES('integrity-check', 1)")


def test_a_trigger_of_somebody_elses_changes_nothing_beside(store: Copy) -> None:
    path = store("hermes", "home", ".hermes") / "state.db"
    titles = "SELECT id, title FROM sessions ORDER BY id"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TRIGGER evil AFTER UPDATE ON sessions BEGIN"
            " UPDATE sessions SET title = 'taken' || rowid WHERE id <> new.id; END"
        )
    before = plain(path, titles)
    with SessionDB(path) as db:
        with pytest.raises(StoreError, match=r"has a trigger 'evil', which would change sessions"), db.transaction():
            db.execute("UPDATE sessions SET title = 'wanted' WHERE id = ?", (before[0][0],))
        with db.transaction():  # Hermes' own keep its index
            db.execute("UPDATE messages SET content = 'wholly otherwise' WHERE id = (SELECT max(id) FROM messages)")
        assert len(db.search_messages("wholly")) == 1
    assert plain(path, titles) == before


def test_of_two_sessions_of_one_title_the_newer_keeps_it(store: Copy) -> None:
    path = store("hermes", "old_versions", "v3", ".hermes") / "state.db"
    connection = sqlite3.connect(path)
    connection.execute("UPDATE sessions SET title = 'same'")
    newest = connection.execute("SELECT id FROM sessions ORDER BY rowid DESC LIMIT 1").fetchone()[0]
    connection.commit()
    connection.close()
    with SessionDB(path) as db:
        assert [row["id"] for row in db.rows("SELECT id FROM sessions WHERE title IS NOT NULL")] == [newest]
        assert db.session_count() == 4


@pytest.mark.parametrize("version", NEWER)
def test_newer_versions_keep_their_schema(version: str, store: Copy) -> None:
    path = store("hermes", "old_versions", version, ".hermes") / "state.db"
    before = plain(path, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
    number = plain(path, "SELECT version FROM schema_version")
    sessions = plain(path, "SELECT * FROM sessions ORDER BY id")
    with SessionDB(path) as db:
        assert [tuple(row.values()) for row in db.rows("SELECT * FROM sessions ORDER BY id")] == sessions
        db.create_session("new", "cli", session_key="k", chat_id="1")
        db.set_session_title("new", "A title")
        id_ = db.append_message("new", "user", "unmistakable words", platform_message_id="p", observed=True)
        assert [hit["id"] for hit in db.search_messages("unmistakable")] == [id_]
        assert db.get_messages_as_conversation("new")[0]["content"] == "unmistakable words"
        row = db.get_messages("new")[0]
        assert {key: row[key] for key in ("platform_message_id", "observed", "active") if key in row} == {
            key: value
            for key, value in (("platform_message_id", "p"), ("observed", 1), ("active", 1))
            if key in columns(path, "messages")
        }
        assert db.delete_session("new")
    assert plain(path, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name") == before
    assert plain(path, "SELECT version FROM schema_version") == number
    assert plain(path, "SELECT * FROM sessions ORDER BY id") == sessions
    assert plain(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("version", [*DOCUMENTED, *NEWER])
def test_read_only_touches_nothing_and_answers_everything(version: str, store: Copy) -> None:
    folder = store("hermes", "old_versions", version, ".hermes")
    path = folder / "state.db"
    expected = {id_ for (id_,) in plain(path, "SELECT id FROM messages WHERE content LIKE '%docker%'")}
    before = tree(folder)
    with SessionDB(path, read_only=True) as db:
        every = [row["id"] for row in db.search_sessions(limit=99)]
        assert every
        assert expected <= {hit["id"] for hit in db.search_messages("docker", limit=99)}
        for id_ in every:
            export = db.export_session(id_)
            assert export is not None
            assert len(db.get_messages_as_conversation(id_)) <= len(export["messages"])
            db.get_session_title(id_)
            assert db.resolve_resume_session_id(id_) in every
        db.resolve_session_by_title("x")
        assert db.get_next_title_in_lineage("Not there #2") == "Not there"
        assert db.load_gateway_routing_entries() == {}
        with pytest.raises(StoreError, match="for reading only"):
            db.end_session(every[0], "x")
    assert tree(folder) == before


def test_columns_tell_not_the_number(tmp_path: Path) -> None:
    """A store with newer columns that still calls itself version 5 is left alone: Hermes was without FTS5 then."""
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("a", "cli")
    connection = sqlite3.connect(path)
    connection.executescript(
        "ALTER TABLE sessions ADD COLUMN session_key TEXT; UPDATE schema_version SET version = 5;"
    )
    connection.execute("DROP TRIGGER messages_fts_insert")
    connection.commit()
    connection.close()
    before = plain(path, "SELECT name, sql FROM sqlite_master")
    with SessionDB(path) as db:
        db.create_session("b", "telegram", session_key="k")
        id_ = db.append_message("b", "user", "found without an index, can't you see?")
        assert [hit["id"] for hit in db.search_messages("can't index -nothing OR without")] == [id_]
        assert db.search_messages("index NOT without") == []
    assert plain(path, "SELECT name, sql FROM sqlite_master") == before
    assert plain(path, "SELECT version FROM schema_version") == [(5,)]
    assert plain(path, "SELECT session_key FROM sessions WHERE id = 'b'") == [("k",)]


def test_a_store_that_another_process_brings_further_is_used_as_it_is_then(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with SessionDB(path) as db:
        db.create_session("a", "cli", cwd="/lost")
        run_python(
            "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('ALTER TABLE sessions ADD COLUMN cwd TEXT')",
            path,
        )
        db.create_session("b", "cli", cwd="/kept")
        assert [row["cwd"] for row in db.rows("SELECT cwd FROM sessions ORDER BY id")] == [None, "/kept"]
