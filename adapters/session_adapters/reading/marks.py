"""How far a session in a database was read, as a text that is kept: `SessionTexts.mark`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from zlib import crc32

__all__ = ["mark_of", "unchanged"]


def mark_of(parts: Iterable[object]) -> str:
    """Another one when any of the parts is: what tells of each message whether it was written again."""
    count = check = 0
    for part in parts:
        count += 1
        check = crc32(repr(part).encode("utf-8", "replace"), check)
    return f"{count} {check}"


def unchanged(mark: str, parts: Sequence[object]) -> int:
    """How many of the parts, from the first on, were there when the mark was made; 0 where one of those differs."""
    count = mark.partition(" ")[0]
    known = int(count) if count.isdecimal() else 0
    return known if known <= len(parts) and mark_of(islice(parts, known)) == mark else 0
