"""Turns Hector's rows into messages.

Format: FACTS.md; facts agentmux_hector.md 2.2 and 2.3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from session_adapters.attachments.made import made_attachment
from session_adapters.hector.records import EventRow, HectorMessageRow, decoded
from session_adapters.model import Attachment, Message, MessageKind, Role, ToolCall, ToolResult
from session_adapters.reading.bounds import CROWDED
from session_adapters.reading.lines import Line
from session_adapters.text import scrub
from session_adapters.transcript import Builder

__all__ = ["HectorConversation", "MessageParts", "is_true", "messages_of_event", "messages_of_row", "role_of"]

_ROLES: dict[str, Role] = {
    "user": "user", "1": "user", "human": "user",
    "agent": "assistant", "2": "assistant", "assistant": "assistant", "model": "assistant",
    "tool": "tool",
}  # fmt: skip
_CHECKPOINTS = ("Previous conversation summary:", "Conversation summary:")
"""How Hector itself finds a summary: v1 anywhere in a message without a role, v2 at the beginning of any message."""
_DOCUMENTED = "Summary:"
"""How the guide says that one begins."""


@lru_cache(maxsize=64)
def role_of(role: str) -> Role:
    """The normalised role; what is neither a human, an agent nor a tool is the program."""
    return _ROLES.get(role.lower().removeprefix("role_"), "system")


def is_true(value: str) -> bool:
    """A truth value as SQLite or PostgreSQL writes it."""
    return value.lower() in ("1", "true", "t")


class HectorConversation(Builder):
    """Messages in the order of their rows, with results linked to their calls."""

    def feed(self, line: Line) -> None:
        """See `Builder.feed`: a message as the protocol has it, on a line of its own."""
        try:
            row = HectorMessageRow(line.data.decode("utf-8", "replace"), "", "", None)
            self.take(messages_of_row(row, f"byte-{line.offset}", None))
        except ValueError as error:
            self.damaged.add(line.offset, str(error))

    def take(self, messages: Sequence[Message]) -> None:
        """Append messages."""
        for message in messages:
            if message.tool_result is not None:
                message = replace(message, tool_result=self.link(message.tool_result))
            self.add(message)


class MessageParts:
    """The parts of one message, sorted by what they are."""

    def __init__(self, row_id: str) -> None:
        self.calls: list[ToolCall] = []
        self.results: list[ToolResult] = []
        self.errors: list[str] = []
        self.attachments: list[Attachment] = []
        self._row_id = row_id
        self._text: list[tuple[object, str]] = []
        self._thinking: list[tuple[object, str]] = []

    @property
    def text(self) -> str:
        """What is said, without thinking, calls and results."""
        return _joined(self._text)

    @property
    def thinking(self) -> str | None:
        """What the agent thought; None for nothing."""
        return _joined(self._thinking) or None

    @classmethod
    def of_message(cls, value: Mapping[str, Any], row_id: str = "") -> MessageParts:
        """The parts of a message of the protocol, whichever of the two names they stand under."""
        parts = cls(row_id)
        for key in ("content", "parts"):
            parts.add_all(value.get(key))
        return parts

    def add_all(self, parts: Any) -> None:
        """Parts as they stand in JSON: a list, or one."""
        for part in parts if isinstance(parts, list) else [] if parts is None else [parts]:
            self._add(part)

    def _add(self, part: Any) -> None:
        if not isinstance(part, dict):
            self._add({"text": part} if isinstance(part, str) else {"": part})
            return
        about = part.get("metadata")
        about = about if isinstance(about, dict) else {}
        text, data, file = part.get("text"), part.get("data"), part.get("file")
        kind = about.get("event_type") or about.get("part_type") or ""
        if isinstance(text, str):
            if kind == "error":
                self.errors.append(_coded(about.get("error_code"), text))
            else:
                self._say(text, about)
        elif isinstance(data, dict):
            inner = data.get("data")
            data = inner if isinstance(inner, dict) and "type" not in data else data
            shape = data.get("type") or str(kind)
            if shape == "thinking_complete":  # the end of a thought, without words
                return
            # Since November 2025 a call and its result are of one kind, and only the result says whether it is an
            # error.
            if shape == "thinking":
                self._say(_as_text(data.get("text")), about)
            elif shape == "tool_result" or (not shape and "tool_call_id" in data) or "is_error" in about:
                self.add_result(data, about)
            elif shape in ("tool_use", "tool_call") or (not shape and "name" in data):
                self.add_call(data, about)
            else:
                self._unknown(data)
        elif isinstance(file, dict):
            names = ("mimeType", "mediaType", "mime_type", "media_type")
            media = _as_text(next((file[key] for key in names if file.get(key)), None))
            name = _as_text(file.get("name") or file.get("fileWithUri") or file.get("uri"))
            held = file.get("fileWithBytes") or file.get("bytes")
            self.attachments.append(made_attachment(media or "application/octet-stream", name[:500], held))
        else:
            self._unknown(part)

    def _say(self, text: str, about: dict[str, Any]) -> None:
        place = self._thinking if about.get("event_type") == "thinking" else self._text
        place.append((about.get("block_id"), text))

    def add_call(self, data: dict[str, Any], about: dict[str, Any]) -> None:
        """A tool that is called."""
        identity = data.get("id") or about.get("tool_call_id") or f"{self._row_id}-{len(self.calls)}"
        name = data.get("name") or about.get("tool_name")
        arguments = data.get("arguments", data.get("args"))
        self.calls.append(ToolCall(tool_call_id=str(identity), tool_name=_as_text(name), input=arguments))

    def add_result(self, data: dict[str, Any], about: dict[str, Any]) -> None:
        """What a tool gave."""
        identity = str(data.get("tool_call_id") or about.get("tool_call_id") or "")
        error, output = data.get("error"), data.get("content", "")
        if error:
            output = f"{_as_text(output)}\n{_as_text(error)}" if output else error
        failed = bool(error) or about.get("is_error") is True or data.get("is_error") is True
        name = data.get("tool_name") or about.get("tool_name")
        failed = failed or data.get("status") == "failed"
        self.results.append(
            ToolResult(tool_call_id=identity, tool_name=_as_text(name), output=output, is_error=failed)
        )

    def _unknown(self, value: dict[str, Any]) -> None:
        name = str(value.get("kind") or value.get("type") or next(iter(value), ""))
        size = len(json.dumps(value).encode())
        self.attachments.append(Attachment(media_type="application/json", name=name, size=size))


def _joined(pieces: list[tuple[object, str]]) -> str:
    """Texts one below the other, those of one block without a break."""
    parts: list[str] = []
    last: object = None
    for block, text in pieces:
        if parts and not (block and block == last):
            parts.append("\n")
        parts.append(text)
        last = block
    return scrub("".join(parts))


def _as_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _coded(code: object, text: str) -> str:
    return ": ".join(part for part in (_as_text(code), text) if part)


# A row of v0, v1 or the guide --------------------------------------------------------------------------------


def messages_of_row(row: HectorMessageRow, row_id: str, when: datetime | None) -> list[Message]:
    """What one row of `session_messages` says: at least one message. Raises `ValueError` where its JSON is none."""
    try:
        value = decoded(row.message_json)
    except ValueError as error:
        if str(error) == CROWDED:
            raise
        raise ValueError("the message is empty" if not row.message_json else "the message is no JSON") from error
    if not isinstance(value, dict):
        raise ValueError("the message is no JSON object")
    parts = MessageParts.of_message(value, row_id)
    native = str(row.role or value.get("role") or "ROLE_UNSPECIFIED")
    role = role_of(native)
    text = parts.text
    kind: MessageKind = "message"
    if role == "system":
        unspecified = native.lower() in ("role_unspecified", "unspecified", "0")
        marked = any(mark in text for mark in _CHECKPOINTS) or text.startswith(_DOCUMENTED)
        kind = "compaction" if unspecified and marked else "notice"
    found = _messages(parts, text, role, kind, row_id, when)
    kept = value["metadata"].get("kept_from") if isinstance(value.get("metadata"), dict) else None
    if kind == "compaction" and isinstance(kept, str):
        found[0] = replace(found[0], kept_from=kept)
    return found


# An event of v2 ----------------------------------------------------------------------------------------------


def messages_of_event(row: EventRow, row_id: str, when: datetime | None) -> list[Message]:
    """What one event says: at least one message. Raises `ValueError` where a column's JSON is none."""
    parts = MessageParts(row_id)
    parts.add_all(_column(row.content_json, "content"))
    said = {call.tool_call_id for call in parts.calls}
    for call in _objects(_column(row.tool_calls_json, "tool calls")):
        if call.get("id") not in said:
            parts.add_call(call, {})
    answered = {result.tool_call_id for result in parts.results}
    for result in _objects(_column(row.tool_results_json, "tool results")):
        if result.get("tool_call_id") not in answered:
            parts.add_result(result, {})
    for thought in _objects(_column(row.thinking_json, "thinking")):
        content = _as_text(thought.get("content"))
        if content and content not in (parts.thinking or ""):
            parts._say(content, {"event_type": "thinking"})
    if row.error_code or row.error_message:
        parts.errors.append(_coded(row.error_code, row.error_message))
    text = parts.text
    role, kind = _voice(row, text)
    notices = ["Interrupted"] if is_true(row.interrupted) else []
    if row.transfer_to_agent:
        notices.append(f"Handed over to {row.transfer_to_agent}")
    if is_true(row.escalate):
        notices.append(f"{row.author or 'The agent'} gave the conversation back")
    if is_true(row.require_input):
        notices.append(f"Waits for input: {row.input_prompt}".removesuffix(": "))
    speaks = text or parts.thinking or parts.calls or parts.results or parts.errors or parts.attachments
    found = _messages(parts, text, role, kind, row_id, when) if speaks or not notices else []
    for number, notice in enumerate(notices):
        identity = f"{row_id}.{len(found)}" if found or number else row_id
        found.append(Message(role="system", kind="notice", id=identity, content=scrub(notice), timestamp=when))
    return found


