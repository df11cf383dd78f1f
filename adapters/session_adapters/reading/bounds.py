"""Limits on how much of one line, document or conversation is read.

Limits on single things, never on how many an honest store has.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable
from sys import getsizeof
from typing import Any

from msgspec.structs import replace

from session_adapters.model import Message, Problem

__all__ = [
    "BLOCK",
    "CROWDED",
    "CUT",
    "DOCUMENT_LIMIT",
    "TEXT_LIMIT",
    "TOO_LARGE",
    "TOO_MANY",
    "VALUES_LIMIT",
    "Stint",
    "beginning_of",
    "data_from",
    "excess",
    "is_crowded",
    "is_cut",
    "shown_size",
    "text_size",
    "unread",
    "unsearched",
]

DOCUMENT_LIMIT = 48 << 20
"""Bytes of a JSON document that is read as a whole."""
VALUES_LIMIT = 2_000_000
"""Values and keys in one line or document; with more it is not decoded. They take up to a hundred times their length
in memory, and what people and tools say is mostly text."""
CROWDED = f"it holds more than {VALUES_LIMIT:,} values"

LIST_SECONDS = 1.0
"""Seconds that the processor may work for a list of one source, or for a search or a sum of costs in one of which the
list was cut: what is left out is said. A command does all three."""
TOO_LARGE = "it is too large for a list"
"""How every reason begins for which sessions are missing in a list."""
TOO_MANY = "there are too many for a list"
"""Why sessions in a list are not counted."""

_MARKS = b",:[{"
"""Each stands before a value or a key."""
_OTHERS = bytes(set(range(256)) - set(_MARKS))
BLOCK = 1 << 20
"""Bytes whose values are counted at a time."""


def is_crowded(data: bytes) -> bool:
    """Whether there are more than `VALUES_LIMIT` values and keys in a line or document."""
    if len(data) <= VALUES_LIMIT or _marks(data) <= VALUES_LIMIT:
        return False
    found = at = inside = 0
    while at < len(data) and found <= VALUES_LIMIT:  # marks in texts count for nothing
        block = data[at : at + BLOCK]
        at += len(block)
        if b"\\" in block:
            if (len(block) - len(block.rstrip(b"\\"))) % 2:  # it ends between a backslash and what that escapes
                block += data[at : at + 1]
                at += 1
            block = block.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = block.split(b'"')
        found += _marks(b"".join(parts[inside::2]))
        inside = (inside + len(parts) - 1) % 2
    return found > VALUES_LIMIT


class Stint:
    """The time that the processor has worked in this thread since this was made."""

    def __init__(self, seconds: float | None = None) -> None:
        """`seconds` are enough; None: as many as a list of one source may take."""
        self._end = time.thread_time() + (LIST_SECONDS if seconds is None else seconds)

    @property
    def over(self) -> bool:
        """Whether it was enough."""
        return time.thread_time() > self._end


def excess(number: int, end: str = "first") -> str:
    """Why so many messages of a session are not there: those that came last are, wherever that can be."""
    return f"the {end} {number:,} of its messages are left out: there is more in it than is read at once"


def unread(number: int) -> str:
    """What is the matter with a session of which so many records are damaged."""
    return f"{number:,} of its records cannot be read, or not in full"


def unsearched(number: int, of: int) -> str:
    """Why sessions are not searched that are in a list."""
    return f"there are too many sessions to search: {number:,} of the {of:,} in the list were searched, no more"


def is_cut(problems: Iterable[Problem]) -> bool:
    """Whether one of them says that a list lacks sessions, for there are too many."""
    return any(problem.reason.startswith(TOO_LARGE) for problem in problems)


def _marks(data: bytes) -> int:
    return len(data.translate(None, _OTHERS))


def data_from(fd: int, at: int, stop: int | None) -> int:
    """The first place from `at` on, up to `stop` (the end of the file if None), at which anything is stored: what
    lies before it is a hole in a sparse file. Where the system does not tell holes, that is `at`."""
    try:
        found = os.lseek(fd, at, os.SEEK_DATA)
    except AttributeError:  # this system has no SEEK_DATA
        return at
    except OSError as error:
        if error.errno != errno.ENXIO:
            return at
        found = os.fstat(fd).st_size if stop is None else stop  # a hole up to the end
    return max(at, found if stop is None else min(found, stop))


# The text of conversations ------------------------------------------------------------------------------------

TEXT_LIMIT = 96 << 20
"""Bytes of text that are kept of a conversation; of later messages there are only the beginnings."""
CUT = "the session holds so much text that of long texts only the beginnings are kept from here on"
_BEGINNING = 1000
_LONG = 64 << 10
"""Bytes of a text that is worth being cut."""


def text_size(message: Message) -> int:
    """Bytes that the texts of a message take, but for those within lists."""
    result = message.tool_result
    size = getsizeof(message.content) + getsizeof(message.thinking) + (_size(result.output) if result else 0)
    for call in message.tool_calls:
        size += _size(call.input)
    return size


def shown_size(message: Message) -> int:
    """The same, what its calls gave included, which of linked results is counted twice."""
    return text_size(message) + sum(_size(call.output) for call in message.tool_calls)


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(getsizeof, value.values()))
    return getsizeof(value)


def beginning_of(message: Message) -> Message:
    """The message with the beginnings of its long texts alone."""
    result, calls = message.tool_result, message.tool_calls
    return replace(
        message,
        content=_cut(message.content),
        thinking=_cut(message.thinking),
        tool_result=replace(result, output=_cut(result.output)) if result else None,
        tool_calls=tuple(replace(call, input=_cut(call.input), output=_cut(call.output)) for call in calls),
    )


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cut(one) for key, one in value.items()}
    return value[:_BEGINNING] if isinstance(value, str) and getsizeof(value) > _LONG else value
