"""Base64 as agents write it: with or without `=`, in either alphabet."""

from __future__ import annotations

import binascii
from base64 import b64decode

__all__ = ["decoded", "decoded_size", "part_of"]

_PLAIN = str.maketrans({"-": "+", "_": "/", "=": None, "\r": None, "\n": None, " ": None})


def decoded_size(base64: str) -> int:
    """Bytes that it stands for."""
    return max(0, len(base64) * 3 // 4 - base64[-2:].count("=")) if base64.endswith("=") else len(base64) * 3 // 4


def decoded(base64: str) -> bytes | None:
    """What base64 stands for, also without the `=` at its end or in the alphabet for addresses."""
    plain = base64.translate(_PLAIN)
    try:
        return b64decode(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return None


def part_of(base64: str, start: int, size: int) -> bytes:
    """Some of the bytes; fewer where there are no more, or no base64."""
    first, last = start // 3 * 4, -(-(start + size) // 3) * 4
    return (decoded(base64[first:last]) or b"")[start % 3 : start % 3 + size]
