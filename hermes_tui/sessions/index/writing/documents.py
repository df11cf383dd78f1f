"""What was said in a source, as the index wants it: message by message, with its key, its second and its words."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from hermes_tui.sessions.index.source_state import VISIBILITY
from hermes_tui.sessions.words import spaced_bytes
from session_adapters.base import Source
from session_adapters.reading.searchable import Text
from session_adapters.text import scrub

__all__ = ["NUMBERS", "Said", "keyed", "mark_of", "milliseconds", "said", "unique_key", "utf8"]

NUMBERS = {name: number for number, name in enumerate(VISIBILITY)}
"""Visibility → its number."""

Said = tuple[str, int, int | None, str, int, int, bytes]
"""Key, second, milliseconds since the epoch, role, number of visibility, mark and words of a message. Nothing but
plain values, which `marshal` takes."""


def keyed(source: Source, texts: Iterable[Text]) -> Iterator[tuple[str, int, Text]]:
    """Each text with what it is known by among those of its session, and the second that its row stands at: that of
    a message before it, where it has no time."""
    native: str | None = None
    seen = set[str]()
    second = 0
    for text in texts:
        if text.session_id != native:
            native, seen, second = text.session_id, set(), int(source.modified)
        if text.time is not None:
            second = int(text.time)
        key, number = text.message_id, 0
        while key in seen:
            number += 1
            key = unique_key(text, number)
        seen.add(key)
        yield key, second, text


def unique_key(text: Text, number: int) -> str:
    """What a message is known by among those of its session; ids may repeat."""
    return f"{text.message_id}\0{number}" if number else text.message_id


def said(key: str, second: int, text: Text) -> Said | None:
    """What was said in a message; None for nothing."""
    prose = utf8(text.prose)
    if not prose:
        return None
    number = NUMBERS.get(text.visibility, 0)
    return key, second, milliseconds(text), text.role, number, mark_of(prose), spaced_bytes(prose)


def utf8(text: str) -> bytes:
    """As FTS5 is given it; nothing for blanks."""
    if text.isspace():
        return b""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return scrub(text).encode()


def milliseconds(text: Text) -> int | None:
    """Of its time, since the epoch."""
    return None if text.time is None else round(text.time * 1000)


def mark_of(text: bytes) -> int:
    """Tells a text that is not empty from another."""
    return zlib.crc32(text) | (len(text) & 0x7FFFFFFF) << 32
