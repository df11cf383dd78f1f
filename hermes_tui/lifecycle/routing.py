"""Decides where a lane's next message goes, as Hermes does, in its order.

`SessionStore.get_or_create_session` in Hermes.

One rule for whoever asks: our own store, plans and what became of them, the screen and the command line. A test
compares it with the real Hermes over policies, marks, ends and ages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal

import msgspec

from hermes_tui.lifecycle.gateway.configuration import GatewayConfig
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.peer import Peer
from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow, StoredLanes
from hermes_tui.lifecycle.local_times import wall
from hermes_tui.lifecycle.policy import reset_reason
from hermes_tui.lifecycle.state_db.recoverable import BOUNDARIES

__all__ = ["Route", "next_message", "recovered_lanes", "route"]

Step = Literal["stays", "compressed", "recovered", "reset", "ended"]


class Route(msgspec.Struct, frozen=True):
    """Where it goes, and by which step of the decision."""

    session_id: str
    """Empty: into a new session."""
    step: Step
    """stays: in the lane's session. compressed: where that one goes on. recovered: the lane's session is over, or
    there is no lane, and another one is taken up. Into a new one: reset, for `reason`; ended, for none was found."""
    reason: str = ""
    """suspended, idle, daily or resume_pending_expired."""


def route(
    entry: SessionEntry | None,
    *,
    ended: bool,
    tip: str,
    reset: str | None,
    recovered: Callable[[], str],
    starts: bool = False,
) -> Route:
    """Decide. `ended`: the row of the lane's session has an end; `tip`: where that session goes on if it was
    compressed; `reset`: what `reset_reason` says; `recovered` is asked for the session that would be taken up, and
    only then. `starts`: a gateway starts before: it takes lanes whose session is over for gone, with their marks."""
    if entry is not None and not (starts and ended):
        if tip and tip != entry.session_id:
            return Route(tip, "compressed")
        if reset:  # also where the session is over: nothing is taken up once a reset is due
            return Route("", "reset", reset)
        if not ended:
            return Route(entry.session_id, "stays")
    found = recovered()
    return Route(found, "recovered") if found else Route("", "ended")


def next_message(
    rows: StoredLanes,
    key: str,
    entry: SessionEntry | None,
    config: GatewayConfig,
    profile: str,
    now: datetime,
    *,
    peer: Peer,
    starts: bool = False,
) -> Route:
    """Decide on what `rows` holds, for a message of `peer` at `now` (aware). The lane's background processes are not
    known here: while they run, Hermes resets nothing by policy. Raises what `rows` raises."""
    row = rows.session(entry.session_id) if entry is not None else None
    return route(
        entry,
        ended=row is not None and not row.open,
        tip=rows.compression_tip(entry.session_id) if entry is not None else "",
        reset=reset_reason(
            entry, config.policy_of(entry), wall(now), freshness=config.freshness, marks_win=config.documented
        )
        if entry
        else None,
        recovered=lambda: rows.recovered(key, peer, None if config.multiplex_profiles else profile),
        starts=starts,
    )


def recovered_lanes(rows: StoredLanes, lanes: Mapping[str, SessionEntry], profile: str | None) -> dict[str, str]:
    """Lane → the session that Hermes takes up for it once its own is over; lanes for which there is none are left
    out. `profile` as in `belongs_to`. Raises what `rows` raises."""
    if not lanes:
        return {}
    peers = {key: Peer.of_entry(entry) for key, entry in lanes.items()}
    # The sessions of these lanes, or of a chat that one of them has, which were not ended on purpose, and those
    # behind whose end Hermes does not look: a lane that finds none among them would look through all.
    kept: list[LaneSessionRow] = []
    if {"ended_at", "end_reason", "session_key", "chat_id"} <= rows.columns:
        chats = [peer.chat_id for peer in peers.values() if peer.chat_id is not None]
        wanted = f"({rows.rule.not_over} OR end_reason IN {BOUNDARIES})" if rows.rule.fenced else rows.rule.not_over
        # `+` keeps the order of the table, which decides between sessions that began at the same time.
        kept = rows.sessions_where(
            f"{wanted} AND (+session_key IN (SELECT value FROM json_each(?))"  # noqa: S608 - ours
            " OR COALESCE(chat_id, '') IN (SELECT value FROM json_each(?)))",
            [json.dumps(list(peers)), json.dumps(chats)],
        )
    with rows.copy(kept) as connection:
        copy = StoredLanes.of(connection)
        found = {key: copy.recovered(key, peer, profile) for key, peer in peers.items()}
    return {key: session_id for key, session_id in found.items() if session_id}
