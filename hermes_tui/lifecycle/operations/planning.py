"""Makes a plan, or refuses: reads a lane, decides, and says why.

The same code makes it for the eye and again within the transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from hermes_tui.display import counted
from hermes_tui.errors import ValidationError
from hermes_tui.lifecycle.gateway.homes import HermesHome
from hermes_tui.lifecycle.gateway.rules import READ_SCHEMA
from hermes_tui.lifecycle.lane_index.rows import StoredLanes
from hermes_tui.lifecycle.operations.draft import Draft, ended_words
from hermes_tui.lifecycle.operations.facts import LaneFacts, Surroundings, look_around, read_facts
from hermes_tui.lifecycle.operations.flags import clear, mark, old_lanes, prune
from hermes_tui.lifecycle.operations.next_message import outlook
from hermes_tui.lifecycle.operations.plan import SESSION_KINDS, Plan, Request, basis_of
from hermes_tui.lifecycle.operations.switches import reset, resume, suspend
from hermes_tui.lifecycle.recovery import AUTO_RESUME_REASONS
from hermes_tui.lifecycle.routing import recovered_lanes

__all__ = ["checked", "draw_up"]


def checked(request: Request) -> Request:
    """The request itself. Raises `ValidationError` where it makes no sense on any store."""
    if request.kind in SESSION_KINDS:
        # `--include-archived` only widens what the others choose: alone it does not say which.
        if request.kind == "prune-sessions" and not request.matching.given.keys() - {"include_archived"}:
            raise ValidationError("prune must be told which sessions: by age (`--older-than 90`), `--empty` …")
        if request.kind != "prune-sessions" and not request.session:
            raise ValidationError(f"{request.kind} needs the id of a session")
        return request
    if request.kind == "prune" and request.days <= 0:
        raise ValidationError("prune needs a number of days above 0")
    if request.kind not in ("prune", "undo") and not request.key:
        raise ValidationError(f"{request.kind} needs the key of a lane")
    if request.kind in ("resume", "undo") and not request.target:
        raise ValidationError(f"{request.kind} needs {'a session' if request.kind == 'resume' else 'an operation'}")
    if request.kind == "mark" and request.reason and request.reason not in AUTO_RESUME_REASONS:
        raise ValidationError(
            f"a resume mark's reason is one of {', '.join(AUTO_RESUME_REASONS)}, not {request.reason!r}"
        )
    return request


def draw_up(request: Request, rows: StoredLanes, home: HermesHome, proc: Path, now: datetime, new: str = "") -> Plan:
    """The plan for anything but undo. Raises `LaneNotFound`, and what `rows` raises."""
    around = look_around(rows, home, proc)
    if request.kind == "prune":
        lanes = [read_facts(rows, around, key) for key in old_lanes(around, request.days, now)]
        # With one gateway for all profiles a lane takes up sessions of any of them.
        profile = None if around.config.multiplex_profiles else around.home.profile
        entries = {one.lane.key: one.entry for one in lanes if one.entry is not None}
        draft = prune(around, lanes, request.days, recovered_lanes(rows, entries, profile))
    else:
        facts = read_facts(rows, around, request.key, request.target)
        lanes = [facts]
        draft = _draft(request, facts, now, new)
        if around.schema == READ_SCHEMA:
            draft.notes.append(
                "the database is Hermes 0.21's, of which only the source was read: by its own search for a session,"
                " tried on the planned result, the next message goes where it is said"
            )
        if not draft.refusal:
            # What Hermes itself would make of it; refused where that is not what was asked for.
            found = outlook(rows, facts, draft.changes, now)
            broken = found.breaks(draft.wanted) if draft.wanted is not None else ""
            if broken:
                other = facts.occupied.get(found.route.session_id)
                of_lane = f" of lane {other}" if other else ""
                advice = f"; {facts.around.stop_first}" if facts.around.live else ""
                draft.refusal = f"{broken}{of_lane}{advice}"
            draft.next_message = draft.next_message or found.words
    return Plan(
        request=request,
        home=str(home.path),
        mode="live" if around.live else "offline",
        expects="pending" if draft.pending else "done",
        read=tuple(_read_words(around, lanes)),
        writes=tuple(draft.writes),
        next_message=draft.next_message,
        notes=tuple(draft.notes),
        refusal=draft.refusal,
        older=tuple(draft.older),
        keys=tuple(facts.lane.key for facts in lanes),
        session_id=lanes[0].entry.session_id if len(lanes) == 1 and lanes[0].entry else "",
        becomes=draft.becomes,
        changes=draft.changes,
        basis=basis_of([facts.basis for facts in lanes], around.file.fault),
    )


def _draft(request: Request, facts: LaneFacts, now: datetime, new: str) -> Draft:
    match request.kind:
        case "reset":
            return reset(facts, now, new)
        case "suspend":
            return suspend(facts, now)
        case "resume":
            return resume(facts, now, request.target, request.force)
        case "mark":
            return mark(facts, now, request.reason or AUTO_RESUME_REASONS[0])
        case "clear":
            return clear(facts)
    raise AssertionError(request.kind)


def _read_words(around: Surroundings, lanes: Sequence[LaneFacts]) -> list[str]:
    gateway = around.gateway
    words = []
    if around.live:
        version = f", Hermes {around.rules.version}" if around.rules and around.rules.version else ""
        words.append(f"a gateway is running{version}: it keeps the lane in memory and looks at the database first")
    elif gateway.state == "stopped":
        words.append("no gateway is running")
    if len(lanes) == 1 and lanes[0].entry is not None:
        facts, entry = lanes[0], lanes[0].entry
        count = facts.row.message_count if facts.row else None
        messages = f", {counted(count, 'message')}" if count is not None else ""
        words.append(f"the lane is in session {entry.session_id}: {ended_words(facts.row)}{messages}")
        lane = facts.lane
        place = "its entry is in sessions.json"
        if lane.primary != "file":
            place = "its entry is in the database" + (", and in the mirror sessions.json" if lane.in_file else "")
            if lane.scope is not None and lane.scope != around.home.scope:  # as in a container, or a copy
                place += f", recorded for the directory {lane.scope}"
        words.append(place)
        if lane.disagreement:
            words.append(f"the two disagree: {lane.disagreement}; the database counts")
    return [word for word in words if word]
