"""The editor's messages, which it calls bubbles.

Format: FACTS.md «Four separate stores» 3.
"""

from __future__ import annotations

from typing import Any

from session_adapters.cursor.pieces import named, picture, real_model
from session_adapters.cursor.records import BUBBLE, Bubble, as_json, decoded, dig, items, number, word
from session_adapters.model import Message, Role, TokenUsage, ToolCall
from session_adapters.times import parse_time

__all__ = ["bubble_of", "bubble_role", "messages_of_bubble", "workspace_of"]

_ROLES: dict[str, Role] = {"1": "user", "2": "assistant", "user": "user", "ai": "assistant", "assistant": "assistant"}


def bubble_of(value: bytes | dict[str, Any]) -> Bubble:
    """The bubble in a row, or inside an older conversation. Raises `ValueError`."""
    return BUBBLE.one(value if isinstance(value, bytes) else as_json(value).encode())


def bubble_role(kind: Any) -> Role | None:
    """Whose a bubble of this type is."""
    return _ROLES.get(str(kind)) if isinstance(kind, int | str) else None


def messages_of_bubble(unit_id: str, bubble: Bubble, role: str = "", *, helpers: frozenset[str]) -> list[Message]:
    """What a bubble shows: nothing where it is only a mark of the program's. `role` is what the conversation says of
    it, `helpers` are the conversations that this one started."""
    whose = bubble_role(bubble.kind) or bubble_role(role) or "system"
    text = word(bubble.text)
    thinking = word(dig(bubble.thinking, "text")) or word(bubble.thinking)
    call = _call(unit_id, bubble.tool_former_data, helpers)
    # Non-zero on the last bubble of a turn only, and nowhere in newer builds: zero says nothing.
    fresh, output = (number(dig(bubble.token_count, name)) or 0 for name in ("inputTokens", "outputTokens"))
    spent = TokenUsage(input_tokens=_whole(fresh), output_tokens=_whole(output))
    usage = spent if spent.total else None
    pictures = tuple(map(picture, items(bubble.images)))
    if not (text or thinking or call or usage or pictures):
        return []
    message = Message(
        role=whose,
        kind="notice" if whose == "system" else "message",
        content=text,
        timestamp=parse_time(bubble.created_at),
        thinking=thinking or None,
        tool_calls=(call,) if call else (),
        token_usage=usage,
        usage_key=unit_id if usage else "",
        model=real_model(dig(bubble.model_info, "modelName")) if whose == "assistant" else None,
        attachments=pictures,
    )
    return named(unit_id, [message])


def _call(unit_id: str, data: Any, helpers: frozenset[str]) -> ToolCall | None:
    name = word(dig(data, "name"))
    if not name:
        return None
    id_ = word(dig(data, "toolCallId")) or f"{unit_id}-call"
    status = word(dig(data, "status"))
    output = decoded(dig(data, "result"))
    if output is None and status == "completed":  # it is done, whatever it gave
        output = ""
    code = dig(output, "exitCode")
    refused = word(dig(data, "userDecision")) == "rejected"  # its status may be «completed» all the same
    arguments = decoded(dig(data, "rawArgs"))
    return ToolCall(
        tool_call_id=id_,
        tool_name=name,
        input=decoded(dig(data, "params")) if arguments is None else arguments,
        output=output,
        is_error=status in ("error", "failed") or (number(code) or 0) != 0 or refused,
        # A helper's conversation is named after the call that started it.
        subagent_id=next((helper for helper in helpers if helper == f"task-{id_}"), None),
    )


def _whole(value: float) -> int:
    return int(value) if 0 < value < 1e15 else 0


def workspace_of(bubble: Bubble) -> str | None:
    """The URI or path of the directory that a bubble names."""
    return word(bubble.workspace_project_dir) or next(filter(None, map(word, items(bubble.workspace_uris))), None)
