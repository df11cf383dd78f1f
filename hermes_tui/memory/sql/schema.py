"""The tables of layer 1: ours, Hector's own, and how the old become ours.

Format: spec 001 «Database Schema»; facts agentmux_hector.md 2.1 and 2.2.

Ours are the guide's, with three things that it lacks: the agent in the messages' own key, since its JOIN gives each
agent the messages of every other that has a session of that id; a number, since the messages of a turn share a time;
and the role. A genuine store of Hector's is read as it is, and becomes ours only when it is asked for.
"""

# ruff: noqa: S608 - the parts of statements are words of our own; every value is a parameter

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hermes_tui.errors import StoreError
from hermes_tui.memory.message import HectorMessage
from hermes_tui.memory.sql.database import Dialect, Rows, Statements

__all__ = ["Generation", "Migration", "as_bytes", "create", "generation_of", "migrate", "rows_of_old_session"]

Generation = Literal["none", "current", "v1", "v0", "doc"]
"""Which tables there are; v0, v1 and doc are Hector's own, as the facts call them."""

_TABLES = """
CREATE TABLE IF NOT EXISTS sessions (
    id VARCHAR(255) NOT NULL,
    agent_id VARCHAR(255) NOT NULL,
    metadata TEXT,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (id, agent_id)
);
CREATE INDEX IF NOT EXISTS idx_sessions_agent_updated ON sessions (agent_id, updated_at DESC);
CREATE TABLE IF NOT EXISTS session_messages (
    id {number} PRIMARY KEY{counting},
    agent_id VARCHAR(255) NOT NULL,
    session_id VARCHAR(255) NOT NULL,
    message_id VARCHAR(255) NOT NULL,
    role VARCHAR(50) NOT NULL,
    message_json TEXT NOT NULL,
    sequence_num BIGINT NOT NULL,
    created_at {time} NOT NULL,
    UNIQUE (agent_id, session_id, message_id),
    UNIQUE (agent_id, session_id, sequence_num){key}
);
CREATE INDEX IF NOT EXISTS idx_session_messages_session_created ON session_messages (session_id, created_at);
CREATE INDEX IF NOT EXISTS idx_session_messages_summaries ON session_messages (agent_id, session_id, sequence_num)
    WHERE role = 'ROLE_UNSPECIFIED'
"""
_KEY = ",\n    FOREIGN KEY (session_id, agent_id) REFERENCES sessions (id, agent_id) ON DELETE CASCADE"
_WORDS: dict[Dialect, dict[str, str]] = {
    "sqlite": {"time": "TIMESTAMP", "number": "INTEGER", "counting": " AUTOINCREMENT"},
    "postgres": {"time": "TIMESTAMPTZ", "number": "BIGSERIAL", "counting": ""},
}
_LOCK = 0x4845_4354  # "HECT"
NOBODY = ""
"""Stands for the agent of messages that cannot be told apart."""


class Migration(Struct, frozen=True, kw_only=True):
    """What became of a store when its tables were made ours."""

    generation: Generation
    """What they were before."""
    sessions: int = 0
    messages: int = 0
    unattributed: int = 0
    """Of these messages, those of a session that several agents share, or none: nothing says whose they are. They
    are kept, and given to nobody."""


def generation_of(statements: Statements) -> Generation:
    """Which tables there are, by their columns. Raises `StoreError` for another database than Hector's, and for the
    events of its version 2."""
    sessions, messages = statements.columns("sessions"), statements.columns("session_messages")
    if not sessions and not messages:
        return "none"
    if "app_name" in sessions:
        raise StoreError("These are the events of Hector 2, which this service does not keep: nothing was changed.")
    if (
        not {"id", "agent_id", "created_at", "updated_at"} <= sessions
        or not {"session_id", "message_json"} <= messages
    ):
        raise StoreError("These are not Hector's tables of sessions: nothing was changed.")
    if "agent_id" in messages:
        return "current"
    if "sequence_num" not in messages:
        return "doc"
    return "v1" if "agent_id" in statements.keys("sessions") else "v0"


def create(statements: Statements, dialect: Dialect, *, with_key: bool = True) -> None:
    """Make the tables that are missing, with their indexes. Another process may do so at the same moment."""
    if dialect == "postgres":
        statements.run("SELECT pg_advisory_xact_lock(?)", _LOCK)
    text = _TABLES.format(**_WORDS[dialect], key=_KEY if with_key else "")
    for statement in text.split(";"):
        statements.run(statement)


