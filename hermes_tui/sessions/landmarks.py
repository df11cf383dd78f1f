"""What one jumps to in a session: prompts, calls, errors, edits, helpers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from hermes_tui.sessions.calls.edits import edits, is_untold_edit
from hermes_tui.sessions.calls.outcome import failed
from session_adapters.model import Message, ToolCall

__all__ = ["KINDS", "LandmarkKind", "calls_of", "is_landmark"]

LandmarkKind = Literal["prompt", "message", "tool call", "error", "edit", "sub-agent", "image", "compaction"]

KINDS: Mapping[LandmarkKind, str] = {
    "prompt": "what a person asked",
    "message": "what was said, by either side",
    "tool call": "a call of a tool",
    "error": "a call of the model or of a tool that failed",
    "edit": "a call that changed a file",
    "sub-agent": "a call that a helper worked on",
    "image": "an image or another attachment",
    "compaction": "where what is above was summarised",
}

_HELPERS = frozenset({"task", "agent", "spawn_agent", "delegate_task", "sessions_spawn"})
"""Names of tools, in lower case, that start a helper, also where the store does not say which."""

_OF_CALLS: Mapping[LandmarkKind, Callable[[ToolCall], object]] = {
    "tool call": lambda call: True,
    "error": failed,
    "edit": lambda call: edits(call) or is_untold_edit(call),
    "sub-agent": lambda call: call.subagent_id or call.tool_name.lower() in _HELPERS,
}


def is_landmark(message: Message, kind: LandmarkKind) -> bool:
    """Whether the message as a whole is one, whatever tools it calls."""
    match kind:
        case "prompt":
            return message.is_prompt
        case "message":
            return message.kind == "message" and message.role in ("user", "assistant") and bool(message.content)
        case "image":
            return bool(message.attachments)
        case "compaction":
            return message.kind == "compaction"
        case _ if (result := message.tool_result) is not None and not result.linked:
            return kind == "tool call" or (kind == "error" and failed(result))
        case _:
            return kind == "error" and message.kind == "error"


def calls_of(message: Message, kind: LandmarkKind) -> list[int]:
    """Which of its calls are."""
    wanted = _OF_CALLS.get(kind)
    return [at for at, call in enumerate(message.tool_calls) if wanted(call)] if wanted is not None else []
