"""What became of an operation: read back, not believed.

done: the lane is as promised. pending: beside a gateway, until the lane's next message, or until a gateway that
started at the same moment has saved. lost: something else happened to the lane, and the text says what.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from hermes_tui.display import counted
from hermes_tui.lifecycle.gateway import Gateway
from hermes_tui.lifecycle.homes import HermesHome
from hermes_tui.lifecycle.index import IndexedLane
from hermes_tui.lifecycle.operations.audit import Operation, OutcomeState
from hermes_tui.lifecycle.operations.facts import Surroundings, look_around
from hermes_tui.lifecycle.operations.plan import Changes, Request
from hermes_tui.lifecycle.rows import Rows

__all__ = ["Outcome", "Side", "judge", "outcome_of", "side_of_file", "side_of_rows"]

Side = Literal["before", "after", "both", "neither"]
"""As it was, as it was to be; both where nothing of that kind was to change."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What became of it."""

    operation: str
    request: Request
    state: OutcomeState
    """failed: nothing was written. undone: it was taken back. interrupted: the program died between the index and
    the rows; the next operation on that profile finishes it."""
    text: str
    """A clause without a full stop."""
    session_id: str = ""
    """That the lane is in now."""
    home: str = ""
    profile: str = "default"
    keys: tuple[str, ...] = ()
    at: datetime | None = None
    """When the operation was begun."""
    final: bool = True
    """False: worth asking again later."""


def judge(operation: Operation, rows: Rows, home: HermesHome, proc: Path) -> Outcome:
    """Read the store and say what holds. Raises what `rows` raises."""
    around = look_around(rows, home, proc)
    lane = next((one for one in around.lanes if one.key in operation.begun.keys), None)
    current = lane.entry.session_id if lane and lane.entry else ""
    state, text = _verdict(operation, rows, around, lane, current)
    return outcome_of(operation, state, text, current)


def outcome_of(operation: Operation, state: OutcomeState, text: str, session_id: str) -> Outcome:
    """That outcome of an operation, whose lane is in `session_id` now."""
    begun = operation.begun
    assert begun.request is not None  # noqa: S101 - every `begun` has one
    return Outcome(
        operation=operation.id,
        request=begun.request,
        state=state,
        text=text,
        session_id=session_id,
        home=begun.home,
        profile=begun.request.profile,
        keys=begun.keys,
        at=begun.at,
        final=state not in ("pending", "interrupted"),
    )


def _verdict(
    operation: Operation, rows: Rows, around: Surroundings, lane: IndexedLane | None, current: str
) -> tuple[OutcomeState, str]:
    begun, changes = operation.begun, operation.begun.changes
    stored, filed = side_of_rows(changes, rows), side_of_file(changes, around)
    if operation.applied is None:
        interrupted = _interrupted(changes, stored, filed)
        if interrupted is not None:
            return interrupted
    if begun.mode == "live" and begun.request is not None and begun.request.kind != "undo":
        return _live(operation, rows, around, current)
    if stored in ("after", "both") and (changes.table or filed in ("after", "both")):
        return _written(operation, around, lane)
    if begun.becomes and current == begun.becomes:
        return "done", f"the lane is in {current}"
    if begun.request is not None and begun.request.kind in ("prune", "undo"):
        return "lost", "the store is not as it was left: something else wrote there since"
    return "lost", f"the lane is not as it was left: it is in {current or 'no session'}"


def _interrupted(changes: Changes, stored: Side, filed: Side) -> tuple[OutcomeState, str] | None:
    """Of an operation whose process died; None where it had done everything that counts."""
    if changes.table or not changes.file:  # the database alone counts, and is one transaction
        if stored == "before":
            return "failed", "the program ended before anything was written"
        return None
    if filed == "before" and stored in ("before", "both"):
        return "failed", "the program ended before anything was written"
    if filed == "after" and stored == "before":
        return "interrupted", "the lane's entry is written and its sessions' rows are not yet"
    return None


