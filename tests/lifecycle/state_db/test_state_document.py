"""Spec 000's own examples and queries, word for word."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_tui.lifecycle.state_db.database import SessionDB
from hermes_tui.lifecycle.state_db.titles import TitleRefused

ANCESTORS = """
WITH RECURSIVE lineage AS (
    SELECT * FROM sessions WHERE id = ?
    UNION ALL
    SELECT s.* FROM sessions s JOIN lineage l ON s.id = l.parent_session_id
)
SELECT id, title, started_at, parent_session_id FROM lineage;
"""
DESCENDANTS = """
WITH RECURSIVE descendants AS (
    SELECT * FROM sessions WHERE id = ?
    UNION ALL
    SELECT s.* FROM sessions s JOIN descendants d ON s.parent_session_id = d.id
)
SELECT id, title, started_at FROM descendants;
"""
RECENT = """
SELECT s.*,
    COALESCE(
        (SELECT SUBSTR(m.content, 1, 63) FROM messages m
         WHERE m.session_id = s.id AND m.role = 'user' AND m.content IS NOT NULL
         ORDER BY m.timestamp, m.id LIMIT 1), '') AS preview,
    COALESCE((SELECT MAX(m2.timestamp) FROM messages m2 WHERE m2.session_id = s.id), s.started_at) AS last_active
