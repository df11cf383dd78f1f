"""Hector's stores for tests: what an adapter lists of one, plain SQL, and databases that a test fills itself."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from session_adapters.base import Environment, Source
from session_adapters.hector.adapter import HectorAdapter
from session_adapters.hector.configuration.dsn import DSN_VARIABLE
from session_adapters.hector.configuration.places import PATH_VARIABLE
from session_adapters.hector.reader import File
from session_adapters.hector.transcript import HectorTranscript
from session_adapters.model import Problem, Session, SessionSummary
from support import STORES

__all__ = [
    "FACTS",
    "V1",
    "V2",
    "V2_SCHEMA",
    "Store",
    "adapter_for",
    "everything",
    "get",
    "listed",
    "parted",
    "rows",
    "sample_adapter",
    "write_events",
]

FACTS: dict[str, Any] = json.loads((STORES / "hector" / "facts.json").read_text())
V1, V2 = FACTS["v1"], FACTS["v2"]

Listed = list[tuple[Source, SessionSummary]]


def adapter_for(home: Path, *paths: Path, dsn: str = "", **variables: str) -> HectorAdapter:
    """An adapter for a machine that has only this home, and these further files."""
    named = {PATH_VARIABLE: ":".join(map(str, paths)), DSN_VARIABLE: dsn, **variables}
    return HectorAdapter(Environment(home=home, variables={key: value for key, value in named.items() if value}))


def sample_adapter(home: Path) -> HectorAdapter:
    """For a copy of the sample home, all four files of it."""
    return adapter_for(home, home / "data" / "sessions_v0.db", home / "data" / "sessions_doc.db")


def everything(adapter: HectorAdapter, report: Callable[[Problem], None] | None = None) -> Listed:
    """All that is listed. Nothing may be reported, but that the sample's configuration names a server."""
    problems: list[Problem] = []
    say = report or problems.append
    found = [(source, summary) for source in adapter.sources(say) for summary in adapter.summaries(source, say)]
    assert [problem for problem in problems if problem.place != "session_stores.prod"] == []
    return found


def listed(adapter: HectorAdapter) -> dict[str, SessionSummary]:
    """By id, each once."""
    found = adapter.relate([summary for _, summary in everything(adapter)])
    assert len({summary.session_id for summary in found}) == len(found)
    return {summary.session_id: summary for summary in found}


def get(adapter: HectorAdapter, session_id: str) -> Session:
    """One session, found by its id."""
    source = adapter.find(session_id)
    assert source is not None
    return adapter.session(source, session_id)


def parted(key: str) -> str:
    """A key of facts.json as an id: only one of the sample's has anything to encode besides blanks."""
    odd = {"assistant/team:alpha/42 x": "assistant/team%3Aalpha%2F42%20x"}
    return odd.get(key, key.replace(" ", "%20"))


V1_SCHEMA = """
CREATE TABLE sessions (id VARCHAR(255) NOT NULL, agent_id VARCHAR(255) NOT NULL, metadata TEXT,
  created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL, PRIMARY KEY (id, agent_id));
CREATE TABLE session_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id VARCHAR(255) NOT NULL,
  message_id VARCHAR(255) NOT NULL, context_id VARCHAR(255), task_id VARCHAR(255), role VARCHAR(50) NOT NULL,
  message_json TEXT NOT NULL, sequence_num INTEGER NOT NULL, created_at TIMESTAMP NOT NULL);
CREATE INDEX idx_messages_session_id ON session_messages(session_id);
CREATE INDEX idx_messages_sequence ON session_messages(session_id, sequence_num);
"""

