"""The CLI's messages: JSON of the Vercel AI SDK, and the older protobuf.

Format: FACTS.md «Four separate stores» 1.
"""

from __future__ import annotations

from typing import Any

from session_adapters.cursor.chat_store.wire import Wire, read_wire
from session_adapters.cursor.pieces import asked, named, picture, prompt_messages, real_model
from session_adapters.cursor.records import CHAT_MESSAGE, ChatMessage, as_json, decoded, dig, items, word
from session_adapters.model import Attachment, Message, ToolCall, ToolResult

__all__ = ["messages_of_blob"]

_OLD_TEXT, _OLD_UUID, _OLD_JSON = 1, 2, 4


def messages_of_blob(unit_id: str, data: bytes, zone: str | None = None) -> list[Message]:
    """What a message shows; the first one has the unit's id. `zone` is the session's time zone. Raises `ValueError`
    for a blob that is damaged."""
    if data.lstrip()[:1] == b"{":
        return named(unit_id, _messages(unit_id, CHAT_MESSAGE.one(data), zone))
    wire = read_wire(data)
    if not wire.whole or not wire.fields:
        raise ValueError("it is neither JSON nor whole")
    return named(unit_id, _old_messages(unit_id, wire, zone, len(data)))


def _messages(unit_id: str, record: ChatMessage, zone: str | None) -> list[Message]:
    role = word(record.role)
    parts = [{"type": "text", "text": record.content}] if isinstance(record.content, str) else items(record.content)
    if role == "assistant":
        return _answer(unit_id, parts, record.provider_options)
    if role == "tool":
        return _results(parts, record.provider_options)
    if role == "user":
        found = prompt_messages(_texts(parts, "text"), zone, _pictures(parts))
        return [*found, *_others("user", parts, {"text", "image", "file"})]
    return [Message(role="system", kind="notice", content=_texts(parts, "text") or role)]


# The model's -------------------------------------------------------------------------------------------------


def _answer(unit_id: str, parts: list[Any], options: Any) -> list[Message]:
    models = [real_model(dig(part, "providerOptions", "cursor", "modelName")) for part in parts]
    model = next(filter(None, models), None) or real_model(dig(options, "cursor", "modelName"))
    calls = tuple(
        ToolCall(
            tool_call_id=word(dig(part, "toolCallId")) or f"{unit_id}-{place}",
            tool_name=word(dig(part, "toolName")),
            input=decoded(dig(part, "args")),
        )
        for place, part in enumerate(parts)
        if dig(part, "type") == "tool-call"
    )
    message = Message(
        role="assistant",
        content=_texts(parts, "text"),
        thinking=_texts(parts, "reasoning") or None,
        tool_calls=calls,
        model=model,
        attachments=_pictures(parts),
    )
    known = {"text", "reasoning", "redacted-reasoning", "tool-call", "image", "file"}
    return [message, *_others("assistant", parts, known)]


def _results(parts: list[Any], options: Any) -> list[Message]:
    failed = dig(options, "cursor", "highLevelToolCallResult", "isError") is True
    found: list[Message] = []
    for part in parts:
        if dig(part, "type") != "tool-result":
            continue
        output = dig(part, "result")
        result = ToolResult(
            tool_call_id=word(dig(part, "toolCallId")),
            tool_name=word(dig(part, "toolName")),
            output=decoded(output) if not isinstance(output, str) else word(output),
            is_error=failed or dig(part, "isError") is True,
        )
        shots = [one for one in items(dig(part, "experimental_content")) if dig(one, "type") == "image"]
        found.append(Message(role="tool", tool_result=result, attachments=tuple(map(picture, shots))))
    return [*found, *_others("tool", parts, {"tool-result"})]


# Before 2026 -------------------------------------------------------------------------------------------------


def _old_messages(unit_id: str, wire: Wire, zone: str | None, size: int) -> list[Message]:
    inside = wire.first(_OLD_JSON)
    if inside is not None and inside[:1] == b"{":
        record = CHAT_MESSAGE.one(inside)
        return _messages(unit_id, record, zone)
    text = wire.first(_OLD_TEXT)
    nested = read_wire(text) if text else None
    if text is not None and wire.first(_OLD_UUID) is None and nested is not None and nested.whole:
        said = nested.text(_OLD_TEXT)
        if said is not None:
            return [Message(role="assistant", content=said)]
    words = wire.text(_OLD_TEXT)
    if words is not None:
        said_by_user = asked(words, zone)
        return [Message(role="user", content=said_by_user.text or words, timestamp=said_by_user.when)]
    return [Message(role="system", kind="notice", content=f"A message of an unknown kind ({size} bytes)")]


# Pieces ------------------------------------------------------------------------------------------------------


def _texts(parts: list[Any], kind: str) -> str:
    texts = (word(dig(part, "text")) for part in parts if dig(part, "type") == kind)
    return ("\n\n" if kind == "reasoning" else "\n").join(filter(None, texts))


def _pictures(parts: list[Any]) -> tuple[Attachment, ...]:
    return tuple(picture(part) for part in parts if dig(part, "type") in ("image", "file"))


def _others(role: Any, parts: list[Any], known: set[str]) -> list[Message]:
    """Parts of a kind that is not known."""
    return [
        Message(role=role, kind="notice", content=word(dig(part, "text")) or as_json(part))
        for part in parts
        if dig(part, "type") not in known
    ]
