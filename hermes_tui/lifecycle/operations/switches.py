"""Operations that give a lane another session: reset, suspend and resume.

Without a gateway the entry is rewritten as Hermes itself would do it. Beside one the entry is the gateway's, in its
memory; but before it routes a message it looks whether the session's row has an end, and takes the newest session
that it may bring back, or a new one. So all of those are closed together, except the one that is wanted: to end the
current one alone would resurrect an older conversation (facts on Hermes, section 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from hermes_tui.display import counted
from hermes_tui.errors import EntryError
from hermes_tui.lifecycle.gateway.configuration import settings_since
from hermes_tui.lifecycle.gateway.rules import UNSURE
from hermes_tui.lifecycle.lane_index.entry import SessionEntry, check_session_id
from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow
from hermes_tui.lifecycle.local_times import wall
from hermes_tui.lifecycle.operations.draft import Draft, closing, ended_words, entry_changes, new_row, peer_values
from hermes_tui.lifecycle.operations.facts import LaneFacts
from hermes_tui.lifecycle.operations.plan import Changes, RowChange
from hermes_tui.lifecycle.operations.refusals import obstacle
from hermes_tui.lifecycle.state_db.recoverable import rule_of

__all__ = ["END_REASONS", "FRESH", "reset", "resume", "suspend"]

END_REASONS = {"reset": "session_reset", "suspend": "suspended", "resume": "session_switch"}
"""Operation → why the sessions end that it closes."""
_ROWLESS = "the lane's session has no row that could be ended"
FRESH = {
    "last_prompt_tokens": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_read_tokens": 0,
    "cache_write_tokens": 0,
    "total_tokens": 0,
    "estimated_cost_usd": 0.0,
    "cost_status": "unknown",
    "expiry_finalized": False,
    "suspended": False,
    "resume_pending": False,
    "resume_reason": None,
    "last_resume_marked_at": None,
    "is_fresh_reset": False,
    "was_auto_reset": False,
    "auto_reset_reason": None,
    "reset_had_activity": False,
    "model_override": None,
}
"""Members of an entry that belong to the conversation, not to the lane."""


def reset(facts: LaneFacts, now: datetime, new: str = "") -> Draft:
    """The next message finds a new, empty conversation; `new` is its id, if one was chosen before."""
    refusal = obstacle(facts, switches=True)
    if refusal or facts.entry is None:
        return Draft(refusal=refusal)
    if facts.around.live:
        return _close_all(facts, now, END_REASONS["reset"])
    local = wall(now)
    new = new or f"{local:%Y%m%d_%H%M%S}_{uuid4().hex[:8]}"
    entry = _renewed(facts.entry, new, local).changed(is_fresh_reset=True)
    closed = _closable(facts)
    rows = (*closing(closed, now, END_REASONS["reset"]), new_row(entry, facts.lane.key, now, facts.around.columns))
    changes = entry_changes(facts, entry.to_dict())
    older = [row.id for row in closed if row.id != facts.entry.session_id]
    return Draft(
        changes=Changes(rows=rows, table=changes.table, file=changes.file),
        writes=[
            *_closing_words(facts, closed, END_REASONS["reset"]),
            f"makes the session {new} and leads the lane to it",
        ],
        next_message=f"goes into the new session {new}, which knows nothing of what was said before",
        notes=[*_shared_notes(facts, closed), *_start_notes(facts, "the new, empty session")],
        older=older,
        becomes=new,
        wanted=new,
    )


def suspend(facts: LaneFacts, now: datetime) -> Draft:
    """As a reset, but left to the next message: until then the lane keeps its session."""
    refusal = obstacle(facts, switches=True)
    if refusal or facts.entry is None:
        return Draft(refusal=refusal)
    if facts.around.live:
        draft = _close_all(facts, now, END_REASONS["suspend"])
        draft.notes.append(
            "the mark itself is in the gateway's memory and cannot be set; ending the row does the same"
        )
        return draft
    if facts.entry.suspended:
        return Draft(refusal="it is suspended already")
    after = facts.lane.raw | {"suspended": True}
    # A session that is ended already is dropped with its lane when a gateway starts, and the mark with it; what
    # could then be brought back is closed, so that the promise holds all the same.
    ended = facts.row is not None and not facts.row.open
    closed = _closable(facts) if ended else []
    changes = entry_changes(facts, after)
    return Draft(
        changes=Changes(
            rows=tuple(closing(closed, now, END_REASONS["suspend"])), table=changes.table, file=changes.file
        ),
        writes=[*_closing_words(facts, closed, END_REASONS["suspend"]), "sets the lane's mark `suspended`"],
        next_message="begins a fresh session, whatever the policy says",
        notes=_shared_notes(facts, closed),
        older=[row.id for row in closed if row.id != facts.entry.session_id],
        wanted="",
    )


def resume(facts: LaneFacts, now: datetime, target: str, force: bool) -> Draft:
    """The lane goes on in another session that is there."""
    refusal = obstacle(facts, switches=True) or _target_obstacle(facts, target, force)
    if refusal or facts.entry is None or facts.target is None:
        return Draft(refusal=refusal)
    live = facts.around.live
    local = wall(now)
    closed = [row for row in _closable(facts) if row.id != target and (live or row.id == facts.entry.session_id)]
    rows = (*closing(closed, now, END_REASONS["resume"]), _opened(facts, facts.target))
    changes = Changes() if live else entry_changes(facts, _renewed(facts.entry, target, local).to_dict())
    if live:
        # The one that starts leads the lane there, counts that as activity, and so takes it for interrupted.
        crash = (
            "should the gateway crash before the lane's next message, the next one may run a turn by itself in"
            f" {target} and write to the chat"
        )
        notes = [*_busy_notes(facts), *_settings_notes(facts), crash]
    else:
        notes = [*_shared_notes(facts, closed), *_start_notes(facts, target)]
    source = rows[-1].after_of("source")
    if source and facts.target.source != source:
        notes.append(f"its source becomes {source}, so that it is no longer listed as {facts.target.source}")
    return Draft(
        changes=Changes(rows=rows, table=changes.table, file=changes.file),
        writes=[
            *_closing_words(facts, closed, END_REASONS["resume"]),
            f"opens the session {target} again, as this lane's"
            if not facts.target.open
            else f"makes {target} this lane's",
            *([] if live else ["leads the lane to it"]),
        ],
        notes=notes,
        older=[row.id for row in closed if row.id != facts.entry.session_id],
        becomes=target,
        wanted=target,
        pending=live,
    )


def _close_all(facts: LaneFacts, now: datetime, reason: str) -> Draft:
    """Beside a gateway: end everything that it could go on with."""
    entry, row = facts.entry, facts.row
    if entry is None or row is None:
        return Draft(refusal=f"a gateway is running, and {_ROWLESS}; {facts.around.stop_first}")
    if facts.tip:
        return Draft(
            refusal=f"its session was compressed and goes on in {facts.tip}, to which the gateway moves the lane at"
            " its next message; do this after that"
        )
    taken = [f"{id_} of lane {key}" for id_, key in facts.occupied.items() if id_ in facts.with_messages]
    if taken:
        return Draft(
            refusal=f"the gateway would take up {taken[0]}, which has the same sender and chat, and that is not to be"
            " closed for this; stop the gateway first"
        )
    closed = _closable(facts)
    if not closed:
        state = ended_words(row)
        return Draft(
            refusal=f"its session is {state} and no other can be brought back: its next message begins a fresh one"
        )
    return Draft(
        changes=Changes(rows=tuple(closing(closed, now, reason))),
        writes=_closing_words(facts, closed, reason),
        next_message="begins a fresh session; nobody is told, for the gateway announces only resets of its own",
        notes=_busy_notes(facts),
        older=[one.id for one in closed if one.id != entry.session_id],
        wanted="",
        pending=True,
    )


def _closable(facts: LaneFacts) -> list[LaneSessionRow]:
    """The lane's session and whatever else could be brought back, but no other lane's session."""
    found = {row.id: row for row in facts.recoverable if row.id not in facts.occupied}
    if facts.row is not None and facts.row.recoverable(rule_of(facts.around.columns)):
        found = {facts.row.id: facts.row, **found}
    return list(found.values())


def _renewed(entry: SessionEntry, session_id: str, local: datetime) -> SessionEntry:
    return entry.changed(session_id=session_id, created_at=local, updated_at=local, **FRESH)


def _opened(facts: LaneFacts, target: LaneSessionRow) -> RowChange:
    """The target without an end, and the lane's own."""
    assert facts.entry is not None  # noqa: S101 - checked by the caller
    after: dict[str, Any] = {"ended_at": None, "end_reason": None}
    if facts.entry.origin is not None:
        after |= peer_values(facts.entry, facts.lane.key)
    after = {name: value for name, value in after.items() if name in facts.around.columns}
    return RowChange(
        session_id=target.id,
        before={name: getattr(target, name) for name in after},
        after=after,
    )


