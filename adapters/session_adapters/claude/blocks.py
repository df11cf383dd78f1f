"""The parts of a Claude Code record as parts of a message."""

from __future__ import annotations

from typing import Any

from session_adapters.attachments.made import made_attachment
from session_adapters.claude.records import (
    Body,
    ClaudeBlock,
    ClaudeRecord,
    ClaudeUsage,
    ImageSource,
    UseResult,
    block_text,
    is_call,
)
from session_adapters.model import Attachment, TokenUsage, ToolCall

__all__ = [
    "attachments_in",
    "attachments_of",
    "blocks_of",
    "call_facts",
    "calls_of",
    "output_of",
    "thinking_of",
    "token_usage",
    "whole_number",
]


def blocks_of(record: ClaudeRecord) -> list[ClaudeBlock | str]:
    """The blocks of a record, or its text as the only one."""
    content = record.message.content if isinstance(record.message, Body) else record.message or record.content
    if isinstance(content, str):
        return [content]
    return content if isinstance(content, list) else []


def thinking_of(blocks: list[ClaudeBlock | str]) -> str | None:
    """What the model thought; None where it says nothing of that."""
    texts = [block.thinking for block in blocks if isinstance(block, ClaudeBlock) and block.thinking]
    return "\n\n".join(texts) or None


def calls_of(blocks: list[ClaudeBlock | str]) -> list[ToolCall]:
    """The calls of tools."""
    return [
        ToolCall(tool_call_id=block.id or "", tool_name=block.name or "", input=block.input)
        for block in blocks
        if isinstance(block, ClaudeBlock) and is_call(block)
    ]


def attachments_of(blocks: list[ClaudeBlock | str]) -> tuple[Attachment, ...]:
    """Images and documents."""
    found = []
    for block in blocks:
        if isinstance(block, ClaudeBlock) and block.type in ("image", "document"):
            source = block.source if isinstance(block.source, ImageSource) else ImageSource()
            media = source.media_type if isinstance(source.media_type, str) else block.type
            found.append(made_attachment(media, block.title if isinstance(block.title, str) else "", source.data))
    return tuple(found)


def attachments_in(content: Any) -> tuple[Attachment, ...]:
    """Images in the result of a tool, whose blocks are not declared."""
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    sources = [block.get("source") for block in blocks if block.get("type") in ("image", "document")]
    known = [source for source in sources if isinstance(source, dict)]
    return tuple(made_attachment(str(one.get("media_type") or "image"), data=one.get("data")) for one in known)


def output_of(content: Any) -> Any:
    """The text of a tool result; blocks that are not text by their names, never their bytes."""
    if not isinstance(content, list):
        return content
    parts: list[str] = []
    for block in content:
        text = block_text([block])
        if text:
            parts.append(text)
        elif isinstance(block, dict) and block.get("type") not in (None, "text"):
            source = block.get("source")
            media = source.get("media_type") if isinstance(source, dict) else None
            parts.append(f"[{media or block.get('tool_name') or block['type']}]")
    return "\n\n".join(parts)


def call_facts(record: ClaudeRecord) -> dict[str, Any]:
    """What `toolUseResult` says of the call: the helper it started, how long it took."""
    facts = record.tool_use_result
    if not isinstance(facts, UseResult):
        return {}
    found: dict[str, Any] = {}
    if isinstance(facts.agent_id, str) and facts.agent_id:
        found["subagent_id"] = f"agent-{facts.agent_id}"
    duration = whole_number(facts.duration_ms if facts.duration_ms is not None else facts.total_duration_ms)
    if duration is not None:
        found["duration_ms"] = duration
    return found


def whole_number(number: Any) -> int | None:
    """Milliseconds without a fraction; None for what is no number of them."""
    return int(number) if isinstance(number, int | float) and 0 <= number < 1e15 else None


def token_usage(usage: ClaudeUsage | None) -> TokenUsage | None:
    """Tokens like those of every agent; None where none were recorded or all are zero (failed calls)."""
    if usage is None:
        return None
    written = usage.cache_creation_input_tokens or 0
    details, creation = usage.output_tokens_details, usage.cache_creation
    hour = (creation.ephemeral_1h_input_tokens or 0) if creation is not None else 0
    found = TokenUsage(
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cached_tokens=usage.cache_read_input_tokens or 0,
        cache_write_tokens=written,
        thinking_tokens=(details.thinking_tokens or 0) if details is not None else 0,
        cache_write_hour_tokens=min(hour, written),
    )
    return found if found.total else None
