"""What became of an operation: read back, not believed.

done: what was promised is seen. Beside a gateway that is the lane's next message, where it went; without one, what
stands in the store. pending: not seen yet. lost: something else happened to the lane, and the text says what.
unknown: the store no longer shows it, and nobody noted it then.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from hermes_tui.display import counted
from hermes_tui.lifecycle.gateway.homes import HermesHome
from hermes_tui.lifecycle.lane_index.loaded import IndexedLane
from hermes_tui.lifecycle.lane_index.rows import MessagePlace, StoredLanes
from hermes_tui.lifecycle.local_times import from_wall
from hermes_tui.lifecycle.operations.facts import Surroundings, look_around, read_facts
from hermes_tui.lifecycle.operations.next_message import outlook
from hermes_tui.lifecycle.operations.plan import Changes, Request
from hermes_tui.lifecycle.operations.record import AuditRecord, Evidence, Operation, OutcomeState
from hermes_tui.lifecycle.operations.sessions.tables import is_gone
from hermes_tui.lifecycle.operations.sessions.verdict import sessions_verdict
from session_adapters.model import JsonRecord
from session_adapters.times import from_epoch

__all__ = ["Outcome", "Side", "judge", "outcome_of", "side_of_file", "side_of_rows"]

Side = Literal["before", "after", "both", "neither"]
"""As it was, as it was to be; both where nothing of that kind was to change."""

Finding = tuple[OutcomeState, str, Evidence | None]


class Outcome(JsonRecord, frozen=True):
    """What became of it."""

    operation: str
    request: Request
    state: OutcomeState
    """failed: nothing was written. undone: it was taken back. replaced: another operation on the lane came before its
    next message. interrupted: the program died between the index and the rows; the next operation on that profile
    finishes it."""
    text: str
    """A clause without a full stop."""
    evidence: Evidence | None = None
    """What shows it."""
    session_id: str = ""
    """That the lane is in now."""
    home: str = ""
    profile: str = "default"
    keys: tuple[str, ...] = ()
    at: datetime | None = None
    """When the operation was begun."""
    final: bool = True
    """False: worth asking again later."""


def judge(operation: Operation, rows: StoredLanes, home: HermesHome, proc: Path, now: datetime) -> Outcome:
    """Read the store and say what holds at `now`. Raises what `rows` raises."""
    around = look_around(rows, home, proc)
    lane = next((one for one in around.lanes if one.key in operation.begun.keys), None)
    current = lane.entry.session_id if lane and lane.entry else ""
    state, text, evidence = _verdict(operation, rows, around, lane, now)
    found = outcome_of(operation, state, text, current, evidence)
    if state == "failed" and side_of_file(operation.begun.changes, around) == "after":
        text = "the program ended before the database was written; sessions.json was, the next change puts it back"
        return replace(found, text=text, final=False)
    return found


def outcome_of(
    operation: Operation, state: OutcomeState, text: str, session_id: str, evidence: Evidence | None = None
) -> Outcome:
    """That outcome of an operation, whose lane is in `session_id` now."""
    begun = operation.begun
    assert begun.request is not None  # noqa: S101 - every `begun` has one
    return Outcome(
        operation=operation.id,
        request=begun.request,
        state=state,
        text=text,
        evidence=evidence,
        session_id=session_id,
        home=begun.home,
        profile=begun.request.profile,
        keys=begun.keys,
        at=begun.at,
        final=state not in ("pending", "interrupted"),
    )


def _verdict(
    operation: Operation, rows: StoredLanes, around: Surroundings, lane: IndexedLane | None, now: datetime
) -> Finding:
    current = lane.entry.session_id if lane and lane.entry else ""
    begun, changes = operation.begun, operation.begun.changes
    if not begun.keys:
        return *sessions_verdict(operation, side_of_rows(changes, rows)), None
    stored, filed = side_of_rows(changes, rows), side_of_file(changes, around)
    if operation.applied is None:
        interrupted = _interrupted(changes, stored, filed)
        if interrupted is not None:
            return *interrupted, None
    if begun.mode == "live" and begun.request is not None and begun.request.kind != "undo":
        return _live(begun, rows, around, lane, stored, now)
    if stored in ("after", "both") and (changes.table or filed in ("after", "both")):
        return *_written(operation, around, lane), None
    return _changed(begun, rows, stored, current)


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
    if gateway.state == "running" and begun.mode == "offline":
        # One that has written the index after us, or was started after us, has taken the change.
        applied = operation.applied or begun.at
        updated = lane.table_updated if lane is not None else None
        saved = updated is not None and (
            updated > applied.timestamp() or (gateway.since is not None and gateway.since > applied)
        )
        if not saved:
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
    return "done", done.get(request.kind, "written") if request is not None else "written"


def _changed(begun: AuditRecord, rows: StoredLanes, stored: Side, current: str) -> Finding:
    """Without a gateway: the store is no longer as it was written."""
    if begun.becomes and current == begun.becomes:
        return "done", f"the lane is in {current}", None
    if begun.seen is not None and begun.request is not None and begun.request.kind in ("reset", "suspend", "resume"):
        message = rows.next_message(begun.keys[0], begun.seen, begun.session_id)
        if message is not None:
            return _shown(begun, rows, message)
        if current == begun.session_id:
            return "lost", f"a gateway that had the lane in its memory wrote it back, in {current}", None
    if stored == "before":
        return "lost", "something that had the lane in its memory wrote it back as it was before", None
    return "unknown", "the store has changed since, and what it held right after the operation was not noted", None


def _live(
    begun: AuditRecord, rows: StoredLanes, around: Surroundings, lane: IndexedLane | None, stored: Side, now: datetime
) -> Finding:
    """Beside a gateway: where did the lane's next message go?"""
    current = lane.entry.session_id if lane and lane.entry else ""
    own = begun.becomes == begun.session_id
    untouched = current == begun.session_id and stored == "after"
    if begun.seen is None and not untouched:
        return "unknown", "where the lane's next message went was not noted by the version that did this", None
    if begun.seen is not None and (own or not untouched):
        # Of a running turn that ends in the old session nothing is to be learnt.
        message = rows.next_message(begun.keys[0], begun.seen, "" if own else begun.session_id)
        if message is not None:
            return _shown(begun, rows, message)
        if current and current != begun.session_id and lane is not None and lane.entry is not None:
            # By the gateway's index, before any message is recorded there.
            evidence = Evidence(session_id=current, at=from_wall(lane.entry.updated_at))
            moved, broken = f"the gateway has moved the lane to {current}", _broken(begun, rows, current)
            if broken:
                return "lost", f"{moved}: {broken}", evidence
            return "pending", f"{moved}, where no message is recorded yet", None
    if not current:
        return "pending", "the lane has left the index; its next message is not there yet", None
    found = outlook(rows, read_facts(rows, around, begun.keys[0]), Changes(), now)
    if not untouched and found.route.session_id not in ("", begun.becomes):
        evidence = Evidence(session_id=current, at=now)
        return "lost", f"session {current} was opened again by something else", evidence
    when = "" if around.live else "once a gateway runs, "
    return "pending", f"{when}the lane's next message {found.words}", None


