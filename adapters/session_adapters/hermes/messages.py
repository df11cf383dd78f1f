"""Rows of Hermes' `messages` table as messages (facts: hermes.md 2.3)."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from session_adapters.attachments.made import made_attachment, made_from_url
from session_adapters.hermes.records import HermesMessageRow
from session_adapters.model import Attachment, Message, MessageKind, Role, ToolCall, ToolResult, Visibility
from session_adapters.reading.damaged_places import Damage
from session_adapters.text import from_json, if_json, scrub
from session_adapters.times import from_epoch

__all__ = [
    "BEGINNINGS",
    "JSON_PREFIX",
    "HermesConversation",
    "kind_of",
    "plain_text",
    "role_of",
    "visibility_of",
]

JSON_PREFIX = "\x00json:"

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:", "[PRIOR CONTEXT — for reference only")
"""How the text that replaced earlier messages begins, in every version so far."""
_NOTICES = (
    "Continue from the compressed conversation context above. This marker exists",
    "[Your active task list was preserved across context compression]",
)
"""User messages that the program writes around a compaction."""
BEGINNINGS = (*_SUMMARIES, *_NOTICES)
"""How every message begins that is not what its role says."""
_MEMORY = re.compile(r"<memory-context>.*?(?:</memory-context>|\Z)", re.DOTALL)


def role_of(role: str) -> Role:
    """The normalised role; one that is not known counts as the program's own."""
    return _ROLES.get(role.lower(), "system")


def visibility_of(active: int | None, compacted: int | None) -> Visibility:
    """Whether the agent still sees the row, and if not, why. NULL stands in old rows and means that it does."""
    if active is None or active:
        return "live"
    return "compacted" if compacted else "rewound"


def kind_of(role: Role, text: str, observed: bool = False) -> MessageKind:
    """What the row is, by its role and how its text begins. Overheard group talk is a notice: it was not said to
    the agent and starts no turn."""
    if role == "system":
        return "notice"
    if role != "tool" and text.startswith(_SUMMARIES):
        return "summary"
    if role == "user" and (observed or text.startswith(_NOTICES)):
        return "notice"
    return "message"


# Content -----------------------------------------------------------------------------------------------------


class _Content(NamedTuple):
    text: str
    attachments: tuple[Attachment, ...] = ()
    damaged: bool = False


def plain_text(content: str) -> str:
    """The words of a `content` column, as the user wrote them: no pictures, no memories that were slipped in."""
    text = _content(content).text
    return (_MEMORY.sub("", text) if "<memory-context>" in text else text).strip()


def _content(content: str) -> _Content:
    if not content.startswith(JSON_PREFIX):
        return _Content(content)
    text = content[len(JSON_PREFIX) :]
    try:
        value = from_json(text)
    except ValueError:
        return _Content(text, damaged=True)
    texts: list[str] = []
    attachments: list[Attachment] = []
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part, dict):
            attachments.append(_attachment(part))
        else:
            texts.append(json.dumps(part, ensure_ascii=False))
    return _Content("\n".join(texts), tuple(attachments))


def _attachment(part: dict[str, Any]) -> Attachment:
    """A picture or file in any of the shapes that model APIs use: type and size, never its bytes."""
    body: Any = part
    for key in ("image_url", "source", "input_audio", "file", "file_data", "url"):
        if isinstance(body, dict) and key in body:
            body = body[key]
    kind = str(part.get("type") or "")
    media = "image/*" if "image" in kind else "audio/*" if "audio" in kind else "application/octet-stream"
    if isinstance(body, str):
        return made_from_url(body, otherwise=media)
    if isinstance(body, dict):
        data = body.get("data") or body.get("file_data") or ""
        named = str(body.get("media_type") or body.get("mime_type") or media)
        name = str(body.get("filename") or body.get("name") or "")
        return made_attachment(named, name, data)
    return Attachment(media_type=media, name=kind)


# Thinking and tools ------------------------------------------------------------------------------------------


def _json_list(text: str | None) -> list[Any]:
    if not text:
        return []
    try:
        value = from_json(text)
    except ValueError:
        return []
    return value if isinstance(value, list) else [value]


