"""What a picture's first bytes say: its type, its width and height.

Formats: PNG (RFC 2083, IHDR), GIF89a, JPEG (T.81, SOF) and WebP (RFC 9649).
"""

from __future__ import annotations

from session_adapters.attachments.base64_text import part_of

__all__ = ["dimensions", "image_type"]

_SEGMENTS = 200
"""Of a JPEG, that are passed over until its size is found."""
_NO_SIZE = (0xC4, 0xC8, 0xCC)
"""Among the markers from C0 to CF those that begin no frame: tables, and one that is reserved."""


def image_type(data: bytes) -> str:
    """The media type of a picture that every browser shows, by its first bytes; empty for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def dimensions(base64: str) -> tuple[int, int]:
    """Width and height in pixels; zeros where the beginning does not say. Decodes a few bytes, wherever they are."""
    head = part_of(base64, 0, 30)
    match image_type(head):
        case "image/png" if head[12:16] == b"IHDR" and len(head) >= 24:
            return _number(head[16:20]), _number(head[20:24])
        case "image/gif" if len(head) >= 10:
            return _little(head[6:8]), _little(head[8:10])
        case "image/webp" if len(head) == 30 and head[12:16] == b"VP8X":
            return _little(head[24:27]) + 1, _little(head[27:30]) + 1
        case "image/webp" if len(head) == 30 and head[12:16] == b"VP8L":
            bits = _little(head[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case "image/webp" if len(head) == 30 and head[12:16] == b"VP8 ":
            return _little(head[26:28]) & 0x3FFF, _little(head[28:30]) & 0x3FFF
        case "image/jpeg":
            # The size that the first frame names: behind segments, each with its length.
            at = 2
            for _ in range(_SEGMENTS):
                head = part_of(base64, at, 9)
                if len(head) < 9 or head[0] != 0xFF:
                    break
                if 0xC0 <= head[1] <= 0xCF and head[1] not in _NO_SIZE:
                    return _number(head[7:9]), _number(head[5:7])
                at += 1 if head[1] == 0xFF else 2 + _number(head[2:4])  # fill bytes may precede a marker
    return 0, 0


def _number(part: bytes) -> int:
    return int.from_bytes(part, "big")


def _little(part: bytes) -> int:
    return int.from_bytes(part, "little")
