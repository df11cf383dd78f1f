"""Building blocks of plans: changes of entries and rows, wording."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow
from hermes_tui.lifecycle.operations.facts import LaneFacts
from hermes_tui.lifecycle.operations.plan import Cell, Changes, FileChange, RowChange, TableChange

__all__ = [
    "NEW_ROW",
    "PEER",
    "Draft",
    "closing",
    "ended_words",
    "entry_changes",
    "new_row",
    "peer_values",
]

_PEER = ("session_key", "source", "user_id", "chat_id", "chat_type", "thread_id")
PEER = frozenset((*_PEER, "origin_json", "display_name"))
"""Columns by which Hermes finds a lane's sessions: those that `peer_values` may have."""
NEW_ROW = PEER | {"id", "started_at", "profile_name"}
"""Columns that `new_row` may have."""


class Draft(msgspec.Struct, kw_only=True):
    """What one kind of operation makes of the facts; `Plan` says what each is."""

    refusal: str = ""
    changes: Changes = Changes()
    writes: list[str] = []
    next_message: str = ""
    """Empty: as Hermes decides on what is written."""
    notes: list[str] = []
    older: list[str] = []
    becomes: str = ""
    wanted: str | None = None
    """The session in which the next message must be, empty for a fresh one; None: whatever it is, it is said."""
    pending: bool = False


def entry_changes(facts: LaneFacts, after: Mapping[str, Any] | None) -> Changes:
    """The lane's entry in both places becomes `after`; None: it is dropped. The mirror follows the table."""
    lane = facts.lane
    written = None if after is None else json.dumps(after)
    table = (
        (TableChange(scope=lane.scope or "", key=lane.key, before=lane.table, after=written),)
        if lane.table is not None
        else ()
    )
    before = json.dumps(lane.file)
    file = (FileChange(key=lane.key, before=before, after=written),) if lane.in_file and before != written else ()
    return Changes(table=table, file=file)


def closing(rows: Iterable[LaneSessionRow], now: datetime, reason: str) -> list[RowChange]:
    """The rows ended now, for that reason."""
    after: dict[str, Cell] = {"ended_at": now.timestamp(), "end_reason": reason}
    return [
        RowChange(
            session_id=row.id, before={"ended_at": row.ended_at, "end_reason": row.end_reason}, after=dict(after)
        )
        for row in rows
    ]


def peer_values(entry: SessionEntry, key: str) -> dict[str, Any]:
    """The columns by which Hermes finds a lane's sessions."""
    origin = entry.origin
    values: dict[str, Any] = dict.fromkeys(_PEER)
    values |= {"session_key": key, "source": entry.platform or (origin.platform if origin else None) or "unknown"}
    if origin is not None:
        names = ("user_id", "chat_id", "chat_type", "thread_id")
        values |= {name: getattr(origin, name) for name in names}
        values["origin_json"] = json.dumps(origin.to_dict())
    if entry.display_name:
        values["display_name"] = entry.display_name
    return values


def new_row(entry: SessionEntry, key: str, now: datetime, columns: frozenset[str]) -> RowChange:
    """The row of a new session of the lane."""
    values = {"id": entry.session_id, "started_at": now.timestamp(), **peer_values(entry, key)}
    if entry.origin is not None:
        values["profile_name"] = entry.origin.profile
    return RowChange(session_id=entry.session_id, after={name: values[name] for name in values if name in columns})


def ended_words(row: LaneSessionRow | None) -> str:
    """`open`, `ended (idle)`, `no row in the database`."""
    if row is None:
        return "no row in the database"
    return "open" if row.open else f"ended ({row.end_reason})"
