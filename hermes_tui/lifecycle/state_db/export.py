"""Exports, clears, deletes and prunes whole sessions.

Format: spec 000, "Export and Cleanup".
"""

from __future__ import annotations

from collections.abc import Collection

from hermes_tui.lifecycle.state_db.connection.rows import Row
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.lifecycle.state_db.messages import get_messages
from hermes_tui.lifecycle.state_db.pruning import PruneFilter, Select, prunable
from hermes_tui.lifecycle.state_db.sessions import get_session, search_sessions

__all__ = [
    "clear_messages",
    "delete_session",
    "export_all",
    "export_session",
    "helpers_of",
    "prune_sessions",
]

_DAY = 86_400.0
_DELEGATE = "json_extract(CASE WHEN json_valid(model_config) THEN model_config END, '$._delegate_from')"
"""Which session had a helper work for it."""


def export_session(store: Store, session_id: str) -> Row | None:
    """A session's row with its `messages`; None when there is no such session."""
    session = get_session(store, session_id)
    return None if session is None else {**session, "messages": get_messages(store, session_id)}


def export_all(store: Store, source: str | None = None) -> list[Row]:
    """Every session's row with its `messages` and `last_active`, the one spoken in last first."""
    sessions = search_sessions(store, source=source, limit=-1)
    return [{**session, "messages": get_messages(store, session["id"])} for session in sessions]


def clear_messages(store: Store, session_id: str) -> None:
    """Delete the messages of a session and keep its row."""
    with store.transaction():
        store.execute("DELETE FROM messages WHERE session_id = ?", (session_id,))
        store.execute("UPDATE sessions SET message_count = 0, tool_call_count = 0 WHERE id = ?", (session_id,))


def delete_session(store: Store, session_id: str) -> bool:
    """Delete a session with its messages and with the helpers that worked for it; whether there was one.
    Other sessions that came from it stay, and name no parent any more."""
    with store.transaction():
        if get_session(store, session_id) is None:
            return False
        _delete(store, [*helpers_of(_select(store), session_id), session_id])
    return True


def _select(store: Store) -> Select:
    return lambda sql, values: [tuple(row.values()) for row in store.rows(sql, values)]


def helpers_of(select: Select, session_id: str) -> list[str]:
    """The helpers of a session, and theirs; never the session itself, however they point at one another."""
    found = {session_id}
    waiting = [session_id]
    while waiting:
        at = waiting.pop()
        rows = select(
            f"SELECT id FROM sessions WHERE {_DELEGATE} = ?1"  # noqa: S608 - names of our own
            f" OR (parent_session_id = ?1 AND {_DELEGATE} IS NOT NULL)",
            (at,),
        )
        new = [str(id_) for (id_,) in rows if id_ not in found]
        found.update(new)
        waiting += new
    return sorted(found - {session_id})


def prune_sessions(store: Store, older_than_days: float = 90, source: str | None = None) -> int:
    """Delete the sessions that began earlier and are ended; how many. Those that came from one of them stay."""
    with store.transaction():
        wanted = PruneFilter(source=source or "", include_archived=True)
        before = store.clock() - older_than_days * _DAY
        ids = prunable(_select(store), wanted, None, before, archived=False)
        _delete(store, ids)
    return len(ids)


def _delete(store: Store, ids: Collection[str]) -> None:
    for id_ in ids:
        # Foreign keys hold: what points at the row goes before it.
        store.execute("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", (id_,))
        store.execute("DELETE FROM messages WHERE session_id = ?", (id_,))
        store.execute("DELETE FROM sessions WHERE id = ?", (id_,))
