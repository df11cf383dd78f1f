"""A comparison laid out as rows, side by side or, where it is narrow, one below the other. Knows no terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from hermes_tui.display import compact, safe
from hermes_tui.sessions.diff import DiffOperation, FileUse, SessionDiff, ToolUse
from hermes_tui.sessions.diff.text import acts, described
from hermes_tui.sessions.diff.wording import Span, wording
from hermes_tui.widgets.cells import fit
from hermes_tui.widgets.diff.texts import Piece, folded
from session_adapters.model import Message

__all__ = ["Block", "Row", "blocks_of", "lay_out", "use_rows"]

_NARROW = 60
"""Columns below which the sides stand one below the other."""
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}


class Block(NamedTuple):
    """What one key acts on: a run of equal messages, or one operation."""

    operations: tuple[DiffOperation, ...]

    @property
    def is_equal(self) -> bool:
        """A run of messages that are the same on both sides."""
        first = self.operations[0]
        return first.type == "unchanged" and not first.other_calls


class Row(NamedTuple):
    """One line of the screen."""

    block: int
    """Index of its block; -1 for none."""
    kind: str
    """`fold`, `head`, `text`, `more`, `gap`, or `title`."""
    left: Sequence[Piece] = ()
    right: Sequence[Piece] | None = ()
    """None where the left takes the whole width."""
    mark: str = " "
    """`-`, `+`, `~` or blank: how it differs, also without colours."""
    whole: bool = False
    """All of the message went or came: its words need no marks of their own."""


def blocks_of(diff: SessionDiff) -> list[Block]:
    """Operations in order, neighbours that are equal as one block."""
    blocks: list[Block] = []
    run: list[DiffOperation] = []
    for operation in diff.operations:
        if operation.type == "unchanged" and not operation.other_calls:
            run.append(operation)
            continue
        if run:
            blocks.append(Block(tuple(run)))
            run = []
        blocks.append(Block((operation,)))
    if run:
        blocks.append(Block(tuple(run)))
    return blocks


def lay_out(blocks: Sequence[Block], width: int, opened: Collection[int]) -> list[Row]:
    """All rows. `opened` are the blocks that are shown in full: equal runs unfolded, long messages uncut."""
    rows: list[Row] = []
    for index, block in enumerate(blocks):
        is_open = index in opened
        if block.is_equal:
            number = len(block.operations)
            mark = "▾" if is_open else "⋯"
            rows.append(Row(index, "fold", [(f"{mark} {number:,} equal", False)], None))
            if not is_open:
                continue
        for operation in block.operations:
            # A run that was unfolded may hold thousands: there each is cut.
            everything = is_open and not block.is_equal
            rows.extend(_operation_rows(index, operation, width, everything=everything))
    return rows


def _operation_rows(index: int, operation: DiffOperation, width: int, *, everything: bool) -> Iterator[Row]:
    narrow = width < _NARROW
    column = width - 2 if narrow else (width - 5) // 2
    heads = _heads(operation)
    spans = _spans(operation)
    sides: list[tuple[list[list[Piece]], int]] = [
        folded(spans, side, column, everything=everything) if has else ([], 0)
        for side, has in (("-", operation.message_a is not None), ("+", operation.message_b is not None))
    ]
    whole = not any(span.mark == " " for span in spans) or None in (operation.message_a, operation.message_b)
    mark = {"removal": "-", "addition": "+", "modification": "~"}.get(operation.type, " ")
    if operation.other_calls:
        mark = "~"
    if narrow:
        yield Row(index, "head", [(" → ".join(dict.fromkeys(filter(None, heads))), False)], None, mark)
        shown = sides if operation.type != "unchanged" or operation.other_calls else sides[:1]
        for (rows, left_out), side in zip(shown, "-+", strict=False):
            sign = " " if operation.type == "unchanged" and not operation.other_calls else side
            yield from (Row(index, "text", row, None, sign, whole) for row in rows)
            if left_out:
                yield Row(index, "more", [(f"… {left_out:,} more lines", False)], None, sign)
    else:
        yield Row(index, "head", [(heads[0], False)], [(heads[1], False)], mark)
        nothing: list[Piece] = []
        for left, right in zip_longest(sides[0][0], sides[1][0], fillvalue=nothing):
            yield Row(index, "text", left, right, mark, whole)
        more = [f"… {left_out:,} more lines" if left_out else "" for _, left_out in sides]
        if any(more):
            yield Row(index, "more", [(more[0], False)], [(more[1], False)], mark)
    yield Row(index, "gap", (), None)


def _heads(operation: DiffOperation) -> tuple[str, str]:
    """Number and role of both sides; empty for one that is not there."""
    a, b = operation.message_a, operation.message_b
    note = " · other tool calls" if operation.other_calls else ""
    return (
        f"{(operation.index_a or 0) + 1} {_ROLES[a.role]}{note}" if a is not None else "",
        f"{(operation.index_b or 0) + 1} {_ROLES[b.role]}{note}" if b is not None else "",
    )


@lru_cache(maxsize=4096)
def _wording(a: str, b: str) -> tuple[Span, ...]:
    return tuple(wording(a, b))


def _spans(operation: DiffOperation) -> Sequence[Span]:
    a, b = operation.message_a, operation.message_b
    if a is not None and b is not None:
        if operation.other_calls:
            one, other = "\n".join(_said(a)), "\n".join(_said(b))
            return _wording(one, other)
        if operation.type == "unchanged":
            return (Span(" ", described(a)),)
        return _wording(described(a), described(b))
    if a is not None:
        return (Span(" ", described(a)),)
    return (Span(" ", described(b)),) if b is not None else ()


def _said(message: Message) -> Iterator[str]:
    if message.content:
        yield message.content
    yield from acts(message)


def use_rows(tools: Sequence[ToolUse], files: Sequence[FileUse], width: int) -> list[Row]:
    """Tool calls and files of both sides, as rows of two columns."""
    column = max(4, (width - 5) // 2)
    rows = [Row(-1, "title", [("Tool calls, by name and target", False)], None)]
    for use in tools:
        text: list[Piece] = [(fit(f"{compact(use.name, 40)}  {use.target}", column), False)]
        mark = " " if use.in_a and use.in_b else "-" if use.in_a else "+"
        rows.append(Row(-1, "text", text if use.in_a else (), text if use.in_b else (), mark))
    if not tools:
        rows.append(Row(-1, "gap", [("none", False)], None))
    rows += [Row(-1, "gap", (), None), Row(-1, "title", [("Files that they named", False)], None)]
    for file in files:
        left: list[Piece] = [(fit(f"{file.a}  {safe(file.path)}", column), False)]
        right: list[Piece] = [(fit(f"{file.b}  {safe(file.path)}", column), False)]
        mark = "-" if file.b is None else "+" if file.a is None else " " if file.a == file.b else "~"
        rows.append(Row(-1, "text", left if file.a else (), right if file.b else (), mark))
    if not files:
        rows.append(Row(-1, "gap", [("none", False)], None))
    return rows
