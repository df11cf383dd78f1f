"""Operations on a lane's flags: mark for resume, clear the mark, drop old lanes.

All of them live in the gateway's memory: beside a running one they cannot be had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from hermes_tui.lifecycle.local_times import wall
from hermes_tui.lifecycle.operations.draft import Draft, ended_words, entry_changes
from hermes_tui.lifecycle.operations.facts import LaneFacts, Surroundings
from hermes_tui.lifecycle.operations.plan import Changes
from hermes_tui.lifecycle.operations.refusals import obstacle, surroundings_obstacle
from hermes_tui.lifecycle.recovery import AUTO_RESUME_REASONS

__all__ = ["clear", "mark", "old_lanes", "prune"]


def mark(facts: LaneFacts, now: datetime, reason: str) -> Draft:
    """The lane counts as interrupted: its conversation is kept, and goes on."""
    refusal = _live(facts.around) or obstacle(facts)
    entry = facts.entry
    if refusal or entry is None:
        return Draft(refusal=refusal)
    if entry.suspended:
        return Draft(refusal="it is suspended, and Hermes lets that win over a resume mark; reset it instead")
    if facts.row is not None and not facts.row.open:
        return Draft(
            refusal=f"its session is {ended_words(facts.row)}: a gateway drops the lane when it starts, and the mark"
            " with it"
        )
    local = wall(now)
    after = {"resume_pending": True, "resume_reason": reason, "last_resume_marked_at": local.isoformat()}
    notes = []
    if reason in AUTO_RESUME_REASONS:
        window = (
            f"within {facts.around.config.freshness / 60:.0f} minutes" if facts.around.config.freshness > 0 else ""
        )
        # Without a window two spaces would be left in its place.
        notes.append(f"a gateway that starts {window} goes on with it by itself and runs a turn".replace("  ", " "))
    return Draft(
        changes=entry_changes(facts, facts.lane.raw | after),
        writes=[f"sets the lane's resume mark, reason {reason}"],
        notes=notes,
    )


def clear(facts: LaneFacts) -> Draft:
    """The lane no longer counts as interrupted."""
    refusal = _live(facts.around) or obstacle(facts)
    entry = facts.entry
    if refusal or entry is None:
        return Draft(refusal=refusal)
    if not entry.resume_pending:
        return Draft(refusal="it has no resume mark")
    after = {"resume_pending": False, "resume_reason": None, "last_resume_marked_at": None}
    return Draft(
        changes=entry_changes(facts, facts.lane.raw | after),
        writes=["takes the lane's resume mark away"],
    )


def _live(around: Surroundings) -> str:
    if around.live:
        return (
            f"a gateway is running and keeps this in its memory, where nobody else can change it; {around.stop_first}"
        )
    return ""


def old_lanes(around: Surroundings, days: int, now: datetime) -> list[str]:
    """Keys of the lanes without activity for longer than that, as Hermes' own pruning chooses them."""
    cutoff = wall(now) - timedelta(days=days)
    return [
        lane.key
        for lane in around.lanes
        if lane.entry is not None and not lane.fault and not lane.entry.suspended and lane.entry.updated_at < cutoff
    ]


def prune(around: Surroundings, lanes: Sequence[LaneFacts], days: int, back: Mapping[str, str]) -> Draft:
    """These lanes leave the index; their sessions stay. `back`: lane → the session that it would be led to again."""
    if around.live:
        age = around.config.session_store_max_age_days
        own = f"; it drops lanes by itself after {age} days" if age else ""
        return Draft(refusal=f"a gateway is running, keeps the lanes in its memory and writes them all back{own}")
    refusal = surroundings_obstacle(around)
    if refusal:
        return Draft(refusal=refusal)
    if not lanes:
        return Draft(refusal=f"no lane was without activity for more than {days} days")
    bound = [facts.lane.key for facts in lanes if facts.bindings]
    parts = [entry_changes(facts, None) for facts in lanes]
    anew = f"{len(back)} of {len(lanes)} take up a session that was never ended, the others begin a fresh one"
    if len(back) in (0, len(lanes)):
        anew = "in a session that was never ended" if back else "in a fresh session"
    return Draft(
        changes=Changes(
            table=tuple(one for part in parts for one in part.table),
            file=tuple(one for part in parts for one in part.file),
        ),
        writes=[
            f"drops the lane {facts.lane.key}, in {facts.entry.session_id if facts.entry else 'no session'}"
            for facts in lanes
        ],
        next_message=f"makes the lane anew: {anew}",
        notes=[
            *(f"{key}: Hermes would take up {session_id} again" for key, session_id in back.items()),
            *(f"{key}: a topic of Telegram's is bound to its session and brings it back" for key in bound),
        ],
    )
