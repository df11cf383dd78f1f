"""Converts a message's values to their columns, and back.

Format: facts on Hermes, section 2.3.
"""

from __future__ import annotations

import json
from typing import Any

from hermes_tui.lifecycle.state_db.connection.rows import Row

__all__ = ["decode_content", "decode_row", "encode_content", "encode_list", "preview"]

JSON_PREFIX = "\0json:"
"""Before content that is a list of parts or an object."""


def encode_content(content: Any) -> Any:
    """Text and numbers as they are; lists and objects as marked JSON; anything else as its text."""
    if content is None or isinstance(content, str | bytes | int | float):
        return content
    try:
        return JSON_PREFIX + json.dumps(content)
    except (TypeError, ValueError):
        return str(content)


def decode_content(content: Any) -> Any:
    """The reverse. Marked JSON that is none stays as it is."""
    if isinstance(content, str) and content.startswith(JSON_PREFIX):
        try:
            return json.loads(content[len(JSON_PREFIX) :])
        except (ValueError, RecursionError):
            return content
    return content


def encode_list(value: Any) -> str | None:
    """JSON for a column; None for nothing at all."""
    return json.dumps(value) if value else None


def decode_list(value: Any, otherwise: Any) -> Any:
    """What the JSON of a column says; `otherwise` when it is none."""
    try:
        return json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return otherwise


def decode_row(row: Row) -> Row:
    """A row of messages with its content and tool calls decoded. Malformed tool calls are none."""
    decoded = {**row, "content": decode_content(row.get("content"))}
    if row.get("tool_calls"):
        decoded["tool_calls"] = decode_list(row["tool_calls"], [])
    return decoded


def preview(content: Any) -> str:
    """The words of a message's decoded content."""
    if isinstance(content, list):
        parts = [part.get("text", "") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return " ".join(part for part in parts if part).strip() or "[multimodal content]"
    return content if isinstance(content, str) else ""
