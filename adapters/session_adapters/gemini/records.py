"""The typed records of Gemini CLI: logs, documents, and the spec's lines.

Logs of 0.40 and 0.61, documents of 0.20, lines of spec 004.

A log line is one of: a header (`sessionId`, `startTime` …; each resume writes another), a message (`id`, `type` …;
the same id again replaces it), `{"$set": {…}}` (merges what is known of the session; `messages` in it replaces the
whole conversation), `{"$rewindTo": id}` (drops that message and all after it). FACTS.md, «.jsonl is a LOG».
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from session_adapters.model import TokenUsage
from session_adapters.reading.decoding import Decoder

__all__ = [
    "BRIEF",
    "DECODER",
    "Blob",
    "Call",
    "Content",
    "FunctionCall",
    "FunctionResponse",
    "GeminiPart",
    "GeminiRecord",
    "GeminiTokens",
    "GeminiUsage",
    "Thought",
    "Update",
    "damage",
    "record_place",
    "token_usage",
    "usage_of_line",
]


class FunctionCall(Struct):
    """A call of a tool among the parts of a restored message."""

    id: str | None = None
    name: str | None = None
    args: Any = None


class FunctionResponse(Struct):
    """The result of a call."""

    id: str | None = None
    name: str | None = None
    response: Any = None


class Blob(Struct, rename="camel"):
    """`inlineData` (base64 in `data`) or `fileData`."""

    mime_type: str | None = None
    data: str | None = None
    file_uri: str | None = None
    display_name: str | None = None


class GeminiPart(Struct, rename="camel"):
    """A piece of a message, as the Gemini API has it."""

    text: str | None = None
    thought: bool | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    inline_data: Blob | None = None
    file_data: Blob | None = None


Content = str | GeminiPart | Sequence[GeminiPart | str] | None


class Thought(Struct):
    """One of `thoughts`."""

    subject: str | None = None
    description: str | None = None


class Call(Struct, rename="camel"):
    """One of `toolCalls`: the call and, once there is one, its result."""

    id: str | None = None
    name: str | None = None
    args: Any = None
    result: Content = None
    result_display: Any = None
    status: str | None = None
    agent_id: str | None = None


class GeminiTokens(Struct):
    """`input` includes `cached`; `output` excludes `thoughts` (FACTS.md, «Fields»)."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    thoughts: int | None = None
    tool: int | None = None
    total: int | None = None


class GeminiUsage(Struct, rename="camel"):
    """The same in the document's layout, by the names of the Gemini API."""

    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    cached_content_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    total_token_count: int | None = None


class Update(Struct, rename="camel"):
    """What `$set` holds."""

    messages: Sequence[GeminiRecord] | None = None
    session_id: str | None = None
    summary: str | None = None
    directories: list[str] | None = None


class GeminiRecord(Struct, rename="camel"):
    """Any line; also a document of 0.20, which has its messages in `messages`."""

    id: str | None = None
    timestamp: Any = None
    type: str | None = None
    content: Content = None
    display_content: Content = None
    thoughts: list[Thought] | None = None
    tokens: GeminiTokens | None = None
    model: str | None = None
    tool_calls: Sequence[Call] | None = None
    # Headers and documents
    session_id: str | None = None
    project_hash: str | None = None
    start_time: Any = None
    kind: str | None = None
    directories: list[str] | None = None
    summary: str | None = None
    messages: Sequence[GeminiRecord] | None = None
    # Changes
    update: Update | None = field(default=None, name="$set")
    rewind_to: str | None = field(default=None, name="$rewindTo")
    # The document's layout (spec 004 §4.2.3)
    role: str | None = None
    parts: Content = None
    usage: GeminiUsage | None = None
    usage_metadata: GeminiUsage | None = None
    safety_ratings: Any = None
    finish_reason: Any = None

    @property
    def is_message(self) -> bool:
        """It records a message, and is no header and no change."""
        named = self.id is not None or self.role is not None or bool(self.type and self.session_id is None)
        return named and self.rewind_to is None


class _BriefFunctionCall(FunctionCall):
    args: Any = field(default=None, name="-args")


class _BriefFunctionResponse(FunctionResponse):
    response: Any = field(default=None, name="-response")


class _BriefPart(GeminiPart):
    text: str | None = field(default=None, name="-text")
    function_call: _BriefFunctionCall | None = None
    function_response: _BriefFunctionResponse | None = None
    inline_data: Blob | None = field(default=None, name="-inlineData")


class _BriefCall(Call):
    args: Any = field(default=None, name="-args")
    result: Content = field(default=None, name="-result")
    result_display: Any = field(default=None, name="-resultDisplay")


class _BriefUpdate(Update):
    messages: Sequence[_BriefRecord] | None = None


class _BriefRecord(GeminiRecord):
    content: str | _BriefPart | Sequence[_BriefPart | str] | None = None
    parts: str | _BriefPart | Sequence[_BriefPart | str] | None = None
    display_content: Content = field(default=None, name="-displayContent")
    thoughts: list[Thought] | None = field(default=None, name="-thoughts")
    tool_calls: Sequence[_BriefCall] | None = None
    messages: Sequence[_BriefRecord] | None = None
    update: _BriefUpdate | None = field(default=None, name="$set")


DECODER = Decoder(GeminiRecord)
BRIEF = DECODER.quick(_BriefRecord)
"""Knows no texts, arguments and results: which ids a line speaks of is told in half the time."""


class _Any(Struct):
    """A record whatever its fields."""


_ANY = Decoder(_Any)


def damage(data: bytes) -> str:
    """Why a line of which something was lost is a problem."""
    try:
        _ANY.one(data)
    except ValueError:
        return "not a record, or only part of one, could be read"
    return "the record has another form than expected"


def record_place(offset: int, number: int) -> str:
    """What stands for the id of a record that has none: where its line begins, and which of several there it is."""
    return f"@{offset}.{number}" if number else f"@{offset}"


def token_usage(tokens: GeminiTokens | None) -> TokenUsage | None:
    """In the common meaning. Prompts of tools (`tool`) are input beside `input` where the total says so."""
    if tokens is None:
        return None
    given, cached, output, thoughts, tool = (
        max(0, number or 0) for number in (tokens.input, tokens.cached, tokens.output, tokens.thoughts, tokens.tool)
    )
    extra = tool if tokens.total == given + output + thoughts + tool else 0
    usage = TokenUsage(
        input_tokens=max(0, given - cached) + extra,
        output_tokens=output + thoughts,
        cached_tokens=cached,
        thinking_tokens=thoughts,
    )
    return usage if usage.total else None


def usage_of_line(usage: GeminiUsage | None) -> GeminiTokens | None:
    """The figures of the document's layout under the names of the real one; they mean the same."""
    if usage is None:
        return None
    return GeminiTokens(
        input=usage.prompt_token_count,
        output=usage.candidates_token_count,
        cached=usage.cached_content_token_count,
        thoughts=usage.thoughts_token_count,
        tool=usage.tool_use_prompt_token_count,
        total=usage.total_token_count,
    )
