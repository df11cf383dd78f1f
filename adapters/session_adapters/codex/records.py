"""The typed records of a Codex rollout, as far as they are read.

Format: stores/codex FACTS.md, spec 004 §4.2.2.

Three generations of lines stand in the same folders, sometimes in one file:

1. a bare header `{id, timestamp, instructions, git}`, then bare items and `{record_type: "state"}`; the layout of
   spec 004 is of this kind, with times, a model and a usage per message;
2. `{timestamp, type, payload}`;
3. the same with `ordinal`, `token_usage_record` and `item_completed`.

A bare line is therefore a `RolloutLine` whose item fields stand in the line itself.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from msgspec import Struct

from session_adapters.attachments.made import made_from_url
from session_adapters.model import Attachment, TokenUsage
from session_adapters.reading.decoding import Decoder
from session_adapters.text import if_json

__all__ = [
    "LINE",
    "PROBE",
    "CodexContent",
    "CodexUsage",
    "CompletedItem",
    "Git",
    "HistoryBase",
    "Output",
    "Payload",
    "Probe",
    "ProbePayload",
    "RolloutLine",
    "TokenInfo",
    "attachments_of",
    "cwd_in",
    "is_injected",
    "is_stray",
    "normalised",
    "read_output",
    "reasoning_of",
    "text_of",
]


class Git(Struct):
    """`session_meta.payload.git`, or that of a bare header."""

    branch: str | None = None
    commit_hash: str | None = None


class HistoryBase(Struct):
    """What a fork by reference builds on: the lines of another thread below an ordinal."""

    thread_id: str | None = None
    end_ordinal_exclusive: int | None = None
    end_byte_offset: int | None = None


class CodexUsage(Struct, gc=False):
    """Tokens of one model call, or a running total. The last two names are those of spec 004's layout."""

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class TokenInfo(Struct, gc=False):
    """`token_count.info`: the thread's running total, and the latest call (repeated in later events)."""

    total_token_usage: CodexUsage | None = None
    last_token_usage: CodexUsage | None = None
    model_context_window: int | None = None


class CodexContent(Struct, gc=False):
    """A piece of a message or of a reasoning summary."""

    type: str | None = None
    text: str | None = None
    image_url: Any = None


class CompletedItem(Struct, gc=False):
    """`item_completed.item`; of interest are UserMessage and AgentMessage."""

    type: str | None = None
    id: str | None = None
    content: list[CodexContent] | str | None = None


class Payload(Struct):
    """The union of all payloads; `type` tells which fields can be there."""

    type: str | None = None
    id: str | None = None
    timestamp: str | None = None
    # session_meta, or a bare header
    session_id: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    history_base: HistoryBase | None = None
    history_mode: str | None = None
    cli_version: str | None = None
    originator: str | None = None
    source: Any = None
    thread_source: str | None = None
    model_provider: str | None = None
    agent_nickname: str | None = None
    agent_role: str | None = None
    git: Git | None = None
    # session_meta and turn_context; a header of spec 004's layout
    cwd: str | None = None
    model: str | None = None
    turn_id: str | None = None
    # response_item
    role: str | None = None
    content: list[CodexContent] | str | None = None
    summary: list[CodexContent] | str | None = None
    name: str | None = None
    namespace: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    status: str | None = None
    call_id: str | None = None
    output: Any = None
    # event_msg; `message` is also the summary in `compacted`
    message: str | None = None
    info: TokenInfo | None = None
    item: CompletedItem | None = None
    error: Any = None
    # token_usage_record; a message of spec 004's layout
    response_id: str | None = None
    usage: CodexUsage | None = None
    thread_token_usage: CodexUsage | None = None


class RolloutLine(Payload):
    """One line of a rollout."""

    ordinal: int | None = None
    payload: Payload | None = None
    record_type: str | None = None


class ProbePayload(Struct):
    """See `Probe`."""

    type: str | None = None
    role: str | None = None
    turn_id: str | None = None


class Probe(Struct):
    """The little of a line that tells where a part of a rollout ends."""

    type: str | None = None
    timestamp: str | None = None
    ordinal: int | None = None
    payload: ProbePayload | None = None


LINE = Decoder(RolloutLine)
PROBE = Decoder(Probe)

_INJECTED = re.compile(r"\s*(?:<[a-z][a-z_ -]*>|# AGENTS\.md instructions)", re.IGNORECASE)
_IMAGE_TAG = re.compile(r"\s*</?image\b[^>]*>\s*")
_CWD = re.compile(r"<cwd>([^<\n]+)</cwd>|^Current working directory: (.+)$", re.MULTILINE)
_HEADED = ("Chunk ID:", "Exit code:", "Wall time:")
_REFUSALS = (
    *("unsupported call:", "failed to parse function arguments:", "execution error:", "aborted by user after "),
    *("apply_patch verification failed:", "patch rejected", "exec command rejected by user"),
    *("exec_command failed for ", "write_stdin failed:"),
)
"""What stands in the place of an output where Codex did not do what was called for; it does not record `success`."""
_EXIT = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)$", re.MULTILINE)
_WALL = re.compile(r"^Wall time: (\d{1,9}(?:\.\d+)?) seconds?$", re.MULTILINE)


