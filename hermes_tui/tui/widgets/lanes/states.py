"""A lane's state, the gateway's and an operation's, as glyph and words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from hermes_tui.display import counted, duration, safe
from hermes_tui.tui.widgets.states import State

if TYPE_CHECKING:
    from hermes_tui.lifecycle.lanes import Board, Lane, Profile
    from hermes_tui.tui.workers.lane_watch import Notice

__all__ = ["brand_words", "gateway_words", "lane_state", "notice_state", "session_states", "state_with"]

_STATES = {
    "live": State("○", "live", "idle"),
    "expired": State("◌", "expired", "faint"),
    "compressed": State("⋯", "compressed", "faint"),
    "suspended": State("■", "suspended", "warning"),
    "resume pending": State("↻", "resume pending", "accent"),
    "ended": State("✗", "session ended", "faint"),
    "no session": State("·", "no session yet", "faint"),
    "unknown": State("?", "unknown", "error"),
    "unreadable": State("!", "unreadable", "error"),
}
_TELLING = ("suspended", "resume pending")
"""States that decide what the next message meets."""
_LIVE = {"reset": "reset taken", "suspend": "suspend taken", "resume": "resume taken", "undo": "undone"}
_MAKES = {"suspend": "suspended", "mark": "resume pending"}
"""The state that an operation leaves a lane in, where that is another than live."""
_DONE = {
    "reset": "reset done",
    "suspend": "suspended",
    "resume": "resumed",
    "mark": "marked",
    "clear": "cleared",
    "prune": "pruned",
    "undo": "undone",
}


def lane_state(lane: Lane) -> State:
    """Of a lane that nothing was done to."""
    state = _STATES[lane.state]
    if lane.state == "live" and "was_auto_reset" in lane.flags:
        return State("○", f"auto-reset: {safe(lane.last_reset)}", "idle")
    return state


def notice_state(notice: Notice, local: Callable[[datetime], datetime]) -> State:
    """What became of an operation: `reset pending`, `reset taken 10:52`, `reset lost`. `local` gives a moment in the
    reader's zone."""
    outcome = notice.outcome
    kind = outcome.request.kind
    at = f" {local(notice.settled):%H:%M}" if notice.settled is not None else ""
    match outcome.state:
        case "done":
            words = _LIVE.get(kind, kind) if notice.live else _DONE[kind]
            return State("✓", f"{words}{at}", "live")
        case "pending":
            return State("◷", f"{kind} pending", "accent")
        case "undone":
            return State("✓", f"{kind} undone{at}", "faint")
        case "replaced" | "unknown":
            return State("·", f"{kind} {outcome.state}{at}", "faint")
        case "interrupted":
            return State("!", f"{kind} interrupted", "warning")
    return State("✗", f"{kind} {outcome.state}{at}", "error")


def state_with(lane: Lane, notice: Notice, local: Callable[[datetime], datetime]) -> State:
    """What became of an operation. Where the lane is not as one would think then: how it is, and only which
    operation waits, or whether and when it was carried out, for the text below the table has the rest."""
    told = notice_state(notice, local)
    if notice.settled is None:
        if notice.outcome.state == "pending" and lane.state in _TELLING:
            state = lane_state(lane)
            return state._replace(word=f"{state.word} {told.glyph} {notice.outcome.request.kind}")
        return told
    expected = "live"
    if notice.outcome.state == "done" and not notice.live:
        expected = _MAKES.get(notice.outcome.request.kind, expected)
    state = lane_state(lane)
    if state == _STATES[expected]:
        return told
    return state._replace(word=f"{state.word} {told.glyph} {local(notice.settled):%H:%M}")


def session_states(board: Board) -> dict[str, State]:
    """Unified id → state, for the sessions of lanes of which there is more to be said than that they are live."""
    from session_adapters.model import unified_id

    return {
        unified_id("hermes", lane.session_id): _STATES[lane.state]
        for lane in board.lanes
        if lane.session_id and lane.state in _TELLING
    }


def gateway_words(profile: Profile, now: datetime, room: int = 1000) -> tuple[str, str]:
    """`gateway 0.19 (pid 4127) up 3d 4h, 2 turns running`, and what of it is: live, faint or warning. Less of it
    where it does not fit."""
    gateway = profile.gateway
    if gateway.state == "unknown":
        return f"gateway unknown: {safe(gateway.reason)}", "warning"
    if gateway.state == "stopped":
        return "no gateway runs", "faint"
    up = f"up {duration(now - gateway.since)}" if gateway.since else "up"
    version = f" {safe(profile.rules.version)}" if profile.rules is not None and profile.rules.version else ""
    pid = f" (pid {gateway.pid})" if gateway.pid else ""
    more = [safe(gateway.phase)] if gateway.phase not in ("", "running") else []
    if gateway.active_agents is not None:
        turns = gateway.active_agents
        more.append(f"{counted(turns, 'turn') if turns else 'no turns'} running")
    if profile.rules is not None and not profile.rules.allow(True):
        more.append(f"not to be worked beside: {safe(profile.rules.reason)}")
    tries = (f"gateway{version}{pid} {up}", f"gateway {up}", f"gateway {up.split()[0]}")
    for base in tries:
        for words in (", ".join([base, *more]), base):
            if len(words) <= room:
                return words, "live"
    return "up", "live"


def brand_words(board: Board, now: datetime, *, short: bool) -> str:
    """`⚕ gateway up 3d 4h · 17 lanes` for the main screen; `⚕ up` where it is `short`; empty without Hermes."""
    if not board.profiles:
        return ""
    running = [one.gateway for one in board.profiles if one.gateway.state == "running"]
    unknown = any(one.gateway.state == "unknown" for one in board.profiles)
    count = len(board.lanes)
    # One gateway may serve several profiles.
    gateways = {(one.pid, one.since): one for one in running}
    if short:
        return "⚕ up" if running else "⚕ ?" if unknown else ""
    if not running and not count:
        return ""
    if len(gateways) > 1:
        words = f"⚕ {len(gateways)} gateways up"
    elif running:
        since = running[0].since
        words = f"⚕ gateway up {duration(now - since)}" if since else "⚕ gateway up"
    else:
        words = "⚕ gateway unknown" if unknown else "⚕ no gateway"
    return f"{words} · {counted(count, 'lane')}"
