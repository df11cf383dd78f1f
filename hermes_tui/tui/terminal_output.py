"""Writing to a terminal that is slow, that must not be waited in, or that is gone.

Python's own `sys.stderr` raises in all three cases where another program has left the terminal in the mode in which
no write waits (`O_NONBLOCK`; ssh, Node and others do), and loses what did not fit.
"""

from __future__ import annotations

import io
import os
import select
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["patient"]


class _Raw(io.RawIOBase):
    """A descriptor of the terminal, which is never closed by this."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def writable(self) -> bool:
        """It is written to alone."""
        return True

    def fileno(self) -> int:
        """The descriptor."""
        return self._fd

    def write(self, data: ReadableBuffer, /) -> int:
        """All of it, however long the terminal takes; nothing to one that is gone, which others notice."""
        left = memoryview(data)
        size = len(left)
        while left:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:
                select.select([], [self._fd], [])
            except OSError:
                break
        return size


def patient(file: TextIO) -> io.TextIOWrapper:
    """What writes where `file` does, as it encodes, and raises no `OSError`."""
    return io.TextIOWrapper(io.BufferedWriter(_Raw(file.fileno())), encoding=file.encoding, errors=file.errors)
