"""Lays out a comparison as rows, side by side or stacked; knows no terminal."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

from hermes_tui.cells import fit
from hermes_tui.display import compact, safe
from hermes_tui.sessions.diff.model import FileUse, ToolUse
from hermes_tui.sessions.diff.shown import ComparedMessages, ComparedSessions
from hermes_tui.tui.widgets.diff.texts import Piece, Texts

__all__ = ["AnyRow", "DiffBlocks", "DiffRow", "DiffRows", "TextRow", "use_rows"]

_NARROW = 60
"""Columns below which the sides stand one below the other."""
_KEPT = 100
"""Blocks whose rows are kept, more than a screen shows."""


class DiffBlocks:
    """What one key acts on each: a run of equal messages, or one operation."""

    def __init__(self, messages: ComparedSessions) -> None:
        self._messages = messages
        self._starts = array("Q")
        """Where each begins, and the last one ends."""
        within = False
        for at in range(len(messages)):
            is_equal = messages.is_equal(at)
            if not (is_equal and within):
                self._starts.append(at)
            within = is_equal
        self._starts.append(len(messages))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def is_equal(self, block: int) -> bool:
        """Whether it is a run of messages that are the same on both sides."""
        return self._messages.is_equal(self._starts[block])

    @property
    def changes(self) -> Iterator[int]:
        """Those that are not."""
        return (block for block in range(len(self)) if not self.is_equal(block))

    def span(self, block: int) -> range:
        """Which operations it has."""
        return range(self._starts[block], self._starts[block + 1])

    def messages(self, block: int) -> Iterator[ComparedMessages]:
        """The same, one after the other."""
        return map(self._messages.row, self.span(block))


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


class DiffRows:
    """All rows of a comparison. How many each block has is known; they are made when they are looked at: those of two
    long sessions are hundreds of thousands."""

    def __init__(self, blocks: DiffBlocks, width: int, opened: Collection[int]) -> None:
        """`opened` are the blocks that are shown in full: equal runs unfolded, long messages uncut."""
        self._blocks = blocks
        self._width = width
        self._opened = frozenset(opened)
        self._kept: dict[int, list[AnyRow]] = {}
        heights = (sum(1 for _ in self._made(index)) for index in range(len(blocks)))
        self._starts = array("Q", accumulate(heights, initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def __iter__(self) -> Iterator[AnyRow]:
        return chain.from_iterable(self._made(index) for index in range(len(self._blocks)))

    def __getitem__(self, at: int) -> AnyRow:
        if not 0 <= at < len(self):
            raise IndexError(at)
        block = bisect_right(self._starts, at) - 1
        return self.of(block)[at - self._starts[block]]

    def of(self, block: int) -> list[AnyRow]:
        """The rows of a block; those of the last that were asked for are kept."""
        rows = self._kept.pop(block, None)
        if rows is None:
            rows = list(self._made(block))
        self._kept[block] = rows
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return rows

    def first_of(self, block: int) -> int:
        """Index of its first row."""
        return self._starts[block]

    def _made(self, index: int) -> Iterator[AnyRow]:
        is_equal, is_open = self._blocks.is_equal(index), index in self._opened
        if is_equal:
            mark = "▾" if is_open else "⋯"
            yield DiffRow(index, "fold", [(f"{mark} {len(self._blocks.span(index)):,} equal", False)], None)
            if not is_open:
                return
        # A run that was unfolded may hold thousands: there each is cut.
        everything = is_open and not is_equal
        marks = {"removal": "-", "addition": "+", "modification": "~"}
        for messages in self._blocks.messages(index):
            mark = marks.get(messages.type, "~" if messages.note else " ")
            # Two columns are the mark's, and three stand between the sides.
            if self._width < _NARROW:
                texts = Texts(*messages.texts, self._width - 2, everything=everything)
                yield from _one_below_the_other(index, messages, texts, mark)
            else:
                texts = Texts(*messages.texts, (self._width - 5) // 2, everything=everything)
                yield from _side_by_side(index, messages, texts, mark)
            yield DiffRow(index, "gap", (), None)


def _side_by_side(index: int, messages: ComparedMessages, texts: Texts, mark: str) -> Iterator[AnyRow]:
    a, b = (f"{head}{_note(messages)}" if head else "" for head in messages.heads)
    yield DiffRow(index, "head", [(a, False)], [(b, False)], mark)
    height = max(len(side.rows) for side in texts.sides if side is not None)
    yield from (TextRow(index, texts, at, mark) for at in range(height))
    more = [_more(side.left_out) if side is not None else "" for side in texts.sides]
    if any(more):
        yield DiffRow(index, "more", [(more[0], False)], [(more[1], False)], mark)


def _one_below_the_other(index: int, messages: ComparedMessages, texts: Texts, mark: str) -> Iterator[AnyRow]:
    heads = " → ".join(dict.fromkeys(filter(None, messages.heads)))
    yield DiffRow(index, "head", [(f"{heads}{_note(messages)}", False)], None, mark)
    for number, (side, sign) in enumerate(zip(texts.sides, "-+", strict=True)):
        if side is None or (mark == " " and number):  # what is the same is shown once
            continue
        sign = sign if mark != " " else mark
        yield from (TextRow(index, texts, at, sign, number) for at in range(len(side.rows)))
        if side.left_out:
            yield DiffRow(index, "more", [(_more(side.left_out), False)], None, sign)


def _note(messages: ComparedMessages) -> str:
    return f" · {messages.note}" if messages.note else ""


def _more(left_out: int) -> str:
    return f"… {left_out:,} more lines" if left_out else ""


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