def rows_of_old_session(
    statements: Statements, dialect: Dialect, generation: Generation, session_id: str, agent_id: str
) -> Rows:
    """The rows of a session in Hector's own tables, oldest first: place, message id, JSON. None of a session that
    other agents have too: its rows do not say whose they are."""
    # No rule of Hector's tables keeps a number from being there twice: the row's own decides then.
    place, order = ("id", "sequence_num, id")
    if generation == "doc":
        place, order = ("message_id", "julianday(created_at), rowid" if dialect == "sqlite" else "created_at, ctid")
    owned = "(SELECT agent_id FROM sessions WHERE id = ?)"
    return statements.run(
        f"SELECT {place}, message_id, {as_bytes(dialect)} FROM session_messages"
        f" WHERE session_id = ? AND ? IN {owned}"
        f" AND (SELECT count(*) FROM sessions WHERE id = ?) = 1 ORDER BY {order}",
        session_id, agent_id, session_id, session_id,
    )  # fmt: skip


def as_bytes(dialect: Dialect) -> str:
    """The column of messages, whatever bytes are in it: text that is not UTF-8 must not hide its neighbours."""
    return "CAST(message_json AS BLOB)" if dialect == "sqlite" else "message_json"


# From Hector's tables to ours --------------------------------------------------------------------------------


def migrate(statements: Statements, dialect: Dialect) -> Migration:
    """Make Hector's own tables ours, within a transaction of the caller's. Every session and message stays; a session
    of v0 without an agent, and messages whose session is gone, are nobody's. Raises `StoreError`."""
    generation = generation_of(statements)
    if generation in ("none", "current"):
        create(statements, dialect)
        return Migration(generation=generation)
    have = statements.columns("session_messages")
    for table in ("sessions", "session_messages"):
        statements.run(f"ALTER TABLE {table} RENAME TO old_{table}")
    for index in ("idx_sessions_agent_updated", "idx_session_messages_session_created"):
        statements.run(f"DROP INDEX IF EXISTS {index}")
    create(statements, dialect)
    statements.run(
        "INSERT INTO sessions (id, agent_id, metadata, created_at, updated_at)"
        " SELECT id, coalesce(agent_id, ?), metadata, created_at, updated_at FROM old_sessions",
        NOBODY,
    )
    # Messages whose session was deleted, or is shared, need one to belong to.
    statements.run(
        "INSERT INTO sessions (id, agent_id, metadata, created_at, updated_at)"
        " SELECT m.session_id, ?, NULL, min(m.created_at), max(m.created_at) FROM old_session_messages m"
        " WHERE (SELECT count(*) FROM old_sessions s WHERE s.id = m.session_id) <> 1 GROUP BY m.session_id",
        NOBODY,
    )
    order = "sequence_num, id" if "sequence_num" in have else "created_at, message_id"
    if dialect == "sqlite" and "sequence_num" not in have:
        order = "julianday(created_at), rowid"
    role = "role" if "role" in have else "''"
    owner = (
        "CASE (SELECT count(*) FROM old_sessions s WHERE s.id = m.session_id)"
        " WHEN 1 THEN (SELECT coalesce(s.agent_id, '') FROM old_sessions s WHERE s.id = m.session_id) ELSE '' END"
    )
    numbered = (
        f"SELECT {owner} AS agent_id, session_id, message_id, {role} AS role, message_json, created_at,"
        f" row_number() OVER (PARTITION BY session_id ORDER BY {order}) AS number FROM old_session_messages m"
    )
    # A message id that is empty, or there twice, is no key: it becomes the message's number.
    statements.run(
        "INSERT INTO session_messages"
        " (agent_id, session_id, message_id, role, message_json, sequence_num, created_at)"
        " SELECT agent_id, session_id, CASE WHEN message_id = '' OR row_number() OVER"
        " (PARTITION BY session_id, message_id ORDER BY number) > 1 THEN 'row-' || number ELSE message_id END,"
        f" role, message_json, number, created_at FROM ({numbered}) AS numbered ORDER BY session_id, number"
    )
    if role == "''":
        _read_roles(statements, dialect)
    statements.run("DROP TABLE old_session_messages")
    statements.run("DROP TABLE old_sessions")
    ((sessions,),) = statements.run("SELECT count(*) FROM sessions WHERE agent_id <> ?", NOBODY)
    ((messages, unattributed),) = statements.run(
        "SELECT count(*), count(CASE WHEN agent_id = ? THEN 1 END) FROM session_messages", NOBODY
    )
    return Migration(
        generation=generation, sessions=int(sessions), messages=int(messages), unattributed=int(unattributed)
    )


def _read_roles(statements: Statements, dialect: Dialect) -> None:
    """The guide's table says in the message alone who speaks."""
    found: list[tuple[str, int]] = []
    for number, text in statements.run(f"SELECT id, {as_bytes(dialect)} FROM session_messages"):
        try:
            role = HectorMessage.of_json(text.decode("utf-8", "replace") if isinstance(text, bytes) else text).role
        except ValueError:
            role = "ROLE_AGENT"  # what cannot be read is no summary
        found.append((role, number))
    statements.run_many("UPDATE session_messages SET role = ? WHERE id = ?", found)
