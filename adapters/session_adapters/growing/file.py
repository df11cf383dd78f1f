"""How far a file that is appended to was read, and whether that still holds."""

from __future__ import annotations

import os
from collections.abc import Iterator

from session_adapters.reading.files import Line, lines, read_at

__all__ = ["GrowingFile"]

_CHECK = 1 << 10
"""Bytes at the beginning and before the known end that must be unchanged for the file to count as appended to."""


class GrowingFile:
    """Gives each line once. Nothing was read at first."""

    def __init__(self) -> None:
        self._file: tuple[int, int] | None = None
        self._end = 0
        self._check = (b"", b"")
        self._unterminated = False

    def goes_on(self, fd: int, status: os.stat_result) -> bool:
        """Whether the file is what was read, with perhaps more behind it. Raises `OSError`."""
        if self._file is None:
            self._file = (status.st_dev, status.st_ino)
        if (status.st_dev, status.st_ino) != self._file or status.st_size < self._end:
            return False
        if self._seen(fd, self._end) != self._check:
            return False
        # A last line that was taken without its newline must now get one.
        return not (self._unterminated and status.st_size > self._end and read_at(fd, self._end, 1) != b"\n")

    def new(self, fd: int, stop: int) -> Iterator[Line]:
        """The lines that were not given yet, up to the byte `stop`. One that is given without its end is taken; who
        does not take it says so. Raises `OSError`."""
        self._unterminated = False
        for line in lines(fd, self._end, stop):
            self._unterminated = line.offset + len(line.data) == stop
            yield line
        self._note(fd, stop)

    def leave(self, fd: int, line: Line) -> None:
        """This one, the last, was not taken: it is given again."""
        self._unterminated = False
        self._note(fd, line.offset)

    def _note(self, fd: int, end: int) -> None:
        self._end = end
        self._check = self._seen(fd, end)

    @staticmethod
    def _seen(fd: int, end: int) -> tuple[bytes, bytes]:
        span = min(_CHECK, end)
        return read_at(fd, 0, span), read_at(fd, end - span, span)
