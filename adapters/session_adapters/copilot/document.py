"""Sessions that are one JSON document, written anew as a whole.

- The document's layout (spec 004 §4.2.4): an array of messages, or an object that has one under `messages`.
- `history-session-state` (0.0.3xx; reported in FACTS.md, never run): `{sessionId, startTime, chatMessages, timeline}`
  with messages as the model's interface has them; prompts stand in `timeline` without the program's padding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, field

from session_adapters.attachments.made import made_from_url
from session_adapters.copilot.records import Count, whole
from session_adapters.model import Attachment, Message, Role, TokenUsage, ToolCall, ToolResult
from session_adapters.reading.bounds import DOCUMENT_LIMIT
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.document import WholeTranscript
from session_adapters.reading.files import read_small
from session_adapters.reading.lines import Line
from session_adapters.text import if_json, scrub_json
from session_adapters.times import parse_time
from session_adapters.transcript import Builder

__all__ = ["CopilotDocument", "CopilotDocumentTranscript", "read_document"]

_PADDING = re.compile(r"\s*<current_datetime>[^<]{0,80}</current_datetime>\s*")
_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "copilot": "assistant",
    "tool": "tool",
    "function": "tool",
}


class _Usage(Struct, rename="camel"):
    """Token counts, as spec 004 §3 names them."""

    input_tokens: Count = None
    output_tokens: Count = None
    cached_tokens: Count = None
    thinking_tokens: Count = None


class _Function(Struct):
    name: str | None = None
    arguments: Any = None


class _Call(Struct):
    """A call; the document's names first, then those of `chatMessages`."""

    tool_call_id: str | None = field(default=None, name="toolCallId")
    tool_name: str | None = field(default=None, name="toolName")
    input: Any = None
    output: Any = None
    id: str | None = None
    name: str | None = None
    arguments: Any = None
    function: _Function | None = None


class _Row(Struct):
    """A message."""

    role: str
    content: Any = None
    id: str | None = None
    timestamp: str | int | float | None = None
    model: str | None = None
    thinking: str | None = None
    usage: _Usage | None = None
    token_usage: _Usage | None = field(default=None, name="tokenUsage")
    tool_calls: list[_Call] | None = field(default=None, name="toolCalls")
    chat_calls: list[_Call] | None = field(default=None, name="tool_calls")
    tool_call_id: str | None = field(default=None, name="toolCallId")
    chat_call_id: str | None = field(default=None, name="tool_call_id")
    name: str | None = None


class _Whole(Struct):
    """The object around the messages."""

    model: Any = None
    title: Any = None
    cwd: Any = None
    created_at: Any = field(default=None, name="createdAt")
    start_time: Any = field(default=None, name="startTime")
    messages: list[Any] | None = None
    chat_messages: list[Any] | None = field(default=None, name="chatMessages")
    timeline: list[Any] | None = None


_WHOLE = Decoder(_Whole)
_LIST: Decoder[list[Any]] = Decoder(list)
_ROW = Decoder(_Row)


class DocumentBuilder(Builder):
    """Takes the messages one by one, each as a line of its own."""

    def __init__(self, model: str | None, *, history: bool) -> None:
        super().__init__()
        self._model = model
        self._history = history

    def feed(self, line: Line) -> None:
        """See `Builder.feed`; `line.offset` is the message's number."""
        try:
            row = _ROW.one(line.data)
        except ValueError:
            self.damaged.add(line.offset, "the message has another form than expected")
            return
        role = _ROLES.get(row.role, "system")
        text, attached = _content(row.content)
        if role == "system" and self._history:
            return  # the request's own instructions
        place = row.id or f"#{line.offset}"
        result: ToolResult | None = None
        if role == "tool":
            call = row.tool_call_id or row.chat_call_id or ""
            result = self.link(ToolResult(tool_call_id=call, tool_name=row.name or "", output=text))
        usage = _tokens(row.token_usage or row.usage)
        self.add(
            Message(
                role=role,
                content="" if result is not None else _PADDING.sub("", text) if self._history else text,
                id=place,
                timestamp=parse_time(row.timestamp),
                thinking=row.thinking or None,
                tool_calls=tuple(
                    _call(one, f"{place}.{at}") for at, one in enumerate(row.tool_calls or row.chat_calls or ())
                ),
                tool_result=result,
                token_usage=usage,
                usage_key=f"@{place}" if usage is not None else "",
                model=(row.model or self._model) if role == "assistant" else None,
                attachments=attached,
            )
        )


