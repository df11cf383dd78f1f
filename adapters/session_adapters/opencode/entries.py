"""Rows of `session_message`: what 2.x writes, and the v2 interface of 1.18.

Format: stores/opencode FACTS.md, «Tables».

The role is the column `type`; everything said in an answer is in its one row.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from session_adapters.model import Attachment, Message, ToolCall
from session_adapters.opencode.messages import (
    as_json,
    attachment,
    error_text,
    helper_of,
    price,
    span,
    spent,
    usage_key,
)
from session_adapters.opencode.records import Content, ContentState, EntryRecord
from session_adapters.text import if_json
from session_adapters.times import from_millis

__all__ = ["messages_of_entry"]

_COMPACTED = "The conversation above was summarised"


def messages_of_entry(
    entry_id: str, kind: str, created: float | None, record: EntryRecord, data: bytes
) -> list[Message]:
    """What a row shows. The first message has its id; `data` is the record as it stands."""
    when = from_millis(created)
    if kind == "assistant":
        found = _answer(record, when)
    elif kind == "user":
        files = tuple(map(attachment, record.files or ()))
        found = [Message(role="user", content=record.text or "", attachments=files)]
    elif kind == "compaction":
        found = [Message(role="system", kind="compaction", content=_COMPACTED)]
        if isinstance(record.summary, str) and record.summary:
            found.append(Message(role="system", kind="summary", content=record.summary))
    elif kind == "shell":
        call = ToolCall(
            tool_call_id=record.call_id or entry_id,
            tool_name="shell",
            input={"command": record.command},
            output=record.output,
        )
        found = [Message(role="user", kind="command", content=record.command or "", tool_calls=(call,))]
    else:
        found = [_notice(kind, record, data)]
    return [
        replace(message, id=f"{entry_id}/{number}" if number else entry_id, timestamp=when)
        for number, message in enumerate(found)
    ]


def _notice(kind: str, record: EntryRecord, data: bytes) -> Message:
    """What the program did or added, known or not."""
    if kind == "synthetic":
        return Message(role="user", kind="notice", content=record.text or "")
    if kind == "system":
        return Message(role="system", kind="notice", content=record.text or "")
    named: Any = None
    if kind == "model-switched":
        named = record.model.id if record.model else None
    elif kind == "agent-switched":
        named = record.agent
    elif kind == "location-switched":
        named = record.location.get("directory") if isinstance(record.location, dict) else record.location
    if isinstance(named, str) and named:
        return Message(role="system", kind="notice", content=f"{kind}: {named}")
    text = data.decode("utf-8", "replace")
    return Message(role="system", kind="notice", content=f"{kind}: {text[:4000]}")


def _answer(record: EntryRecord, when: datetime | None) -> list[Message]:
    content = record.content or []
    model = record.model.id if record.model else None
    usage = spent(record.tokens, with_total=False)
    error = error_text(record.error)
    files: list[Attachment] = []
    for part in content:
        if part.type == "file":
            files.append(Attachment(media_type="application/octet-stream", name=part.name or ""))
        elif part.type == "tool" and part.state is not None:
            files += [attachment(item) for item in part.state.content or () if _is_file(item)]
    message = Message(
        role="assistant",
        content="\n".join(part.text for part in content if part.type == "text" and part.text),
        thinking="\n\n".join(part.text for part in content if part.type == "reasoning" and part.text) or None,
        tool_calls=tuple(_call(part) for part in content if part.type == "tool"),
        attachments=tuple(files),
        token_usage=usage,
        cost=price(record.cost, usage),
        model=model,
        usage_key=usage_key(when, model, usage),
    )
    if not error:
        return [message]
    if not (message.content or message.thinking or message.tool_calls):
        return [replace(message, kind="error", content=error)]
    return [message, Message(role="assistant", kind="error", content=error)]


def _call(part: Content) -> ToolCall:
    state = part.state or ContentState()
    failed = state.status == "error"
    structured = state.structured
    code = structured.get("exit") if isinstance(structured, dict) else None
    times = part.time if isinstance(part.time, dict) else {}
    start, end = times.get("ran") or times.get("created"), times.get("completed")
    numbers = isinstance(start, int | float) and isinstance(end, int | float)
    return ToolCall(
        tool_call_id=part.id or "",
        tool_name=part.name or "",
        input=if_json(state.input),
        output=error_text(state.error) or _output(state) if failed else _output(state),
        is_error=failed or (isinstance(code, int) and code != 0),
        duration_ms=span(start, end) if numbers else None,
        subagent_id=helper_of(structured),
    )


def _output(state: ContentState) -> Any:
    """The text of a result; None while there is none."""
    if state.status not in ("completed", "error") and not state.content:
        return None
    texts: list[str] = []
    for item in state.content or ():
        if isinstance(item, dict) and isinstance(item.get("text"), str):
            texts.append(item["text"])
        elif not _is_file(item):
            texts.append(item if isinstance(item, str) else as_json(item))
    return "\n".join(texts)


def _is_file(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and not isinstance(item.get("text"), str)
        and item.get("type") in ("file", "media", "image")
    )
