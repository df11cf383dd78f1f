"""Messages of 1.x and before: a record and its parts.

Format: stores/opencode FACTS.md, «Tables».
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from session_adapters.attachments.made import made_from_url
from session_adapters.model import Attachment, Cost, Message, MessageKind, Role, TokenUsage, ToolCall
from session_adapters.opencode.records import OpenCodeMessage, OpenCodeTokens, PartRecord, ToolState
from session_adapters.times import from_millis

__all__ = ["as_json", "attachment", "error_text", "helper_of", "messages_of", "price", "span", "spent", "usage_key"]

_COMPACTED = "The conversation above was summarised"
_BOOKKEEPING = frozenset({"step-start", "step-finish", "patch", "snapshot", "agent"})
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
_ABORTED = "MessageAbortedError"


def messages_of(
    message_id: str, record: OpenCodeMessage, parts: Sequence[PartRecord], created: float | None = None
) -> list[Message]:
    """What a message shows, in the order of its parts. The first one has the message's id. `created` is the time
    where the record has none."""
    when = from_millis(record.time.created if record.time else None) or from_millis(created)
    role = _ROLES.get(record.role, "system")
    if role == "assistant":
        return _answer(message_id, record, parts, when)
    said = [part for part in parts if part.type == "text" and not part.synthetic]
    added = [part for part in parts if part.type == "text" and part.synthetic]
    tasks = [part for part in parts if part.type == "subtask"]
    files = tuple(_file(part) for part in parts if part.type == "file")
    found: list[Message] = []
    if any(part.type == "compaction" for part in parts):
        found.append(Message(role=role, kind="compaction", content=_COMPACTED, timestamp=when))
    if said or files or not (found or added or tasks):
        kind: MessageKind = "message" if role == "user" else "notice"
        found.append(Message(role=role, kind=kind, content=_texts(said), attachments=files, timestamp=when))
    if tasks:
        text = "\n".join(filter(None, (line for part in tasks for line in (part.description, part.prompt))))
        found.append(Message(role=role, kind="command", content=text, timestamp=when))
    if added:
        found.append(Message(role=role, kind="notice", content=_texts(added), timestamp=when))
    return _named(message_id, [*found, *_others(role, parts, when)])


# The model's -------------------------------------------------------------------------------------------------


def _answer(
    message_id: str, record: OpenCodeMessage, parts: Sequence[PartRecord], when: datetime | None
) -> list[Message]:
    model = record.model_id or None
    usage = spent(record.tokens, with_total=True)
    calls = tuple(_call(part, f"{message_id}-{number}") for number, part in enumerate(parts) if part.type == "tool")
    # A command that the user ran is kept as an answer without a step: no model was asked.
    command = bool(calls) and usage is None and not any(part.type == "step-start" for part in parts)
    kind: MessageKind = "summary" if record.summary is True else "command" if command else "message"
    files: list[Attachment] = []
    for part in parts:
        if part.type == "file":
            files.append(_file(part))
        elif part.type == "tool" and part.state is not None:
            files += map(attachment, part.state.attachments or ())
    message = Message(
        role="assistant",
        kind=kind,
        content=_texts(part for part in parts if part.type == "text"),
        timestamp=when,
        thinking=_texts((part for part in parts if part.type == "reasoning"), "\n\n") or None,
        tool_calls=calls,
        token_usage=usage,
        cost=price(record.cost, usage),
        model=None if command else model,
        attachments=tuple(files),
        usage_key=usage_key(when, model, usage),
        unfinished=record.time is not None and record.time.completed is None and record.error is None,
    )
    return _named(message_id, [*_with_error(message, record.error), *_others("assistant", parts, when)])


def _with_error(message: Message, error: Any) -> list[Message]:
    """The message, and how its call failed: in its place when there is nothing else in it."""
    text = error_text(error)
    if not text:
        return [message]
    stopped = isinstance(error, dict) and error.get("name") == _ABORTED
    kind: MessageKind = "notice" if stopped else "error"
    if not (message.content or message.thinking or message.tool_calls or message.attachments):
        return [replace(message, kind=kind, content=text)]
    return [message, Message(role="assistant", kind=kind, content=text, timestamp=message.timestamp)]


def error_text(error: Any) -> str:
    """The words of an error in any of the shapes it has had."""
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return "" if error is None else as_json(error)
    data = error.get("data")
    inner = data.get("message") if isinstance(data, dict) else None
    for text in (inner, error.get("message"), error.get("name"), error.get("type")):
        if isinstance(text, str) and text:
            return text
    return as_json(error)


def as_json(value: Any) -> str:
    """A value that has no words of its own, written out."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "nested too deeply to be shown"


