"""Lays out a comparison as rows, side by side or stacked; knows no terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from hermes_tui.display import compact, safe
from hermes_tui.sessions.diff import DiffOperation, FileUse, SessionDiff, ToolUse
from hermes_tui.sessions.diff.text import compared_texts, note_of
from hermes_tui.tui.widgets.cells import fit
from hermes_tui.tui.widgets.diff.texts import Piece, Texts

__all__ = ["AnyRow", "DiffBlock", "DiffRow", "TextRow", "blocks_of", "lay_out", "use_rows"]

_NARROW = 60
"""Columns below which the sides stand one below the other."""


class DiffBlock(NamedTuple):
    """What one key acts on: a run of equal messages, or one operation."""

    operations: tuple[DiffOperation, ...]

    @property
    def is_equal(self) -> bool:
        """A run of messages that are the same on both sides."""
        first = self.operations[0]
        return first.type == "unchanged" and not first.other_calls


class DiffRow(NamedTuple):
    """One line of the screen that says something about messages, or a tool call, or a file."""

    block: int
    """Index of its block; -1 for none."""
    kind: str
    """`fold`, `head`, `text`, `more`, `gap`, or `title`."""
    left: Sequence[Piece] = ()
    right: Sequence[Piece] | None = ()
    """None where the left takes the whole width."""
    mark: str = " "
    """`-`, `+`, `~` or blank: how it differs, also without colours."""

    @property
    def whole(self) -> bool:
        """All of it is of one side or of both: its words need no marks of their own."""
        return True


class TextRow(NamedTuple):
    """One line of what a message says, or of two side by side."""

    block: int
    texts: Texts
    at: int
    """Which line of them."""
    mark: str
    side: int | None = None
    """Which of the two, where they stand one below the other."""

    @property
    def kind(self) -> str:
        """As of `DiffRow`."""
        return "text"

    @property
    def left(self) -> Sequence[Piece]:
        """As of `DiffRow`; where it has not been asked for yet, the words are compared."""
        return self.texts.row(self.side or 0, self.at)

    @property
    def right(self) -> Sequence[Piece] | None:
        """As of `DiffRow`."""
        return self.texts.row(1, self.at) if self.side is None else None

    @property
    def whole(self) -> bool:
        """All of the message went or came: its words need no marks of their own."""
        return self.texts.whole


AnyRow = DiffRow | TextRow


def blocks_of(diff: SessionDiff) -> list[DiffBlock]:
    """Operations in order, neighbours that are equal as one block."""
    blocks: list[DiffBlock] = []
    run: list[DiffOperation] = []
    for operation in diff.operations:
        if operation.type == "unchanged" and not operation.other_calls:
            run.append(operation)
            continue
        if run:
            blocks.append(DiffBlock(tuple(run)))
            run = []
        blocks.append(DiffBlock((operation,)))
    if run:
        blocks.append(DiffBlock(tuple(run)))
    return blocks


def lay_out(blocks: Sequence[DiffBlock], width: int, opened: Collection[int]) -> list[AnyRow]:
    """All rows. `opened` are the blocks that are shown in full: equal runs unfolded, long messages uncut."""
    rows: list[AnyRow] = []
    for index, block in enumerate(blocks):
        is_open = index in opened
        if block.is_equal:
            number = len(block.operations)
            mark = "▾" if is_open else "⋯"
            rows.append(DiffRow(index, "fold", [(f"{mark} {number:,} equal", False)], None))
            if not is_open:
                continue
        for operation in block.operations:
            # A run that was unfolded may hold thousands: there each is cut.
            everything = is_open and not block.is_equal
            rows.extend(_operation_rows(index, operation, width, everything=everything))
    return rows


def _operation_rows(index: int, operation: DiffOperation, width: int, *, everything: bool) -> Iterator[AnyRow]:
    a, b = compared_texts(operation)
    mark = {"removal": "-", "addition": "+", "modification": "~"}.get(operation.type, " ")
    if operation.other_calls:
        mark = "~"
    if width < _NARROW:
        yield from _one_below_the_other(index, operation, Texts(a, b, width - 2, everything=everything), mark)
    else:
        yield from _side_by_side(index, operation, Texts(a, b, (width - 5) // 2, everything=everything), mark)
    yield DiffRow(index, "gap", (), None)


def _side_by_side(index: int, operation: DiffOperation, texts: Texts, mark: str) -> Iterator[AnyRow]:
    note = _note(operation)
    a, b = (f"{head}{note}" if head else "" for head in _heads(operation))
    yield DiffRow(index, "head", [(a, False)], [(b, False)], mark)
    height = max(len(side.rows) for side in texts.sides if side is not None)
    yield from (TextRow(index, texts, at, mark) for at in range(height))
    more = [_more(side.left_out) if side is not None else "" for side in texts.sides]
    if any(more):
        yield DiffRow(index, "more", [(more[0], False)], [(more[1], False)], mark)


def _one_below_the_other(index: int, operation: DiffOperation, texts: Texts, mark: str) -> Iterator[AnyRow]:
    heads = " → ".join(dict.fromkeys(filter(None, _heads(operation))))
    yield DiffRow(index, "head", [(f"{heads}{_note(operation)}", False)], None, mark)
    for number, (side, sign) in enumerate(zip(texts.sides, "-+", strict=True)):
        if side is None or (mark == " " and number):  # what is the same is shown once
            continue
        sign = sign if mark != " " else mark
        yield from (TextRow(index, texts, at, sign, number) for at in range(len(side.rows)))
        if side.left_out:
            yield DiffRow(index, "more", [(_more(side.left_out), False)], None, sign)


def _more(left_out: int) -> str:
    return f"… {left_out:,} more lines" if left_out else ""


def _heads(operation: DiffOperation) -> tuple[str, str]:
    """Number and role of both sides; empty for one that is not there."""
    a, b = operation.message_a, operation.message_b
    return (
        f"{(operation.index_a or 0) + 1} {a.role}" if a is not None else "",
        f"{(operation.index_b or 0) + 1} {b.role}" if b is not None else "",
    )


def _note(operation: DiffOperation) -> str:
    return f" · {note_of(operation)}" if operation.other_calls else ""


def use_rows(tools: Sequence[ToolUse], files: Sequence[FileUse], width: int) -> list[DiffRow]:
    """Tool calls and files of both sides, as rows of two columns."""
    column = max(4, (width - 5) // 2)
    rows = [DiffRow(-1, "title", [("Tool calls, by name and target", False)], None)]
    for use in tools:
        text: list[Piece] = [(fit(f"{compact(use.name, 40)}  {use.target}", column), False)]
        mark = " " if use.in_a and use.in_b else "-" if use.in_a else "+"
        rows.append(DiffRow(-1, "text", text if use.in_a else (), text if use.in_b else (), mark))
    if not tools:
        rows.append(DiffRow(-1, "gap", [("none", False)], None))
    rows += [DiffRow(-1, "gap", (), None), DiffRow(-1, "title", [("Files that they named", False)], None)]
    for file in files:
        left: list[Piece] = [(fit(f"{file.a}  {safe(file.path)}", column), False)]
        right: list[Piece] = [(fit(f"{file.b}  {safe(file.path)}", column), False)]
        mark = "-" if file.b is None else "+" if file.a is None else " " if file.a == file.b else "~"
        rows.append(DiffRow(-1, "text", left if file.a else (), right if file.b else (), mark))
    if not files:
        rows.append(DiffRow(-1, "gap", [("none", False)], None))
    return rows
