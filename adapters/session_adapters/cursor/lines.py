"""Reads agent transcripts in lines of JSON.

They hold what was said and which tools were called, without ids, results, models or tokens. A removed thought is
marked in the text. Format: FACTS.md «Four separate stores» 2.
"""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from session_adapters.base import Source
from session_adapters.cursor.facts import CursorFacts
from session_adapters.cursor.pieces import named, picture, prompt_messages
from session_adapters.cursor.places import TEXT, is_helper, logged_directory
from session_adapters.cursor.records import LINE, TranscriptLine, as_json, decoded, dig, items, word
from session_adapters.cursor.summary import CursorFold
from session_adapters.model import Message, MessageKind, Role, ToolCall
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.ends import marked_lines, read_ends
from session_adapters.reading.files import open_file
from session_adapters.reading.lines import Line, is_whole, lines
from session_adapters.text import scrub
from session_adapters.transcript import Builder

__all__ = ["LineBuilder", "count_lines", "transcript_facts"]

HEAD = TAIL = 16 << 10
"""Bytes at the beginning and the end that are read for a list."""
_MARKS = (b'"user"',)
"""Lines between them that are read, too: nothing but a prompt has a time."""
_REDACTED = "[REDACTED]"
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}


class LineBuilder(Builder):
    """Turns the lines into messages, named by their place in the file."""

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        records, lost = LINE.all(line.data)
        if lost:
            self.damaged.add(line.offset, "a part of the line is not valid JSON")
        for place, record in enumerate(records):
            key = f"@{line.offset}.{place}" if place else f"@{line.offset}"
            for message in named(key, _messages(key, record)):
                self.add(message)

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """See `Builder.starts_turn`."""
        return b'"user"' in line[:40]

    def settled(self) -> int:
        """See `Builder.settled`: no line is about another."""
        return len(self.messages)


def _messages(key: str, record: TranscriptLine) -> list[Message]:
    role = _ROLES.get(word(record.role))
    if role is None:
        return _event(record)
    content = dig(record.message, "content")
    content = content if content is not None else record.content
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
    text = "\n".join(filter(None, (word(dig(part, "text")) for part in parts if dig(part, "type") == "text")))
    others = [part for part in parts if dig(part, "type") not in ("text", "tool_use", "image")]
    found = prompt_messages(text) if role == "user" else [_said(key, role, text, parts)]
    pictures = tuple(picture(part) for part in parts if dig(part, "type") == "image")
    if pictures:
        found[0] = replace(found[0], attachments=pictures)
    return found + [Message(role=role, kind="notice", content=as_json(part)) for part in others]


def _said(key: str, role: Role, text: str, parts: list[Any]) -> Message:
    kept = [line for line in text.split("\n") if line != _REDACTED]
    removed = role == "assistant" and len(kept) <= text.count("\n")
    calls = tuple(
        ToolCall(
            tool_call_id=word(dig(part, "id")) or f"{key}-{place}",
            tool_name=word(dig(part, "name")),
            input=decoded(dig(part, "input")),
        )
        for place, part in enumerate(parts)
        if dig(part, "type") == "tool_use"
    )
    kind: MessageKind = "notice" if role == "system" else "message"
    return Message(
        role=role,
        kind=kind,
        content="\n".join(kept).rstrip() if removed else text,
        thinking=_REDACTED if removed else None,
        tool_calls=calls,
    )


def _event(record: TranscriptLine) -> list[Message]:
    """How a turn ended, where that is worth a word; a record that is not known."""
    kind = word(record.kind)
    if kind != "turn_ended":
        rest = {"type": record.kind, "status": record.status, "message": record.message, "content": record.content}
        return [Message(role="system", kind="notice", content=as_json({k: v for k, v in rest.items() if v}))]
    status = word(record.status)
    words = word(record.error) or (as_json(record.error) if record.error else status)
    if status in ("success", "completed", "") and not record.error:
        return []
    stopped = "abort" in f"{status} {words}".lower() or "cancel" in f"{status} {words}".lower()
    return [Message(role="system", kind="notice" if stopped else "error", content=words)]


# Summaries ---------------------------------------------------------------------------------------------------


def transcript_facts(source: Source, fold: CursorFold) -> CursorFacts:
    """What the place of a transcript says of it. Where no message has a time, that of the file stands in."""
    path = Path(source.path)
    place = next((parent for parent in path.parents if parent.name == "agent-transcripts"), None)
    return CursorFacts(
        id=source.session_id,
        kind="text" if source.layout == TEXT else "transcript",
        cwd=logged_directory(place.parent) if place else None,
        parent_id=scrub(path.parents[1].name) if is_helper(source) else None,
        updated=source.modified * 1000 if fold.newest is None else None,
    )


def count_lines(source: Source, *, exact: bool) -> tuple[CursorFold, Damage]:
    """The counts, and what is damaged; without `exact` from the ends of a long file. Raises `OSError`."""
    fold = CursorFold()
    damaged = Damage()
    with open_file(source.path) as fd:
        size = os.fstat(fd).st_size
        if exact:
            for line in lines(fd, 0, size):
                _add(fold, line, damaged)
        else:
            ends = read_ends(fd, size, HEAD, TAIL)
            fold.partial = not ends.whole
            for line in chain(ends.head, marked_lines(fd, *ends.gap, _MARKS), ends.tail):
                _add(fold, line, damaged)
    fold.warnings = len(damaged)
    return fold, damaged


def _add(fold: CursorFold, line: Line, damaged: Damage) -> None:
    if not line.complete and not is_whole(line.data):
        return  # still being written
    builder = LineBuilder()
    builder.damaged = damaged
    builder.give(line)
    fold.add(builder.messages)
