"""The types of a comparison of two sessions.

What spec 004 §3.7 does not have is marked «ours».
"""

from __future__ import annotations

from typing import Literal

from msgspec import field

from session_adapters.model import Cost, JsonRecord, Message, TokenUsage

__all__ = ["Change", "DiffOperation", "DiffStats", "FileUse", "SessionDiff", "Side", "ToolUse"]

Change = Literal["addition", "removal", "modification", "unchanged"]


class Side(JsonRecord, frozen=True):
    """One of the two sessions."""

    agent: str
    session_id: str
    unified_id: str
    # The rest is ours.
    title: str = ""
    message_count: int = 0
    turn_count: int = 0
    tool_call_count: int = 0
    model: str | None = None
    tokens: TokenUsage | None = None
    cost: Cost | None = None
    error: bool = False
    """It ended in a failed call."""
    seconds: float | None = None
    """From its first message to its last."""
    warnings: int = 0
    """Records of it that could not be read: what they said is in no operation."""


class DiffOperation(JsonRecord, frozen=True):
    """One message of either side, or a message of A and the one of B that stands in its place."""

    type: Change
    index_a: int | None = None
    """Zero-based; None for additions."""
    index_b: int | None = None
    """Zero-based; None for removals."""
    message_a: Message | None = None
    message_b: Message | None = None
    other_calls: bool = False
    """Role and content are equal, tool calls or results are not. «ours»"""


class DiffStats(JsonRecord, frozen=True):
    """How many operations there are of each type."""

    removals: int = field(default_factory=int)
    additions: int = field(default_factory=int)
    modifications: int = field(default_factory=int)
    unchanged: int = field(default_factory=int)


class ToolUse(JsonRecord, frozen=True):
    """A tool call that both sides made in the same order, or one of them alone. «ours»"""

    name: str
    target: str
    """What it was about: a command, a path (relative to the session's directory where it lies there), a pattern …;
    one line, safe for a terminal."""
    in_a: bool
    in_b: bool


class FileUse(JsonRecord, frozen=True):
    """A file that tool calls named. «ours»"""

    path: str
    """Relative to the session's directory where it lies there."""
    a: Literal["edited", "read"] | None = None
    """What A did with it, None if nothing; edited where it did both."""
    b: Literal["edited", "read"] | None = None


class SessionDiff(JsonRecord, frozen=True):
    """Two sessions, message by message."""

    a: Side
    b: Side
    operations: tuple[DiffOperation, ...]
    stats: DiffStats
    tools: tuple[ToolUse, ...] = ()
    """Tool calls in order. «ours»"""
    files: tuple[FileUse, ...] = ()
    """Files by path. «ours»"""

    @property
    def other_calls(self) -> int:
        """How many of the unchanged messages have other tool calls or results."""
        return sum(operation.other_calls for operation in self.operations)
