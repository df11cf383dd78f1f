"""Reads a Codex rollout's header: its id, its fork, where its own lines begin.

Format: stores/codex FACTS.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import NamedTuple

from msgspec import Struct

from session_adapters.codex.records import LINE, PROBE, Payload
from session_adapters.model import SessionKind
from session_adapters.reading.files import read_at
from session_adapters.reading.lines import Line, lines
from session_adapters.times import from_iso, from_millis

__all__ = [
    "CodexRelation",
    "RolloutHead",
    "base_stop",
    "identify",
    "is_rollout",
    "is_uuid",
    "name_id",
    "own_start",
    "relation_of",
]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_STARTED = re.compile(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-")
_PAUSE = timedelta(milliseconds=500)
"""A parent's lines are copied in one go; a person needs longer to go on."""


def is_uuid(text: str) -> bool:
    """Whether `text` is an id of Codex' own."""
    return _UUID.fullmatch(text) is not None


def is_rollout(path: str) -> bool:
    """Whether the name is one that Codex gives; spec 004's layout is `<session-id>.jsonl`."""
    return path.startswith("rollout-", path.rfind("/") + 1)  # asked of every file at every look


def name_id(path: str) -> str:
    """The session id that a file name tells: the uuid at its end, or the stem in spec 004's layout, or none."""
    stem = os.path.splitext(path[path.rfind("/") + 1 :])[0]  # noqa: PTH122  (asked of every file at every look)
    if is_uuid(stem[-36:]):
        return stem[-36:]
    return "" if is_rollout(path) else stem


class RolloutHead(NamedTuple):
    """The records before the first item."""

    session_id: str
    meta: Payload
    """The session's own; empty where it is lost."""
    bare: bool = False
    """Generation 1, or spec 004's layout."""
    copied: str = ""
    """Id of the session whose lines stand first in the file, for forks before 0.149."""
    named_at: datetime | None = None
    """When it was begun, by the file's name; looked at where the header does not say."""


def identify(first_lines: Iterable[Line], path: str) -> RolloutHead:
    """The id is that of the FIRST `session_meta`: in an old fork the parent's comes second. Codex finds rollouts by
    the uuid in their name, so where the two differ (damage, a copy under another name) the name tells."""
    named = name_id(path)
    expected = named or PurePath(path).stem
    meta: Payload | None = None
    bare, copied = False, ""
    for offset, record in ((line.offset, record) for line in first_lines for record in LINE.all(line.data)[0]):
        found = record.payload if record.type == "session_meta" else None
        if (
            found is None
            and meta is None
            and record.type is None
            and record.record_type is None
            and record.payload is None
            and record.id
        ):
            meta, bare = record, True
        elif found is None:
            break
        elif meta is None and (offset == 0 or found.id == expected):
            meta = found
        elif found.id and not copied and (meta is None or found.id != meta.id):
            copied = found.id
    own = meta if meta is not None else Payload()
    session_id = own.id or expected
    if is_uuid(named) or (bare and not is_rollout(path)):
        session_id = named
    return RolloutHead(session_id, own, bare, copied, None if own.timestamp else _name_time(path, named))


def _name_time(path: str, named: str) -> datetime | None:
    """When the rollout was begun: by the time in its UUID, else by the local time that its name begins with."""
    if born := _uuid_time(named):
        return from_millis(born)
    written = _STARTED.match(path, path.rfind("/") + 1)
    try:
        return datetime.strptime(written[1], "%Y-%m-%dT%H-%M-%S").astimezone(UTC) if written else None
    except ValueError:  # digits that are no date
        return None


class CodexRelation(Struct, frozen=True, kw_only=True):
    """How a session came from another."""

    kind: SessionKind = "session"
    parent_id: str | None = None
    forked_from: str | None = None


def relation_of(head: RolloutHead) -> CodexRelation:
    """Sub-agents (also guardians and reviews) name their parent; keys that are null say nothing."""
    meta = head.meta
    forked = meta.forked_from_id or head.copied or (meta.history_base.thread_id if meta.history_base else None)
    helper = meta.source.get("subagent") if isinstance(meta.source, dict) else None
    spawn = helper.get("thread_spawn") if isinstance(helper, dict) else None
    parent = meta.parent_thread_id or (spawn.get("parent_thread_id") if isinstance(spawn, dict) else None)
    thread = meta.thread_source or ""
    if parent or helper or thread.startswith(("subagent", "guardian")):
        root = meta.session_id if meta.session_id != head.session_id else None
        above = parent if isinstance(parent, str) and parent else root or forked
        return CodexRelation(kind="subagent", parent_id=above or None, forked_from=forked or None)
    if forked:
        return CodexRelation(kind="fork", parent_id=forked, forked_from=forked)
    return CodexRelation()


def own_start(all_lines: Iterable[Line], head: RolloutHead) -> int:
    """Where the session's own lines begin in a file that starts with a copy of its parent's; the end of the lines
    when it has none yet.

    The copy is written in one go, its lines stamped with the fork's time or left with their old ones. The own part
    begins after a pause, or with a turn whose id (a UUID of version 7, which holds a time) is not older than the
    session.
    """
    created = from_iso(head.meta.timestamp)
    born = _uuid_time(head.session_id)
    previous: datetime | None = None
    run: int | None = None
    end = 0
    for line in all_lines:
        end = line.offset + len(line.data) + 1
        try:
            probe = PROBE.one(line.data)
        except ValueError:  # damaged: reading the session says so
            continue
        payload = probe.payload
        if probe.type == "session_meta" or payload is None:
            continue
        when = from_iso(probe.timestamp)
        if when is not None and previous is not None:
            came_back = created is not None and previous < created <= when
            if came_back or when - previous >= _PAUSE:
                return line.offset
        previous = when or previous
        turn = _uuid_time(payload.turn_id or "") if probe.type in ("turn_context", "event_msg") else 0
        if turn and born and turn >= born:
            return line.offset if run is None else run
        if payload.role in ("user", "developer"):
            run = line.offset if run is None else run
        elif payload.type not in ("user_message", "item_completed"):
            run = None
    return end


def _uuid_time(text: str) -> int:
    """Milliseconds since the epoch in a UUID of version 7, else 0."""
    return int(text[:8] + text[9:13], 16) if is_uuid(text) and text[14] == "7" else 0


def base_stop(fd: int, size: int, limit: int | None, hint: int | None) -> int:
    """Where the lines below the ordinal `limit` end in a file of `size` bytes. `hint` is a byte offset that is taken
    when it stands at a line whose ordinal agrees; without a `limit` it is all there is."""
    if limit is None:
        return size if hint is None else max(0, min(hint, size))
    if hint is not None and 0 < hint <= size and _agrees(fd, size, limit, hint):
        return hint
    for line in lines(fd, 0, size):
        ordinal = _ordinal(line)
        if ordinal is not None and ordinal >= limit:
            return line.offset
    return size


def _agrees(fd: int, size: int, limit: int, hint: int) -> bool:
    if read_at(fd, hint - 1, 1) != b"\n":
        return False
    low = max(0, hint - (64 << 10))
    before = [line for line in lines(fd, low, hint) if line.offset > low or low == 0]
    above = _ordinal(before[-1]) if before else None
    if above is None or above != limit - 1:
        return False
    if hint == size:
        return True
    below = next(iter(lines(fd, hint, min(size, hint + (64 << 10)))), None)
    ordinal = _ordinal(below) if below is not None and below.complete else None
    return ordinal is not None and ordinal >= limit


def _ordinal(line: Line) -> int | None:
    try:
        return PROBE.one(line.data).ordinal
    except ValueError:
        return None
