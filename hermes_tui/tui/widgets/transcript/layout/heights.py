"""The heights of a transcript's messages, estimated until they are known."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate

from session_adapters.model import Message

__all__ = ["MessageColumn", "MessageHeight", "estimate", "first_new", "is_hidden"]

_TALLEST = 200


def estimate(message: Message, width: int) -> int:
    """Rows that a message takes, roughly, from the lengths of its texts alone; exactly 0 for a hidden one."""
    if message.role == "tool" and is_hidden(message):
        return 0
    if message.kind not in ("message", "error") or message.role in ("system", "tool"):
        return 1
    calls = len(message.tool_calls) + (message.thinking is not None)
    length = len(message.content)
    if not length and calls:
        return calls
    return 3 + min(length * 5 // (4 * width), _TALLEST) + calls


def first_new(column: MessageColumn, since: datetime) -> MessageHeight | None:
    """The first message that is shown and came after `since`; None where nothing older is loaded."""
    found: MessageHeight | None = None
    for entry in reversed(column.entries):
        at = entry.message.timestamp
        if at is not None and at <= since:
            return found
        if at is not None and not is_hidden(entry.message):
            found = entry
    return None


class MessageHeight:
    """A message, its height in rows and what the user opened in it."""

    __slots__ = ("height", "levels", "message")

    def __init__(self, message: Message, height: int) -> None:
        self.message = message
        self.height = height
        self.levels: dict[str, int] | None = None
        """Block → how much of it is shown, where it is not what its kind is by default."""


class MessageColumn:
    """Entries from top to bottom. `tops` is worked out when asked for, after any number of changes."""

    def __init__(self) -> None:
        self.entries: list[MessageHeight] = []
        self.width = 80
        self._tops: list[int] | None = None

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def tops(self) -> list[int]:
        """The row at which each entry begins, and at the end of the list the number of all rows."""
        if self._tops is None:
            self._tops = list(accumulate((entry.height for entry in self.entries), initial=0))
        return self._tops

    @property
    def total(self) -> int:
        """Rows of all entries."""
        return self.tops[-1]

    def set_height(self, index: int, height: int) -> None:
        """Put the true height in the place of an estimate."""
        entry = self.entries[index]
        if entry.height != height:
            entry.height = height
            self._tops = None

    def set_message(self, index: int, message: Message) -> None:
        """Let an entry be another version of its message."""
        self.entries[index].message = message
        self.set_height(index, estimate(message, self.width))

    def at(self, row: int) -> tuple[int, int]:
        """(entry, row within it) at a row of a column that is not empty; the nearest one for rows outside."""
        row = min(max(row, 0), max(self.total - 1, 0))
        index = min(bisect_right(self.tops, row) - 1, len(self.entries) - 1)
        return index, row - self.tops[index]

    def estimate_all(self, width: int) -> None:
        """Forget the true heights: the width is another one, or much was opened at once."""
        self.width = width
        for entry in self.entries:
            entry.height = estimate(entry.message, width)
        self._tops = None

    def prepend(self, messages: Sequence[Message]) -> None:
        """Put earlier messages in front."""
        width = self.width
        self.entries[:0] = [MessageHeight(message, estimate(message, width)) for message in messages]
        self._tops = None

    def replace_from(self, first: int, messages: Sequence[Message]) -> None:
        """Let `messages` be what stands at `first` and below. A message that is still there keeps what is open."""
        width = self.width
        old = self.entries[first:]
        new: list[MessageHeight] = []
        for offset, message in enumerate(messages):
            entry = MessageHeight(message, estimate(message, width))
            if offset < len(old) and old[offset].message.id == message.id:
                entry.levels = old[offset].levels
                # The height of before is the better estimate; that of a hidden one is exactly 0.
                entry.height = entry.height and old[offset].height
            new.append(entry)
        self.entries[first:] = new
        self._tops = None

    def shown(self, index: int, step: int) -> int | None:
        """The nearest entry with rows, from `index` on in the direction of `step`."""
        entries = self.entries
        while 0 <= index < len(entries):
            if entries[index].height:
                return index
            index += step
        return None


def is_hidden(message: Message) -> bool:
    """Whether nothing of the message is shown: a result that its call shows already."""
    result = message.tool_result
    return message.role == "tool" and result is not None and result.linked and not message.attachments
