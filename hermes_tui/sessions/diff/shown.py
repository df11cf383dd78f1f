"""A comparison as a screen shows it: words, without the messages they are from.

The messages of two long sessions would leave a screen that is open for weeks larger than it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from hermes_tui.sessions.diff.model import Change, DiffOperation, SessionDiff
from hermes_tui.sessions.diff.text import compared_texts, note_of

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager

__all__ = ["ComparedMessages", "ShownDiff", "compared", "shown_diff"]


class ComparedMessages(NamedTuple):
    """One operation: what stands side by side."""

    type: Change
    heads: tuple[str, str]
    """Number and role of both sides; empty for one that is not there."""
    texts: tuple[str | None, str | None]
    """None for one that is not there."""
    note: str = ""
    """What is different where the words are not."""


class ShownDiff(NamedTuple):
    """A comparison."""

    diff: SessionDiff
    """Without its operations."""
    other_calls: int
    messages: Sequence[ComparedMessages]


def shown_diff(manager: SessionManager, a: tuple[str, str], b: tuple[str, str]) -> ShownDiff:
    """How session `b` differs from session `a`, each as (agent, native id). Raises as `SessionManager.diff` does."""
    diff = manager.diff(a, b)
    return ShownDiff(replace(diff, operations=()), diff.other_calls, [compared(one) for one in diff.operations])


def compared(operation: DiffOperation) -> ComparedMessages:
    """The operation without its messages."""
    a, b = operation.message_a, operation.message_b
    heads = (
        f"{(operation.index_a or 0) + 1} {a.role}" if a is not None else "",
        f"{(operation.index_b or 0) + 1} {b.role}" if b is not None else "",
    )
    one, other = compared_texts(operation)
    if one == other:
        other = one  # one text, not two that are alike
    note = note_of(operation) if operation.other_calls else ""
    return ComparedMessages(operation.type, heads, (one, other), note)
