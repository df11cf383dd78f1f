"""What the model calls of a source used, as it is kept.

Of a long session never all are in memory: some calls together are MessagePack, compressed, behind the length of that
in four bytes, little-endian; then the next. They are kept as they are where a number is too large for MessagePack.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import msgspec

from session_adapters.usage import Usage, some_at_a_time

__all__ = ["CallsOf", "Packed", "PackedCalls", "packed_calls", "unpacked"]

Packed = bytes | tuple[Usage, ...]
_SIZE = 4
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(list[Usage])


class PackedCalls(NamedTuple):
    """Calls, and who made them."""

    calls: Packed
    callers: Collection[str]
    """Native ids of their sessions."""


def packed_calls(calls: Iterable[Usage]) -> PackedCalls:
    """Calls as they are kept."""
    packed = bytearray()
    callers: dict[str, None] = {}
    coming = iter(calls)
    for some in some_at_a_time(coming):
        callers.update(dict.fromkeys(call.session_id for call in some))
        try:
            part = zlib.compress(_ENCODER.encode(some), 1)
        except (OverflowError, ValueError):  # a number too large for MessagePack
            rest = (*unpacked(bytes(packed)), *some, *coming)
            return PackedCalls(rest, dict.fromkeys(call.session_id for call in rest))
        packed += len(part).to_bytes(_SIZE, "little") + part
    return PackedCalls(bytes(packed) if packed else (), callers)


def unpacked(calls: Packed | None) -> Iterator[Usage]:
    """The calls, decoded some at a time."""
    if not isinstance(calls, bytes):
        yield from calls or ()
        return
    at = 0
    while at < len(calls):
        begins = at + _SIZE
        at = begins + int.from_bytes(calls[at:begins], "little")
        yield from _DECODER.decode(zlib.decompress(calls[begins:at]))


class CallsOf:
    """Those of one session, decoded anew each time that they are gone through."""

    def __init__(self, calls: Packed | None, session_id: str) -> None:
        self._calls = calls
        self._session_id = session_id

    def __iter__(self) -> Iterator[Usage]:
        return (call for call in unpacked(self._calls) if call.session_id == self._session_id)