FROM sessions s ORDER BY s.started_at DESC LIMIT 20;
"""
DAY = 86_400.0


class Clock:
    """A time that moves when told."""

    now = 1_780_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(tmp_path: Path, clock: Clock) -> Iterator[SessionDB]:
    with SessionDB(db_path=tmp_path / "test.db", clock=clock) as db:
        yield db


def plain(db: SessionDB, query: str, *values: object) -> list[tuple[object, ...]]:
    """By another SQLite, of a copy that stands still."""
    with db.transaction():
        rows = sqlite3.connect(":memory:")
        for table in ("sessions", "messages"):
            found = db.rows(f"SELECT * FROM {table}")
            names = ", ".join(db.schema.tables[table])
            rows.execute(f"CREATE TABLE {table} ({names})")
            marks = ", ".join("?" * len(db.schema.tables[table]))
            ordered = [[row[name] for name in names.split(", ")] for row in found]
            rows.executemany(f"INSERT INTO {table} VALUES ({marks})", ordered)
        answer = rows.execute(query, values).fetchall()
        rows.close()
    return answer


def test_create_and_manage(db: SessionDB, clock: Clock) -> None:
    db.create_session(
        session_id="sess_abc123",
        source="cli",
        model="anthropic/claude-sonnet-4.6",
        user_id="user_1",
        parent_session_id=None,
    )
    clock.now += 5
    db.end_session("sess_abc123", end_reason="user_exit")
    db.end_session("sess_abc123", end_reason="too late")
    row = db.get_session("sess_abc123")
    assert row is not None
    assert (row["started_at"], row["ended_at"], row["end_reason"]) == (clock.now - 5, clock.now, "user_exit")
    db.reopen_session("sess_abc123")
    row = db.get_session("sess_abc123")
    assert row is not None
    assert (row["ended_at"], row["end_reason"], row["model"]) == (None, None, "anthropic/claude-sonnet-4.6")


def test_store_and_retrieve(db: SessionDB, clock: Clock) -> None:
    db.create_session("sess_abc123", "cli")
    db.append_message("sess_abc123", "user", "a question")
    calls = [{"id": "call_1", "function": {"name": "terminal", "arguments": "{}"}}]
    id_ = db.append_message(
        session_id="sess_abc123",
        role="assistant",
        content="Here's the answer...",
        tool_calls=calls,
        token_count=150,
        finish_reason="stop",
        reasoning="Let me think about this...",
    )
    row = db.get_messages("sess_abc123")[1]
    assert (row["id"], row["tool_calls"], row["token_count"], row["timestamp"]) == (id_, calls, 150, clock.now)
    assert db.get_messages_as_conversation("sess_abc123") == [
        {"role": "user", "content": "a question", "timestamp": clock.now},
        {
            "role": "assistant",
            "content": "Here's the answer...",
            "timestamp": clock.now,
            "tool_calls": calls,
            "finish_reason": "stop",
            "reasoning": "Let me think about this...",
        },
    ]
    session = db.get_session("sess_abc123")
    assert session is not None
    assert (session["message_count"], session["tool_call_count"]) == (2, 1)


def test_titles(db: SessionDB, clock: Clock) -> None:
    assert db.get_next_title_in_lineage("Fix Docker Build") == "Fix Docker Build"
    for number, title in enumerate(("Fix Docker Build", "Fix Docker Build #2", "Fix Docker Build #10")):
        clock.now += 1
        db.create_session(f"s{number}", "cli")
        assert db.set_session_title(f"s{number}", title)
    assert db.resolve_session_by_title("Fix Docker Build") == "s2"
    assert db.get_next_title_in_lineage("Fix Docker Build #2") == "Fix Docker Build #11"
    with pytest.raises(TitleRefused, match="s0"):
        db.set_session_title("s1", "Fix Docker Build")
    assert db.set_session_title("s0", "  ")
    assert db.get_session_title("s0") is None
    assert db.set_session_title("s1", "Fix Docker Build")


def test_lineage(db: SessionDB, clock: Clock) -> None:
    for number, parent in enumerate((None, "s0", "s1", "s1", "s3")):
        clock.now += 1
        db.create_session(f"s{number}", "cli", parent_session_id=parent)
        db.append_message(f"s{number}", "user", f"words of {number} " + "x" * 100, timestamp=clock.now + 0.5)
    for id_ in ("s0", "s1", "s4"):
        above = [tuple(row.values()) for row in db.get_lineage(id_)]
        assert above == plain(db, ANCESTORS, id_)
        assert sorted(tuple(row.values()) for row in db.get_descendants(id_)) == sorted(plain(db, DESCENDANTS, id_))
    assert [(row["id"], row["preview"], row["last_active"]) for row in db.recent_sessions()] == [
        (row[0], row[-2], row[-1]) for row in plain(db, RECENT.replace("s.*", "s.id"))
    ]


def test_walks_end_in_a_circle(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.create_session("b", "cli", parent_session_id="a")
    db.create_session("a", "cli", parent_session_id="b")  # filled in, as it was empty
    for id_ in ("a", "b"):
        db.end_session(id_, "compression")
        assert (
            {row["id"] for row in db.get_lineage(id_)} == {row["id"] for row in db.get_descendants(id_)} == {"a", "b"}
        )
        assert db.get_compression_tip(id_) in ("a", "b")
        assert db.resolve_resume_session_id(id_) in ("a", "b")
    assert db.get_lineage("none") == db.get_descendants("none") == []


def test_export_and_cleanup(db: SessionDB, clock: Clock) -> None:
    for id_, source, age in (
        ("old", "telegram", 100),
        ("older", "cli", 200),
        ("running", "cli", 300),
        ("new", "cli", 1),
    ):
        db.create_session(id_, source, started_at=clock.now - age * DAY)
        db.append_message(id_, "user", f"in {id_}")
        if id_ != "running":
            db.end_session(id_, "user_exit")
    data = db.export_session("old")
    assert data is not None
    assert [message["content"] for message in data["messages"]] == ["in old"]
    assert {one["id"] for one in db.export_all(source="cli")} == {"older", "running", "new"}
    assert db.export_session("none") is None
    assert db.prune_sessions(older_than_days=30, source="telegram") == 1
    assert db.prune_sessions(older_than_days=90) == 1
    assert db.prune_sessions(older_than_days=90) == 0
    assert {row["id"] for row in db.search_sessions()} == {"running", "new"}
    db.clear_messages("new")
    assert db.get_messages("new") == []
    assert db.delete_session("new")
    assert not db.delete_session("new")
    assert [row["content"] for row in db.rows("SELECT content FROM messages")] == ["in running"]
    assert db.search_messages("new OR old OR older") == []


def test_helpers_go_with_the_session_they_worked_for(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.create_session("helper", "subagent", parent_session_id="a", model_config={"_delegate_from": "a"})
    db.create_session("its helper", "subagent", model_config={"_delegate_from": "helper"})
    db.create_session("branch", "cli", parent_session_id="helper", model_config={"_branched_from": "helper"})
    db.create_session("other", "cli", parent_session_id="a")
    assert db.delete_session("a")
    assert [(row["id"], row["parent_session_id"]) for row in db.rows("SELECT * FROM sessions ORDER BY id")] == [
        ("branch", None),
        ("other", None),
    ]
