"""The types of lines in a Claude Code transcript, and which others are problems."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from session_adapters.claude.records import ClaudeRecord
from session_adapters.reading.decoding import Decoder, has_text_keys

__all__ = ["CONVERSATION", "damage", "unknown"]

CONVERSATION = frozenset(("user", "assistant", "system", "tool_use", "tool_result", "cost", "session"))
"""The types of lines that a conversation is made of."""


_STATE = frozenset(
    (
        "agent-color", "agent-name", "ai-title", "api-request", "api-request-blob", "api-request-shape", "atis-latch",
        "attachment", "continued-in", "cost-state", "custom-title", "derived-from", "file-history-delta",
        "file-history-snapshot", "fork-context-ref", "last-prompt", "mode", "permission-mode", "pr-link", "progress",
        "queue-operation", "relocated", "summary", "tag", "tools-used", "worktree-state",
    )
)  # fmt: skip
"""The other types that are known; what some of them hold of a conversation stands in lines of its own too."""


class _Kind(Struct):
    type: Any = None
    role: Any = None
    message: Any = None


_KIND = Decoder(_Kind)


def damage(data: bytes) -> str:
    """Why a line of which something was lost is a problem; empty for a whole record of a kind that is not read,
    whatever its fields."""
    if not has_text_keys(data):
        return "the name of a field is no UTF-8, what it held is lost"
    try:
        line = _KIND.one(data)
    except ValueError:
        return "not a record, or only part of one, could be read"
    if isinstance(line.type, str) and line.type not in CONVERSATION:
        held = line.role is not None or isinstance(line.message, dict | str)
        return _unknown(line.type) if held and line.type not in _STATE else ""
    return "the record has another form than expected"


def unknown(line: ClaudeRecord) -> str:
    """Why a line that is not read is a problem: it is of no known type and holds a message. Empty for all others."""
    if line.type in _STATE or line.kind in CONVERSATION:
        return ""
    body = line.message
    content = body if body is None or isinstance(body, str) else body.content
    return _unknown(line.type) if content or (line.role is not None and line.content) else ""


def _unknown(kind: str | None) -> str:
    return f"a record {f'of the unknown type {kind[:40]!r}' if kind else 'without a type'} holds a message"
