"""Creates a store of version 6, and migrates versions 1 to 5.

Format: spec 000, "Schema Version".

Each step adds what is missing, however far an earlier attempt came. All of them together are one transaction: a
process that dies on the way leaves the store as it was.
"""

from __future__ import annotations

import apsw

from hermes_tui.lifecycle.state_db.connection.schema import (
    FOR_LANES,
    FTS,
    INDEXES,
    MESSAGES,
    SESSIONS,
    TRIGGERS,
    UNIQUE_TITLES,
    VERSION,
    StoreSchema,
)

__all__ = ["bring_up", "lanes_need", "needs_work"]

_ADDED: dict[int, tuple[tuple[str, str], ...]] = {
    2: (("messages", "finish_reason TEXT"),),
    3: (("sessions", "title TEXT"),),
    5: (
        ("sessions", "cache_read_tokens INTEGER DEFAULT 0"),
        ("sessions", "cache_write_tokens INTEGER DEFAULT 0"),
        ("sessions", "reasoning_tokens INTEGER DEFAULT 0"),
        ("sessions", "billing_provider TEXT"),
        ("sessions", "billing_base_url TEXT"),
        ("sessions", "billing_mode TEXT"),
        ("sessions", "estimated_cost_usd REAL"),
        ("sessions", "actual_cost_usd REAL"),
        ("sessions", "cost_status TEXT"),
        ("sessions", "cost_source TEXT"),
        ("sessions", "pricing_version TEXT"),
    ),
    6: (
        ("messages", "reasoning TEXT"),
        ("messages", "reasoning_details TEXT"),
        ("messages", "codex_reasoning_items TEXT"),
    ),
}
"""Columns by the version that brought them. Version 4 brought the unique index of titles."""


def needs_work(schema: StoreSchema) -> bool:
    """Whether the store is one of ours that is not whole yet. A newer one never is."""
    return schema.is_empty or (schema.is_documented and not schema.is_current)


def lanes_need(schema: StoreSchema) -> tuple[str, ...]:
    """The statements that give a store of the document's what lanes need; none for a newer one, and for one that has
    it."""
    if not schema.is_documented or schema.has("messages", *FOR_LANES):
        return ()
    return (
        *(
            f"ALTER TABLE messages ADD COLUMN {name} {declared}"
            for name, declared in FOR_LANES.items()
            if not schema.has("messages", name)
        ),
        "CREATE INDEX IF NOT EXISTS idx_messages_platform_msg_id ON messages(session_id, platform_message_id)"
        " WHERE platform_message_id IS NOT NULL",
    )


def bring_up(connection: apsw.Connection) -> None:
    """Make or complete the schema, within a transaction of the caller's. Looks again first: another process may
    have done it meanwhile. Raises `apsw.Error`."""
    found = StoreSchema.of(connection)
    if not needs_work(found):
        return
    for table in ("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)", SESSIONS, MESSAGES):
        connection.execute(table)
    there = StoreSchema.of(connection)  # looked at anew: tables that were just made have all columns
    for columns in _ADDED.values():
        for table, declared in columns:
            if not there.has(table, declared.split()[0]):
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {declared}")
    # Version 3 let two sessions have the same title: the newer row keeps it, as in Hermes.
    connection.execute(
        "UPDATE sessions AS older SET title = NULL WHERE title IS NOT NULL AND EXISTS"
        " (SELECT 1 FROM sessions newer WHERE newer.title = older.title AND newer.rowid > older.rowid)"
    )
    connection.execute(UNIQUE_TITLES)
    for index in INDEXES:
        connection.execute(index)
    connection.execute(FTS)
    for trigger in TRIGGERS.values():
        connection.execute(trigger)
    # While a trigger was missing, the full-text index was not kept up to date: it is made anew from the messages.
    if not found.is_searchable:
        connection.execute("INSERT INTO messages_fts(messages_fts) VALUES('rebuild')")
    if found.version is None:  # no row, or one that holds no number
        connection.execute("DELETE FROM schema_version")
        connection.execute("INSERT INTO schema_version (version) VALUES (?)", (VERSION,))
    else:
        connection.execute("UPDATE schema_version SET version = ?", (VERSION,))
