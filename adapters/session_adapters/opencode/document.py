"""Rows of the document's layout (spec 004 §4.2.6): `messages` and `tool_calls`."""

from __future__ import annotations

from collections.abc import Sequence

from session_adapters.model import Message, Role, TokenUsage, ToolCall
from session_adapters.opencode.messages import price, usage_key
from session_adapters.opencode.records import DocumentCall, DocumentMessage
from session_adapters.text import if_json
from session_adapters.times import from_millis

__all__ = ["message_of_row"]

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}


def message_of_row(row: DocumentMessage, calls: Sequence[DocumentCall]) -> Message:
    """A row with the calls that name it."""
    role = _ROLES.get(row.role, "system")
    when = from_millis(row.created_at)
    usage = TokenUsage(
        input_tokens=max(0, row.input_tokens),
        output_tokens=max(0, row.output_tokens),
        cached_tokens=max(0, row.cached_tokens),
        thinking_tokens=max(0, row.thinking_tokens),
    )
    used = usage if usage.total else None
    return Message(
        role=role,
        kind="notice" if role == "system" else "message",
        content=row.content,
        id=row.id,
        timestamp=when,
        thinking=row.thinking or None,
        tool_calls=tuple(
            ToolCall(
                tool_call_id=call.id,
                tool_name=call.name,
                input=if_json(call.input),
                output=call.output,
                is_error=call.status in ("error", "failed"),
                duration_ms=call.duration_ms,
            )
            for call in calls
        ),
        token_usage=used,
        cost=price(row.cost_usd, used),
        model=row.model or None,
        usage_key=usage_key(when, row.model, used),
    )
