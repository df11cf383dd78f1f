"""A Claude Code transcript summed up in a glance, by its beginning and its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from session_adapters.claude.summary import ClaudeCounts, timed
from session_adapters.reading.ends import marked_lines, read_ends
from session_adapters.reading.files import Line, is_whole, lines

__all__ = ["REACH", "Part", "ends", "feed_all"]

REACH = 1 << 20
"""Bytes at each end beyond which an unusual file is not searched for its first prompt or newest message."""

_MARKS = (b'-title"',)
"""Lines between them that name the session: custom-title, ai-title."""

Part = Literal["whole", "ends", "head"]
"""What was read: `head` means that the newest message is not among it."""


def ends(fd: int, size: int, counts: ClaudeCounts, *, head: int, tail: int, reach: int = REACH) -> Part:
    """Feed the beginning and the end of a file to `counts`; which part of it that was.

    Reads on from the beginning until there is a prompt, a directory and, behind all that was copied, a reply of the
    session's own, and back from the end until there is a message. What was copied is read however long it is, since
    it tells the parent; of others at most `reach` bytes are read at either end.
    """

    def begun(new: Iterable[Line]) -> bool:
        _feed(new, counts)
        return counts.introduced

    def ended(new: Iterable[Line]) -> bool:
        return any(_is_message(line) for line in new)

    found = read_ends(fd, size, head, tail, reach=reach, begun=begun, ended=ended)
    position, stop = found.gap
    if counts.is_whole or (counts.copied and not counts.introduced):
        for line in lines(fd, position, stop):
            if counts.introduced and not counts.is_whole:
                break
            counts.feed(line)
            position = line.offset + len(line.data) + 1
    _feed(marked_lines(fd, position, stop, _MARKS), counts)
    _feed(found.tail, counts)
    return "whole" if position >= stop else "ends" if found.ended else "head"


def feed_all(fd: int, start: int, stop: int | None, counts: ClaudeCounts) -> int:
    """Feed every line from `start`; where reading stopped. A torn last line waits to be finished."""
    return _feed(lines(fd, start, stop), counts, start)


def _feed(found: Iterable[Line], counts: ClaudeCounts, start: int = 0) -> int:
    end = start
    for line in found:
        if not line.complete and (line.too_long or not is_whole(line.data)):
            break
        counts.feed(line)
        end = line.offset + len(line.data)
    return end


def _is_message(line: Line) -> bool:
    return any(record.kind in ("user", "assistant") for record in timed(line))
