"""Damage to the bytes of a database, drawn by hypothesis."""

from __future__ import annotations

import shutil
from pathlib import Path

from hypothesis import strategies as st

__all__ = ["flipped", "kept", "shuffled", "truncated"]

_PAGE = 4096


def kept(path: Path, folder: Path) -> bytes:
    """The undamaged bytes of a file, kept in `folder` over the examples of one test."""
    keep = folder / "undamaged"
    if not keep.exists():
        shutil.copyfile(path, keep)
    return keep.read_bytes()


def truncated(data: st.DataObject, whole: bytes) -> bytes:
    """Cut off at any byte."""
    return whole[: data.draw(st.integers(0, len(whole) - 1), "length")]


def flipped(data: st.DataObject, whole: bytes) -> bytes:
    """Bits flipped here and there, often in the header."""
    content = bytearray(whole)
    places = st.lists(
        st.one_of(st.integers(0, min(4095, len(whole) - 1)), st.integers(0, len(whole) - 1)), min_size=1, max_size=60
    )
    for at in data.draw(places, "bytes"):
        content[at] ^= 1 << data.draw(st.integers(0, 7), "bit")
    return bytes(content)


def shuffled(data: st.DataObject, whole: bytes) -> bytes:
    """Pages turned into NULs, or into copies of other pages."""
    content = bytearray(whole)
    pages = len(whole) // _PAGE
    for _ in range(data.draw(st.integers(1, 6), "times")):
        to, source = (data.draw(st.integers(1, pages - 1), name) for name in ("to", "from"))
        blank = data.draw(st.booleans(), "blank")
        copied = bytes(_PAGE) if blank else content[source * _PAGE : (source + 1) * _PAGE]
        content[to * _PAGE : (to + 1) * _PAGE] = copied
    return bytes(content)
