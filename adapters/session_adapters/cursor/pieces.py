"""Parts of messages in the shapes that Cursor's stores share, prompts above all.

A prompt is wrapped in `<timestamp>` and `<user_query>`. The first of these is the only time that a message of the CLI
has: to the minute, in words, in a zone that is named as American English does it (FACTS.md «Four separate stores»).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from session_adapters.attachments.made import made_attachment, made_from_url
from session_adapters.cursor.records import dig, word
from session_adapters.model import Attachment, Message

__all__ = ["Asked", "asked", "named", "picture", "prompt_messages", "real_model", "tag_time"]

_TIME = re.compile(
    r"(?:\w+,\s+)?([A-Z][a-z]{2})[a-z]*\.?\s+(\d{1,2}),\s+(\d{4}),?\s+(?:at\s+)?"
    r"(\d{1,2}):(\d\d)(?::(\d\d))?\s*([AP]M)?\s*(?:\(([^()]{1,60})\))?"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+\u2212-])(\d{1,2})(?::?(\d\d))?")
_HOURS = {
    "UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "AKST": -9, "AKDT": -8, "HST": -10,
}  # fmt: skip
"""The short names that American English has; all other zones are written as an offset."""
_INJECTED = re.compile(r"\s*<(?:[a-z]+_[a-z_]+|rules)>")
"""How text begins that the program put in for itself: `<user_info>`, `<system_reminder>` …"""
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
    return made_attachment(media or kind, name, data, path=word(dig(value, "path")))


# Prompts -----------------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """A user message taken apart."""

    text: str
    """What was typed; empty where nothing was."""
    added: str
    """What the program put beside it."""
    when: datetime | None = None


def asked(text: str, zone: str | None = None) -> Asked:
    """`zone` is the session's time zone, for a time that does not name a known one."""
    when = None
    before, tag, rest = text.partition("<timestamp>")
    if tag:
        inside, end, after = rest.partition("</timestamp>")
        if end and len(inside) < 200:
            when = tag_time(inside, zone)
            text = before + after.removeprefix("\n")
    head, tag, rest = text.partition("<user_query>")
    if not tag:
        return Asked("", text.strip(), when) if _INJECTED.match(text) else Asked(text.strip("\n"), "", when)
    query, end, after = rest.rpartition("</user_query>")
    if not end:  # cut off
        query, after = after, ""
    added = "\n".join(part.strip() for part in (head, after) if part.strip())
    return Asked(query.strip("\n"), added, when)


def prompt_messages(text: str, zone: str | None = None, pictures: Sequence[Attachment] = ()) -> list[Message]:
    """What a user's message shows: what was typed, and apart from it what the program put beside that."""
    said = asked(text, zone)
    found: list[Message] = []
    if said.text or pictures or not said.added:
        found.append(Message(role="user", content=said.text, attachments=tuple(pictures), timestamp=said.when))
    if said.added:
        found.append(Message(role="user", kind="notice", content=said.added, timestamp=said.when))
    return found


def tag_time(text: str, zone: str | None = None) -> datetime | None:
    """The time in such a tag, in UTC; None where it makes no sense or its zone is not known."""
    found = _TIME.search(text)
    if found is None or found[1] not in _MONTHS:
        return None
    month, hour = _MONTHS.index(found[1]) + 1, int(found[4])
    if found[7]:
        hour = hour % 12 + (12 if found[7] == "PM" else 0)
    place = _zone(found[8]) or _zone(zone)
    try:
        moment = datetime(int(found[3]), month, int(found[2]), hour, int(found[5]), int(found[6] or 0))
        return None if place is None else moment.replace(tzinfo=place).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(name: str | None) -> tzinfo | None:
    if not name:
        return None
    if name in _HOURS:
        return timezone(timedelta(hours=_HOURS[name]))
    if found := _OFFSET.fullmatch(name.strip()):
        span = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return timezone(span if found[1] == "+" else -span) if span < timedelta(hours=24) else None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None
