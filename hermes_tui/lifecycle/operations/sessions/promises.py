"""Keeps a promise that waits for a lane's next message from being broken.

An operation beside a gateway has said where that message goes. Until it comes, no operation on sessions takes that
session away, or opens or puts back one that Hermes would take up in its place.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from hermes_tui.errors import LaneNotFound, OperationRefused
from hermes_tui.lifecycle.gateway.homes import HermesHome
from hermes_tui.lifecycle.lane_index.rows import StoredLanes
from hermes_tui.lifecycle.operations.facts import look_around, read_facts
from hermes_tui.lifecycle.operations.history import OperationHistory, read_lanes
from hermes_tui.lifecycle.operations.next_message import outlook
from hermes_tui.lifecycle.operations.plan import Changes, Plan, RowChange
from hermes_tui.lifecycle.operations.record import AuditRecord
from hermes_tui.lifecycle.operations.sessions.kept_rows import KeptRows

__all__ = ["broken_promise"]


def broken_promise(
    plan: Plan, history: OperationHistory, kept: KeptRows, home: HermesHome, proc: Path, now: datetime
) -> str:
    """Which operation speaks against the plan, in a clause; empty if none does. Raises `StoreError`."""
    request = plan.request
    if plan.keys or request.kind == "rename":  # of a lane: it comes in the place of what waits
        return ""
    gone = {request.session, *(one.session_id for one in plan.changes.removed)}
    # What of the plan changes where Hermes looks for a session: ends, and sessions that are put back.
    ended = [one for one in plan.changes.rows if "ended_at" in (one.after or {})]
    try:
        if any("sessions" in one.tables for one in plan.changes.restored):
            for session_id, row in kept.sessions(request.target).items():
                ended.append(RowChange(session_id=session_id, after=row))
        changes = Changes(rows=tuple(ended))
    except OperationRefused:  # nothing can be put back, which is said elsewhere
        changes = Changes()
    for one in history.history().operations:
        begun = one.begun
        if one.outcome is not None or begun.home != plan.home or not begun.keys:
            continue  # settled, of another profile, or of sessions, which promise nothing of a message
        taken = bool(begun.becomes) and begun.becomes in gone
        if not taken and changes:
            taken = read_lanes(home, partial(_leads_astray, begun, changes, home, proc, now))
        if taken and history.judged(one).state == "pending":
            kind = begun.request.kind if begun.request else "operation"
            return f"{kind} {one.id} of lane {begun.keys[0]} waits for its next message; undo that first"
    return ""


def _leads_astray(
    begun: AuditRecord, changes: Changes, home: HermesHome, proc: Path, now: datetime, rows: StoredLanes
) -> bool:
    """Whether the lane's next message goes where it was promised now, and would not after the changes."""
    around = look_around(rows, home, proc)
    try:
        facts = read_facts(rows, around, begun.keys[0])
    except LaneNotFound:
        return False
    if facts.entry is None or outlook(rows, facts, Changes(), now).breaks(begun.becomes):
        return False
    # One that is there is not put back: the plan of an undo is refused for that.
    there = {one.session_id for one in changes.rows if one.before is None and rows.session(one.session_id)}
    new = replace(changes, rows=tuple(one for one in changes.rows if one.session_id not in there))
    return bool(outlook(rows, facts, new, now).breaks(begun.becomes))
