"""Conversations as Hermes writes them, with schema 6 of its database."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from typing import Any

from corpus.conversations import Conversations, Part, compact, iso

__all__ = ["HermesWriter"]

_MODELS = ("anthropic/claude-sonnet-4.5", "openai/gpt-5", "nousresearch/hermes-4-405b")
_SCHEMA = """
PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;
CREATE TABLE schema_version(version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (6);
CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT,
  system_prompt TEXT, parent_session_id TEXT REFERENCES sessions(id), started_at REAL NOT NULL, ended_at REAL,
  end_reason TEXT, message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
  input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0,
  cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0, billing_provider TEXT,
  billing_base_url TEXT, billing_mode TEXT, estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT,
  cost_source TEXT, pricing_version TEXT, title TEXT);
CREATE INDEX idx_sessions_source ON sessions(source);
CREATE INDEX idx_sessions_parent ON sessions(parent_session_id);
CREATE INDEX idx_sessions_started ON sessions(started_at DESC);
CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
  role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL,
  token_count INTEGER, finish_reason TEXT, reasoning TEXT, reasoning_details TEXT, codex_reasoning_items TEXT);
CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id);
CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
  INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END;
CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
  INSERT INTO messages_fts(messages_fts, rowid, content) VALUES('delete', old.id, old.content); END;
CREATE TRIGGER messages_fts_update AFTER UPDATE ON messages BEGIN
  INSERT INTO messages_fts(messages_fts, rowid, content) VALUES('delete', old.id, old.content);
  INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END;
"""
_Row = dict[str, str | int | float | None]
_COLUMNS = [
    *("session_id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp"),
    *("token_count", "finish_reason", "reasoning"),
]


class HermesWriter:
    """`.hermes/state.db`, and the lanes of open conversations in `sessions/sessions.json`."""

    def __init__(self, source: Conversations) -> None:
        self._source = source
        self._folder = source.home / ".hermes"
        (self._folder / "sessions").mkdir(parents=True)
        self._database = sqlite3.connect(self._folder / "state.db")
        self._database.executescript(_SCHEMA)
        self._database.execute("BEGIN")
        self._previous: str | None = None
        self._lanes: dict[str, dict[str, object]] = {}
        self._call = ""

    def write(self, number: int) -> None:
        """Write conversation `number`."""
        r = self._source.rng
        start, parts = self._source.conversation(number)
        session_id = f"{start:%Y%m%d_%H%M%S}_{r.getrandbits(24):06x}"
        platform = r.choice(("cli", "cli", "telegram", "discord", "slack"))
        parent = self._previous if self._previous and r.random() < 0.15 else None
        self._previous = session_id
        moment, rows = start, []
        for part in parts:
            moment = self._source.later(moment)
            rows.append({"session_id": session_id, "timestamp": moment.timestamp(), **self._row(part)})
        tokens = {
            "input": sum(len(part.text) // 4 for part in parts if part.kind == "user"),
            "output": sum(len(part.text) // 4 for part in parts if part.kind == "assistant"),
        }
        is_open = r.random() < 0.05
        about = {
            "id": session_id,
            "source": platform,
            "parent_session_id": parent,
            "started_at": start.timestamp(),
            "message_count": len(rows),
            "tool_call_count": sum(part.kind == "call" for part in parts),
        }
        self._session(about, number, None if is_open else moment, tokens)
        self._insert("messages", _COLUMNS, rows)
        if platform != "cli" and is_open:
            self._lane(f"agent:main:{platform}:dm:{number}", platform, session_id, (start, moment), tokens)
        self._source.usage("hermes", **tokens, cache_read=tokens["input"] * 4)
        size = sum(len(value) for row in rows for value in row.values() if isinstance(value, str))
        self._source.session("hermes", session_id, len(rows), size)

    def _row(self, part: Part) -> _Row:
        """What differs between the kinds of parts."""
        tokens = len(part.text) // 4
        if part.kind == "user":
            return {"role": "user", "content": part.text}
        if part.kind == "assistant":
            return {"role": "assistant", "content": part.text, "token_count": tokens, "finish_reason": "stop"}
        if part.kind == "thinking":
            said: _Row = {"role": "assistant", "content": "", "reasoning": part.text}
            return said | {"token_count": tokens, "finish_reason": "stop"}
        if part.kind == "result":
            answer: _Row = {"role": "tool", "content": part.text, "tool_call_id": self._call}
            return answer | {"tool_name": "terminal", "token_count": tokens}
        self._call = f"call_{self._source.rng.getrandbits(64):016x}"
        given = {"path": part.text, "content": part.code} if part.code else {"command": f"sed -n 1,80p {part.text}"}
        function = {"name": "terminal", "arguments": compact(given)}
        calls = compact([{"id": self._call, "type": "function", "function": function}])
        return {"role": "assistant", "tool_calls": calls, "token_count": 30, "finish_reason": "tool_calls"}

    def _session(self, about: _Row, number: int, ended: datetime | None, tokens: dict[str, int]) -> None:
        r, text = self._source.rng, self._source.text
        row: _Row = {
            **about,
            "user_id": f"u{r.randint(1, 9)}",
            "model": r.choice(_MODELS),
            "ended_at": ended.timestamp() if ended else None,
            "end_reason": r.choice(("user_exit", "compression", "idle_reset")) if ended else None,
            "input_tokens": tokens["input"],
            "output_tokens": tokens["output"],
            "cache_read_tokens": tokens["input"] * 4,
            "estimated_cost_usd": round((tokens["input"] * 3 + tokens["output"] * 15) / 1e6, 6),
            "title": f"{' '.join(text.words(3))} {number}",
        }
        self._insert("sessions", list(row), [row])

    def _insert(self, table: str, columns: list[str], rows: list[_Row]) -> None:
        places = ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
        self._database.executemany(statement, ([row.get(name) for name in columns] for row in rows))

    def _lane(
        self, key: str, platform: str, session_id: str, times: tuple[datetime, datetime], tokens: dict[str, int]
    ) -> None:
        lane: dict[str, Any] = {
            "session_key": key,
            "session_id": session_id,
            "created_at": iso(times[0]),
            "updated_at": iso(times[1]),
            "platform": platform,
            "chat_type": "dm",
            "input_tokens": tokens["input"],
            "output_tokens": tokens["output"],
            "suspended": False,
        }
        self._lanes[key] = lane

    def close(self) -> None:
        """Write the lanes, and all of the database into its one file."""
        self._database.commit()
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.close()
        (self._folder / "sessions/sessions.json").write_text(json.dumps(self._lanes, indent=1))
