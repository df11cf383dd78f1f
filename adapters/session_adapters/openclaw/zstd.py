"""Decompressing Zstandard with the library of the system: Python has no decoder of its own before 3.14, and OpenClaw
compresses old transcripts (stores/openclaw FACTS.md «SQLite schema»)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes

__all__ = ["ZstdError", "decompress"]

_NAMES = ("libzstd.so.1", "libzstd.1.dylib", "libzstd.dll")
_START = 1 << 20
_UNKNOWN = (1 << 64) - 1
"""`ZSTD_CONTENTSIZE_UNKNOWN`; one less means an error."""

_NO_ROOM = 70
"""`ZSTD_error_dstSize_tooSmall`."""


class ZstdError(ValueError):
    """The text is one sentence without a full stop: why the data cannot be had."""


def decompress(data: bytes, limit: int) -> bytes:
    """The content of a frame, of at most `limit` bytes. Raises `ZstdError`."""
    import ctypes  # few stores have anything packed

    library = _library()
    size = library.ZSTD_getFrameContentSize(data, len(data))
    if size == _UNKNOWN - 1:
        raise ZstdError("it is not Zstandard data")
    if size != _UNKNOWN and size > limit:
        raise ZstdError(f"it is larger than expected ({size} bytes)")
    room = size if size != _UNKNOWN else min(limit, max(_START, len(data) * 8))
    while True:
        buffer = ctypes.create_string_buffer(max(1, room))
        written = library.ZSTD_decompress(buffer, room, data, len(data))
        if not library.ZSTD_isError(written):
            return buffer.raw[:written]
        if library.ZSTD_getErrorCode(written) != _NO_ROOM:
            raise ZstdError("its Zstandard data is damaged")
        if room >= limit:
            raise ZstdError(f"it is larger than expected ({limit} bytes)")
        room = min(limit, max(_START, room * 4))


@cache
def _library() -> ctypes.CDLL:
    import ctypes

    for name in _NAMES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
        library.ZSTD_getFrameContentSize.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
        library.ZSTD_decompress.restype = ctypes.c_size_t
        library.ZSTD_decompress.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
        library.ZSTD_getErrorCode.restype = ctypes.c_int
        library.ZSTD_getErrorCode.argtypes = (ctypes.c_size_t,)
        library.ZSTD_isError.restype = ctypes.c_uint
        library.ZSTD_isError.argtypes = (ctypes.c_size_t,)
        return library
    raise ZstdError("it is compressed with Zstandard, and the system has no libzstd to read it")
