"""Splits files at newlines into lines, in bounded memory.

A line may be 100 GB long (of which a sparse file keeps nothing), hold NULs, half a record, or none at all, and there
may be millions of them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from session_adapters.reading.bounds import data_from
from session_adapters.reading.files import open_file, read_at

__all__ = [
    "BLOCK",
    "DAMAGED_LINES",
    "JUNK",
    "LINE_LIMIT",
    "PASSED_OVER_LIMIT",
    "PATIENCE",
    "READING",
    "SHORT_LINES",
    "STRAYS",
    "Line",
    "Run",
    "is_unfinished",
    "is_whole",
    "line_start",
    "lines",
]

BLOCK = 128 << 10
"""Bytes that are read at a time: of a megabyte, two more would be held as its lines, and it is no faster."""
LINE_LIMIT = 32 << 20
"""Bytes. A longer line is passed over and reported; it is never held in memory as a whole. Requests to models, with
all their images, are not larger."""
PASSED_OVER_LIMIT = 1 << 30
"""Bytes of one line that are passed over. What stands behind so many is not looked at, and belongs to the line."""

SHORT_LINES, _SHORT = 20_000, 200
"""So many lines may be of less than so many bytes; what follows in the file is not read. Records are longer as a
rule, and each takes microseconds however short or damaged it is."""

PATIENCE = 60.0
"""Seconds after which a last line without newline, or half a file, waits for its writer no longer."""

JUNK = b"\x00 \t\r\n\xef\xbb\xbf"
"""What may stand around a record: NUL runs after a power cut, blanks, a byte order mark."""

STRAYS = 1000
"""Lines without a record, one after the other, that are given one by one: of millions each would be noted."""

DAMAGED_LINES, _DAMAGED = 10_000, 8_000
"""So many lines may be damaged, and one more for each so many bytes."""


class Line(NamedTuple):
    """One line of a file."""

    offset: int
    data: bytes
    """Without the newline; empty when `too_long`."""
    complete: bool = True
    """It ends with a newline. Only the last one may not: a writer is in the middle of it. Half a record at the end of
    a file that nobody has written to for a minute counts as complete: it is damaged."""
    too_long: int = 0
    """Where it is too long to be read: how many bytes it has; 1 where its ends were not looked for."""
    more: int = 0
    """Where it stands for lines without a record that follow `STRAYS` such lines: how many; `too_long` are their
    bytes."""
    rest: bool = False
    """It stands for all that follows, of a file that has too many lines."""

    @property
    def excess(self) -> str:
        """Why a line that is `too_long` is not read."""
        if self.more:
            return f"{self.more:,} more lines without a record"
        size = f" ({self.too_long:,} bytes)" if self.too_long > 1 else ""
        if self.rest:
            return f"the rest of the file is not read, for it has too many short or damaged lines{size}"
        return f"the line is too long to be read{size}"


class Run:
    """Lines that are read one after the other; among them those without a record that follow each other."""

    def __init__(self) -> None:
        self.damaged = 0
        """Lines of which a decoder had not everything."""
        self.length = 0
        """Of lines without a record, the last ones."""
        self.start = 0
        """Where those begin that are over `STRAYS`."""

    def is_spoiled(self, size: int) -> bool:
        """So many lines are damaged, in so many bytes, that what follows is not read: several decoders try such a
        line one after the other."""
        return self.damaged > DAMAGED_LINES + size // _DAMAGED

    def pass_over(self, part: bytes) -> int:
        """Bytes of whole lines without a record that `part` begins with, when there were many before. Blank ones
        among them count."""
        if self.length <= STRAYS:
            return 0
        brace = part.find(b"{")
        end = part.rfind(b"\n", 0, brace if brace >= 0 else None) + 1
        self.length += part.count(b"\n", 0, end)
        return end

    def ended(self, offset: int) -> Iterator[Line]:
        """What stands for those that were left out, up to the offset."""
        more, self.length = self.length - STRAYS, 0
        if more > 0:
            yield Line(self.start, b"", too_long=offset - self.start, more=more)


class _Reading(threading.local):
    """What this thread reads."""

    def __init__(self) -> None:
        self.run = Run()
        """The lines that were asked for last: decoders say there what is damaged."""


READING = _Reading()


class _Anything(msgspec.Struct):
    """An object; its fields are passed over."""


_OBJECT = msgspec.json.Decoder(_Anything).decode


def lines(fd: int, start: int = 0, stop: int | None = None) -> Iterator[Line]:
    """The lines from `start`, which must be the beginning of one, up to the byte `stop` (the end of the file if
    None). Blank lines are left out. A line over `LINE_LIMIT` comes as `too_long`, in bounded memory, and so does the
    `rest` of a file that has very many short or damaged ones."""
    offset = start
    pending: list[bytes] = []
    held = 0
    skipping = False
    position = start
    run = Run()
    given, allowed = 0, SHORT_LINES
    while stop is None or position < stop:
        stored = data_from(fd, position, stop)
        if skipping or stored - position > LINE_LIMIT - held:
            position, pending, skipping = stored, [], True
        part = read_at(fd, position, BLOCK if stop is None else min(BLOCK, stop - position))
        if not part:
            break
        if position == offset and (passed := run.pass_over(part)):
            position = offset = position + passed
            continue
        allowed += len(part) // _SHORT
        if run.is_spoiled(position - start):
            yield from run.ended(offset)
            yield _rest(fd, offset, stop)
            return
        READING.run = run
        pieces = part.split(b"\n")
        rest = pieces.pop()
        if pieces:  # a line ends in this block
            if skipping:
                end = position + len(pieces.pop(0))
                yield from run.ended(offset)
                yield Line(offset, b"", too_long=end - offset)
                offset = end + 1
            elif pending:
                pieces[0] = b"".join((*pending, pieces[0]))
            pending, held, skipping = [], 0, False
        for data in pieces:
            if data[:1] == b"{" or b"{" in data:
                if run.length:
                    yield from run.ended(offset)
                if given == allowed:
                    yield _rest(fd, offset, stop)
                    return
                given += 1
                # Millions of them: without the call of a constructor.
                yield tuple.__new__(Line, (offset, data, True, 0, 0, False))
            elif data.strip(JUNK):
                run.length += 1
                if run.length <= STRAYS:
                    run.start = offset + len(data) + 1
                    yield Line(offset, data)
            offset += len(data) + 1
        position += len(part)
        held += len(rest)
        if held > LINE_LIMIT:
            pending, skipping = [], True
            if held > PASSED_OVER_LIMIT:
                position = os.fstat(fd).st_size if stop is None else stop
                break
        elif not skipping and rest:
            pending.append(rest)
    yield from run.ended(offset)
    if skipping:
        complete = held > PASSED_OVER_LIMIT or _is_left(fd, position)
        yield Line(offset, b"", complete=complete, too_long=position - offset)
    elif (data := b"".join(pending)).strip(JUNK):
        yield Line(offset, data, complete=_is_left(fd, position) and not is_whole(data))


def _rest(fd: int, offset: int, stop: int | None) -> Line:
    size = os.fstat(fd).st_size if stop is None else stop
    return Line(offset, b"", too_long=size - offset, rest=True)


def line_start(fd: int, at: int, floor: int = 0) -> int:
    """Where the line begins that the byte before `at` is in; `floor`, where one begins, if none does behind it. Holes
    are not read, and of one line no more than `lines` passes over: it is said to begin at `floor` then."""
    span, passed = 4 << 10, 0
    while at > floor and passed <= PASSED_OVER_LIMIT:
        low = max(floor, at - span)
        if data_from(fd, low, at) >= at:
            at, span = low, span * 2
        elif span > BLOCK:
            span = BLOCK
        else:
            found = read_at(fd, low, at - low).rfind(b"\n")
            if found >= 0:
                return low + found + 1
            passed += at - low
            at, span = low, min(span * 2, BLOCK)
    return floor


def _is_left(fd: int, end: int) -> bool:
    """Whether the file ends there and nobody has written to it lately: nothing more comes of its last line."""
    status = os.fstat(fd)
    return status.st_size <= end and time.time() - status.st_mtime > PATIENCE


def is_unfinished(path: str | Path) -> bool:
    """Whether the last line of a file has no newline. Raises `OSError`."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        return bool(size) and read_at(fd, size - 1, 1) != b"\n"


def is_whole(data: bytes) -> bool:
    """Whether `data` is one JSON object from beginning to end: a last line that only lacks its newline."""
    try:
        _OBJECT(data.strip(JUNK))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