def is_stray(line: RolloutLine) -> bool:
    """Whether a line holds a message in a place, or of a role, that is not read."""
    item = line.payload or line
    if item.role is None or not text_of(item.content):
        return False
    read = line.payload is None or line.type == "response_item"
    return not read or item.type not in (None, "message") or item.role not in _ROLES


_ROLES = frozenset({"user", "assistant", "developer", "system"})
"""Of messages; the last two hold instructions."""


def is_injected(text: str) -> bool:
    """Whether a user-role text was put there by Codex: `<environment_context>`, AGENTS.md and their like."""
    return _INJECTED.match(text) is not None


def cwd_in(text: str) -> str | None:
    """The directory that such a text names."""
    found = _CWD.search(text, 0, 4000)
    return (found[1] or found[2]) if found else None


def text_of(content: list[CodexContent] | str | None) -> str:
    """The text parts of a message; the tags that stand around an image are left out."""
    if not isinstance(content, list):
        return content or ""
    return "\n".join(part.text for part in content if part.text and not _IMAGE_TAG.fullmatch(part.text))


def reasoning_of(item: Payload) -> str:
    """What is readable of a model's reasoning; encrypted reasoning is not."""
    parts = item.summary if isinstance(item.summary, list) and item.summary else item.content
    if not isinstance(parts, list):
        return ""
    return "\n\n".join(part.text for part in parts if part.text)


def attachments_of(content: list[CodexContent] | str | None) -> tuple[Attachment, ...]:
    """The images of a message."""
    if not isinstance(content, list):
        return ()
    return tuple(_image(part.image_url) for part in content if part.image_url)


def _image(url: Any) -> Attachment:
    address = url.get("url") if isinstance(url, dict) else url
    if not isinstance(address, str):
        return Attachment(media_type="image/*")
    return made_from_url(address)


def normalised(usage: CodexUsage) -> TokenUsage:
    """Codex' input includes what was read from and written to a cache; its output includes reasoning."""
    cached = _count(usage.cached_input_tokens, usage.cached_tokens)
    written = _count(usage.cache_write_input_tokens)
    return TokenUsage(
        input_tokens=max(0, _count(usage.input_tokens) - cached - written),
        output_tokens=_count(usage.output_tokens),
        cached_tokens=cached,
        cache_write_tokens=written,
        thinking_tokens=_count(usage.reasoning_output_tokens, usage.reasoning_tokens),
    )


def _count(*values: int | None) -> int:
    for value in values:
        if value:
            return max(0, value)
    return 0


class Output(NamedTuple):
    """What came back from a tool."""

    value: Any
    """The text the model saw."""
    is_error: bool = False
    duration_ms: int | None = None
    attachments: tuple[Attachment, ...] = ()
    subagent_id: str | None = None
    """Thread that `spawn_agent` started."""


def read_output(value: Any) -> Output:
    """Take apart the output of a call: a text (with the exit code in its first lines, or in a JSON envelope in
    older versions), a list of parts, or `{content, success}`."""
    if isinstance(value, list):
        parts = [item for item in value if isinstance(item, dict)]
        texts = [item["text"] for item in parts if isinstance(item.get("text"), str)]
        images = tuple(_image(item["image_url"]) for item in parts if item.get("image_url"))
        return Output("\n".join(texts), attachments=images)
    if isinstance(value, dict) and ("content" in value or "content_items" in value):
        inner = read_output(value.get("content_items") or value.get("content"))
        return inner._replace(is_error=inner.is_error or value.get("success") is False)
    if not isinstance(value, str):
        return Output(value)
    if value.startswith("{"):
        return _json_output(value)
    if not value.startswith(_HEADED):
        return Output(value, value.startswith(_REFUSALS) or value == "aborted")
    head = value[:400].partition("\nOutput:\n")[0]
    found, wall = _EXIT.search(head), _WALL.search(head)
    failed = int(found[1]) != 0 if found else head.endswith("aborted by user")
    return Output(value, failed, round(float(wall[1]) * 1000) if wall else None)


def _json_output(value: str) -> Output:
    decoded = if_json(value)
    if not isinstance(decoded, dict):
        return Output(value)
    metadata = decoded.get("metadata")
    if "output" in decoded and isinstance(metadata, dict):
        code, seconds = metadata.get("exit_code"), metadata.get("duration_seconds")
        duration = round(seconds * 1000) if isinstance(seconds, int | float) and 0 <= seconds < 1e9 else None
        return Output(decoded["output"], code not in (0, None), duration)
    agent = decoded.get("agent_id")
    return Output(value, subagent_id=agent if isinstance(agent, str) and "nickname" in decoded else None)
