"""The rows of messages: append, replace, rewind, read.

Format: spec 000, "Store Messages", "Retrieve Messages".

The order of messages is that of their ids: clocks go backwards. A row is hidden from the conversation when the user
took it back or when it was summarized; older stores have no columns for that, and lose nothing by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from hermes_tui.errors import SessionNotFound, StoreError, ValidationError
from hermes_tui.lifecycle.state_db.connection.failures import RuleBroken
from hermes_tui.lifecycle.state_db.connection.rows import Row
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.lifecycle.state_db.content import decode_content, decode_row, encode_content, encode_list, preview

__all__ = [
    "answer_to",
    "append_message",
    "get_messages",
    "has_platform_message_id",
    "is_cut",
    "list_recent_user_messages",
    "live",
    "message_count",
    "replace_messages",
    "rewind_to_message",
]

_ONLY_ASSISTANT = (
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
)
_LISTS = ("tool_calls", "reasoning_details", "codex_reasoning_items", "codex_message_items")
_PLAIN = (
    "tool_call_id",
    "tool_name",
    "effect_disposition",
    "token_count",
    "finish_reason",
    "reasoning",
    "reasoning_content",
    "platform_message_id",
    "api_content",
)
_KNOWN = frozenset((*_LISTS, *_PLAIN, "observed"))


def append_message(
    store: Store, session_id: str, role: str, content: Any = None, *, timestamp: Any = None, **values: Any
) -> int:
    """Append a message, now or at `timestamp` (seconds since the epoch, or a datetime); its id.

    `values` are tool_name, tool_calls, tool_call_id, token_count, finish_reason, reasoning, reasoning_details,
    codex_reasoning_items, and those of newer stores: reasoning_content, codex_message_items,
    platform_message_id, observed, effect_disposition, api_content. What the store has no column for is not kept.
    Raises `SessionNotFound`.
    """
    if unknown := values.keys() - _KNOWN:
        raise TypeError(f"append_message() has no argument {', '.join(sorted(unknown))}")
    row = _encode(session_id, role, content, values, _seconds(timestamp, store.clock()))
    calls = _count_calls(values.get("tool_calls"))
    try:
        with store.transaction():
            id_ = store.insert("messages", row)
            store.execute(
                "UPDATE sessions SET message_count = message_count + 1, tool_call_count = tool_call_count + ?"
                " WHERE id = ?",
                (calls, session_id),
            )
    except RuleBroken as error:
        _check_there(store, session_id, error)
        raise
    return id_


def replace_messages(
    store: Store, session_id: str, messages: Iterable[Mapping[str, Any]], *, active_only: bool = False
) -> None:
    """Put these messages in the place of all there are; with `active_only` of those that are not hidden."""
    kept = " AND active = 1" if active_only and store.schema.has("messages", "active") else ""
    try:
        with store.transaction():
            store.execute(f"DELETE FROM messages WHERE session_id = ?{kept}", (session_id,))  # noqa: S608
            now, number, calls = store.clock(), 0, 0
            for message in messages:
                role = message.get("role", "unknown")
                values = {key: value for key, value in message.items() if key in _KNOWN}
                if role != "assistant":
                    values = {key: value for key, value in values.items() if key not in _ONLY_ASSISTANT}
                values["platform_message_id"] = message.get("platform_message_id") or message.get("message_id")
                at = _seconds(message.get("timestamp"), now)
                store.insert("messages", _encode(session_id, role, message.get("content"), values, at))
                number += 1
                calls += _count_calls(message.get("tool_calls"))
                # Those without a time of their own get one each, a microsecond apart, so that they stay in order.
                now = max(now, at) + 1e-6
            store.execute(
                "UPDATE sessions SET message_count = ?, tool_call_count = ? WHERE id = ?", (number, calls, session_id)
            )
    except RuleBroken as error:
        _check_there(store, session_id, error)
        raise


def get_messages(
    store: Store, session_id: str, *, include_inactive: bool = False, limit: int | None = None, offset: int = 0
) -> list[Row]:
    """The rows of a session in order, content and tool calls decoded; hidden ones only when asked for."""
    rows = store.rows(
        f"SELECT * FROM messages WHERE session_id = ?{live(store, '', include_inactive)}"  # noqa: S608
        " ORDER BY +id LIMIT ? OFFSET ?",
        (session_id, -1 if limit is None else limit, offset),
    )
    return [decode_row(row) for row in rows]


def has_platform_message_id(store: Store, session_id: str, platform_message_id: str | None) -> bool:
    """Whether a message that the platform gave this id is in the session."""
    if not platform_message_id or not store.schema.has("messages", "platform_message_id"):
        return False
    query = "SELECT 1 FROM messages WHERE session_id = ? AND platform_message_id = ? LIMIT 1"
    return store.row(query, (session_id, platform_message_id)) is not None


def answer_to(store: Store, session_id: str, platform_message_id: str) -> str | None:
    """What was answered to a message of a platform that was delivered in this session, or in another of its lane;
    None: nothing yet, or there is no such message."""
    if not store.schema.has("messages", "platform_message_id"):
        return None
    lane = ""
    if store.schema.has("sessions", "session_key"):
        lane = " UNION SELECT o.id FROM sessions s JOIN sessions o ON o.session_key = s.session_key WHERE s.id = ?1"
    # A call of a tool is no answer yet.
    row = store.row(
        "SELECT a.content FROM messages m JOIN messages a ON a.session_id = m.session_id AND a.id > m.id"  # noqa: S608
        f" WHERE m.session_id IN (SELECT ?1{lane}) AND m.platform_message_id = ?2 AND a.role = 'assistant'"
        " AND a.tool_calls IS NULL ORDER BY a.id LIMIT 1",
        (session_id, platform_message_id),
    )
    return None if row is None else preview(decode_content(row["content"]))


def is_cut(store: Store, session_id: str) -> bool:
    """Whether the session's last turn has no answer: its last message asks, or is a tool's call or result."""
    row = store.row(
        "SELECT role, tool_calls FROM messages"  # noqa: S608 - names of our own
        f" WHERE session_id = ?{live(store, '')} ORDER BY id DESC LIMIT 1",
        (session_id,),
    )
    return row is not None and (row["role"] != "assistant" or bool(row["tool_calls"]))


def live(store: Store, alias: str, include_inactive: bool = False) -> str:
    """The condition that a row is part of the conversation, for a WHERE with something before it. Rows of before
    there was such a column have NULL there."""
    if include_inactive or not store.schema.has("messages", "active"):
        return ""
    return f" AND ({alias}active = 1 OR {alias}active IS NULL)"


def message_count(store: Store, session_id: str | None = None) -> int:
    """How many rows of messages there are, hidden ones included."""
    return int(
        store.value("SELECT count(*) FROM messages WHERE ?1 IS NULL OR session_id = ?1", (session_id or None,))
    )


def list_recent_user_messages(
    store: Store, session_id: str, limit: int = 20, *, include_inactive: bool = False
) -> list[Row]:
    """What the user wrote, the newest first: id, timestamp, preview of at most 80 characters."""
    rows = store.rows(
        "SELECT id, timestamp, content FROM messages"  # noqa: S608 - names of our own
        f" WHERE session_id = ? AND role = 'user'{live(store, '', include_inactive)} ORDER BY id DESC LIMIT ?",
        (session_id, limit),
    )
    found: list[Row] = []
    for row in rows:
        words = " ".join(preview(decode_row(row)["content"]).split())
        shown = words if len(words) <= 80 else words[:77] + "..."
        found.append({"id": row["id"], "timestamp": row["timestamp"], "preview": shown})
    return found


def rewind_to_message(store: Store, session_id: str, target_message_id: int) -> Row:
    """Hide a message of the user and all after it: how many were hidden (`rewound_count`), the message itself
    (`target_message`), the last one left (`new_head_id`, or None). Raises `ValidationError` when it is no
    message of the user in this session, `StoreError` when the store is too old to keep hidden messages."""
    if not store.schema.has("messages", "active"):
        raise StoreError(f"The session store {store.path} is too old to keep messages that were taken back.")
    target = store.row("SELECT * FROM messages WHERE id = ? AND session_id = ?", (target_message_id, session_id))
    if target is None or target["role"] != "user":
        raise ValidationError(f"Message {target_message_id} is no message of the user in session {session_id}.")
    # `message_count` stays, as in Hermes: it counts hidden rows too.
    with store.transaction():
        hidden = store.execute(
            "UPDATE messages SET active = 0 WHERE session_id = ? AND id >= ? AND (active = 1 OR active IS NULL)",
            (session_id, target_message_id),
        )
        if store.schema.has("sessions", "rewind_count"):
            store.execute(
                "UPDATE sessions SET rewind_count = COALESCE(rewind_count, 0) + 1 WHERE id = ?", (session_id,)
            )
        query = f"SELECT max(id) FROM messages WHERE session_id = ?{live(store, '')}"  # noqa: S608
        head = store.value(query, (session_id,))
    said = {**target, "content": decode_content(target["content"])}  # lists stay JSON here, as Hermes leaves them
    return {"rewound_count": hidden, "target_message": said, "new_head_id": head}


def _check_there(store: Store, session_id: str, error: RuleBroken) -> None:
    """Where a constraint was broken by a message: raise `SessionNotFound` if that is why."""
    if store.row("SELECT 1 FROM sessions WHERE id = ?", (session_id,)) is None:
        raise SessionNotFound(f"There is no session {session_id} in {store.path}.") from error


def _encode(session_id: str, role: str, content: Any, values: Mapping[str, Any], timestamp: float) -> Row:
    row: Row = {"session_id": session_id, "role": role, "content": encode_content(content), "timestamp": timestamp}
    row.update({name: values.get(name) for name in _PLAIN})
    row.update({name: encode_list(values.get(name)) for name in _LISTS})
    if not isinstance(row["api_content"], str):
        row["api_content"] = None
    return {**row, "observed": int(bool(values.get("observed"))), "active": 1}


def _count_calls(calls: Any) -> int:
    if calls is None:
        return 0
    return len(calls) if isinstance(calls, list) else 1


def _seconds(value: Any, otherwise: float) -> float:
    """A time as seconds since the epoch; `otherwise` when it is none."""
    if isinstance(value, datetime):
        return value.timestamp()
    try:
        return otherwise if value is None else float(value)
    except (TypeError, ValueError):
        return otherwise
