"""How far a file that is appended to was read, and whether that still holds."""

from __future__ import annotations

import os
from collections.abc import Iterator

from session_adapters.reading.files import read_at
from session_adapters.reading.lines import Line, lines

__all__ = ["GrowingFile"]

_HEAD, _TAIL = 384, 64
"""Bytes at the beginning and before the known end that must be unchanged for the file to count as appended to."""


class GrowingFile:
    """Gives each line once."""

    def __init__(self, fd: int, start: int = 0, *, head: int = _HEAD) -> None:
        """Of the open file `fd` nothing was read from the byte `start` on. `head`: bytes at its beginning that are
        never written over. Raises `OSError`."""
        status = os.fstat(fd)
        self._file = (status.st_dev, status.st_ino)
        self.end = start
        """Up to where it was read."""
        self._head = self._tail = b""
        self._head_size = head
        self._unterminated = False

    def goes_on(self, fd: int, status: os.stat_result) -> bool:
        """Whether the file is what was read, with perhaps more behind it. Raises `OSError`."""
        if (status.st_dev, status.st_ino) != self._file or status.st_size < self.end:
            return False
        if read_at(fd, self.end - len(self._tail), len(self._tail)) != self._tail:
            return False
        if read_at(fd, 0, len(self._head)) != self._head:
            return False
        # A last line that was taken without its newline must now get one.
        return not (self._unterminated and status.st_size > self.end and read_at(fd, self.end, 1) != b"\n")

    def new(self, fd: int, stop: int) -> Iterator[Line]:
        """The lines that were not given yet, up to the byte `stop`. One that is given without its end is taken; who
        does not take it says so. Raises `OSError`."""
        self._unterminated = False
        for line in lines(fd, self.end, stop):
            self._unterminated = line.offset + len(line.data) == stop
            yield line
        self._note(fd, stop)

    def leave(self, fd: int, line: Line) -> None:
        """This one, the last, was not taken: it is given again."""
        self._unterminated = False
        self._note(fd, line.offset)

    def _note(self, fd: int, end: int) -> None:
        self.end = end
        self._tail = read_at(fd, max(0, end - _TAIL), min(_TAIL, end))
        if len(self._head) < min(self._head_size, end):
            self._head = read_at(fd, 0, min(self._head_size, end))
        if len(self._tail) < min(_TAIL, end):
            self._file = (-1, -1)  # cut short while it was read: what stands there later is something else
