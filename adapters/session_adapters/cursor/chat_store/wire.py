"""Parses the little of protobuf that Cursor's blobs need.

Damage costs only what lies behind it.

No schema is known; only the fields that stores/cursor FACTS.md names are looked at, by their numbers.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ChatRoot", "Wire", "read_root", "read_wire"]

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_FIELDS = 200_000
"""More are not read: one takes two bytes in a file and a hundred in memory."""
_ID_BYTES = 32
"""A blob is named by the SHA-256 of its content."""

MESSAGE_IDS, WORKSPACE, SOURCE, ZONE = 1, 9, 22, 27
"""Fields of a root blob."""
_NAMED = bytes((MESSAGE_IDS << 3 | _LENGTH, _ID_BYTES))
"""What stands before the name of a message."""


class Wire(NamedTuple):
    """The fields of a message, in order."""

    fields: list[tuple[int, int | bytes]]
    """(number, value): bytes for what has a length, else a whole number."""
    whole: bool
    """Everything could be read."""

    def all(self, number: int) -> list[bytes]:
        """Every value with a length under this number."""
        return [value for found, value in self.fields if found == number and isinstance(value, bytes)]

    def first(self, number: int) -> bytes | None:
        """The first value with a length under this number."""
        return next(iter(self.all(number)), None)

    def text(self, number: int) -> str | None:
        """The first value under this number as text; None where there is none, or it is no UTF-8."""
        value = self.first(number)
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError:
            return None


def read_wire(data: bytes) -> Wire:
    """All fields up to the first that makes no sense, or the first of too many. Never raises."""
    fields: list[tuple[int, int | bytes]] = []
    at = 0
    while at < len(data):
        if len(fields) == _FIELDS:
            return Wire(fields, whole=False)
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            return Wire(fields, whole=False)
        value: int | bytes
        if kind == _VARINT:
            value, at = _varint(data, at)
        elif kind == _LENGTH:
            size, start = _varint(data, at)
            at = start + size
            value = data[start:at]
        elif kind in (_FIXED32, _FIXED64):
            start, at = at, at + (4 if kind == _FIXED32 else 8)
            value = int.from_bytes(data[start:at], "little")
        else:
            return Wire(fields, whole=False)
        if at > len(data):
            return Wire(fields, whole=False)
        fields.append((number, value))
    return Wire(fields, whole=True)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends; an end beyond `data` where it is cut off or too long."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    return 0, len(data) + 1


class ChatRoot(NamedTuple):
    """What a conversation's root says."""

    ids: list[str]
    """Names of the blobs of its messages, in order."""
    workspace: str | None
    """URI of the directory."""
    source: str | None
    zone: str | None
    """Name of the time zone."""
    whole: bool


def read_root(data: bytes) -> ChatRoot:
    """The root in a blob (FACTS.md «Four separate stores» 1)."""
    # It begins with the names of ten thousand messages, each of which takes as long as a field of any kind.
    at, step = 0, len(_NAMED) + _ID_BYTES
    while data.startswith(_NAMED, at) and at + step <= len(data) and at < _FIELDS * step:
        at += step
    wire = read_wire(data[at:])
    names = wire.all(MESSAGE_IDS)
    ids = [data[end - _ID_BYTES : end].hex() for end in range(step, at + 1, step)]
    ids += [name.hex() for name in names if len(name) == _ID_BYTES]
    return ChatRoot(
        ids=ids,
        workspace=wire.text(WORKSPACE),
        source=wire.text(SOURCE),
        zone=wire.text(ZONE),
        whole=wire.whole and all(len(name) == _ID_BYTES for name in names),
    )