def _target_obstacle(facts: LaneFacts, target: str, force: bool) -> str:
    entry, row = facts.entry, facts.target
    if row is None:
        return (
            f"this profile's database has no session {target!r}; `hermes-tui sessions list hermes` shows what it has"
        )
    try:
        check_session_id(target)
    except EntryError as error:
        return f"a lane cannot be in it: {error}"
    if entry is not None and target == entry.session_id and row.open:
        return "the lane is in that session already"
    if target in facts.occupied:
        return f"another lane is in it: {facts.occupied[target]}"
    if facts.target_tip:
        return f"it was compressed and goes on in {facts.target_tip}; resume that one"
    if target not in facts.with_messages:
        return "it has no messages; Hermes would not bring it back"
    if facts.around.live and facts.tip:
        return f"the lane's session was compressed and goes on in {facts.tip}; do this after its next message"
    if facts.around.live and facts.row is None:
        return f"a gateway is running, and {_ROWLESS}; {facts.around.stop_first}"
    # Hermes' own rule: a conversation stays with its platform, chat and person.
    origin = entry.origin if entry else None
    if force or origin is None or row.session_key == facts.lane.key:
        return ""
    ours = (origin.platform, origin.chat_id or "", origin.user_id or "")
    theirs = (row.source, row.chat_id or "", row.user_id or "")
    if ours == theirs:
        return ""
    where = ", ".join(part for part in theirs if part) or "no chat"
    return (
        f"it belongs to another chat or person ({where}), who would find it moved here; --force does it all the same"
    )


