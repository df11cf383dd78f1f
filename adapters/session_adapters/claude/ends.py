"""A Claude Code transcript summed up in a glance, by its beginning and its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from session_adapters.claude.scan import Tally, timed
from session_adapters.files import Line, is_whole, lines, read_ends

__all__ = ["REACH", "Part", "ends", "feed_all"]

REACH = 1 << 20
"""Bytes at each end beyond which an unusual file is not searched for its first prompt or newest message."""

Part = Literal["whole", "ends", "head"]
"""What was read: `head` means that the newest message is not among it."""


def ends(fd: int, size: int, tally: Tally, *, head: int, tail: int, reach: int = REACH) -> Part:
    """Feed the beginning and the end of a file to `tally`; which part of it that was.

    Reads on from the beginning until there is a prompt, a directory and, behind all that was copied, a reply of the
    session's own, and back from the end until there is a message. What was copied is read however long it is, since
    it tells the parent; of others at most `reach` bytes are read at either end.
    """
    if size <= head + tail:
        feed_all(fd, 0, size, tally)
        return "whole"
    position = _read_head(fd, size, tally, head, max(head, reach))
    if tally.is_whole:
        feed_all(fd, position, size, tally)
        return "whole"
    for span in _spans(tail, max(tail, reach)):
        if size - span <= position:
            feed_all(fd, position, size, tally)
            return "whole"
        last = read_ends(fd, size, 0, span).tail
        if last and (span >= reach or any(_is_message(line) for line in last)):
            _feed(last, tally)
            return "ends"
    return "head"


def _read_head(fd: int, size: int, tally: Tally, head: int, reach: int) -> int:
    """Where reading stopped: the beginning of a line."""
    position, span = 0, head
    while True:
        for line in lines(fd, position, min(span, size)):
            if not line.complete:
                break
            tally.feed(line)
            position = line.offset + len(line.data) + 1
            if tally.copied and tally.introduced:
                return position
        if tally.introduced or span >= (size if tally.copied else reach):
            return position
        span = span * 4 if tally.copied else min(span * 4, reach)


def feed_all(fd: int, start: int, stop: int | None, tally: Tally) -> int:
    """Feed every line from `start`; where reading stopped. A torn last line waits to be finished."""
    return _feed(lines(fd, start, stop), tally, start)


def _feed(found: Iterable[Line], tally: Tally, start: int = 0) -> int:
    end = start
    for line in found:
        if not line.complete and (line.too_long or not is_whole(line.data)):
            break
        tally.feed(line)
        end = line.offset + len(line.data)
    return end


def _spans(first: int, last: int) -> list[int]:
    spans = [first]
    while spans[-1] < last:
        spans.append(min(spans[-1] * 4, last))
    return spans


def _is_message(line: Line) -> bool:
    return any(record.kind in ("user", "assistant") for record in timed(line))
