"""A Claude Code transcript summed up in a glance, by its beginning and its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from session_adapters.claude.records import Brief, forked_from
from session_adapters.claude.scan import Tally, timed
from session_adapters.files import Line, is_whole, lines, read_at, read_ends

__all__ = ["REACH", "Part", "ends", "feed_all"]

REACH = 1 << 20
"""Bytes at each end beyond which an unusual file is not searched for its first prompt or newest message."""

Part = Literal["whole", "ends", "head"]
"""What was read: `head` means that the newest message is not among it."""


def ends(fd: int, size: int, tally: Tally, *, head: int, tail: int, reach: int = REACH) -> Part:
    """Feed the beginning and the end of a file to `tally`; which part of it that was.

    Reads on from the beginning until there is a prompt, a directory and a record of the session's own, and back
    from the end until there is a message, each at most `reach` bytes.
    """
    if size <= head + tail:
        feed_all(fd, 0, size, tally)
        return "whole"
    position = _read_head(fd, size, tally, head, max(head, reach))
    if not tally.created and tally.copied:
        _find_own(fd, position, size, tally, max(head, tail))
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
    position = 0
    for span in _spans(head, min(reach, size)):
        for line in lines(fd, position, span):
            if not line.complete:
                break
            tally.feed(line)
            position = line.offset + len(line.data) + 1
        if tally.introduced:
            break
    return position


def _find_own(fd: int, low: int, high: int, tally: Tally, window: int) -> None:
    """Tell `tally` when a session that starts with a long copy of its parent began: the copy is one run of lines
    at the beginning, so its end is found by halving."""
    while high - low > window:
        middle = (low + high) // 2
        found = _first_timed(fd, middle, min(middle + 4 * window, high))
        if found is None or not forked_from(found[1]):
            high = middle
        else:
            low = found[0]
    for line in lines(fd, low, low + 4 * window):
        for record in timed(line):
            if not forked_from(record):
                tally.begins(record)
                return


def _first_timed(fd: int, start: int, stop: int) -> tuple[int, Brief] | None:
    """The first record with a time that begins after `start`, and where the line after it does."""
    first = start == 0 or read_at(fd, start - 1, 1) == b"\n"
    for line in lines(fd, start, stop):
        if line.complete and (first or line.offset > start):
            for record in timed(line):
                return line.offset + len(line.data) + 1, record
    return None


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
    return any(record.type in ("user", "assistant") for record in timed(line))
