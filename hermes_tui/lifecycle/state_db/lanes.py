"""A store's gateway tables since Hermes 0.18: peers of sessions, routing.

Older stores have neither columns nor table for that: looked up there, nothing is found (facts on Hermes, 2.1, 3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.state_db.connection.rows import Row
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.lifecycle.state_db.recoverable import recoverable

__all__ = [
    "delete_gateway_routing_entries",
    "find_latest_gateway_session_for_peer",
    "gateway_routing_scopes",
    "has_routing",
    "load_gateway_routing_entries",
    "record_gateway_session_peer",
    "replace_gateway_routing_entries",
    "save_gateway_routing_entry",
]

_PEER = ("user_id", "chat_id", "chat_type", "thread_id")


def has_routing(store: Store) -> bool:
    """Whether this store is where the gateway keeps its lanes; otherwise they are in sessions.json alone."""
    return store.schema.has("gateway_routing", "scope", "session_key", "entry_json")


def record_gateway_session_peer(
    store: Store,
    session_id: str,
    *,
    source: str,
    session_key: str,
    user_id: str | None = None,
    chat_id: str | None = None,
    chat_type: str | None = None,
    thread_id: str | None = None,
    display_name: str | None = None,
    origin_json: str | None = None,
) -> None:
    """Write down which lane a session belongs to. The last two stay as they are when None."""
    if not session_id or not session_key:
        return
    values: Row = {
        "session_key": session_key,
        "source": source,
        "user_id": user_id,
        "chat_id": chat_id,
        "chat_type": chat_type,
        "thread_id": thread_id,
    }
    shown = {"display_name": display_name, "origin_json": origin_json}
    values.update({name: value for name, value in shown.items() if value is not None})
    names = store.schema.only("sessions", values)
    changes = ", ".join(f'"{name}" = ?' for name in names)
    with store.transaction():
        statement = f"UPDATE sessions SET {changes} WHERE id = ?"  # noqa: S608 - names of our own
        store.execute(statement, [*(values[name] for name in names), session_id])


def find_latest_gateway_session_for_peer(
    store: Store,
    *,
    source: str,
    session_key: str | None,
    user_id: str | None = None,
    chat_id: str | None = None,
    chat_type: str | None = None,
    thread_id: str | None = None,
) -> Row | None:
    """The session that Hermes would take up for a lane it has lost: the one begun last that has messages and is
    not over, of that key, else of the same user in the same chat."""
    if not session_key or not store.schema.has("sessions", "session_key", *_PEER):
        return None
    found = recoverable(
        lambda sql, values: [tuple(row.values()) for row in store.rows(sql, values)],
        source=source,
        key=session_key,
        user_id=user_id,
        chat_id=chat_id,
        chat_type=chat_type,
        thread_id=thread_id,
    )
    return store.row("SELECT * FROM sessions WHERE id = ?", (found,)) if found is not None else None


def load_gateway_routing_entries(store: Store, *, scope: str = "") -> dict[str, str]:
    """The lanes of a scope (the path of the folder with sessions.json): entries as JSON by session key."""
    if not has_routing(store):
        return {}
    rows = store.rows("SELECT session_key, entry_json FROM gateway_routing WHERE scope = ?", (scope,))
    return {row["session_key"]: row["entry_json"] for row in rows}


def gateway_routing_scopes(store: Store) -> list[str]:
    """The scopes that have lanes."""
    if not has_routing(store):
        return []
    return [row["scope"] for row in store.rows("SELECT DISTINCT scope FROM gateway_routing ORDER BY scope")]


def save_gateway_routing_entry(store: Store, session_key: str, entry_json: str, *, scope: str = "") -> None:
    """Write one lane. Raises `StoreError` in a store without lanes."""
    with store.transaction():
        _save(store, scope, {session_key: entry_json})


def replace_gateway_routing_entries(store: Store, entries: Mapping[str, str], *, scope: str = "") -> None:
    """Write all lanes of a scope: those not named are removed. Raises `StoreError` in a store without lanes."""
    with store.transaction():
        _need_routing(store)
        store.execute("DELETE FROM gateway_routing WHERE scope = ?", (scope,))
        _save(store, scope, entries)


def delete_gateway_routing_entries(store: Store, session_keys: Iterable[str], *, scope: str = "") -> int:
    """Remove lanes; how many there were. Raises `StoreError` in a store without lanes."""
    with store.transaction():
        _need_routing(store)
        statement = "DELETE FROM gateway_routing WHERE scope = ? AND session_key = ?"
        return sum(store.execute(statement, (scope, key)) for key in session_keys)


def _save(store: Store, scope: str, entries: Mapping[str, str]) -> None:
    _need_routing(store)
    now = store.clock()
    for key, entry in entries.items():
        if key and entry:
            store.execute(
                "INSERT INTO gateway_routing (scope, session_key, entry_json, updated_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT(scope, session_key) DO UPDATE SET entry_json = excluded.entry_json,"
                " updated_at = excluded.updated_at",
                (scope, key, entry, now),
            )


def _need_routing(store: Store) -> None:
    if not has_routing(store):
        raise StoreError(f"The session store {store.path} has no table of lanes: Hermes keeps them elsewhere.")
