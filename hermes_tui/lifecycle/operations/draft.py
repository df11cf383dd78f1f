"""Building blocks of plans: refusals, changes of entries and rows, wording."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from hermes_tui.lifecycle.gateway.rules import newer_schema
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow
from hermes_tui.lifecycle.operations.facts import LaneFacts, Surroundings
from hermes_tui.lifecycle.operations.plan import Cell, Changes, FileChange, RowChange, TableChange

__all__ = [
    "NEW_ROW",
    "PEER",
    "Draft",
    "closing",
    "ended_words",
    "entry_changes",
    "new_row",
    "obstacle",
    "peer_values",
    "surroundings_obstacle",
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


def surroundings_obstacle(around: Surroundings) -> str:
    """Why no lane of that home can be changed now, whatever it is; empty if it can."""
    gateway = around.gateway
    if gateway.state == "unknown":
        return f"whether a gateway runs cannot be told ({gateway.reason}), and beside one the change could be lost"
    if not around.live and around.file.fault:
        return f"{around.home.index_file} may not be rewritten: {around.file.fault}; repair it or move it away first"
    rules = around.rules
    if not around.live and (newer := newer_schema(around.schema)):
        return f"{newer}: what a gateway of that version would make of it is not known"
    if around.live and (rules is None or rules.verdict != "proven"):
        why = rules.reason if rules else "its version is not known"
        return f"a gateway is running and {why}: what is changed beside it would be lost; {around.stop_first}"
    return ""


def obstacle(facts: LaneFacts) -> str:
    """Why this lane cannot be changed now; empty if it can."""
    general = surroundings_obstacle(facts.around)
    if general:
        return general
    if facts.lane.fault or facts.entry is None:
        return f"what is kept for the lane cannot be understood: {facts.lane.fault}"
    if facts.bindings:
        return "a topic of Telegram's is bound to it for good, and would bring its session back"
    if facts.around.live and facts.lane.primary == "file":
        return "a gateway is running and does not know this lane: it is only in sessions.json"
    if facts.around.live and facts.entry.origin is None:
        unknown = "where the lane's messages come from is not recorded"
        return f"a gateway is running, and {unknown}; {facts.around.stop_first}"
    return ""


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
