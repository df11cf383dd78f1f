"""A comparison as a screen shows it: words, without the messages they are from.

The messages of two long sessions would leave a screen that is open for weeks larger than it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

from msgspec.structs import replace

from hermes_tui.sessions.diff.model import Change, DiffOperation, SessionDiff
from hermes_tui.sessions.diff.text import compared_texts, note_of
from session_adapters.growing.columns import InColumns
from session_adapters.growing.ids import Ids

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager

__all__ = ["ComparedMessages", "ComparedSessions", "ShownDiff", "shown_diff"]

_CHANGES: Sequence[Change] = get_args(Change)
_A, _B, _ALIKE = 1, 2, 4
"""What is there of an operation: a text of each side, one text of both."""


class ComparedMessages(NamedTuple):
    """One operation: what stands side by side."""

    type: Change
    heads: tuple[str, str]
    """Number and role of both sides; empty for one that is not there."""
    texts: tuple[str | None, str | None]
    """None for one that is not there."""
    note: str = ""
    """What is different where the words are not."""


class ComparedSessions(InColumns[ComparedMessages]):
    """All operations, in their order."""

    def __init__(self, operations: Iterable[DiffOperation]) -> None:
        self._changes, self._there = bytearray(), bytearray()
        self._heads, self._texts = Ids(), Ids()
        """Two of each operation; empty where there is none."""
        self._notes: dict[int, str] = {}
        for one in map(_compared, operations):
            a, b = one.texts
            there = (a is not None) * _A + (b is not None) * _B + (a == b) * _ALIKE
            if one.note:
                self._notes[len(self)] = one.note
            self._changes.append(_CHANGES.index(one.type))
            self._there.append(there)
            for head, text in zip(one.heads, (a, None if a == b else b), strict=True):
                self._heads.append(head)
                self._texts.append(text or "")

    def __len__(self) -> int:
        return len(self._changes)

    def row(self, at: int) -> ComparedMessages:
        """See `InColumns.row`."""
        there = self._there[at]
        a = self._texts[2 * at] if there & _A else None
        b = a if there & _ALIKE else self._texts[2 * at + 1] if there & _B else None
        heads = self._heads[2 * at], self._heads[2 * at + 1]
        return ComparedMessages(_CHANGES[self._changes[at]], heads, (a, b), self._notes.get(at, ""))

    def is_equal(self, at: int) -> bool:
        """Whether nothing is different there."""
        return _CHANGES[self._changes[at]] == "unchanged" and at not in self._notes


class ShownDiff(NamedTuple):
    """A comparison."""

    diff: SessionDiff
    """Without its operations."""
    other_calls: int
    messages: ComparedSessions


def shown_diff(manager: SessionManager, a: tuple[str, str], b: tuple[str, str]) -> ShownDiff:
    """How session `b` differs from session `a`, each as (agent, native id). Raises as `SessionManager.diff` does."""
    diff = manager.diff(a, b)
    return ShownDiff(replace(diff, operations=()), diff.other_calls, ComparedSessions(diff.operations))


def _compared(operation: DiffOperation) -> ComparedMessages:
    """The operation without its messages."""
    a, b = operation.message_a, operation.message_b
    heads = (
        f"{(operation.index_a or 0) + 1} {a.role}" if a is not None else "",
        f"{(operation.index_b or 0) + 1} {b.role}" if b is not None else "",
    )
    note = note_of(operation) if operation.other_calls else ""
    return ComparedMessages(operation.type, heads, compared_texts(operation), note)
