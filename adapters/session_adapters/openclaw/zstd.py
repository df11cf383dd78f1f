"""Decompressing Zstandard: OpenClaw compresses old transcripts (stores/openclaw FACTS.md «SQLite schema»)."""

from __future__ import annotations

import sys

__all__ = ["ZstdError", "decompress"]


class ZstdError(ValueError):
    """The text is one sentence without a full stop: why the data cannot be had."""


def decompress(data: bytes, limit: int) -> bytes:
    """The content of all frames, of at most `limit` bytes. Raises `ZstdError`."""
    if sys.version_info >= (3, 14):  # imported here: few stores have anything packed
        from compression import zstd
    else:
        from backports import zstd
    found, rest = bytearray(), data
    while True:
        frame = zstd.ZstdDecompressor()
        try:
            found += frame.decompress(rest, limit + 1 - len(found))
        except zstd.ZstdError as error:
            raise ZstdError("it is not Zstandard data, or damaged") from error
        if len(found) > limit:
            raise ZstdError(f"it is larger than expected ({limit} bytes)")
        if not frame.eof:
            raise ZstdError("the end of its Zstandard data is missing")
        rest = frame.unused_data
        if not rest:
            return bytes(found)
