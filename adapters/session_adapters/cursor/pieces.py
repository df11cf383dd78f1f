"""Parts of messages in the shapes that Cursor's stores share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from session_adapters.attachments import made_attachment, made_from_url
from session_adapters.cursor.records import dig, word
from session_adapters.model import Attachment, Message

__all__ = ["named", "picture", "real_model"]

_NO_MODEL = frozenset({"", "default", "auto", "unknown"})


def named(unit_id: str, messages: Sequence[Message]) -> list[Message]:
    """The messages of a unit with its id, the further ones with a number behind."""
    return [replace(one, id=f"{unit_id}/{place}" if place else unit_id) for place, one in enumerate(messages)]


def real_model(value: Any) -> str | None:
    """The name of a model, unless it stands for «whichever»."""
    name = word(value).strip()
    return None if name.lower() in _NO_MODEL else name


def picture(value: Any) -> Attachment:
    """A picture or file: type, name and size, never its bytes."""
    media = next((text for key in ("mediaType", "mimeType", "mime") if (text := word(dig(value, key)))), "")
    name = next((text for key in ("filename", "name", "path") if (text := word(dig(value, key)))), "")
    data = next((text for key in ("image", "data", "url") if (text := word(dig(value, key)))), "")
    kind = "image/*" if word(dig(value, "type")) in ("", "image") else "application/octet-stream"
    if data.startswith("data:") or "://" in data[:40]:
        return made_from_url(data, media, name, otherwise=kind)
    return made_attachment(media or kind, name, data)
