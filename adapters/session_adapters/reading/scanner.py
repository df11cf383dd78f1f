"""Decodes only the lines of a file that hold a given word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import repeat
from typing import Generic, TypeVar

import msgspec

from session_adapters.reading.files import BLOCK, Decoder, lines, read_at

__all__ = ["Seeker"]

T = TypeVar("T")

_AT_ONCE = 4 * BLOCK


class Seeker(Generic[T]):
    """Finds lines and decodes them many at a time; where anything among them is damaged, one by one."""

    def __init__(self, record: type[T], wanted: bytes | re.Pattern[bytes], *, within: int | None = None) -> None:
        """`wanted`: what a line holds, a pattern no line end; with `within` it begins in the first so many bytes of
        the line, and may not stand before a place where it begins too late to count."""
        self._wanted = wanted
        self._within = within
        self._decode = msgspec.json.Decoder(record).decode_lines
        self._full = Decoder(record)

    def read(self, fd: int, stop: int) -> Iterator[tuple[T, int, int]]:
        """The records before the byte `stop`, each with the offset of its line and its number in it. A last line
        without its newline counts as far as it is written; lines over `LINE_LIMIT` are passed over."""
        position = 0
        while position < stop:
            block = read_at(fd, position, min(_AT_ONCE, stop - position))
            if position + len(block) < stop:
                block = block[: block.rfind(b"\n") + 1]
            if not block:
                break
            yield from self._records(block, position)
            position += len(block)
        for line in lines(fd, position, stop):  # from one on that fills a block
            yield from self._records(line.data, line.offset)

    def _records(self, block: bytes, start: int) -> Iterable[tuple[T, int, int]]:
        """Those in some whole lines that begin at the offset `start`."""
        offsets, found = self._cut(block, start)
        try:
            records = self._decode(b"\n".join(found))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            records = []
        if len(records) == len(found):
            return zip(records, offsets, repeat(0))
        return self._one_by_one(offsets, found)

    def _one_by_one(self, offsets: Iterable[int], found: Iterable[bytes]) -> Iterator[tuple[T, int, int]]:
        for offset, data in zip(offsets, found, strict=True):
            for number, record in enumerate(self._full.all(data)[0]):
                yield record, offset, number

    def _cut(self, block: bytes, start: int) -> tuple[list[int], list[bytes]]:
        """The lines that are wanted, and where they begin."""
        offsets: list[int] = []
        found: list[bytes] = []
        find = _finder(self._wanted, block)
        within = len(block) if self._within is None else self._within
        at = find(0)
        while at >= 0:
            begin = block.rfind(b"\n", 0, at) + 1
            end = block.find(b"\n", at)
            end = len(block) if end < 0 else end
            if at - begin <= within:
                offsets.append(start + begin)
                found.append(block[begin:end])
            at = find(end)
        return offsets, found


def _finder(wanted: bytes | re.Pattern[bytes], data: bytes) -> Callable[[int], int]:
    """What tells where it stands next in `data`, from a place on; -1 where it does not."""
    if isinstance(wanted, bytes):
        return partial(data.find, wanted)
    search = partial(wanted.search, data)
    return lambda start: found.start() if (found := search(start)) is not None else -1
