"""Hermes homes for tests: what an adapter lists of one, and databases that a test fills itself."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from session_adapters.base import Environment, Source
from session_adapters.hermes.adapter import HermesAdapter
from session_adapters.hermes.transcript import HermesTranscript
from session_adapters.model import Problem, Session, SessionSummary

__all__ = ["Store", "adapter_for", "everything", "get", "listed"]


def adapter_for(home: Path, **variables: str) -> HermesAdapter:
    """An adapter for a machine that has only this home."""
    return HermesAdapter(Environment(home=home, variables=variables))


def everything(adapter: HermesAdapter) -> list[tuple[Source, SessionSummary]]:
    """All that is listed; nothing may be reported."""
    found: list[tuple[Source, SessionSummary]] = []
    problems: list[Problem] = []
    for source in adapter.sources(problems.append):
        found += [(source, summary) for summary in adapter.summaries(source, problems.append)]
    assert not problems
    return found


def listed(adapter: HermesAdapter) -> dict[str, SessionSummary]:
    """By id, as a user sees them: each once."""
    related = adapter.relate([summary for _, summary in everything(adapter)])
    assert len({summary.session_id for summary in related}) == len(related)
    return {summary.session_id: summary for summary in related}


def get(adapter: HermesAdapter, session_id: str) -> Session:
    """One session, found by its id."""
    source = adapter.find(session_id)
    assert source is not None
    return adapter.session(source, session_id)


SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, model TEXT, model_config TEXT, parent_session_id TEXT,
  started_at REAL, ended_at REAL, end_reason TEXT, title TEXT, estimated_cost_usd REAL, actual_cost_usd REAL,
  cost_status TEXT, input_tokens INTEGER);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT,
  tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, active INTEGER, compacted INTEGER);
CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
"""


class Store:
    """A Hermes home with a database that the test fills."""

    def __init__(self, home: Path, name: str = "") -> None:
        folder = home / ".hermes" / name
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "state.db"
        self.adapter = adapter_for(home)
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.executescript(SCHEMA)

    def session(self, session_id: str, **columns: object) -> None:
        columns = {"id": session_id, "started_at": 1_780_000_000 + len(self.ids()), **columns}
        marks = ", ".join("?" * len(columns))
        self.connection.execute(
            f"INSERT INTO sessions ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values())
        )

    def ids(self) -> list[str]:
        return [id_ for (id_,) in self.connection.execute("SELECT id FROM sessions")]

    def say(self, session_id: str, role: str, content: object, **columns: object) -> int:
        columns = {"session_id": session_id, "role": role, "content": content, "timestamp": 1_780_000_100, **columns}
        marks = ", ".join("?" * len(columns))
        cursor = self.connection.execute(
            f"INSERT INTO messages ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values())
        )
        return int(cursor.lastrowid or 0)

    def get(self, session_id: str) -> Session:
        return get(self.adapter, session_id)

    def open(self, session_id: str, page: int = 200) -> HermesTranscript:
        return HermesTranscript(str(self.path), session_id, page=page)
