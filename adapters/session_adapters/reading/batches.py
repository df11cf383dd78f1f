"""Lines of JSON decoded many at a time, for readers that look at every line and keep little of each.

What `files.lines` and a `Decoder` give one line at a time, in a third of the time: a block of whole lines goes
through the typed decoder in one call. A block in which anything is damaged is taken line by line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import msgspec

from session_adapters.reading.files import BLOCK, RecordDecoder, is_whole, lines, read_at

__all__ = ["Batch", "BatchDecoder"]

T = TypeVar("T")

_BRACE = ord("{")


class Batch(Generic[T]):
    """Records that follow each other in a file."""

    __slots__ = ("_block", "_full", "_places", "_start", "records")

    def __init__(self, records: Sequence[T], start: int, block: bytes, full: RecordDecoder[T]) -> None:
        """`block` are the lines that hold the records, the first of them at the offset `start`."""
        self.records = records
        self._start = start
        self._block = block
        self._full = full
        self._places: list[tuple[int, int]] | None = None

    def place(self, index: int) -> tuple[int, int]:
        """Offset of a record's line, and the record's number in it. Found out when it is first asked for."""
        if self._places is None:
            self._places = self._found()
        return self._places[index]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines, without what ends them, and their offsets."""
        block, at = self._block, 0
        while at < len(block):
            end = block.find(b"\n", at)
            end = len(block) if end < 0 else end
            yield self._start + at, block[at:end]
            at = end + 1

    def _found(self) -> list[tuple[int, int]]:
        block, start = self._block, self._start
        places: list[tuple[int, int]] = []
        at = 0
        while at < len(block) and block[at] == _BRACE:
            places.append((start + at, 0))
            at = block.find(b"\n", at) + 1 or len(block)
        if at >= len(block) and len(places) == len(self.records):
            return places
        # Blank lines, or lines with more than one record.
        sizes = ((start + at, len(self._full.all(data)[0])) for at, data in _cut(block))
        return [(offset, number) for offset, size in sizes for number in range(size)]


class BatchDecoder(Generic[T]):
    """Decodes whole files into records of one type."""

    def __init__(self, record: type[T], full: RecordDecoder[T]) -> None:
        """`record` may pass over fields that those have which `full` makes of lines one by one."""
        self._decode = msgspec.json.Decoder(record).decode_lines
        self._full = full

    def read(self, fd: int, stop: int) -> Iterator[Batch[T]]:
        """The records in the lines before the byte `stop`, in their order. A last line without its newline counts if
        it is whole; lines over `LINE_LIMIT` are passed over, and what cannot be read too."""
        position = 0
        while position < stop:
            block = read_at(fd, position, min(BLOCK, stop - position))
            end = block.rfind(b"\n") + 1
            if not end:
                break
            block = block[:end]
            yield from self._batches(block, position)
            position += end
        for line in lines(fd, position, stop):  # the last one; or one that fills a block, and what comes after it
            if not line.too_long and (line.complete or is_whole(line.data)):
                yield self._one(line.offset, line.data)

    def _batches(self, block: bytes, start: int) -> Iterator[Batch[T]]:
        try:
            records = self._decode(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            yield from (self._one(start + at, data) for at, data in _cut(block))
            return
        yield Batch(records, start, block, self._full)

    def _one(self, offset: int, data: bytes) -> Batch[T]:
        return Batch(self._full.all(data)[0], offset, data, self._full)


def _cut(block: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, and where they begin."""
    at = 0
    for data in block.split(b"\n"):
        if data and not data.isspace():
            yield at, data
        at += len(data) + 1
