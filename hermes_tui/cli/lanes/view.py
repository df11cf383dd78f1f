"""Lanes, plans and outcomes as lines for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from hermes_tui.attention.lane_turns import queue_words, turn_words
from hermes_tui.cells import fit, pad, width_of
from hermes_tui.display import age, count, counted, duration, safe

if TYPE_CHECKING:
    from hermes_tui.attention.states import SessionState
    from hermes_tui.lifecycle.lanes import Board, Lane, Profile
    from hermes_tui.lifecycle.operations.plan import Plan
    from hermes_tui.lifecycle.operations.verify import Outcome

    Turns = Mapping[tuple[str, str], SessionState]
    """By profile and key, of lanes that are in one."""

__all__ = ["board_lines", "gateway_words", "lane_lines", "outcome_line", "plan_lines"]

_HEAD = ("PLATFORM", "CHAT", "WHO", "SESSION", "LAST", "CONTEXT", "STATE", "RESETS", "KEY")
_RIGHT = {4, 5}
_KEY = _HEAD.index("KEY")
_ALWAYS = tuple(_HEAD.index(name) for name in ("PLATFORM", "CHAT", "STATE"))
_MOST_TELLING = tuple(_HEAD.index(name) for name in ("RESETS", "LAST", "WHO", "SESSION", "CONTEXT"))
_MOST = (14, 28, 16, 32, 4, 8, 14, 28, 0)
_GAP = "  "


def board_lines(board: Board, turns: Turns, now: datetime, width: int) -> Iterator[str]:
    """Every profile with its gateway, and its lanes as a table no wider than `width`. Keys are never cut, for the
    next command needs them: where there is no room each stands below its lane. So does what a lane in a turn does."""
    for profile in board.profiles:
        yield f"{safe(profile.name)}: {gateway_words(profile, now)}  {safe(profile.home)}"
        for note in profile.notes:
            yield f"  note: {safe(note)}"
        lanes = [lane for lane in board.lanes if lane.profile == profile.name]
        yield from (f"  {line}" for line in _table(lanes, turns, now, width - 2))
    if not board.profiles:
        yield f"({safe(board.no_home)})"


def gateway_words(profile: Profile, now: datetime) -> str:
    """`gateway running (pid 4127) for 3d, 2 turns running, 0.19`."""
    gateway = profile.gateway
    if gateway.state == "unknown":
        return f"gateway unknown, {safe(gateway.reason)}"
    if gateway.state == "stopped":
        return "no gateway runs"
    details = [f"pid {gateway.pid}"] if gateway.pid else []
    if gateway.since:
        details.append(f"up {duration(now - gateway.since)}")
    if gateway.phase not in ("", "running"):
        details.append(gateway.phase)
    if gateway.active_agents:
        details.append(f"{counted(gateway.active_agents, 'turn')} running")
    if profile.rules is not None:
        version = f"Hermes {profile.rules.version}" if profile.rules.version else ""
        old = "" if profile.rules.allow(True) else f"lanes are fixed while it runs: {profile.rules.reason}"
        details += [part for part in (version, old) if part]
    return f"gateway running ({safe(', '.join(details))})" if details else "gateway running"


def _table(lanes: Sequence[Lane], turns: Turns, now: datetime, width: int) -> Iterator[str]:
    if not lanes:
        yield "(no lanes)"
        return
    rows = [_row(lane, turns.get((lane.profile, lane.key)), now) for lane in lanes]
    widths = [
        max(width_of(_HEAD[at]), *(min(width_of(row[at]), _MOST[at] or 10_000) for row in rows))
        for at in range(len(_HEAD))
    ]
    columns = _columns(widths, width)
    for lane, row in ((None, _HEAD), *zip(lanes, rows, strict=True)):
        # The key is the last column: nothing stands behind it, so it is neither cut nor filled up.
        cells = [row[at] if at == _KEY else pad(row[at], widths[at], right=at in _RIGHT) for at in columns]
        yield _GAP.join(cells).rstrip()
        if _KEY not in columns:
            yield f"{_GAP}{row[_KEY]}"
        if lane is not None:
            # What it is at, and what waits behind it, where that is known.
            turn = turns.get((lane.profile, lane.key))
            parts = [turn_words(turn, datetime.astimezone)] if turn is not None else []
            if doing := safe("; ".join([*parts, *([queue_words(lane, turn)] if lane.queued else [])])):
                yield fit(f"  └ {doing}", max(width, 40)).rstrip()


def _columns(widths: Sequence[int], width: int) -> Sequence[int]:
    """Numbers of the columns that fit into `width`, in order; the most telling are chosen first. `_KEY` is left out
    where it does not fit beside those that are always shown."""

    def fits(columns: Collection[int]) -> bool:
        return sum(widths[at] + len(_GAP) for at in columns) - len(_GAP) <= width

    columns = {*_ALWAYS, _KEY} if fits((*_ALWAYS, _KEY)) else {*_ALWAYS}
    for optional in _MOST_TELLING:
        if fits((*columns, optional)):
            columns.add(optional)
    return sorted(columns)


def _row(lane: Lane, turn: SessionState | None, now: datetime) -> tuple[str, ...]:
    state = lane.state if turn is None else f"{turn.word} {age(turn.since, now).strip()}"
    return (
        safe(lane.platform),
        safe(lane.chat),
        safe(lane.who),
        safe(lane.session_id),
        age(lane.last_active, now),
        count(lane.context_tokens) if lane.context_tokens else "",
        state + (" !" if lane.disagreement or lane.fault else ""),
        safe(lane.resets_briefly),
        safe(lane.key),
    )


def lane_lines(lane: Lane, turn: SessionState | None, now: datetime) -> Iterator[str]:
    """Everything about one lane."""
    yield safe(lane.key)
    ago = age(lane.last_active, now).strip()
    ago = ago if ago == "now" else f"{ago} ago"
    facts = {
        "profile": lane.profile,
        "key": ", ".join(f"{name} {value}" for name, value in lane.parts),
        "state": lane.state,
        "turn": turn_words(turn, datetime.astimezone) if turn is not None else "",
        "queue": queue_words(lane, turn),
        "cannot be read": lane.fault,
        "disagreement": lane.disagreement,
        "chat": lane.chat,
        "who": lane.who,
        "session": " ".join(part for part in (lane.session_id, lane.title and f"“{lane.title}”") if part),
        "continues in": lane.continues_in,
        "ended": lane.end_reason,
        "model": lane.model,
        "since": _moment(lane.created_at),
        "last active": _moment(lane.last_active) and f"{_moment(lane.last_active)} ({ago})",
        "flags": ", ".join(lane.flags),
        "resume reason": lane.resume_reason,
        "tokens": f"{lane.context_tokens:,} context, {lane.input_tokens:,} in, {lane.output_tokens:,} out",
        "messages": f"{lane.messages:,}",
        "policy": lane.policy,
        "resets": lane.resets,
        "last reset": lane.last_reset,
        "restarts": f"{lane.restarts} in a row while busy; at 3 it is suspended" if lane.restarts else "",
    }
    for name, value in facts.items():
        if value:
            yield f"  {name:14} {safe(value)}"
    for one in lane.earlier:
        details = (
            _moment(one.started_at),
            one.end_reason or "not ended",
            counted(one.messages, "message"),
            one.title,
        )
        yield f"  {'earlier':14} {safe(one.session_id)}  {safe(', '.join(part for part in details if part))}"


def plan_lines(plan: Plan) -> Iterator[str]:
    """A plan, before it is confirmed."""
    lanes = counted(len(plan.keys), "lane") if len(plan.keys) != 1 else plan.keys[0]
    on_lanes = plan.keys or plan.request.kind == "prune"
    what = plan.request.key or (lanes if on_lanes else plan.session_id or plan.request.target or "sessions")
    yield safe(f"{plan.request.kind}: {what} (profile {plan.request.profile})")
    for word in plan.read:
        yield f"  read     {safe(word)}"
    for word in plan.writes:
        yield f"  writes   {safe(word)}"
    if plan.next_message:
        yield f"  then     the next message {safe(plan.next_message)}"
    if plan.expects == "pending":
        yield "  when     at the lane's next message: until then the outcome is pending"
    for word in plan.notes:
        yield f"  note     {safe(word)}"
    if plan.refusal:
        yield f"  refused  {safe(plan.refusal)}"


def outcome_line(outcome: Outcome) -> str:
    """One operation in the log."""
    at = _moment(outcome.at)
    request = outcome.request
    what = request.key or request.session or ", ".join(outcome.keys[:3]) + ("…" if len(outcome.keys) > 3 else "")
    name = f"{request.kind} {what or request.target}".strip()
    return safe(f"{outcome.operation}  {at}  {outcome.state:8}  {name}: {outcome.text}")


def _moment(moment: datetime | None) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment else ""