def _strings(value: Any) -> list[str]:
    """The texts in a reasoning item, whichever provider shaped it."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    if isinstance(value, dict):
        return [text for key in ("text", "summary", "thinking", "content") for text in _strings(value.get(key))]
    return []


def _thinking(row: HermesMessageRow) -> str | None:
    """All reasoning of a row; providers fill several columns with the same text."""
    texts = [row.reasoning or "", row.reasoning_content or ""]
    texts += _strings(_json_list(row.reasoning_details))
    texts += _strings(_json_list(row.codex_reasoning_items))
    kept: list[str] = []
    for text in texts:
        if text.strip() and not any(text in other for other in kept):
            kept.append(scrub(text))
    return "\n\n".join(kept) or None


def _tool_calls(row: HermesMessageRow) -> tuple[tuple[ToolCall, ...], bool]:
    """The calls of a row, and whether the column was malformed: its text is then the input of one call."""
    if not row.tool_calls:
        return (), False
    try:
        value = from_json(row.tool_calls)
    except ValueError:
        return (ToolCall(tool_call_id=f"row-{row.id}", tool_name="", input=scrub(row.tool_calls)),), True
    calls: list[ToolCall] = []
    for number, call in enumerate(value if isinstance(value, list) else [value]):
        identity = f"row-{row.id}-{number}"
        if not isinstance(call, dict):
            calls.append(ToolCall(tool_call_id=identity, tool_name="", input=call))
            continue
        inner = call.get("function")
        function = inner if isinstance(inner, dict) else call
        name = str(function.get("name") or call.get("name") or "")
        calls.append(
            ToolCall(
                tool_call_id=str(call.get("id") or call.get("call_id") or identity),
                tool_name=name,
                input=if_json(function.get("arguments", function.get("input"))),
            )
        )
    return tuple(calls), False


def _failed(output: str) -> bool:
    """Whether a tool says of itself that it failed: the JSON results of Hermes' tools, or a text that begins so."""
    if output.startswith("Error"):
        return True
    if not output.startswith("{"):
        return False
    try:
        value = msgspec.json.decode(output)
    except (msgspec.MsgspecError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    code = value.get("exit_code")
    return bool(value.get("error")) or value.get("success") is False or (isinstance(code, int) and code != 0)


# Messages ----------------------------------------------------------------------------------------------------


class HermesConversation:
    """Rows in the order of their ids, as messages with results linked to their calls."""

    def __init__(self, model: str | None) -> None:
        self.messages: list[Message] = []
        self.damaged = Damage()
        self._model = model
        self._calls: dict[str, tuple[int, int]] = {}

    def add(self, row: HermesMessageRow) -> int:
        """Append a row; the lowest index of a message that changed."""
        role = role_of(row.role)
        content = _content(row.content)
        calls, malformed = _tool_calls(row) if role == "assistant" else ((), False)
        if malformed:
            self.damaged.add(f"message {row.id}", "the tool calls are not valid JSON")
        if content.damaged:
            self.damaged.add(f"message {row.id}", "the parts of the content are not valid JSON")
        text = scrub(content.text)
        if not text and role == "assistant":  # what it says is in these items then
            text = "\n".join(_strings(_json_list(row.codex_message_items)))
        first = index = len(self.messages)
        result: ToolResult | None = None
        if role == "tool":
            made = ToolResult(
                tool_call_id=row.tool_call_id or "",
                tool_name=row.tool_name or "",
                output=text,
                is_error=_failed(text),
            )
            result, first = self._fill(made, index)
        self.messages.append(
            Message(
                role=role,
                content="" if result is not None else text,
                id=str(row.id),
                kind=kind_of(role, row.content, bool(row.observed)),
                timestamp=from_epoch(row.timestamp),
                thinking=_thinking(row),
                tool_calls=calls,
                tool_result=result,
                model=self._model if role == "assistant" else None,
                attachments=content.attachments,
                visibility=visibility_of(row.active, row.compacted),
            )
        )
        for position, call in enumerate(calls):
            self._calls[call.tool_call_id] = (index, position)
        return first

    def _fill(self, result: ToolResult, index: int) -> tuple[ToolResult, int]:
        """The result, filled into the nearest call above that has its id; and the lowest index changed."""
        place = self._calls.get(result.tool_call_id) if result.tool_call_id else None
        if place is None:
            return result, index
        at, position = place
        message = self.messages[at]
        call = message.tool_calls[position]
        done = replace(call, output=result.output, is_error=result.is_error)
        calls = (*message.tool_calls[:position], done, *message.tool_calls[position + 1 :])
        self.messages[at] = replace(message, tool_calls=calls)
        return replace(result, tool_name=result.tool_name or call.tool_name, linked=True), at

    def prepend(self, front: HermesConversation) -> None:
        """Put earlier rows in front, and link what is answered across the seam."""
        for index, message in enumerate(self.messages):
            result = message.tool_result
            if result is not None and not result.linked:
                self.messages[index] = replace(message, tool_result=front._fill(result, 0)[0])
        shift = len(front.messages)
        self.messages[:0] = front.messages
        front.damaged.extend(self.damaged)
        self.damaged = front.damaged
        moved = {key: (index + shift, position) for key, (index, position) in self._calls.items()}
        self._calls = {**front._calls, **moved}