def _written(operation: Operation, around: Surroundings, lane: IndexedLane | None) -> tuple[OutcomeState, str]:
    """Without a gateway: what was written stands there."""
    request, begun = operation.begun.request, operation.begun
    gateway = around.gateway
    if gateway.state == "running" and not _saved_since(gateway, lane, operation) and begun.mode == "offline":
        return "pending", "a gateway started at that moment; whether it took the change shows when it first saves"
    done = {
        "reset": f"the lane is in the new session {begun.becomes}",
        "suspend": "the lane is suspended",
        "resume": f"the lane is in {begun.becomes}",
        "mark": "the resume mark is set",
        "clear": "the resume mark is gone",
        "prune": f"{counted(len(begun.keys), 'lane')} gone from the index",
        "undo": "all is as it was before",
    }
    return "done", done[request.kind] if request is not None else "written"


def _saved_since(gateway: Gateway, lane: IndexedLane | None, operation: Operation) -> bool:
    """Whether a gateway that runs now has written the index after us: it has then taken the change."""
    if lane is None or lane.table_updated is None:
        return False
    applied = operation.applied or operation.begun.at
    return lane.table_updated > applied.timestamp() or (gateway.since is not None and gateway.since > applied)


def _live(operation: Operation, rows: Rows, around: Surroundings, current: str) -> tuple[OutcomeState, str]:
    """Beside a gateway: where did the lane's next message go?"""
    begun = operation.begun
    wanted = begun.becomes
    lineage = _line(rows, current)
    if wanted:
        if current == wanted or wanted in lineage:
            return "done", f"the lane is in {current}"
    elif current and current != begun.session_id:
        if current in begun.older:
            return "lost", f"the gateway brought the older session {current} back"
        if begun.session_id in lineage:
            return (
                "lost",
                f"the gateway moved the lane to {current}, which goes on from the old session (compression)",
            )
        row = rows.session(current)  # none yet: the gateway writes it right after the index
        if row is not None and (row.started_at or 0.0) + 1 < begun.at.timestamp():
            return "lost", f"the lane was moved to {current}, which was there before"
        return "done", f"the lane is in the new session {current}"
    elif not current:
        return "pending", "the lane has left the index; its next message begins a fresh session"
    if current and current != begun.session_id:
        return "lost", f"the lane was moved to {current} instead"
    stored = side_of_rows(begun.changes, rows)
    if stored != "after":
        return "lost", f"session {begun.session_id} was opened again by something else"
    what = f"goes on in {wanted}" if wanted else "begins a fresh session"
    if around.live:
        return "pending", f"the lane {what} at its next message"
    return "pending", f"the lane {what} once a gateway runs and its next message comes"


def _line(rows: Rows, session_id: str) -> list[str]:
    """What the session goes on from, nearest first."""
    found: list[str] = []
    row = rows.session(session_id) if session_id else None
    while row is not None and row.parent_session_id and row.parent_session_id not in found and len(found) < 100:
        found.append(row.parent_session_id)
        row = rows.session(row.parent_session_id)
    return found


def side_of_rows(changes: Changes, rows: Rows) -> Side:
    """Where rows and table stand: one transaction, so all on one side or changed by others since."""
    before = after = True
    table = {(row.scope, row.key): row.entry_json for row in rows.routing()} if changes.table else {}
    for one in changes.table:
        now = table.get((one.scope, one.key))
        before, after = before and now == one.before, after and now == one.after
    for change in changes.rows:
        row = rows.session(change.session_id)
        for side, values in (("before", change.before), ("after", change.after)):
            same = (row is None) if values is None else row is not None and _has(row, values)
            if side == "before":
                before = before and same
            else:
                after = after and same
    return _side(before, after)


def _has(row: object, values: object) -> bool:
    """The row has those values, as far as they are looked at here."""
    wanted = dict(values) if isinstance(values, dict) else {}
    return all(getattr(row, name) == value for name, value in wanted.items() if hasattr(row, name))


def side_of_file(changes: Changes, around: Surroundings) -> Side:
    """Where `sessions.json` stands."""
    members = around.file.members
    now = {one.key: json.dumps(members[one.key]) if one.key in members else None for one in changes.file}
    return _side(
        all(now[one.key] == one.before for one in changes.file),
        all(now[one.key] == one.after for one in changes.file),
    )


def _side(before: bool, after: bool) -> Side:
    if before and after:
        return "both"
    return "before" if before else "after" if after else "neither"
