"""The typed records of OpenCode; times are milliseconds since the epoch.

Format: stores/opencode FACTS.md, «Tables».

In the databases they stand in the columns `data`, without the ids that are columns of their own; in the older trees
each is a JSON file and holds its ids too. Fields whose shape changed between versions are `Any`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from session_adapters.reading.decoding import Decoder
from session_adapters.reading.sqlite_rows import LISTED_LIMIT, RowReader

__all__ = [
    "DOCUMENT_CALLS",
    "DOCUMENT_MESSAGES",
    "DOCUMENT_SESSIONS",
    "ENTRY",
    "INFO",
    "MESSAGE",
    "PART",
    "SESSIONS",
    "Content",
    "ContentState",
    "DocumentCall",
    "DocumentMessage",
    "DocumentSession",
    "EntryRecord",
    "InfoRecord",
    "ModelRef",
    "OpenCodeMessage",
    "OpenCodeSessionRow",
    "OpenCodeTokens",
    "PartRecord",
    "ToolState",
]


class _Native(msgspec.Struct, frozen=True, kw_only=True):
    """Field names are OpenCode's, except for the case of two."""


class _Times(_Native, frozen=True):
    created: float | None = None
    updated: float | None = None
    completed: float | None = None
    start: float | None = None
    end: float | None = None
    archived: float | None = None


class ModelRef(_Native, frozen=True):
    """A model: `modelID` in 1.x messages, `id` in session rows and 2.x."""

    id: str | None = None
    model_id: str | None = msgspec.field(default=None, name="modelID")


class _Cache(_Native, frozen=True):
    read: float | None = None
    write: float | None = None


class OpenCodeTokens(_Native, frozen=True):
    """`input` never includes the cache; whether `output` includes `reasoning` shows by `total` alone."""

    total: float | None = None
    input: float | None = None
    output: float | None = None
    reasoning: float | None = None
    cache: _Cache | None = None


class _Path(_Native, frozen=True):
    cwd: str | None = None


class OpenCodeMessage(_Native, frozen=True):
    """A message of 1.x and before: its text, calls and pictures are parts of their own."""

    id: str | None = None
    role: str = ""
    time: _Times | None = None
    model_id: str | None = msgspec.field(default=None, name="modelID")
    model: ModelRef | None = None
    """Only on a user's: what the turn will be asked of."""
    mode: str | None = None
    path: _Path | None = None
    summary: Any = None
    """True on the answer of a compaction; on a user's message an object with the changes of the turn."""
    cost: float | None = None
    tokens: OpenCodeTokens | None = None
    error: Any = None
    """{name, data: {message, …}}"""


class ToolState(_Native, frozen=True):
    """`status`: pending, running, completed, error. A command that ends with a code other than 0 is completed."""

    status: str | None = None
    input: Any = None
    output: Any = None
    error: Any = None
    metadata: Any = None
    time: _Times | None = None
    attachments: list[Any] | None = None


class PartRecord(_Native, frozen=True):
    """`type`: text, reasoning, tool, file, compaction, subtask, agent, retry; and step-start, step-finish, patch
    and snapshot, which are book-keeping."""

    id: str | None = None
    type: str = ""
    text: str | None = None
    synthetic: bool | None = None
    """Written by the program, not by the user."""
    tool: str | None = None
    call_id: str | None = msgspec.field(default=None, name="callID")
    state: ToolState | None = None
    mime: str | None = None
    filename: str | None = None
    url: str | None = None
    prompt: str | None = None
    description: str | None = None
    error: Any = None


class InfoRecord(_Native, frozen=True):
    """The file of a session in the trees of 0.x to 1.1."""

    id: str = ""
    parent_id: str | None = msgspec.field(default=None, name="parentID")
    project_id: str | None = msgspec.field(default=None, name="projectID")
    directory: str | None = None
    title: str | None = None
    version: str | None = None
    time: _Times | None = None
    revert: Any = None


class ContentState(_Native, frozen=True):
    """`status` and `error` as in `ToolState`; `structured`: facts beside the result, such as an exit code."""

    status: str | None = None
    input: Any = None
    content: list[Any] | None = None
    structured: Any = None
    error: Any = None


class Content(_Native, frozen=True):
    """A piece of a 2.x answer: text, reasoning or tool."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    state: ContentState | None = None
    time: Any = None


class EntryRecord(_Native, frozen=True):
    """`session_message.data`: what the columns `type` and `seq` do not say (1.18's v2 interface, and 2.x)."""

    text: str | None = None
    files: list[Any] | None = None
    model: ModelRef | None = None
    agent: Any = None
    content: list[Content] | None = None
    cost: float | None = None
    tokens: OpenCodeTokens | None = None
    error: Any = None
    call_id: str | None = msgspec.field(default=None, name="callID")
    command: str | None = None
    output: Any = None
    summary: Any = None
    location: Any = None


class OpenCodeSessionRow(msgspec.Struct, frozen=True):
    """A row of `session` (1.2 to 1.18) or `session_v2` (2.x). The counters of cost and tokens are left alone: 1.2
    has none, 1.18's v2 interface leaves them at 0, and a fork's include its parent's."""

    id: str
    project_id: str | None
    parent_id: str | None
    """The session that started this one as its helper; never a fork."""
    fork_session_id: str | None
    fork_boundary: str | None
    """The parent's last message that was copied."""
    directory: str | None
    title: str | None
    version: str | None
    share_url: str | None
    revert: str | None
    """JSON {messageID, partID?}: that message and all after it are undone until the next prompt."""
    agent: str | None
    model: str | None
    """JSON {id, providerID}"""
    time_created: float | None
    time_updated: float | None
    time_archived: float | None
    idle_outcome: str | None


class DocumentSession(msgspec.Struct, frozen=True):
    """A row of `sessions` in spec 004 §4.2.6; `parent_id` is the session it was forked from."""

    id: str
    parent_id: str | None
    title: str | None
    cwd: str | None
    model: str | None
    created_at: float | None
    updated_at: float | None


class DocumentMessage(msgspec.Struct, frozen=True):
    """A row of `messages` in spec 004 §4.2.6. The document does not say whether one count is part of another: cached
    tokens are taken as beside the input, as in OpenCode itself, and thinking as part of the output."""

    id: str
    role: str
    content: str
    thinking: str | None
    model: str | None
    input_tokens: int
    output_tokens: int
    thinking_tokens: int
    cached_tokens: int
    cost_usd: float | None
    created_at: float | None


class DocumentCall(msgspec.Struct, frozen=True):
    """A row of `tool_calls` in spec 004 §4.2.6."""

    id: str
    message_id: str
    name: str
    input: str | None
    output: str | None
    status: str | None
    duration_ms: int | None


MESSAGE = Decoder(OpenCodeMessage)
PART = Decoder(PartRecord)
ENTRY = Decoder(EntryRecord)
INFO = Decoder(InfoRecord)
SESSIONS = RowReader(OpenCodeSessionRow, limit=LISTED_LIMIT)
DOCUMENT_SESSIONS = RowReader(DocumentSession, limit=LISTED_LIMIT)
DOCUMENT_MESSAGES = RowReader(DocumentMessage)
DOCUMENT_CALLS = RowReader(DocumentCall)
