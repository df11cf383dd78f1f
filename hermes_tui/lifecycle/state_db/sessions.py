"""The rows of sessions: create, end, reopen, look up, list.

Format: spec 000, "Common Operations".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hermes_tui.errors import SessionNotFound
from hermes_tui.lifecycle.state_db.connection.failures import RuleBroken
from hermes_tui.lifecycle.state_db.connection.rows import Row
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.lifecycle.state_db.recoverable import BOUNDARIES, RULE_0_19

__all__ = [
    "count_conversation",
    "create_session",
    "end_session",
    "escape_like",
    "get_session",
    "promote_to_session_reset",
    "recent_sessions",
    "reopen_session",
    "resolve_session_id",
    "search_sessions",
    "session_count",
]

_FILLED_IN = (
    "model",
    "model_config",
    "system_prompt",
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "parent_session_id",
    "cwd",
    "profile_name",
)
"""What a second writer of the same session may add where the first knew nothing."""
_CONVERSATIONS = "conversation_generations"


def create_session(
    store: Store,
    session_id: str,
    source: str,
    *,
    model: str | None = None,
    model_config: Mapping[str, Any] | None = None,
    system_prompt: str | None = None,
    user_id: str | None = None,
    parent_session_id: str | None = None,
    started_at: float | None = None,
    **columns: str | None,
) -> str:
    """Make a session that begins now, or at `started_at` (seconds since the epoch); its id.

    When there is one of that id, only what it did not know yet is filled in. `columns` are those of newer
    stores: session_key, chat_id, chat_type, thread_id, cwd, profile_name; a store without them does not keep
    them. Raises `SessionNotFound` when there is no such parent.
    """
    if unknown := columns.keys() - set(_FILLED_IN):
        raise TypeError(f"create_session() has no argument {', '.join(sorted(unknown))}")
    row: Row = {
        "id": session_id,
        "source": source,
        "user_id": user_id,
        "model": model,
        "model_config": json.dumps(model_config) if model_config else None,
        "system_prompt": system_prompt,
        "parent_session_id": parent_session_id,
        "started_at": store.clock() if started_at is None else started_at,
        **columns,
    }
    filled = store.schema.only("sessions", (name for name in _FILLED_IN if name in row))
    updates = ", ".join(f"{name} = COALESCE(sessions.{name}, excluded.{name})" for name in filled)
    try:
        with store.transaction():
            store.insert("sessions", row, otherwise=f"ON CONFLICT(id) DO UPDATE SET {updates}")
    except RuleBroken as error:
        if parent_session_id and store.row("SELECT 1 FROM sessions WHERE id = ?", (parent_session_id,)) is None:
            raise SessionNotFound(
                f"There is no session {parent_session_id} in {store.path} for another to continue."
            ) from error
        raise
    return session_id


def end_session(store: Store, session_id: str, end_reason: str) -> None:
    """Mark a session as ended now. The first reason stays: nothing happens to one that is ended."""
    with store.transaction():
        changed = store.execute(
            "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL",
            (store.clock(), end_reason, session_id),
        )
        if changed:
            count_conversation(store, session_id, end_reason)


def promote_to_session_reset(store: Store, session_id: str, reason: str = "session_reset") -> bool:
    """End a session for good, also one that was ended by accident and that Hermes would reopen. Whether it was
    changed: one that is ended for another reason stays as it is."""
    with store.transaction():
        changed = store.execute(
            "UPDATE sessions SET ended_at = ?, end_reason = ?"
            " WHERE id = ? AND (ended_at IS NULL OR end_reason IN (?, ?))",
            (store.clock(), reason, session_id, *RULE_0_19.accidents),
        )
        if changed:
            count_conversation(store, session_id, reason)
    return changed > 0


def count_conversation(store: Store, session_id: str, reason: str) -> None:
    """Say that the lane's next conversation is another one, where the store counts them (Hermes 0.21, schema 30).

    To be called in the transaction that ends the session. The number is part of the name under which providers keep
    what was said at hand. It only ever grows, as in Hermes, also when the end is taken back: a name that was given up
    is never used again."""
    if reason not in BOUNDARIES or not store.schema.has(_CONVERSATIONS, "source", "session_key", "generation"):
        return
    row = store.row("SELECT source, session_key FROM sessions WHERE id = ?", (session_id,)) or {}
    lane = [str(row.get(name) or "").strip() for name in ("source", "session_key")]
    if all(lane):
        store.execute(
            f"INSERT INTO {_CONVERSATIONS} (source, session_key, generation) VALUES (?, ?, 1)"  # noqa: S608 - ours
            " ON CONFLICT(source, session_key) DO UPDATE SET generation = generation + 1",
            lane,
        )


def reopen_session(store: Store, session_id: str) -> None:
    """Clear when and why a session ended."""
    with store.transaction():
        store.execute("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", (session_id,))


def get_session(store: Store, session_id: str) -> Row | None:
    """One session's row."""
    return store.row("SELECT * FROM sessions WHERE id = ?", (session_id,))


def resolve_session_id(store: Store, session_id_or_prefix: str) -> str | None:
    """The session of that id, or the only one whose id begins so; None when there is none, or several."""
    if get_session(store, session_id_or_prefix) is not None:
        return session_id_or_prefix
    # Two are enough to see that it is not the only one.
    found = store.rows(
        "SELECT id FROM sessions WHERE id LIKE ? ESCAPE '\\' LIMIT 2", (escape_like(session_id_or_prefix) + "%",)
    )
    return str(found[0]["id"]) if len(found) == 1 else None


def session_count(store: Store, source: str | None = None, *, include_archived: bool = False) -> int:
    """How many sessions there are."""
    archived = "" if include_archived or not store.schema.has("sessions", "archived") else " AND archived = 0"
    return int(
        store.value(
            f"SELECT count(*) FROM sessions WHERE (?1 IS NULL OR source = ?1){archived}",  # noqa: S608
            (source or None,),
        )
    )


def search_sessions(store: Store, source: str | None = None, limit: int = 20, offset: int = 0) -> list[Row]:
    """Sessions, the one spoken in last first: their rows, with `last_active` (seconds since the epoch)."""
    return store.rows(
        "SELECT s.*, COALESCE(m.last_active, s.started_at) AS last_active FROM sessions s"
        " LEFT JOIN (SELECT session_id, max(timestamp) AS last_active FROM messages GROUP BY session_id) m"
        " ON m.session_id = s.id WHERE (?1 IS NULL OR s.source = ?1)"
        " ORDER BY last_active DESC, s.started_at DESC, s.id DESC LIMIT ?2 OFFSET ?3",
        (source or None, limit, offset),
    )


def recent_sessions(store: Store, limit: int = 20, offset: int = 0) -> list[Row]:
    """Sessions, the one begun last first, with `preview` (the first 63 characters that the user wrote) and
    `last_active` (spec 000, "Recent Sessions with Preview")."""
    return store.rows(
        "SELECT s.*, COALESCE((SELECT substr(m.content, 1, 63) FROM messages m WHERE m.session_id = s.id"
        " AND m.role = 'user' AND m.content IS NOT NULL ORDER BY m.timestamp, m.id LIMIT 1), '') AS preview,"
        " COALESCE((SELECT max(m2.timestamp) FROM messages m2 WHERE m2.session_id = s.id), s.started_at)"
        " AS last_active FROM sessions s ORDER BY s.started_at DESC LIMIT ? OFFSET ?",
        (limit, offset),
    )


def escape_like(text: str) -> str:
    """For a pattern of LIKE with ESCAPE '\\': text in which nothing stands for something else."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
