"""Reads the two ends of a long file, and the few lines between that matter.

A line is read whole or not at all: a header of 22 KB is nothing unusual, a last line may be longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from session_adapters.reading.bounds import data_from
from session_adapters.reading.files import METER, read_at, scan_at
from session_adapters.reading.lines import BLOCK, LINE_LIMIT, READING, Line, Run, line_start, lines

__all__ = ["SCANNED", "STEP", "Ends", "marked_lines", "read_ends", "spans"]

SCANNED = 64 << 20
"""Bytes between the ends that are searched for words, at most: the newest ones."""
STEP = 4 << 10
"""Bytes that are read at a time to find where a line begins or ends."""

Enough = Callable[[Sequence[Line]], bool]
"""Says of lines whether a list finds in them what it looks for."""


class Ends(NamedTuple):
    """The beginning and the end of a file."""

    head: list[Line]
    tail: list[Line]
    gap: tuple[int, int]
    """The bytes between them."""
    ended: bool = True
    """The end was enough, or everything was read."""

    @property
    def whole(self) -> bool:
        """Nothing is between them."""
        return self.gap[0] >= self.gap[1]


def read_ends(
    fd: int,
    size: int,
    head: int,
    tail: int,
    *,
    reach: int = 0,
    begun: Enough = lambda new: True,
    ended: Enough = lambda new: True,
) -> Ends:
    """Every line that has a byte among the first `head` or the last `tail` of a file of `size` bytes, however long
    it is; all of a small file.

    Where that is not enough, up to `reach` bytes are read at each end: `begun` and `ended` are given each line once,
    as they are read, from the beginning on and from the end backwards.
    """
    if size <= head + tail:
        first = list(lines(fd, 0, size))
        begun(first)
        return Ends(first, [], (size, size))
    first, position = [], 0
    for span in spans(head, reach):
        if span <= position:
            continue  # the lines so far reach further
        new, position = _up_to(fd, position, min(span, size), size)
        first += new
        if begun(new) or position >= size or (new and new[-1].too_long):
            break
    start, last, enough = size, list[Line](), False
    for span in spans(tail, reach):
        if span and size - span >= start > position:
            continue
        stop, start = start, _line_start(fd, max(position, size - span), position)
        known = first[-1] if first and first[-1].too_long else None
        new = [
            line._replace(too_long=1) if line.too_long else line  # where it begins may not have been looked for
            for line in lines(fd, start, stop)
            if known is None or line.offset != known.offset
        ]
        last[:0] = new
        if enough := ended(new) or start <= position:
            break
    return Ends(first, last, (position, start), enough)


def spans(first: int, last: int) -> Iterator[int]:
    """How many bytes to read, more each time."""
    last = max(first, last)
    while first < last:
        yield first
        first = max(first * 4, STEP)
    yield last


def _up_to(fd: int, start: int, stop: int, size: int) -> tuple[list[Line], int]:
    """The lines from `start` that begin before `stop`, and where the next one does; a line that is too long to be
    read is among both."""
    end = _line_end(fd, stop, size)
    found = list(lines(fd, start, end))
    if found and found[-1].too_long and end < size:
        found[-1] = found[-1]._replace(complete=True, too_long=1)
        return found, found[-1].offset
    return found, end


def _line_end(fd: int, at: int, size: int) -> int:
    """Behind the line that the byte before `at` is in. Of one that is too long to be read, any place that leaves it
    so."""
    position, ceiling = at - 1, min(size, at + LINE_LIMIT + BLOCK)
    while (position := data_from(fd, position, ceiling)) < ceiling:
        part = read_at(fd, position, min(STEP, ceiling - position))
        if (found := part.find(b"\n")) >= 0 or not part:
            return position + found + 1
        position += len(part)
    return ceiling


def _line_start(fd: int, at: int, floor: int) -> int:
    """Where the line begins that the byte `at` is in; `floor` is the beginning of a line. Of one that is too long
    to be read, any place that leaves it so."""
    return line_start(fd, at, max(floor, at - LINE_LIMIT - BLOCK))


def marked_lines(fd: int, start: int, stop: int, marks: Sequence[bytes]) -> Iterator[Line]:
    """The lines from `start`, where one begins, up to `stop` that hold any of `marks`; of very many bytes, only the
    last `SCANNED` are searched, and where too many of those lines are damaged, only the first. The others are passed
    over without being looked into."""
    position = begun = start if stop - start <= SCANNED else _line_start(fd, stop - SCANNED, start)
    span, inside = BLOCK, False
    run = Run()
    while position < stop and not run.is_spoiled(position - begun):
        position = data_from(fd, position, stop)
        block = scan_at(fd, position, min(span, stop - position))
        if not block:
            return
        begin = block.find(b"\n") + 1 or len(block) if inside else 0
        end = len(block) if position + len(block) >= stop else block.rfind(b"\n") + 1
        if not end and span < LINE_LIMIT:
            span *= 2  # the line is longer than the block
            continue
        for low, high in _marked(block, begin, end, marks):
            METER.bytes += high - low
            READING.run = run
            yield Line(position + low, block[low:high])
        inside, span = not end, BLOCK
        position += end or len(block)


def _marked(block: bytes, begin: int, end: int, marks: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Where the lines among those from `begin` to `end` are that hold a mark."""
    found = {mark: block.find(mark, begin, end) for mark in marks}
    while (at := min((place for place in found.values() if place >= 0), default=-1)) >= 0:
        low = max(begin, block.rfind(b"\n", begin, at) + 1)
        high = block.find(b"\n", at, end)
        if high < 0:
            high = end
        yield low, high
        found = {mark: block.find(mark, high, end) if 0 <= at < high else at for mark, at in found.items()}
