"""The typed records of Pi and omp files, versions 1 to 3, and the document's.

Real files: a header `{type: "session", …}`, in omp after a 256-byte title slot `{type: "title", …}`, then entries
`{type, id, parentId, timestamp, …}` (pi/FACTS.md and omp/FACTS.md, Format). The document's layout has neither
header nor types: `{id, parentId, role, content, …}` (spec 004 §4.2.7). One Struct takes them all, because files are
told apart by what is in them.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from session_adapters.reading.decoding import Decoder

__all__ = [
    "ENTRIES",
    "SHAPES",
    "SPOKEN",
    "CostRecord",
    "Shape",
    "TreeEntry",
    "TreeMessage",
    "TreeUsage",
    "is_speaker",
]

SPOKEN = frozenset({"message", "custom_message", "compaction", "branch_summary", "reset_boundary", "session_init"})
"""Entry types that show in the conversation."""


class CostRecord(Struct, frozen=True):
    """US dollars by the agent's own price list; 0 when it does not know the model."""

    total: float | None = None


class TreeUsage(Struct, frozen=True, rename="camel"):
    """Tokens of one call. In Pi and omp `input` is uncached and `output` includes reasoning."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    reasoning: float | None = None
    """Pi's name for the reasoning part."""
    reasoning_tokens: float | None = None
    """omp's name for it."""
    cost: CostRecord | float | None = None
    # The document's names; its input is taken to exclude what came from the cache.
    input_tokens: float | None = None
    output_tokens: float | None = None
    cached_tokens: float | None = None
    thinking_tokens: float | None = None


def is_speaker(role: str | None) -> bool:
    """Whether it is the role of a person or a model."""
    return role is not None and role.lower() in _SPEAKERS


_SPEAKERS = frozenset({"user", "human", "assistant", "model", "ai"})


class TreeMessage(Struct, frozen=True, rename="camel"):
    """What an entry of type `message` carries."""

    role: str = ""
    content: Any = None
    """Text, or blocks text | thinking | toolCall | image."""
    sections: Any = None
    """Parts of a system prompt by name."""
    timestamp: Any = None
    """Milliseconds since the epoch."""
    model: str | None = None
    usage: TreeUsage | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    duration_ms: float | None = None
    details: Any = None
    command: str | None = None
    output: Any = None
    exit_code: Any = None
    summary: str | None = None
    provider: str | None = None
    provenance: Any = None
    """OpenClaw: who put a user's message there, when it was not the user."""


class TreeEntry(Struct, frozen=True, rename="camel"):
    """One line: header, title slot or node of the tree."""

    type: str = ""
    id: str | None = None
    parent_id: str | None = None
    timestamp: Any = None
    """ISO text."""
    # header
    version: Any = None
    cwd: str | None = None
    parent_session: str | None = None
    additional_directories: Any = None
    # title slot, title_change, header of omp; session_info
    title: str | None = None
    name: str | None = None
    # nodes
    message: TreeMessage | None = None
    model: str | None = None
    model_id: str | None = None
    content: Any = None
    custom_type: str | None = None
    data: Any = None
    summary: str | None = None
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None
    tokens_before: float | None = None
    usage: TreeUsage | None = None
    target_id: str | None = None
    label: str | None = None
    system_prompt: Any = None
    task: str | None = None
    # the document's layout
    role: str | None = None
    thinking: str | None = None
    tool_calls: Any = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None

    @property
    def is_message(self) -> bool:
        """Whether it holds a message, of whatever type it is."""
        if self.message is not None:
            return self.type == "message" or bool(self.message.role)
        if not self.type:
            return bool(self.role)
        return self.type == "message" or (is_speaker(self.role) and self.content is not None)


class _Role(Struct, frozen=True):
    role: str = ""


class Shape(Struct, frozen=True, rename="camel"):
    """What the tree needs of a line: decoding it skips all text, so that a large file is gone through quickly."""

    type: str = ""
    id: str | None = None
    parent_id: str | None = None
    timestamp: Any = None
    version: Any = None
    parent_session: str | None = None
    role: str | None = None
    message: _Role | None = None
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None
    target_id: str | None = None
    label: str | None = None

    @property
    def speaker(self) -> str:
        """The role, in either layout; empty for entries that are no message."""
        return self.role or (self.message.role if self.message else "")


ENTRIES = Decoder(TreeEntry)
SHAPES = Decoder(Shape)