def _closing_words(facts: LaneFacts, closed: Sequence[LaneSessionRow], reason: str) -> list[str]:
    current = facts.entry.session_id if facts.entry else ""
    words = [f"ends {row.id} with reason {reason}" for row in closed if row.id == current]
    others = [row.id for row in closed if row.id != current]
    if others:
        many = counted(len(others), "other session")
        words.append(f"closes {many} that the gateway would otherwise bring back: {', '.join(others)}")
    return words


def _busy_notes(facts: LaneFacts) -> list[str]:
    gateway = facts.around.gateway
    notes = []
    if gateway.active_agents != 0:
        number = gateway.active_agents
        turns = "whether a turn is running is not known"
        if number is not None:
            turns = f"{counted(number, 'turn')} {'is' if number == 1 else 'are'} running"
        notes.append(
            f"{turns}: one of this lane ends in the old session, and so does what is sent before it ends; only a"
            " message after that meets the change; should the old session be compressed meanwhile, it takes the lane"
            " along, so better wait until no turn is running"
        )
    if gateway.phase == "halted":
        notes.append(
            f"the gateway's process is halted and takes no message until it goes on: `kill -CONT {gateway.pid}`"
        )
    if gateway.draining:
        notes.append(f"the gateway is {gateway.phase}; the change holds for the next one as well")
    return notes


def _settings_notes(facts: LaneFacts) -> list[str]:
    """What the plan knows of the reset policy is what the files say; a gateway reads them when it starts."""
    gateway = facts.around.gateway
    changed = settings_since(Path(gateway.home), gateway.since + UNSURE) if gateway.since is not None else ""
    if not changed:
        return []
    return [
        f"{changed} was changed after this gateway was started: by the reset policy that it still follows, the next"
        " message may begin a fresh session all the same"
    ]


def _shared_notes(facts: LaneFacts, closed: Sequence[LaneSessionRow]) -> list[str]:
    """Two lanes may be in one session: Hermes takes such a one up for the same sender and chat."""
    lanes = [facts.occupied[row.id] for row in closed if row.id in facts.occupied]
    return [f"lane {key} is in the same session, and begins a fresh one as well" for key in lanes]


def _start_notes(facts: LaneFacts, session: str) -> list[str]:
    if (facts.around.home.path / ".clean_shutdown").exists():
        return []
    return [
        "no clean shutdown is recorded: a gateway that starts within two minutes takes the lane for interrupted,"
        f" runs a turn by itself in {session} and writes to the chat"
    ]