def _call(part: PartRecord, fallback: str) -> ToolCall:
    state = part.state or ToolState()
    failed = state.status == "error"
    output = error_text(state.error) if failed else state.output
    code = state.metadata.get("exit") if isinstance(state.metadata, dict) else None
    return ToolCall(
        tool_call_id=part.call_id or part.id or fallback,
        tool_name=part.tool or "",
        input=state.input,
        output=output,
        # A command that ends with a code other than 0 counts as completed.
        is_error=failed or (isinstance(code, int) and code != 0),
        duration_ms=span(state.time.start, state.time.end) if state.time else None,
        subagent_id=helper_of(state.metadata),
        begun=state.status == "running" and state.metadata is not None,  # written when leave was given
    )


def helper_of(facts: Any) -> str | None:
    """The session that a call started, as the facts beside its result name it."""
    if isinstance(facts, dict):
        for key in ("sessionId", "sessionID"):
            if isinstance(facts.get(key), str):
                return str(facts[key])
    return None


def span(start: float | None, end: float | None) -> int | None:
    """Milliseconds between two times."""
    return int(end - start) if start is not None and end is not None and 0 <= end - start < 1e13 else None


# Pieces ------------------------------------------------------------------------------------------------------


def _texts(parts: Iterable[PartRecord], between: str = "\n") -> str:
    return between.join(part.text for part in parts if part.text)


def _others(role: Role, parts: Sequence[PartRecord], when: datetime | None) -> list[Message]:
    """Attempts that failed and were made again, and parts of a kind that is not known."""
    known = {"text", "reasoning", "tool", "file", "compaction", "subtask"} | _BOOKKEEPING
    found: list[Message] = []
    for part in parts:
        if part.type == "retry":
            text = error_text(part.error) or "the call was made again"
            found.append(Message(role="assistant", kind="error", content=text, timestamp=when))
        elif part.type not in known:
            found.append(Message(role=role, kind="notice", content=part.text or part.type or "?", timestamp=when))
    return found


def _named(message_id: str, messages: list[Message]) -> list[Message]:
    return [
        replace(message, id=f"{message_id}/{number}" if number else message_id)
        for number, message in enumerate(messages)
    ]


def _file(part: PartRecord) -> Attachment:
    return attachment({"mime": part.mime, "filename": part.filename, "url": part.url})


def attachment(value: Any) -> Attachment:
    """A file in any of the shapes it has had: type, name and size, never its bytes."""
    if not isinstance(value, dict):
        return Attachment(media_type="application/octet-stream")
    media = _first(value, "mime", "mediaType", "mimeType")
    name = _first(value, "filename", "name", "path")
    place = _first(value, "url", "uri", "data")
    otherwise = "text/plain" if place.startswith("data:") else "application/octet-stream"
    return made_from_url(place or _first(value, "path"), media, name, otherwise=otherwise)


def _first(value: dict[str, Any], *keys: str) -> str:
    return next((text for key in keys if isinstance(text := value.get(key), str) and text), "")


# Tokens and money --------------------------------------------------------------------------------------------


def spent(tokens: OpenCodeTokens | None, *, with_total: bool) -> TokenUsage | None:
    """One meaning for every version. `output` left `reasoning` out in 1.18 and the 2.x rows; up to 1.2 it was
    included. Only `total` tells, where rows of both kinds can be expected (`with_total`)."""
    if tokens is None:
        return None
    cache = tokens.cache
    fresh, output, thinking = (_count(number) for number in (tokens.input, tokens.output, tokens.reasoning))
    read, write = (_count(cache.read), _count(cache.write)) if cache else (0, 0)
    beside = not with_total or _count(tokens.total) == fresh + output + read + write + thinking
    usage = TokenUsage(
        input_tokens=fresh,
        output_tokens=output + thinking if beside or thinking > output else output,
        cached_tokens=read,
        cache_write_tokens=write,
        thinking_tokens=thinking,
    )
    return usage if usage.total else None


def _count(number: float | None) -> int:
    return int(number) if number is not None and 0 < number < 1e15 else 0


def price(cost: float | None, usage: TokenUsage | None) -> Cost | None:
    """What OpenCode worked out. It writes 0 where it knows no price, so that 0 says nothing."""
    if cost is None or not 0 < cost < 1e12:
        return None
    used = usage or TokenUsage()
    return Cost.of(used, cost)


def usage_key(when: datetime | None, model: str | None, usage: TokenUsage | None) -> str:
    """A fork copies messages under new ids: the same call is the one of the same time and tokens."""
    if usage is None or when is None:
        return ""
    return (
        f"{round(when.timestamp() * 1000)}:{model}:{usage.input_tokens}:{usage.output_tokens}:{usage.cached_tokens}"
    )