V2_SCHEMA = """
CREATE TABLE sessions (app_name VARCHAR(255) NOT NULL, user_id VARCHAR(255) NOT NULL, id VARCHAR(255) NOT NULL,
  state_json TEXT, created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL, PRIMARY KEY (app_name, user_id, id));
CREATE TABLE session_events (id VARCHAR(255) NOT NULL, app_name VARCHAR(255) NOT NULL, user_id VARCHAR(255) NOT NULL,
  session_id VARCHAR(255) NOT NULL, author VARCHAR(255), role VARCHAR(50), content_json TEXT,
  transfer_to_agent VARCHAR(255), escalate BOOLEAN DEFAULT FALSE, require_input BOOLEAN DEFAULT FALSE,
  input_prompt TEXT, interrupted BOOLEAN DEFAULT FALSE, error_code VARCHAR(100), error_message TEXT,
  thinking_json TEXT, tool_calls_json TEXT, tool_results_json TEXT, sequence_num INTEGER NOT NULL,
  created_at TIMESTAMP NOT NULL, PRIMARY KEY (app_name, user_id, session_id, id));
CREATE INDEX idx_events_session ON session_events(app_name, user_id, session_id, sequence_num);
"""

_TIME = "2025-11-0{} 10:00:00.5+02:00"


class Store:
    """A home with a database of v1 that the test fills."""

    def __init__(
        self, home: Path, name: str = "data/sessions.db", schema: str = V1_SCHEMA, mode: str = "WAL"
    ) -> None:
        self.home = home
        self.path = home / name
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.adapter = adapter_for(home, *([] if name == "data/sessions.db" else [self.path]))
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute(f"PRAGMA journal_mode = {mode}")
        self.connection.executescript(schema)

    def session(self, session_id: str, agent: str | None = "assistant", **columns: object) -> None:
        """A row of `sessions`."""
        self.insert(
            "sessions",
            {"id": session_id, "agent_id": agent, "metadata": "{}", "created_at": _TIME.format(1)}
            | {"updated_at": _TIME.format(2)}
            | columns,
        )

    def say(self, session_id: str, role: str, content: object = "", /, **columns: object) -> int:
        """A row of `session_messages`: `content` is the text, the parts, or with `message_json` of no matter."""
        parts = [{"text": content}] if isinstance(content, str) else content
        count = self.connection.execute(
            "SELECT count(*) FROM session_messages WHERE session_id = ?", (session_id,)
        ).fetchone()[0]
        return self.insert(
            "session_messages",
            {"session_id": session_id, "message_id": "", "role": f"ROLE_{role}", "sequence_num": count + 1}
            | {"message_json": json.dumps({"role": f"ROLE_{role}", "parts": parts}), "created_at": _TIME.format(3)}
            | columns,
        )

    def insert(self, table: str, columns: Mapping[str, object]) -> int:
        """Any row."""
        marks = ", ".join("?" * len(columns))
        cursor = self.connection.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values())
        )
        return int(cursor.lastrowid or 0)

    def get(self, session_id: str) -> Session:
        """The session of the agent `assistant`."""
        return get(self.adapter, f"assistant/{session_id}")

    def open(self, session_id: str, page: int = 200) -> HectorTranscript:
        """The conversation of the agent `assistant`."""
        return HectorTranscript(File(str(self.path)), f"assistant/{session_id}", ("assistant", session_id), page=page)


def rows(path: Path, query: str, *parameters: object) -> list[dict[str, Any]]:
    """Plain SQL, every column by name."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query, parameters)]


def write_events(store: Store, dice: random.Random) -> None:
    """Something that Hector 2 does."""
    owner: Mapping[str, Any] = {"app_name": "app", "user_id": f"u{dice.randrange(2)}"}
    key, done = f"s{dice.randrange(2)}", dice.random()
    count = store.connection.execute("SELECT count(*) FROM session_events").fetchone()[0]
    if done < 0.1:
        same = "app_name = 'app' AND user_id = ? AND id = ?"
        if not store.connection.execute(f"SELECT 1 FROM sessions WHERE {same}", (owner["user_id"], key)).fetchone():
            store.insert(
                "sessions", {**owner, "id": key, "created_at": _TIME.format(1), "updated_at": _TIME.format(2)}
            )
        return
    row = {**owner, "session_id": key, "sequence_num": count, "created_at": _TIME.format(3)}
    role = dice.choice(("user", "model"))
    parts = json.dumps({"role": role, "parts": [{"text": f"words {dice.random()}"}]})
    store.insert("session_events", {**row, "id": f"e{count}", "author": role, "role": role, "content_json": parts})
