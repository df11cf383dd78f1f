"""What a list reads of a tree-shaped session's file: all of a small one, of a large one the ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from session_adapters.files import Line, lines, open_file, read_ends
from session_adapters.tree.file import is_record
from session_adapters.tree.records import ENTRIES, SHAPES
from session_adapters.tree.tally import Tally

__all__ = ["HEAD", "REACH", "TAIL", "gather", "probe"]

HEAD = TAIL = 16 << 10
"""Bytes of a large file that a summary reads."""
REACH = 256 << 10
"""Bytes at each end beyond which the first prompt and the newest message are not looked for: an entry of settings
with the whole system prompt may stand before them, or a long result behind."""
_PROBE = 16 << 10
"""Bytes that tell whose file it is."""


def gather(path: str, tally: Tally, *, exact: bool) -> bool:
    """Feed a file, or its ends, to the tally; whether that was all of it. Raises `OSError`."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        if exact or size <= HEAD + TAIL:
            _feed(tally, lines(fd, 0, size))
            return True
        start = _feed_head(fd, size, tally)
        for span in _spans(TAIL):
            if size - span <= start:
                _feed(tally, lines(fd, start, size))
                return True
            last = read_ends(fd, size, 0, span).tail
            if span == REACH or any(_is_message(line) for line in last):
                _feed(tally, iter(last))
                break
    return False


def _feed_head(fd: int, size: int, tally: Tally) -> int:
    """Feed the beginning, up to the first prompt at least; where the first line stands that was not fed."""
    position = 0
    for span in _spans(HEAD):
        found = [line for line in lines(fd, position, min(span, size)) if line.complete]
        _feed(tally, iter(found))
        if found:
            position = found[-1].offset + len(found[-1].data) + 1
        if tally.first_prompt:
            break
    return position


def _spans(first: int) -> list[int]:
    spans = [first]
    while spans[-1] < REACH:
        spans.append(min(spans[-1] * 4, REACH))
    return spans


def _is_message(line: Line) -> bool:
    return not line.too_long and any(shape.speaker for shape in SHAPES.all(line.data)[0])


def _feed(tally: Tally, found: Iterator[Line]) -> None:
    for line in found:
        if line.too_long:
            tally.lose(f"byte {line.offset}", "the line is too long to be read")
            continue
        if not is_record(line):
            continue
        entries, lost = ENTRIES.all(line.data)
        if lost:
            tally.lose(f"byte {line.offset}", "the line is damaged")
        for entry in entries:
            tally.take(entry)


def probe(path: str) -> Tally | None:
    """The first lines of a file; None when they cannot be read."""
    tally = Tally()
    try:
        with open_file(path) as fd:
            _feed(tally, lines(fd, 0, _PROBE))
            if tally.header is None and not tally.tree:  # the first line is longer
                _feed(tally, islice(lines(fd), 2))
    except OSError:
        return None
    return tally
