"""Rules out files by their raw bytes, so that a search parses only a few.

Where a store writes plain JSON, a run of ASCII letters and digits stands in the file as it stands in the text. What
stands in its way is looked for too: `\\u0041` for `A`, accents that a search takes no notice of, numbers that JSON
writes in another way than people, words that the adapter says of its own accord, parts that are in another file.
Wherever one of them is found, the answer is «may be».
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection

import msgspec

from session_adapters.reading.bounds import data_from
from session_adapters.reading.files import open_file, read_at

__all__ = ["Verbatim", "may_hold"]

_BLOCK = 256 << 10
"""Bytes looked at at a time. More are no faster, and up to three copies of them are there at once."""
_OVERLAP = 256
"""Bytes that two blocks share: longer than any needle and any escape."""
_ASCII = bytes(range(128))
_ACCENTS = (
    *(bytes([lead]) for lead in (*range(0xC3, 0xC9), 0xCC)),
    b"\xe1\xb8",
    b"\xe1\xb9",
    b"\xe1\xba",
    b"\xe1\xbb",
)
"""How UTF-8 begins the characters that fold to ASCII letters or are left out, with the two below."""
_SIGNS = (b"\xe2\x84\xaa", b"\xe2\x84\xab")
_ESCAPED = re.compile(rb"\\u(?:00(?:3[0-9]|[46][1-9a-f]|[57][0-9a]|[cdef][0-9a-f])|0[123]|1e|212[ab])")
"""In lower case: ASCII letters and digits, and accented ones."""
_NUMBER = re.compile(rb"[:,\[]\s*-?[0-9]+(?:\.[0-9]{16}|\.?[0-9]*e|[0-9]{15}\.)")
"""A number that may be written in another way than Python writes it."""
_NUMERIC = re.compile(rb"[0-9]*(?:e?[0-9]+|e|i|in|inf)?")


class Verbatim(msgspec.Struct, frozen=True, kw_only=True):
    """A promise: every ASCII word of a source's texts stands in its file, but for these."""

    suffix: str = ".jsonl"
    """Files of another name promise nothing."""
    own: frozenset[bytes] = frozenset()
    """Words that the adapter itself puts into texts, in lower case."""
    unless: tuple[bytes, ...] = ()
    """Bytes, in lower case, that tell that a part of the conversation may be in another file."""


def may_hold(path: str, needles: Collection[bytes], promise: Verbatim) -> bool:
    """Whether a text in the file may hold one of `needles`: runs of ASCII letters and digits in lower case, or other
    bytes of which it is known that they stand there as they are.

    Where this is false none does. Raises `OSError`.
    """
    if not path.endswith(promise.suffix) or any(needle in word for needle in needles for word in promise.own):
        return True
    if not needles or max(map(len, needles)) > _OVERLAP:
        return True
    letters = any(needle.isalnum() for needle in needles)
    numeric = any(_NUMERIC.fullmatch(needle) for needle in needles)
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        at = 0
        while (at := data_from(fd, at, size) if size > _BLOCK else at) < size:
            block = read_at(fd, at, min(_BLOCK + _OVERLAP, size - at))  # room for more would be made, and let go
            if not block:
                break
            if _may_hold(block.lower(), needles, promise, letters, numeric):
                return True
            at += _BLOCK
    return False


def _may_hold(block: bytes, needles: Collection[bytes], promise: Verbatim, letters: bool, numeric: bool) -> bool:
    if any(needle in block for needle in needles) or any(mark in block for mark in promise.unless):
        return True
    if not letters:
        return False
    if b"\\u" in block and _ESCAPED.search(block):
        return True
    if not block.isascii():
        rest = block.translate(None, _ASCII)
        if any(mark in rest for mark in _ACCENTS) or any(mark in block for mark in _SIGNS):
            return True
    return numeric and _NUMBER.search(block) is not None
