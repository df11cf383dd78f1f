"""How much of one line or document is read: limits on single things, never on how many an honest store has."""

from __future__ import annotations

import errno
import os

__all__ = ["CROWDED", "DOCUMENT_LIMIT", "VALUES_LIMIT", "data_from", "is_crowded"]

DOCUMENT_LIMIT = 64 << 20
"""Bytes of a JSON document that is read as a whole."""
VALUES_LIMIT = 2_000_000
"""Values and keys in one line or document; with more it is not decoded. They take up to a hundred times their length
in memory, and what people and tools say is mostly text."""
CROWDED = f"it holds more than {VALUES_LIMIT:,} values"

_MARKS = b",:[{"
"""Each stands before a value or a key."""
_OTHERS = bytes(set(range(256)) - set(_MARKS))
_BLOCK = 1 << 20


def is_crowded(data: bytes) -> bool:
    """Whether there are more than `VALUES_LIMIT` values and keys in a line or document."""
    if len(data) <= VALUES_LIMIT or _marks(data) <= VALUES_LIMIT:
        return False
    found = at = inside = 0
    while at < len(data) and found <= VALUES_LIMIT:  # marks in texts count for nothing
        block = data[at : at + _BLOCK]
        at += len(block)
        if b"\\" in block:
            if (len(block) - len(block.rstrip(b"\\"))) % 2:  # it ends between a backslash and what that escapes
                block += data[at : at + 1]
                at += 1
            block = block.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = block.split(b'"')
        found += _marks(b"".join(parts[inside::2]))
        inside = (inside + len(parts) - 1) % 2
    return found > VALUES_LIMIT


def _marks(data: bytes) -> int:
    return len(data.translate(None, _OTHERS))


def data_from(fd: int, at: int, stop: int | None) -> int:
    """The first place from `at` on, up to `stop` (the end of the file if None), at which anything is stored: what
    lies before it is a hole in a sparse file. Where the system does not tell holes, that is `at`."""
    try:
        found = os.lseek(fd, at, os.SEEK_DATA)
    except AttributeError:
        return at
    except OSError as error:
        if error.errno != errno.ENXIO:
            return at
        found = os.fstat(fd).st_size if stop is None else stop  # a hole up to the end
    return max(at, found if stop is None else min(found, stop))
