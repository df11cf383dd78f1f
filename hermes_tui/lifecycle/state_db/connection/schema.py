"""The tables of a store: those of the document, and those that are found.

Format: spec 000.

Hermes went on from version 6; what a newer one brought is told by its columns, never by its number (facts on
Hermes, section 2.1), and is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import apsw

__all__ = [
    "FOR_LANES",
    "FTS",
    "INDEXES",
    "MESSAGES",
    "SESSIONS",
    "TRIGGERS",
    "UNIQUE_TITLES",
    "VERSION",
    "StoreSchema",
]

VERSION = 6
"""The newest version of our own stores."""

SESSIONS = """
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    user_id TEXT,
    model TEXT,
    model_config TEXT,
    system_prompt TEXT,
    parent_session_id TEXT,
    started_at REAL NOT NULL,
    ended_at REAL,
    end_reason TEXT,
    message_count INTEGER DEFAULT 0,
    tool_call_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0,
    output_tokens INTEGER DEFAULT 0,
    cache_read_tokens INTEGER DEFAULT 0,
    cache_write_tokens INTEGER DEFAULT 0,
    reasoning_tokens INTEGER DEFAULT 0,
    billing_provider TEXT,
    billing_base_url TEXT,
    billing_mode TEXT,
    estimated_cost_usd REAL,
    actual_cost_usd REAL,
    cost_status TEXT,
    cost_source TEXT,
    pricing_version TEXT,
    title TEXT,
    FOREIGN KEY (parent_session_id) REFERENCES sessions(id)
)
"""

MESSAGES = """
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL,
    content TEXT,
    tool_call_id TEXT,
    tool_calls TEXT,
    tool_name TEXT,
    timestamp REAL NOT NULL,
    token_count INTEGER,
    finish_reason TEXT,
    reasoning TEXT,
    reasoning_details TEXT,
    codex_reasoning_items TEXT
)
"""

FOR_LANES = {"active": "INTEGER NOT NULL DEFAULT 1", "platform_message_id": "TEXT"}
"""Columns of `messages` that spec 002 needs (soft-deleted rows, a platform's own ids) and version 6 does not have; as
Hermes declares them since 0.15 and 0.16. A `SessionStore` adds them to a store of ours."""

INDEXES = (
    "CREATE INDEX IF NOT EXISTS idx_sessions_source ON sessions(source)",
    "CREATE INDEX IF NOT EXISTS idx_sessions_parent ON sessions(parent_session_id)",
    "CREATE INDEX IF NOT EXISTS idx_sessions_started ON sessions(started_at DESC)",
    "CREATE INDEX IF NOT EXISTS idx_messages_session ON messages(session_id, timestamp)",
)
UNIQUE_TITLES = (
    "CREATE UNIQUE INDEX IF NOT EXISTS idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL"
)

FTS = "CREATE VIRTUAL TABLE IF NOT EXISTS messages_fts USING fts5(content, content=messages, content_rowid=id)"
TRIGGERS = {
    "messages_fts_insert": (
        "CREATE TRIGGER IF NOT EXISTS messages_fts_insert AFTER INSERT ON messages BEGIN"
        " INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END"
    ),
    "messages_fts_delete": (
        "CREATE TRIGGER IF NOT EXISTS messages_fts_delete AFTER DELETE ON messages BEGIN"
        " INSERT INTO messages_fts(messages_fts, rowid, content) VALUES('delete', old.id, old.content); END"
    ),
    "messages_fts_update": (
        "CREATE TRIGGER IF NOT EXISTS messages_fts_update AFTER UPDATE ON messages BEGIN"
        " INSERT INTO messages_fts(messages_fts, rowid, content) VALUES('delete', old.id, old.content);"
        " INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END"
    ),
}

_DOCUMENTED = frozenset({"schema_version", "sessions", "messages", "messages_fts"})
# FTS5 makes these for itself, beside the table of the index.
_SHADOWS = tuple(f"messages_fts_{part}" for part in ("data", "idx", "docsize", "config", "content"))


class StoreSchema(NamedTuple):
    """The tables, columns and triggers that a store really has."""

    tables: dict[str, frozenset[str]]
    """Columns by table, without SQLite's own tables."""
    triggers: frozenset[str]
    version: int | None
    """What the store says of itself; None when it says nothing."""

    @classmethod
    def of(cls, connection: apsw.Connection) -> StoreSchema:
        """Raises `apsw.Error` for what is no database."""
        columns: dict[str, set[str]] = {}
        for table, column in connection.execute(
            "SELECT m.name, i.name FROM sqlite_master m, pragma_table_info(m.name) i"
            " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        ):
            columns.setdefault(table, set()).add(column)
        triggers = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'messages'"
        )
        version = None
        if "version" in columns.get("schema_version", ()):
            for (found,) in connection.execute("SELECT version FROM schema_version LIMIT 1"):
                version = found if isinstance(found, int) else None
        return cls(
            {name: frozenset(found) for name, found in columns.items()},
            frozenset(name for (name,) in triggers),
            version,
        )

    def has(self, table: str, *names: str) -> bool:
        """Whether there is such a table with all these columns."""
        return table in self.tables and self.tables[table].issuperset(names)

    def expression(self, table: str, name: str, alias: str = "") -> str:
        """The column for a SELECT; NULL where the store has none. `alias` comes with its dot."""
        return f'{alias}"{name}"' if self.has(table, name) else "NULL"

    def only(self, table: str, names: Iterable[str]) -> list[str]:
        """Those of the columns that there are."""
        return [name for name in names if self.has(table, name)]

    @property
    def is_empty(self) -> bool:
        """Nothing was ever made in it."""
        return not self.tables

    @property
    def is_documented(self) -> bool:
        """Nothing is in it that version 6 does not know: it may be brought up to that version."""
        return (
            (self.version is None or 1 <= self.version <= VERSION)
            and set(self.tables) - set(_SHADOWS) <= _DOCUMENTED
            and self.tables.get("sessions", frozenset()) <= _columns(SESSIONS)
            and self.tables.get("messages", frozenset()) <= _columns(MESSAGES) | set(FOR_LANES)
        )

    @property
    def is_current(self) -> bool:
        """It has everything that version 6 has."""
        return (
            self.version == VERSION
            and self.has("sessions", *_columns(SESSIONS))
            and self.has("messages", *_columns(MESSAGES))
            and self.is_searchable
        )

    @property
    def is_searchable(self) -> bool:
        """Every change of a message also reaches the full-text index."""
        return self.has("messages_fts", "content") and self.triggers.issuperset(TRIGGERS)


def _columns(table: str) -> frozenset[str]:
    """The names of the columns that a CREATE TABLE from above declares."""
    lines = (line.strip() for line in table.split("(\n", 1)[1].splitlines())
    return frozenset(line.split()[0] for line in lines if line and line[0].islower())
