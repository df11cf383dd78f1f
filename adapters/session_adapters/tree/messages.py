"""Turns an entry of Pi, omp or the document's layout into messages.

Format: pi/FACTS.md and omp/FACTS.md, Format.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import PurePath
from typing import Any, Literal

from session_adapters.attachments.made import made_attachment
from session_adapters.model import Attachment, Cost, Message, MessageKind, Role, TokenUsage, ToolCall, ToolResult
from session_adapters.text import if_json, scrub
from session_adapters.times import parse_seconds, parse_time
from session_adapters.tree.records import CostRecord, TreeEntry, TreeMessage, TreeUsage

__all__ = [
    "ROLES",
    "SUMMARY",
    "entry_seconds",
    "entry_time",
    "messages_of",
    "price",
    "tokens",
    "usage_key",
    "usd",
    "without_files",
]

_FILE = re.compile(r'\s*<file name="([^"\n]{0,4096})"[^>\n]{0,400}>')
_FILE_END = "</file>"

SUMMARY = "/summary"
"""Ends the id of the second message of a compaction."""

ROLES: dict[str, tuple[Role, MessageKind]] = {
    "user": ("user", "message"),
    "human": ("user", "message"),
    "assistant": ("assistant", "message"),
    "model": ("assistant", "message"),
    "ai": ("assistant", "message"),
    "toolresult": ("tool", "message"),
    "tool": ("tool", "message"),
    "tool_result": ("tool", "message"),
    "bashexecution": ("user", "command"),
    "pythonexecution": ("user", "command"),
    "branchsummary": ("system", "summary"),
    "compactionsummary": ("system", "summary"),
}
"""Role in the file → what it is here.

Everything else (system, developer, custom, hookMessage, roles of later versions) is put in by
the program.
"""

_CLEARED = "Context cleared: nothing above is seen by the agent any more"


def messages_of(entry: TreeEntry, entry_id: str, *, inherited: bool = False) -> list[Message]:
    """The messages that an entry shows as: none for settings, names and labels, two for a compaction (its mark
    and its summary), one for the others."""
    when = entry_time(entry)
    if entry.type == "compaction":
        before = _count(entry.tokens_before)
        content = f"Compacted from {before:,} tokens" if before else "Compacted"
        mark = Message(
            role="system", kind="compaction", id=entry_id, content=content, timestamp=when, inherited=inherited
        )
        if not (entry.summary or entry.usage):
            return [mark]
        return [mark, _note(entry, f"{entry_id}{SUMMARY}", when, inherited, "summary", entry.summary or "")]
    if entry.type == "branch_summary":
        return [_note(entry, entry_id, when, inherited, "summary", entry.summary or "")]
    if entry.type == "custom_message":
        text, _, images = _blocks(entry.content)
        return [_note(entry, entry_id, when, inherited, "notice", text, images)]
    if entry.type == "reset_boundary":
        return [_note(entry, entry_id, when, inherited, "compaction", _CLEARED)]
    if entry.type == "session_init":
        return [_note(entry, entry_id, when, inherited, "notice", _prompt(entry.system_prompt))]
    if entry.is_message:
        return [_spoken(entry, entry.message or _document_message(entry), entry_id, when, inherited)]
    return []


def entry_time(entry: TreeEntry) -> datetime | None:
    """When it was said: the message's own time, else the entry's."""
    own = parse_time(entry.message.timestamp) if entry.message else None
    return own or parse_time(entry.timestamp)


def entry_seconds(entry: TreeEntry) -> float | None:
    """The same in seconds since the epoch."""
    own = parse_seconds(entry.message.timestamp) if entry.message else None
    return parse_seconds(entry.timestamp) if own is None else own


def usage_key(entry: TreeEntry, entry_id: str) -> str:
    """Copies in forks keep id and timestamp; ids alone are short, and those of the document's layout are nobody
    else's, so that they tell calls apart in one session only."""
    return f"{entry_id}@{entry.timestamp}" if entry.timestamp and entry.type else f"@{entry_id}"


def tokens(usage: TreeUsage | None) -> TokenUsage | None:
    """The tokens of one call; None where none were counted."""
    if usage is None:
        return None
    found = TokenUsage(
        input_tokens=_count(usage.input, usage.input_tokens),
        output_tokens=_count(usage.output, usage.output_tokens),
        cached_tokens=_count(usage.cache_read, usage.cached_tokens),
        cache_write_tokens=_count(usage.cache_write),
        thinking_tokens=_count(usage.reasoning, usage.reasoning_tokens, usage.thinking_tokens),
    )
    return found if found.total else None


def price(usage: TreeUsage | None) -> Cost | None:
    """The recorded cost of a call that used tokens."""
    total = usd(usage) if usage is not None else None
    used = tokens(usage) if total is not None else None
    if total is None or used is None:
        return None
    return Cost.of(used, total)


def usd(usage: TreeUsage) -> float | None:
    """US dollars as recorded. Zero means that the agent's price list lacks the model: unknown."""
    total = usage.cost.total if isinstance(usage.cost, CostRecord) else usage.cost
    return total if total and 0 < total < 1e9 else None


def _count(*values: float | None) -> int:
    """The first number that is there; damaged files hold negative and absurd ones."""
    for value in values:
        if value is not None:
            return int(value) if 0 <= value < 1e15 else 0
    return 0


