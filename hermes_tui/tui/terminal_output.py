"""Writing to a terminal that is slow, that must not be waited in, or that is gone.

Python's own `sys.stderr` raises in all three cases where another program has left the terminal in the mode in which
no write waits (`O_NONBLOCK`; ssh, Node and others do), and loses what did not fit.
"""

from __future__ import annotations

import codecs
import io
import os
import select
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["patient"]

_PLAIN = dict(zip("─━│┃┌┐└┘├┤┬┴┼╭╮╰╯▸•·…–—’“”", '--||+++++++++++++>*..--\'""', strict=True))
"""What stands for signs that the encoding of the user's locale has not; a question mark for others."""
_ERRORS = "hermes_tui.in_cells"


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
    """What writes where `file` does, in its encoding, and raises no `OSError`. What that encoding has not takes as
    many columns as it would."""
    codecs.register_error(_ERRORS, _in_cells)
    return io.TextIOWrapper(io.BufferedWriter(_Raw(file.fileno())), encoding=file.encoding, errors=_ERRORS)


def _in_cells(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from rich.cells import cell_len  # not before the first picture

    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign, "?" * cell_len(sign)) for sign in missing), error.end
