"""Decompresses the old transcripts that OpenClaw packs with Zstandard.

Format: stores/openclaw FACTS.md «SQLite schema».
"""

from __future__ import annotations

import sys

__all__ = ["ZstdError", "decompress"]


class ZstdError(ValueError):
    """The text is one sentence without a full stop: why the data cannot be had."""


_FED = 64 << 10
"""Bytes that are fed at a time: what stands behind a frame is copied."""
_FRAMES = 1000
_WINDOW = 25
"""Power of two: bytes that a frame may look back, which are all kept. Writers look back 8 MB."""


def decompress(data: bytes, limit: int) -> bytes:
    """The content of all frames, of at most `limit` bytes. Raises `ZstdError`."""
    if sys.version_info >= (3, 14):  # imported here: few stores have anything packed
        from compression import zstd
    else:
        from backports import zstd
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _WINDOW}
    found: list[bytes] = []
    left, at, frames, rest = limit, 0, 0, b""
    while True:
        frame = zstd.ZstdDecompressor(options=options)
        frames += 1
        try:
            while not frame.eof:
                if frame.needs_input and not rest:
                    rest, at = data[at : at + _FED], at + _FED
                    if not rest:
                        raise ZstdError("the end of its Zstandard data is missing")
                found.append(frame.decompress(rest, left + 1))  # one byte more tells that there is more
                rest = b""
                left -= len(found[-1])
                if left < 0:
                    raise ZstdError(f"it is larger than expected ({limit} bytes)")
        except zstd.ZstdError as error:
            raise ZstdError("it is not Zstandard data, or damaged") from error
        rest = frame.unused_data
        if not rest and at >= len(data):
            return b"".join(found)
        if frames == _FRAMES:
            raise ZstdError(f"it is in more than {_FRAMES:,} pieces")
