"""Parses lines into events, damaged ones included.

Records glued to half of another, and records that go over several lines because a newline stands raw in a string
(FACTS.md, «Torn files»).
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from session_adapters.copilot.records import DATA, Event, HelperStarted
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.decoding import Decoder, has_text_keys
from session_adapters.reading.lines import Line
from session_adapters.times import parse_time

__all__ = ["TORN", "CopilotEvent", "EventReader", "is_prompt"]

_DECODE = msgspec.json.Decoder(Event).decode
_ANY: Decoder[dict[str, Any]] = Decoder(dict)
_BEGIN = re.compile(rb'\{"type": ?"(?:abort|[a-z]+\.[a-z_.]+)"')
"""How an event begins; not so in a string, where quotes are escaped, nor in one's data, whose types have no dot."""
_JOINED = 8 << 20
"""Bytes of a record over several lines."""
_ORPHANS = 1000
"""Lines at the beginning of a page, at most, that may be the rest of one record."""
_EFFORT = 64 << 20
"""Bytes looked at, at most, to find the end of one."""

TORN = "not a record, or only part of one, could be read"
OTHER_FORM = "the record has another form than expected"


class CopilotEvent(NamedTuple):
    """An event of a type that is read."""

    type: str
    id: str
    """The event's own, or one made from its place."""
    key: str
    """The event's own id; empty when it has none."""
    time: datetime | None
    agent: str
    """The helper whose event it is; empty for the session itself."""
    data: Any
    """One of the structs in `records.DATA`."""


class _Torn:
    """A record whose end has not come yet."""

    def __init__(self, data: bytes, offset: int, end: int) -> None:
        self.data = data
        self.offset = offset
        self.end = end
        """Where the next line begins."""
        self.effort = _EFFORT


class EventReader:
    """Reads lines in file order."""

    def __init__(self) -> None:
        self.damaged = Damage()
        self.torn: _Torn | None = None
        self.orphans: set[int] = set()
        """Offsets of lines at the very beginning that may be the rest of a record above."""
        self._began = False

    def feed(self, line: Line) -> list[CopilotEvent]:
        """The events that are complete with this line."""
        try:
            events, lost = [_DECODE(line.data)], False
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            events, lost = _rescue(line.data)
        if not lost:
            self._began, self.torn = True, None
            if not has_text_keys(line.data):
                self.damaged.add(line.offset, OTHER_FORM)
            return self._read(events, line.offset)
        if self.torn is not None and not events and not _BEGIN.search(line.data):
            return self._go_on(self.torn, line)
        self.torn = None
        if events or self._began or _BEGIN.search(line.data) or len(self.orphans) > _ORPHANS:
            self._began = True
        else:
            self.orphans.add(line.offset)
        self.damaged.add(line.offset, TORN)
        start = max((match.start() for match in _BEGIN.finditer(line.data)), default=-1)
        if start >= 0 and _rescue(line.data[start:])[1]:
            self.torn = _Torn(line.data[start:], line.offset, line.offset + len(line.data) + 1)
        return self._read(events, line.offset)

    def _go_on(self, torn: _Torn, line: Line) -> list[CopilotEvent]:
        blank = line.offset - torn.end  # lines that are blank are left out by `lines`
        length = len(torn.data) + blank + 1 + len(line.data)
        torn.effort -= length
        if length > _JOINED or torn.effort < 0:
            self.torn = None
            return []
        torn.data = b"".join((torn.data, b"\n" * (blank + 1), line.data))
        torn.end = line.offset + len(line.data) + 1
        if not line.data.rstrip(b"\x00 \t\r").endswith(b"}"):
            return []
        try:
            event = _from_value(_ANY.one(torn.data))
        except ValueError:
            return []
        self.torn = None
        if event is None:
            return []
        self.damaged.discard(torn.offset, TORN)
        return self._read([event], torn.offset)

    def _read(self, events: list[Event], offset: int) -> list[CopilotEvent]:
        found: list[CopilotEvent] = []
        for number, event in enumerate(events):
            decoder = DATA.get(event.type)
            if decoder is None:
                if _is_stray(event):
                    self.damaged.add(offset, "a message in an event of an unknown type")
                continue
            try:
                data = decoder.one(bytes(event.data))
            except ValueError:
                self.damaged.add(offset, OTHER_FORM)
                continue
            place = f"@{offset}.{number}" if number else f"@{offset}"
            agent = event.agent_id or data.parent_tool_call_id or ""
            if isinstance(data, HelperStarted) and event.agent_id is None:
                agent = data.tool_call_id or ""
            time = parse_time(event.timestamp)
            found.append(CopilotEvent(event.type, event.id or place, event.id or "", time, agent, data))
        return found


class _Spoken(msgspec.Struct):
    role: str | None = None
    content: Any = None


_SPOKEN = Decoder(_Spoken)


def _is_stray(event: Event) -> bool:
    """Whether an event that is not read holds a message. The program's instructions and what it noted of requests
    (`system.message`, `model.*`) are not the conversation, or repeat it."""
    data = bytes(event.data)
    if b'"role"' not in data or event.type.startswith(("model.", "system.")):
        return False
    try:
        found = _SPOKEN.one(data)
    except ValueError:
        return False
    return bool(found.role and found.content)


def is_prompt(line: bytes) -> bool:
    """Whether a line is what the user said."""
    if b'"user.message"' not in line:
        return False
    try:
        events = [_DECODE(line)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        events = _rescue(line)[0]
    return bool(events) and events[0].type == "user.message" and events[0].agent_id is None


def _rescue(data: bytes) -> tuple[list[Event], bool]:
    """The events in a line that is not simply one, and whether something of it was lost."""
    values, lost = _ANY.all(data)
    events = [event for event in map(_from_value, values) if event is not None]
    return events, lost or len(events) < len(values)


def _from_value(value: dict[str, Any]) -> Event | None:
    """The event in a decoded object; None when it is none."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return None
    try:
        raw = msgspec.json.encode(value.get("data"))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    names = {name: value.get(name) for name in ("id", "agentId")}
    texts = {name: text if isinstance(text, str) else None for name, text in names.items()}
    stamp = value.get("timestamp")
    time = stamp if isinstance(stamp, str | int | float) and not isinstance(stamp, bool) else None
    return Event(type=kind, data=msgspec.Raw(raw), id=texts["id"], timestamp=time, agent_id=texts["agentId"])