def _shown(begun: AuditRecord, rows: StoredLanes, message: MessagePlace) -> Finding:
    """By the message that came first."""
    went = message.session_id
    at = from_epoch(message.timestamp) if isinstance(message.timestamp, int | float) else None
    evidence = Evidence(session_id=went, message=message.id, at=at)
    broken = _broken(begun, rows, went)
    when = f", of {at.astimezone():%Y-%m-%d %H:%M}," if at is not None else ""
    text = f"the lane's next message{when} went into {went}"
    return ("lost", f"{text}: {broken}", evidence) if broken else ("done", text, evidence)


def _broken(begun: AuditRecord, rows: StoredLanes, went: str) -> str:
    """Why a lane that goes on in session `went` is not what was promised; empty if it is."""
    # What the session goes on from, nearest first; rows of a damaged store may lead in a circle.
    lineage: list[str] = []
    row = rows.session(went) if went else None
    while row is not None and row.parent_session_id and row.parent_session_id not in lineage and len(lineage) < 100:
        lineage.append(row.parent_session_id)
        row = rows.session(row.parent_session_id)
    if begun.becomes:
        if begun.becomes in (went, *lineage):
            return ""
        if begun.session_id in lineage:
            return "the old session was compressed meanwhile, and goes on there"
        return "another session than the one that was wanted"
    if went in begun.older:
        return "an older session was brought back"
    if begun.session_id in lineage:
        return "the old session was compressed meanwhile, and goes on there"
    if begun.seen is not None and rows.has_message_until(went, begun.seen):
        return "that was there before"
    return ""


def side_of_rows(changes: Changes, rows: StoredLanes) -> Side:
    """Where rows and table stand: one transaction, so all on one side or changed by others since."""
    before = after = True
    table = {(row.scope, row.key): row.entry_json for row in rows.routing()} if changes.table else {}
    for one in changes.table:
        now = table.get((one.scope, one.key))
        before, after = before and now == one.before, after and now == one.after
    for removal, was in (*((one, False) for one in changes.removed), *((one, True) for one in changes.restored)):
        gone = is_gone(rows, removal)
        before, after = before and gone is was, after and gone is not was
    for change in changes.rows:
        row = rows.session(change.session_id)
        if row is None and any(change.session_id == one.session_id for one in (*changes.removed, *changes.restored)):
            continue  # it goes, or comes back, as a whole
        for side, values in (("before", change.before), ("after", change.after)):
            if values is None or row is None:
                same = values is None and row is None
            else:  # as far as its columns are looked at here
                same = all(getattr(row, name) == value for name, value in values.items() if hasattr(row, name))
            if side == "before":
                before = before and same
            else:
                after = after and same
    return _side(before, after)


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
