"""The typed lines of a Claude Code transcript: which fields are read.

Two shapes stand in the same folder and are read line by line: what Claude Code writes (`FACTS.md`, «Records») and
what spec 004 §4.2.1 describes (`role` and `content` on the line itself, `tool_use` lines, `cost` events,
`forkedFrom` on the first line).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from session_adapters.model import Cost
from session_adapters.reading.decoding import Decoder

__all__ = [
    "BRIEF",
    "RECORD",
    "Body",
    "ClaudeBlock",
    "ClaudeRecord",
    "ClaudeUsage",
    "ImageSource",
    "LineHead",
    "UseResult",
    "block_text",
    "forked_from",
    "is_call",
    "line_cost",
    "reply_key",
]

Count = int | None
Flag = bool | None
Text = str | None


class OutputDetails(Struct):
    """`usage.output_tokens_details`."""

    thinking_tokens: Count = None


class CacheCreation(Struct):
    """`usage.cache_creation`: how long what was written to the cache is kept."""

    ephemeral_1h_input_tokens: Count = None


class ClaudeUsage(Struct):
    """`message.usage`: `input_tokens` is what neither came from a cache nor went into one."""

    input_tokens: Count = None
    output_tokens: Count = None
    cache_creation_input_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation: CacheCreation | None = None
    output_tokens_details: OutputDetails | None = None


class ForkedFrom(Struct, rename="camel"):
    """On every record that `/branch` copied."""

    session_id: Text = None


class PreservedSegment(Struct, rename="camel"):
    """What a compaction left as it was: the chain of records from `head_uuid` on."""

    head_uuid: Text = None


class CompactMetadata(Struct, rename="camel"):
    """On a `compact_boundary`."""

    trigger: Text = None
    pre_tokens: Count = None
    post_tokens: Count = None
    preserved_segment: PreservedSegment | None = None


class ApiError(Struct):
    """`error` of an `api_error` line: one attempt that will be repeated."""

    formatted: Text = None
    message: Text = None


class Marks(Struct, rename="camel"):
    """What tells who says what a line holds. Every field may be absent."""

    type: Text = None
    uuid: Text = None
    parent_uuid: Text = None
    timestamp: str | int | float | None = None
    prompt_source: Text = None
    is_meta: Flag = None
    is_sidechain: Flag = None
    is_compact_summary: Flag = None
    role: Text = None
    """Spec 004 §4.2.1; the type of a line that names none."""

    @property
    def kind(self) -> str | None:
        """What the line is: its `type`, or what its `role` says in place of one."""
        return self.type if self.type is not None or self.role is None else _ROLES.get(self.role)


_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool_result"}


class LineHead(Marks):
    """A line without its content."""

    subtype: Text = None
    session_id: Text = None
    agent_id: Text = None
    cwd: Text = None
    git_branch: Text = None
    version: Text = None
    entrypoint: Text = None
    is_api_error_message: Flag = None
    forked_from: ForkedFrom | str | None = None
    compact_metadata: CompactMetadata | None = None
    error: ApiError | str | None = None
    retry_attempt: Count = None
    max_retries: Count = None
    custom_title: Text = None
    ai_title: Text = None
    tag: Text = None
    total_cost_usd: float | None = field(default=None, name="totalCostUSD")
    # Spec 004 §4.2.1:
    model: Text = None
    usage: ClaudeUsage | None = None
    total_usd: float | None = None
    input_tokens: Count = None
    output_tokens: Count = None
    thinking_tokens: Count = None
    cached_tokens: Count = None
    tool_call_id: Text = None
    tool_name: Text = None


class ImageSource(Struct):
    """`source` of an image or a document; base64 when it has `data`."""

    media_type: Any = None
    data: Any = None


class ClaudeBlock(Struct):
    """A block of `message.content`: text, thinking, tool_use, tool_result, image, document."""

    type: Text = None
    text: Text = None
    thinking: Text = None
    id: Text = None
    name: Text = None
    input: Any = None
    tool_use_id: Text = None
    content: Any = None
    is_error: Any = None
    source: ImageSource | str | None = None
    title: Any = None


class Body(Struct):
    """`message` of a `user` or `assistant` line."""

    id: Text = None
    model: Text = None
    usage: ClaudeUsage | None = None
    content: str | Sequence[ClaudeBlock | str] | None = None


class UseResult(Struct, rename="camel"):
    """`toolUseResult`, beside a tool_result block that says the same in words. Every tool has its own fields, so
    nothing is expected of their types."""

    agent_id: Any = None
    duration_ms: Any = None
    total_duration_ms: Any = None


class ClaudeRecord(LineHead):
    """A line."""

    message: Body | str | None = None
    content: str | Sequence[ClaudeBlock | str] | dict[str, Any] | None = None
    tool_use_result: UseResult | str | list[Any] | int | float | bool | None = None
    cost_usd: float | None = field(default=None, name="costUSD")
    """Of a reply; only old versions recorded it, on each of its lines."""
    input: Any = None
    output: Any = None
    is_error: Any = None
    duration_ms: Any = None


class BriefBlock(ClaudeBlock):
    """A block, for counting: what may be long is passed over, which is what makes it fast."""

    thinking: Text = field(default=None, name="-thinking")
    input: Any = field(default=None, name="-input")
    content: Any = field(default=None, name="-content")
    source: ImageSource | str | None = field(default=None, name="-source")


class BriefBody(Body):
    """`message`, for counting."""

    content: str | Sequence[BriefBlock | str] | None = None


class BriefRecord(ClaudeRecord):
    """A line, for counting."""

    message: BriefBody | str | None = None
    content: str | Sequence[BriefBlock | str] | dict[str, Any] | None = None
    tool_use_result: Any = field(default=None, name="-toolUseResult")
    input: Any = field(default=None, name="-input")
    output: Any = field(default=None, name="-output")


RECORD = Decoder(ClaudeRecord)
BRIEF = RECORD.quick(BriefRecord)


def block_text(content: Any) -> str:
    """The text of `content`, a string or a list of blocks (also of undeclared ones inside a tool_result); the
    texts of several blocks with a blank line between them."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for block in content if isinstance(content, list) else ():
        text = block if isinstance(block, str) else None
        if isinstance(block, ClaudeBlock):
            text = block.text
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            text = block["text"]
        if text:
            texts.append(text)
    return "\n\n".join(texts)


def is_call(block: ClaudeBlock) -> bool:
    """Whether a block calls a tool: one of the program's, of a server's, or of the model's provider."""
    return block.type is not None and block.type.endswith("tool_use")


def reply_key(line: Marks, body: Body | None) -> str:
    """What the several lines of one reply share: `message.id` alone, since `requestId` may be missing."""
    return (body.id if body else None) or line.uuid or ""


def line_cost(line: LineHead) -> Cost | None:
    """A `cost` event (spec 004 §4.2.1)."""
    if line.type != "cost" or line.total_usd is None:
        return None
    return Cost(
        total_usd=line.total_usd,
        input_tokens=line.input_tokens or 0,
        output_tokens=line.output_tokens or 0,
        thinking_tokens=line.thinking_tokens or 0,
        cached_tokens=line.cached_tokens or 0,
    )


def forked_from(line: LineHead) -> str | None:
    """Native id of the session that the record was copied from, where it says so."""
    origin = line.forked_from
    return (origin.session_id if isinstance(origin, ForkedFrom) else origin) or None
