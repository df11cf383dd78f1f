"""What Hermes' gateway tells of the sessions of its lanes.

The record of a session says that it was asked something and has not answered; `gateway_state.json` says how many
turns run over all lanes. Hermes 0.19 writes both as a turn begins and ends, and each call before its tool runs. It
never writes which lane a turn is of, nor what waits in its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, get_args

from msgspec.structs import replace

from hermes_tui.display import counted
from hermes_tui.lifecycle.gateway.process import Gateway
from hermes_tui.lifecycle.lanes import Board, Lane
from session_adapters.activity import Activity, Step
from session_adapters.base import Liveness
from session_adapters.model import unified_id

if TYPE_CHECKING:
    from hermes_tui.attention.report import Attended

__all__ = ["LaneSession", "lane_sessions", "no_more_than_run"]

_EVERY_STEP: frozenset[Step] = frozenset(get_args(Step))
_RESTS: frozenset[Step] = frozenset(("done", "idle", "failed", "limited"))


class LaneSession(NamedTuple):
    """The session that a lane leads to, and the gateway that serves it."""

    lane: Lane
    gateway: Gateway

    @property
    def name(self) -> str:
        """As people know the lane: `telegram Ops · alice`."""
        lane = self.lane
        return " · ".join(part for part in (" ".join((lane.platform, lane.chat)).strip(), lane.who) if part)

    @property
    def can_tell(self) -> bool:
        """Whether it is known if a process has it open."""
        return self.gateway.state != "unknown"

    @property
    def is_busy(self) -> bool:
        """A turn of some lane of this gateway runs, or nobody knows."""
        return self.gateway.state == "running" and self.gateway.active_agents != 0

    def process(self, activity: Activity) -> Liveness | None:
        """The gateway, as the process that has it open; None where it was started after the turn began."""
        gateway = self.gateway
        if gateway.state != "running":
            return None
        began = activity.since
        if activity.step == "working" and began is not None and gateway.since is not None and began < gateway.since:
            return None
        turns = gateway.active_agents
        if turns is None:
            return Liveness(pid=gateway.pid or 0)
        return Liveness(
            pid=gateway.pid or 0,
            status=f"that {counted(turns, 'turn') if turns else 'no turn'} run{'s' * (turns < 2)}",
            steps=_EVERY_STEP if turns else _RESTS,
            since=gateway.said_at,
        )


def lane_sessions(board: Board) -> Mapping[str, LaneSession]:
    """By unified id, the sessions that lanes lead to now."""
    gateways = {profile.home: profile.gateway for profile in board.profiles}
    return {
        unified_id("hermes", session_id): LaneSession(lane, gateways[lane.home])
        for lane in board.lanes
        if (session_id := lane.continues_in or lane.session_id) and lane.home in gateways
    }


def no_more_than_run(found: Iterable[Attended], lanes: Mapping[str, LaneSession]) -> Iterator[Attended]:
    """Where more lanes of a gateway are without an answer than it runs turns, nobody can tell of the older ones."""
    left = {lane.gateway.home: lane.gateway.active_agents for lane in lanes.values()}
    for one in sorted(found, key=lambda one: one.state.since or one.session.updated_at, reverse=True):
        lane = lanes.get(one.session.unified_id) if one.state.state in ("working", "stuck") else None
        turns = left[lane.gateway.home] if lane is not None else None
        if lane is None or turns is None:
            yield one
        elif turns > 0:
            left[lane.gateway.home] = turns - 1
            yield one
        else:
            yield replace(one, state=replace(one.state, state="working", sure=False))
