"""Says which lanes of a gateway are in a turn, at what, and what waits behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from hermes_tui.attention.states import BROKEN
from hermes_tui.display import counted
from session_adapters.model import unified_id

if TYPE_CHECKING:
    from hermes_tui.attention.report import AttentionReport
    from hermes_tui.attention.states import SessionState
    from hermes_tui.lifecycle.lanes import Board, Lane

__all__ = ["queue_words", "turn_words", "turns_of"]

_BUSY = ("working", "stuck", "approval", "question")
"""States of a session in a turn."""


def turns_of(board: Board, report: AttentionReport) -> Mapping[tuple[str, str], SessionState]:
    """By profile and key: how the turns stand of those lanes of running gateways that are in one, and how they were
    left that nobody answered."""
    running = {one.name for one in board.profiles if one.gateway.state == "running"}
    found: dict[tuple[str, str], SessionState] = {}
    for lane in board.lanes:
        told = report.by_session.get(unified_id("hermes", lane.continues_in or lane.session_id))
        telling = (*(_BUSY if lane.profile in running else ()), *(BROKEN if lane.state == "live" else ()))
        if told is not None and told.state.state in telling:
            found[lane.profile, lane.key] = told.state
    return found


def turn_words(turn: SessionState, local: Callable[[datetime], datetime]) -> str:
    """`working since 22:41:03: terminal pytest -q`."""
    since = f" since {local(turn.since):%H:%M:%S}" if turn.since is not None else ""
    on = " ".join(part for part in (turn.tool, turn.text) if part)
    return f"{turn.word}{since}{': ' if on else ''}{on}"


def queue_words(lane: Lane, turn: SessionState | None) -> str:
    """What waits behind the turn of a lane; empty where nothing waits and it is in none."""
    if lane.queued:
        return f"{counted(lane.queued, 'message')} behind the turn"
    if turn is None or turn.state in BROKEN:
        return ""
    if lane.queued is None:
        return "what waits behind the turn is not known: the gateway keeps it in its memory"
    return "nothing waits behind the turn"