def _document_message(entry: TreeEntry) -> TreeMessage:
    """A record of the document's layout in the shape of Pi's."""
    if not entry.role:
        return TreeMessage()
    blocks: list[Any] = []
    if entry.thinking:
        blocks.append({"type": "thinking", "thinking": entry.thinking})
    blocks.extend(entry.content if isinstance(entry.content, list) else [entry.content or ""])
    calls = entry.tool_calls if isinstance(entry.tool_calls, list) else []
    blocks.extend({"type": "toolCall", **call} for call in calls if isinstance(call, dict))
    return TreeMessage(
        role=entry.role or "",
        content=blocks,
        model=entry.model,
        usage=entry.usage,
        tool_call_id=entry.tool_call_id,
        tool_name=entry.tool_name,
        is_error=entry.is_error,
    )


def _spoken(entry: TreeEntry, record: TreeMessage, entry_id: str, when: datetime | None, inherited: bool) -> Message:
    role, kind = ROLES.get(record.role.lower(), ("system", "notice"))
    if role == "assistant":
        return _reply(entry, record, entry_id, when, inherited)
    text, blocks, images = _blocks(record.content)
    result = None
    if role == "tool":
        result = ToolResult(
            tool_call_id=record.tool_call_id or "",
            tool_name=record.tool_name or "",
            output=text,
            is_error=bool(record.is_error),
        )
    elif kind == "command":
        # What the user ran with `!`, and its output.
        output = record.output if isinstance(record.output, str) else ""
        text = f"$ {record.command or ''}\n{output}".rstrip("\n")
        if record.exit_code not in (None, 0):
            text = f"{text}\n(exit code {record.exit_code})"
    elif kind == "summary":
        text = record.summary or text
    elif role == "system":
        text = "\n\n".join(part for part in (text, _prompt(record.sections)) if part)
    return Message(
        role=role, kind=kind, id=entry_id, content=text, timestamp=when, tool_result=result,
        attachments=images, inherited=inherited,
        thinking="\n\n".join(block["thinking"] for block in blocks if _is(block, "thinking")) or None,
    )  # fmt: skip


def _reply(entry: TreeEntry, record: TreeMessage, entry_id: str, when: datetime | None, inherited: bool) -> Message:
    text, blocks, images = _blocks(record.content)
    calls: list[ToolCall] = []
    for number, block in enumerate(blocks):
        if block.get("type") != "toolCall":
            continue
        name = block.get("name") or block.get("toolName")
        identity = block.get("id") or block.get("toolCallId")
        calls.append(
            ToolCall(
                tool_call_id=identity if isinstance(identity, str) else f"call-{number}",
                tool_name=name if isinstance(name, str) else "",
                input=if_json(block["arguments"] if "arguments" in block else block.get("input")),
                output=block.get("output"),
            )
        )
    failed = record.stop_reason == "error" or (record.stop_reason == "aborted" and not (text or calls))
    if failed and record.error_message:
        text = "\n\n".join(part for part in (text, scrub(record.error_message)) if part)
    used = tokens(record.usage)
    return Message(
        role="assistant",
        kind="error" if failed else "message",
        id=entry_id,
        content=text,
        timestamp=when,
        thinking="\n\n".join(block["thinking"] for block in blocks if _is(block, "thinking")) or None,
        tool_calls=tuple(calls),
        token_usage=used,
        cost=price(record.usage),
        model=record.model,
        attachments=images,
        inherited=inherited,
        usage_key=usage_key(entry, entry_id) if used else "",
    )


def _note(
    entry: TreeEntry,
    message_id: str,
    when: datetime | None,
    inherited: bool,
    kind: Literal["summary", "notice", "compaction"],
    text: str,
    images: tuple[Attachment, ...] = (),
) -> Message:
    used = tokens(entry.usage)
    return Message(
        role="system",
        kind=kind,
        id=message_id,
        content=text,
        timestamp=when,
        token_usage=used,
        cost=price(entry.usage),
        attachments=images,
        inherited=inherited,
        usage_key=usage_key(entry, message_id.removesuffix(SUMMARY)) if used else "",
    )


def _blocks(content: Any) -> tuple[str, list[dict[str, Any]], tuple[Attachment, ...]]:
    """Text, blocks and images of a message's content, which may be text, blocks or anything."""
    if isinstance(content, str):
        return content, [], ()
    if not isinstance(content, list):
        return ("" if content is None else json.dumps(content, ensure_ascii=False)), [], ()
    texts: list[str] = []
    blocks: list[dict[str, Any]] = []
    images: list[Attachment] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict):
            blocks.append(block)
            if _is(block, "text"):
                texts.append(block["text"])
            elif block.get("type") == "image":
                images.append(_image(block))
    return "\n\n".join(text for text in texts if text), blocks, tuple(images)


def _is(block: dict[str, Any], kind: str) -> bool:
    return block.get("type") == kind and isinstance(block.get(kind), str)


def _image(block: dict[str, Any]) -> Attachment:
    """Base64, or a reference into omp's `blobs` directory, which may dangle."""
    data, media = block.get("data"), block.get("mimeType")
    media = media if isinstance(media, str) else "image"
    if not isinstance(data, str):
        return Attachment(media_type=media)
    if data.startswith("blob:"):
        return Attachment(media_type=media, name=data[:80], place=data[:80])
    return made_attachment(media, data=data)


def _prompt(value: Any) -> str:
    """A system prompt: text, or parts in a list or by name."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return "\n\n".join(part for part in parts if isinstance(part, str) and part)


def without_files(prompt: str) -> str:
    """What was asked, without the files that `pi @file` puts before it; their names where nothing else was said."""
    names: list[str] = []
    at = 0
    while (found := _FILE.match(prompt, at)) is not None:
        names.append(PurePath(found[1]).name)
        end = prompt.find(_FILE_END, found.end())
        at = end + len(_FILE_END) if end >= 0 else len(prompt)
    return prompt if not names else prompt[at:].strip() or ", ".join(names)
