"""Takes an operation on sessions back, where the store still allows it."""

from __future__ import annotations

from pathlib import Path

from hermes_tui.display import counted
from hermes_tui.errors import OperationRefused, ValidationError
from hermes_tui.lifecycle.gateway.homes import HermesHome
from hermes_tui.lifecycle.lane_index.rows import StoredLanes
from hermes_tui.lifecycle.operations.facts import Surroundings, look_around
from hermes_tui.lifecycle.operations.plan import Changes, Plan, Request, basis_of
from hermes_tui.lifecycle.operations.record import Operation
from hermes_tui.lifecycle.operations.sessions.kept_rows import KeptRows
from hermes_tui.lifecycle.operations.sessions.planning import held_by_gateway
from hermes_tui.lifecycle.operations.verify import Outcome, side_of_rows

__all__ = ["draw_up_sessions_undo"]


def draw_up_sessions_undo(
    request: Request,
    operation: Operation,
    now: Outcome,
    rows: StoredLanes,
    home: HermesHome,
    proc: Path,
    kept: KeptRows,
) -> Plan:
    """The plan that takes `operation` back, of which came what `now` says. Raises `ValidationError`, and what `rows`
    raises."""
    begun = operation.begun
    if begun.request is None or begun.request.kind == "undo":
        raise ValidationError(f"{operation.id} is itself an undo; do again what it took back")
    around, changes = look_around(rows, home, proc), begun.changes.inverse
    refusal = ""
    if now.state == "undone":
        refusal = "it is undone already"
    elif now.state != "done":
        refusal = f"it is {now.state} ({now.text})"
    elif side_of_rows(begun.changes, rows) not in ("after", "both"):
        refusal = "the store is no longer as the operation left it"
    writes: list[str] = []
    if changes.restored:
        messages = sum(one.tables.get("messages", 0) for one in changes.restored)
        sessions = sum("sessions" in one.tables for one in changes.restored)
        writes.append(f"puts back {counted(sessions, 'session')} and {counted(messages, 'message')}")
    for row in changes.rows:
        values = ", ".join(f"{name} {value!r}" for name, value in (row.after or {}).items())
        writes.append(f"writes {row.session_id} as it was: {values}")
    return Plan(
        request=request,
        home=str(home.path),
        mode="live" if around.live else "offline",
        read=(f"{begun.request.kind} of {begun.at:%Y-%m-%d %H:%M} UTC: {now.state}, {now.text}",),
        writes=tuple(writes),
        refusal=refusal or _obstacle(operation, changes, rows, around, kept),
        session_id=begun.session_id,
        changes=changes,
        basis=basis_of(begun, now.state, around.live),
    )


def _obstacle(operation: Operation, changes: Changes, rows: StoredLanes, around: Surroundings, kept: KeptRows) -> str:
    """Why the store does not allow it; empty if it does."""
    for row in changes.rows:
        now = rows.session(row.session_id)
        if now is None and not any(one.session_id == row.session_id for one in changes.restored):
            return f"session {row.session_id} is gone since"
        held = held_by_gateway(around).get(row.session_id) if "ended_at" in (row.after or {}) else None
        if held:
            return f"a gateway is running and lane {held} is in {row.session_id}; {around.stop_first}"
    for one in changes.restored:
        if ("sessions" in one.tables) is (rows.session(one.session_id) is not None):
            return f"session {one.session_id} is {'there again' if 'sessions' in one.tables else 'gone since'}"
    try:
        titles = kept.titles(operation.id) if any("sessions" in one.tables for one in changes.restored) else {}
    except OperationRefused as error:
        return str(error)
    for session_id, title in titles.items():
        for (holder,) in rows.select("SELECT id FROM sessions WHERE title = ?", (title,)):
            return f"session {holder} has the title of {session_id} now; rename that first"
    return ""