class CopilotDocument:
    """What a document holds."""

    def __init__(self, messages: list[Message], damaged: Damage, whole: _Whole) -> None:
        self.messages = messages
        self.damaged = damaged
        self.created: datetime | None = parse_time(whole.created_at) or parse_time(whole.start_time)
        self.title = whole.title if isinstance(whole.title, str) else ""
        self.cwd = whole.cwd if isinstance(whole.cwd, str) else None


def read_document(path: str) -> CopilotDocument:
    """Everything in it. Raises `OSError`, and `ValueError` when it is no JSON or holds no messages."""
    data = read_small(path, DOCUMENT_LIMIT)
    try:
        whole = _WHOLE.one(data)
    except ValueError:
        try:
            whole = _Whole(messages=_LIST.one(data))
        except ValueError as error:
            raise ValueError(f"it is no whole JSON document of messages ({error})") from error
    history = whole.messages is None
    rows = whole.chat_messages if history else whole.messages
    if rows is None:
        raise ValueError("it holds no messages")
    builder = DocumentBuilder(whole.model if isinstance(whole.model, str) else None, history=history)
    for number, row in enumerate(rows):
        try:
            line = Line(number, msgspec.json.encode(scrub_json(row)))
        except (ValueError, TypeError, OverflowError, RecursionError):
            line = Line(number, b"")
        builder.feed(line)
    messages = _with_timeline(builder.messages, whole.timeline) if history else builder.messages
    return CopilotDocument(messages, builder.damaged, whole)


def _with_timeline(messages: list[Message], timeline: list[Any] | None) -> list[Message]:
    """Prompts with their time and as they were typed, where the timeline has one for each."""
    typed = [one for one in timeline or () if isinstance(one, dict) and one.get("type") == "user"]
    prompts = [at for at, message in enumerate(messages) if message.is_prompt]
    if len(typed) != len(prompts):
        return messages
    timed = list(messages)
    for at, row in zip(prompts, typed, strict=True):
        text = row.get("text")
        message = timed[at]
        timed[at] = msgspec.structs.replace(
            message,
            content=text if isinstance(text, str) and text else message.content,
            timestamp=message.timestamp or parse_time(row.get("timestamp")),
        )
    return timed


def _content(content: Any) -> tuple[str, tuple[Attachment, ...]]:
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    attached: list[Attachment] = []
    for part in content if isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(kind, str) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(kind, str):
            place = part.get(kind)  # OpenAI's: {"type": "image_url", "image_url": {"url": …}}
            url = place.get("url") if isinstance(place, dict) else place
            attached.append(made_from_url(url if isinstance(url, str) else "", otherwise=kind.partition("_")[0]))
    return "\n\n".join(texts), tuple(attached)


def _call(call: _Call, place: str) -> ToolCall:
    function = call.function or _Function()
    given = next((one for one in (call.input, call.arguments, function.arguments) if one is not None), None)
    return ToolCall(
        tool_call_id=call.tool_call_id or call.id or place,
        tool_name=call.tool_name or call.name or function.name or "",
        input=if_json(given),
        output=call.output,
    )


def _tokens(usage: _Usage | None) -> TokenUsage | None:
    if usage is None:
        return None
    tokens = TokenUsage(
        input_tokens=whole(usage.input_tokens),
        output_tokens=whole(usage.output_tokens),
        cached_tokens=whole(usage.cached_tokens),
        thinking_tokens=whole(usage.thinking_tokens),
    )
    return tokens if tokens.total else None


class CopilotDocumentTranscript(WholeTranscript):
    """Such a session."""

    def read(self) -> tuple[list[Message], Sequence[tuple[str, str]]]:
        """See `WholeTranscript.read`."""
        document = read_document(self.path)
        return document.messages, document.damaged.places(unit="message")
