"""A session as the model is shown it again.

Format: spec 000, "Retrieve Messages"; facts on Hermes, section 2.3.
"""

from __future__ import annotations

import re
from typing import Any

from hermes_tui.lifecycle.state_db.connection.rows import Row
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.lifecycle.state_db.content import decode_content, decode_list
from hermes_tui.lifecycle.state_db.lineage import get_ancestors
from hermes_tui.lifecycle.state_db.messages import live

__all__ = [
    "get_messages_as_conversation",
]

_MEMORY_TAG = r"<\s*memory-context\s*>"
_MEMORY_END = r"</\s*memory-context\s*>"
_MEMORY = re.compile(f"{_MEMORY_TAG}.*?{_MEMORY_END}", re.IGNORECASE | re.DOTALL)
_STRAY_TAG = re.compile(r"</?\s*memory-context\s*>", re.IGNORECASE)
_NOTE = re.compile(
    r"\[System note:\s*The following is recalled memory context,\s*NOT new user input\.\s*Treat as"
    r" (?:informational background data|authoritative reference data[^\]]*)\.\]\s*",
    re.IGNORECASE,
)
"""What Hermes puts before a recalled memory."""
_REVIEWS = (
    "Review the conversation above and update the skill library",
    "Review the conversation above and consider saving to memory",
)
"""How the prompts of Hermes' own reviews begin, which once were written into the user's session."""

_COPIED = ("api_content", "timestamp", "tool_call_id", "tool_name", "effect_disposition")
_OF_ASSISTANT = ("finish_reason", "reasoning")
_LISTS = ("reasoning_details", "codex_reasoning_items", "codex_message_items")


def get_messages_as_conversation(
    store: Store, session_id: str, *, include_ancestors: bool = False, include_inactive: bool = False
) -> list[Row]:
    """The messages of a session, with `include_ancestors` also of those that it continues: role and content, and
    what else was kept of each under the names of the API."""
    ids = get_ancestors(store, session_id) if include_ancestors else [session_id]
    marks = ", ".join("?" * len(ids))
    rows = store.rows(
        f"SELECT * FROM messages WHERE session_id IN ({marks})"  # noqa: S608 - marks alone
        f"{live(store, '', include_inactive)} ORDER BY +id",
        ids,
    )
    found: list[Row] = []
    for message in map(_message, rows):
        if not (include_ancestors and _is_repeated(found, message)):
            found.append(message)
    kept: list[Row] = []
    answering = False
    for message in found:
        content: Any = message["content"]
        asks = message["role"] in ("user", "system") and isinstance(content, str)
        if asks and content.lstrip().startswith(_REVIEWS):
            # A review of Hermes' own is left out, and so is the answer to it.
            answering = True
        elif answering and message["role"] == "assistant":
            answering = False
        else:
            answering = False
            kept.append(message)
    return kept


def _message(row: Row) -> Row:
    content = decode_content(row["content"])
    if row["role"] in ("user", "assistant") and isinstance(content, str):
        content = _STRAY_TAG.sub("", _NOTE.sub("", _MEMORY.sub("", content))).strip()
    message: Row = {"role": row["role"], "content": content}
    message.update({name: row[name] for name in _COPIED if row.get(name)})
    if row.get("tool_calls"):
        message["tool_calls"] = decode_list(row["tool_calls"], [])
    if row.get("platform_message_id"):
        message["message_id"] = row["platform_message_id"]
    if row.get("observed"):
        message["observed"] = True
    if row["role"] == "assistant":
        message.update({name: row[name] for name in _OF_ASSISTANT if row.get(name)})
        if row.get("reasoning_content") is not None:
            message["reasoning_content"] = row["reasoning_content"]
        message.update({name: decode_list(row[name], None) for name in _LISTS if row.get(name)})
    return message


def _is_repeated(before: list[Row], message: Row) -> bool:
    """Whether a prompt was copied from the session before, which ended in it unanswered."""
    content = message["content"]
    if message["role"] != "user" or not isinstance(content, str) or not content:
        return False
    for earlier in reversed(before):
        if earlier["role"] == "user" and earlier["content"] == content:
            return True
        if earlier["role"] == "assistant" and (earlier["content"] or earlier.get("tool_calls")):
            return False
    return False
