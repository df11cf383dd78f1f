"""Makes attachments, and keeps the bytes of those that somebody asks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from threading import local
from urllib.parse import unquote_to_bytes

from session_adapters.attachments.base64_text import decoded, decoded_size
from session_adapters.attachments.image_header import dimensions
from session_adapters.attachments.outside import file_place
from session_adapters.model import Attachment

__all__ = ["Kept", "keeping", "made_attachment", "made_from_url"]

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?([^,]{0,200}),", re.IGNORECASE)


class Kept:
    """The bytes of attachments that were made since it was asked for them."""

    def __init__(self, wanted: Collection[Attachment]) -> None:
        self._wanted = frozenset(wanted)
        self._found: dict[int, tuple[Attachment, str, bool]] = {}

    def note(self, made: Attachment, data: str, *, is_base64: bool) -> None:
        """Keep this if it may be wanted."""
        if made in self._wanted:
            # By identity: others may be equal and have bytes of their own. Held, so that none comes to have its id.
            self._found[id(made)] = made, data, is_base64

    def take(self, made: Attachment) -> bytes | None:
        """The bytes of this very one, once; None where its record has none that can be read."""
        found = self._found.pop(id(made), None)
        if found is None:
            return None
        _, data, is_base64 = found
        return decoded(data) if is_base64 else unquote_to_bytes(data)


class _Here(local):
    kept: Kept | None = None


_here = _Here()


@contextmanager
def keeping(wanted: Collection[Attachment]) -> Iterator[Kept]:
    """Keeps the bytes of every attachment like one of `wanted` that this thread makes inside the block."""
    before, _here.kept = _here.kept, Kept(wanted)
    try:
        yield _here.kept
    finally:
        _here.kept = before


def made_attachment(
    media_type: str, name: str = "", data: object = "", *, is_base64: bool = True, path: str = ""
) -> Attachment:
    """An attachment whose bytes stand in its record as `data`: base64 text, or percent-encoded (RFC 2397); where they
    do not, perhaps in a file at `path`."""
    text = data if isinstance(data, str) else ""
    size = decoded_size(text) if is_base64 else len(text)
    width, height = dimensions(text) if text and is_base64 else (0, 0)
    place = "" if text else file_place(path)
    made = Attachment(media_type=media_type, name=name, size=size, width=width, height=height, place=place)
    if text and _here.kept is not None:
        _here.kept.note(made, text, is_base64=is_base64)
    return made


def made_from_url(url: str, media_type: str = "", name: str = "", *, otherwise: str = "image/*") -> Attachment:
    """An attachment at a `data:` URL (RFC 2397), else at an address, which is its name then where it has none.
    `otherwise` is its media type where neither says one."""
    found = _DATA_URL.match(url)
    if found is None:
        return Attachment(media_type=media_type or otherwise, name=name or url[:500], place=file_place(url))
    encoded = found[2].lower().endswith(";base64")
    return made_attachment(media_type or found[1] or otherwise, name, url[found.end() :], is_base64=encoded)
