"""For lanes whose session is over, only sessions that one of them could go on with are looked at."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.rows import StoredLanes
from hermes_tui.lifecycle.routing import recovered_lanes
from hermes_tui.lifecycle.source import SessionSource

_COLUMNS = (
    "id, source, session_key, user_id, chat_id, chat_type, thread_id, started_at, ended_at, end_reason, message_count"
)
_NOW = datetime(2026, 11, 1, tzinfo=UTC)
_KEY = "agent:main:telegram:dm:7"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A session of the lane, one of its chat, and 5,000 open ones of another chat."""
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TABLE sessions ({_COLUMNS})")
        db.execute("CREATE TABLE messages (id, session_id, timestamp)")
        rows: list[Sequence[Any]] = [
            ("own", "telegram", _KEY, "u", "7", "dm", None, 10.0, None, None, 3),
            ("peer", "telegram", "agent:main:telegram:dm:old", "u", "8", "dm", None, 20.0, None, None, 3),
        ]
        rows += [
            (f"other{n}", "telegram", "agent:main:telegram:dm:9", "v", "9", "dm", None, 30.0 + n, None, None, 3)
            for n in range(5_000)
        ]
        db.executemany(f"INSERT INTO sessions VALUES ({', '.join('?' * 11)})", rows)
        db.commit()
    return path


def entry(key: str, chat: str) -> SessionEntry:
    """A lane in that chat."""
    origin = SessionSource(platform="telegram", chat_id=chat, chat_type="dm", user_id="u")
    return SessionEntry(
        session_key=key, session_id="over", created_at=_NOW, updated_at=_NOW, origin=origin, platform="telegram"
    )


def test_only_sessions_of_these_lanes_are_copied(database: Path) -> None:
    """Every open session was, of whatever chat: 337 MB for 300,000 of them."""
    read: list[tuple[Any, ...]] = []
    with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:

        def query(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
            found = list(connection.execute(sql, tuple(values)))
            read.extend(found)
            return found

        lanes = {_KEY: entry(_KEY, "7"), "agent:main:telegram:dm:8": entry("agent:main:telegram:dm:8", "8")}
        assert recovered_lanes(StoredLanes(query), lanes, None) == {_KEY: "own", "agent:main:telegram:dm:8": "peer"}
    assert len(read) < 100