def _column(text: str, name: str) -> Any:
    try:
        return decoded(text) if text else None
    except ValueError as error:
        raise ValueError(f"the {name} of the event are no JSON") from error


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def _voice(row: EventRow, text: str) -> tuple[Role, MessageKind]:
    """Who speaks. Version 2 takes any message that begins with the marker for a checkpoint, whoever wrote it."""
    human = row.author in ("user", "") and row.role in ("user", "")
    if text.startswith(_CHECKPOINTS):
        return ("user" if human else "system"), "compaction"
    if human and (row.role or row.author):
        return "user", "message"
    if row.role == "user":
        return "system", "notice"
    return ("system", "notice") if row.author == "system" else ("assistant", "message")


# Both --------------------------------------------------------------------------------------------------------


def _messages(
    parts: MessageParts, text: str, role: Role, kind: MessageKind, row_id: str, when: datetime | None
) -> list[Message]:
    """The message itself, then results, each a message of its own, then errors."""
    found: list[Message] = []

    def add(message: Message) -> None:
        found.append(replace(message, id=f"{row_id}.{len(found)}" if found else row_id, timestamp=when))

    if role == "tool" and not parts.results:
        parts.results.append(ToolResult(tool_call_id="", output=text))
        text = ""
    if parts.calls:
        role = "assistant"
    elif role == "tool":
        role = "assistant" if text or parts.thinking else role
    if text or parts.thinking or parts.calls or parts.attachments or not (parts.results or parts.errors):
        add(
            Message(
                role="assistant" if role == "tool" else role,
                content=text,
                kind=kind,
                thinking=parts.thinking,
                tool_calls=tuple(parts.calls),
                attachments=tuple(parts.attachments),
            )
        )
    for result in parts.results:
        add(Message(role="tool", tool_result=result))
    for error in parts.errors:
        add(Message(role="assistant", kind="error", content=scrub(error)))
    return found
