"""Taking an operation back, where the store still allows it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from hermes_tui.errors import ValidationError
from hermes_tui.lifecycle.gateway.homes import HermesHome
from hermes_tui.lifecycle.lane_index.rows import StoredLanes
from hermes_tui.lifecycle.operations.facts import look_around, read_facts
from hermes_tui.lifecycle.operations.next_message import outlook
from hermes_tui.lifecycle.operations.plan import Changes, Plan, Request, basis_of
from hermes_tui.lifecycle.operations.record import Operation
from hermes_tui.lifecycle.operations.record_rules import misfit
from hermes_tui.lifecycle.operations.refusals import surroundings_obstacle
from hermes_tui.lifecycle.operations.switches import END_REASONS
from hermes_tui.lifecycle.operations.verify import Outcome, side_of_file, side_of_rows

__all__ = ["draw_up_undo"]


def draw_up_undo(
    request: Request,
    operation: Operation,
    now: Outcome,
    rows: StoredLanes,
    home: HermesHome,
    proc: Path,
    at: datetime,
) -> Plan:
    """The plan, made `at` that moment, that takes `operation` back, of which came what `now` says. Raises
    `ValidationError`, and what `rows` raises."""
    begun = operation.begun
    if begun.request is None or begun.request.kind == "undo":
        raise ValidationError(f"{operation.id} is itself an undo; do again what it took back")
    around = look_around(rows, home, proc)
    stored, filed = side_of_rows(begun.changes, rows), side_of_file(begun.changes, around)
    changes = begun.changes.inverse
    # Sessions that were made then, read only where it comes to that.
    made = (rows.session(change.session_id) for change in begun.changes.rows if change.before is None)
    found = ""
    back = f"; `lanes resume` leads it to {begun.session_id} again" if begun.session_id else ""
    refusal = surroundings_obstacle(around, switches=begun.request.kind in END_REASONS)
    if now.state in ("undone", "failed"):
        refusal = f"it is {now.state} already" if now.state == "undone" else "nothing was written then"
    elif strange := misfit(begun, rows, around):
        refusal = f"its record in the log is not of this store: {strange}"
    elif begun.mode == "live":
        if now.state != "pending":
            refusal = f"it is no longer pending ({now.text}){back}"
        elif not now.session_id:
            refusal = "the gateway was restarted and has dropped the lane since: which session it would take is open"
        elif now.session_id != begun.session_id:  # at the end of a turn it looks at the lane, too
            refusal = f"the gateway has moved the lane to {now.session_id} since{back}"
        else:
            found = outlook(rows, read_facts(rows, around, begun.keys[0]), changes, at).words
    elif around.live:
        refusal = f"a gateway has started since and keeps the lane in its memory; {around.stop_first}"
    elif stored not in ("after", "both") or filed == "neither":
        refusal = (
            f"the store is no longer as the operation left it ({now.text}): the lane was used or changed since; take"
            f" back first what `lanes log` has of that{back if now.session_id != begun.session_id else ''}"
        )
    elif used := next((row.id for row in made if row is not None and rows.has_messages(row)), ""):
        refusal = f"the session {used} that it made has been used since; `lanes resume` leads the lane back"
    return Plan(
        request=request,
        home=str(home.path),
        mode="live" if around.live else "offline",
        read=(f"{begun.request.kind} of {begun.at:%Y-%m-%d %H:%M} UTC: {now.state}, {now.text}",),
        writes=tuple(_words(begun.changes)),
        next_message=f"finds the lane as it was before{found and ', and '}{found}",
        refusal=refusal,
        keys=begun.keys,
        session_id=now.session_id,
        becomes=begun.session_id,
        changes=changes,
        basis=basis_of(begun, stored, filed, now.state, around.live),
    )


def _words(changes: Changes) -> Iterator[str]:
    """What taking these back writes."""
    for row in changes.rows:
        if row.before is None:
            yield f"removes the unused session {row.session_id}"
        else:
            reason = row.before.get("end_reason")
            yield f"{'opens' if reason is None else 'ends'} {row.session_id} as before" + (
                f" ({reason})" if reason else ""
            )
    for key in dict.fromkeys([*(one.key for one in changes.table), *(one.key for one in changes.file)]):
        yield f"writes the lane {key} as it was"
