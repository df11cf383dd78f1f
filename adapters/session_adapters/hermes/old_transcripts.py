"""Transcripts that Hermes kept beside its database until 0.13.

`sessions/<id>.jsonl`, a message per line.

Most repeat what the database has; some are all that is left of a session (facts: hermes.md section 1).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from session_adapters.base import SessionMissing, SessionUnreadable, Source
from session_adapters.growing.jsonl_adapter import JsonlTranscript
from session_adapters.hermes.messages import HermesConversation
from session_adapters.hermes.records import HermesMessageRow
from session_adapters.hermes.row_counts import RowCounts
from session_adapters.model import EPOCH, Message, SessionSummary
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import open_file
from session_adapters.reading.folders import file_source
from session_adapters.reading.lines import Line, lines
from session_adapters.text import one_line
from session_adapters.times import from_epoch, parse_time
from session_adapters.transcript import Builder

__all__ = ["LAYOUT", "leftover_sources", "leftover_summary", "open_leftover"]

LAYOUT = "jsonl"
PREVIEW_LENGTH = 200
_READ_LIMIT = 4 << 20
"""Bytes of a file that are read for a summary that need not be exact."""


class _Line(msgspec.Struct, frozen=True):
    """One line: a message as it went to the model."""

    role: str = ""
    content: Any = None
    tool_calls: Any = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    name: str | None = None
    timestamp: Any = None
    finish_reason: str | None = None
    reasoning: str | None = None
    model: str | None = None


_DECODER = Decoder(_Line)


def _row(line: _Line, number: int) -> HermesMessageRow:
    """The same message as a row of the database that replaced these files."""
    content = line.content
    if content is not None and not isinstance(content, str):
        content = "\x00json:" + msgspec.json.encode(content).decode()
    moment = parse_time(line.timestamp)
    return HermesMessageRow(
        id=number,
        role=line.role,
        content=content or "",
        tool_call_id=line.tool_call_id,
        tool_calls=msgspec.json.encode(line.tool_calls).decode() if line.tool_calls else None,
        tool_name=line.tool_name or line.name,
        timestamp=moment.timestamp() if moment else None,
        finish_reason=line.finish_reason,
        reasoning=line.reasoning,
        reasoning_content=None,
        reasoning_details=None,
        codex_reasoning_items=None,
        codex_message_items=None,
        observed=0,
    )


class LeftoverBuilder(Builder):
    """Turns the lines of such a file into messages; ids are byte offsets."""

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        records, lost = _DECODER.all(line.data)
        if lost:
            self.damaged.add(line.offset, "part of the line is not valid JSON")
        for record in records:
            if not record.role or record.role == "session_meta":
                continue
            one = HermesConversation(record.model)
            one.add(_row(record, line.offset))
            message = one.messages[0]
            if message.tool_result is not None:
                message = msgspec.structs.replace(message, tool_result=self.link(message.tool_result))
            self.add(message)

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """See `Builder.starts_turn`."""
        return b'"user"' in line[:200]


def leftover_sources(agent: str, root: Path, profile: str | None) -> Iterator[Source]:
    """The files under a Hermes home. Raises `OSError` for a directory that cannot be read."""
    folder = root / "sessions"
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):  # a home in which nothing was left over
        return
    with entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not entry.name.endswith(".jsonl") or entry.name.startswith("."):
                continue
            try:
                if not entry.is_file():
                    continue
                status = entry.stat()
            except OSError:  # removed meanwhile
                continue
            place = {"root": str(root), "layout": LAYOUT, "profile": profile}
            session_id = entry.name.removesuffix(".jsonl")
            yield file_source(agent, entry.path, status, session_id=session_id, **place)


def open_leftover(source: Source) -> JsonlTranscript[LeftoverBuilder]:
    """The conversation in such a file."""
    return JsonlTranscript(source.agent, source.session_id, source.path, LeftoverBuilder)


def leftover_summary(source: Source, *, exact: bool) -> SessionSummary:
    """What such a file says of its session. Raises `OSError`."""
    counts = RowCounts()
    models: list[str] = []
    times: list[datetime] = []
    stop = source.size if exact else min(source.size, _READ_LIMIT)
    with open_file(source.path) as fd:
        for line in lines(fd, 0, stop):
            if line.too_long:
                counts.damaged += 1
                continue
            records, lost = _DECODER.all(line.data)
            if lost and not line.complete:  # still being written, or the limit went through it
                continue
            counts.damaged += lost
            for record in records:
                if not record.role or record.role == "session_meta":
                    continue
                row = _row(record, line.offset)
                calls = len(record.tool_calls) if isinstance(record.tool_calls, list) else 0
                counts.feed(row.id, row.role, 1, 0, 0, row.content.encode()[:1200], calls)
                times += [moment for moment in (from_epoch(row.timestamp),) if moment]
                models += [record.model] if record.model else []
    counts.close()
    started = _started(source.session_id) or min(times, default=None) or from_epoch(source.modified) or EPOCH
    return SessionSummary(
        agent=source.agent,
        session_id=source.session_id,
        title=one_line(counts.preview),
        created_at=started,
        updated_at=max(times, default=None) or max(started, from_epoch(source.modified) or EPOCH),
        turn_count=counts.turns,
        message_count=counts.messages,
        model=models[-1] if models else None,
        models=tuple(dict.fromkeys(reversed(models))),
        tool_call_count=counts.tool_calls,
        profile=source.profile,
        preview=one_line(counts.preview, PREVIEW_LENGTH),
        partial=stop < source.size,
        path=source.path,
        size=source.size,
        warnings=counts.damaged,
        raw={"layout": LAYOUT},
    )


def _started(session_id: str) -> datetime | None:
    """The time in an id like `20261121_081005_bc005b1d`; it is local, and this machine's zone is the best guess."""
    try:
        moment = datetime.strptime(session_id[:15], "%Y%m%d_%H%M%S").astimezone()
        return from_epoch(moment.timestamp())
    except (ValueError, OverflowError, OSError):
        return None


def messages_of(source: Source) -> tuple[list[Message], int]:
    """All messages, and how many lines were damaged. Raises `SessionMissing`, `SessionUnreadable`."""
    transcript = open_leftover(source)
    while not transcript.complete and transcript.earlier():
        pass
    if not transcript.messages and transcript.problems:
        raise SessionUnreadable(f"nothing in {source.path} can be read: {transcript.problems[0].reason}")
    if not Path(source.path).exists():
        raise SessionMissing(f"{source.path} is not there any more")
    return transcript.messages, len(transcript.problems)
