"""Damage to the bytes of a database or of a file of lines, drawn by hypothesis."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

__all__ = ["LINE_DAMAGE", "flipped", "kept", "shuffled", "truncated"]

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


# Files of lines ----------------------------------------------------------------------------------------------


def _flip(position: int, bit: int) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        at = position % len(data)
        return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]

    return damage


def _put(position: int, junk: bytes, remove: int) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        at = position % len(data)
        return data[:at] + junk + data[at + remove :]

    return damage


def _repeat(first: int, count: int) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        at = first % len(lines)
        return b"".join([*lines[: at + 1], *lines[at : at + count], *lines[at + 1 :]])

    return damage


_JUNK = [b"\x00" * 512, b"\xff\xfe", b"\xef\xbb\xbf", b"\\ud800", b"\n"]
_PLACE = st.integers(0, 1 << 20)
LINE_DAMAGE: st.SearchStrategy[Callable[[bytes], bytes]] = st.one_of(
    st.builds(_flip, _PLACE, st.integers(0, 7)),
    st.builds(lambda at: lambda data: data[: at % len(data)], _PLACE),  # truncated
    st.builds(_put, _PLACE, st.sampled_from(_JUNK), st.just(0)),
    st.builds(_put, _PLACE, st.binary(max_size=20), st.integers(0, 3000)),
    st.builds(_repeat, st.integers(0, 50), st.integers(1, 3)),
    st.just(lambda data: data.replace(b"\n{", b"{")),  # all lines glued
    st.just(lambda data: data.replace(b'"usage":{', b'"usage":[{').replace(b'"content":', b'"content":{},"x":')),
    st.just(lambda data: b""),
    st.just(lambda data: b"\x00" * len(data)),
)  # fmt: skip
"""Something done to the bytes of a file of JSON."""


def spoil_page(path: Path, text: bytes) -> None:
    """Overwrite the head of the page on which `text` first stands."""
    content = bytearray(path.read_bytes())
    page = content.index(text) // _PAGE * _PAGE
    content[page : page + 8] = b"\xff" * 8
    path.write_bytes(content)
