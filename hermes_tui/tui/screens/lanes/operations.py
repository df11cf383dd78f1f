"""The keys that change a lane: what is planned, and what its row says meanwhile.

`LaneWatch` sees what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hermes_tui.display import safe
from hermes_tui.tui.program import Program
from hermes_tui.tui.screens.dialogs.menu import MenuChoice, MenuScreen
from hermes_tui.tui.screens.lanes.confirmed import ConfirmedOperations
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.lifecycle.lanes import Lane, Profile
    from hermes_tui.lifecycle.operations.operations import Operations
    from hermes_tui.lifecycle.operations.plan import Plan
    from hermes_tui.tui.workers.lane_watch import LaneNews

__all__ = ["Doing", "LaneOperations", "ShownLanes"]

_DAYS = (7, 30, 90, 180, 365)


class Doing(NamedTuple):
    """An operation that is being carried out."""

    kind: str
    waits: str = ""
    """Whom it has to wait for; a clause."""

    @property
    def words(self) -> str:
        """For the lane's row."""
        return f"{self.kind} waits" if self.waits else f"{self.kind} …"


class ShownLanes(Protocol):
    """What the keys act on; the screen has it."""

    news: LaneNews | None
    """None before the first look."""

    @property
    def lane(self) -> Lane | None:
        """The lane under the cursor."""

    @property
    def profile(self) -> Profile | None:
        """The profile whose lanes are shown."""


class LaneOperations:
    """Owns the operations that are being carried out."""

    def __init__(self, program: Program, shown: ShownLanes, changed: Callable[[], None], *, read_only: bool) -> None:
        """`changed` is called when an operation has begun, waits or is over. `read_only`: keys that would change
        anything say so."""
        self._program = program
        self._shown = shown
        self._changed = changed
        self._confirmed = ConfirmedOperations(program, read_only=read_only)
        self._doing: dict[tuple[str, str], Doing] = {}

    @property
    def is_busy(self) -> bool:
        """One is being carried out."""
        return bool(self._doing)

    def doing(self, lane: Lane) -> Doing | None:
        """What is being carried out on a lane."""
        return self._doing.get((lane.profile, lane.key))

    # Asking ------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """A new, empty session."""
        self._ask_about_lane("reset")

    def suspend(self) -> None:
        """The next message begins a new session."""
        self._ask_about_lane("suspend")

    def mark(self) -> None:
        """The conversation counts as interrupted."""
        self._ask_about_lane("mark", reason="restart_timeout")

    def clear(self) -> None:
        """It does no longer."""
        self._ask_about_lane("clear")

    def resume(self) -> None:
        """Another session, chosen from those of the profile."""
        from hermes_tui.tui.screens.dialogs.session_picker import Candidate, SessionPicker

        if self._confirmed.refused("lanes"):
            return
        lane = self._shown.lane
        if lane is None:
            self._nothing_here()
            return
        profile = None if lane.profile == "default" else lane.profile
        sessions = [
            one
            for one in self._program.snapshot.sessions
            if one.agent == "hermes" and one.profile == profile and not one.gone and one.session_id != lane.session_id
        ]
        candidates = [Candidate(one, safe(note)) for one, note in self._for_lane(lane, sessions)]
        if not candidates:
            self._program.notify("This profile has no other session.")
            return

        def chosen(one: Candidate | None) -> None:
            if one is not None:
                self._ask("resume", lane, target=one.session.session_id)

        name = safe(lane.chat) or safe(lane.key)
        self._program.push_screen(SessionPicker(f"Resume {name} into", candidates, self._program.clock.now()), chosen)

    def _for_lane(self, lane: Lane, sessions: Sequence[SessionSummary]) -> list[tuple[SessionSummary, str]]:
        """Each with a note. The lane's own come first; those that cannot be gone on in, last."""
        own = {one.session_id: f"earlier, {one.end_reason or 'not ended'}" for one in lane.earlier}
        news = self._shown.news
        lanes = news.board.lanes if news is not None else ()
        taken = {id_ for one in lanes if one.profile == lane.profile for id_ in (one.session_id, one.continues_in)}
        ranked = []
        for one in sessions:
            rank, note = int(one.source != lane.platform) + 1, one.source or "other"
            if one.session_id in own:
                rank, note = 0, own[one.session_id]
            if one.end_reason == "compression":
                rank, note = 4, "compressed, goes on"
            elif one.session_id in taken - {lane.continues_in}:  # what this lane goes on in is no other's
                rank, note = 3, "in another lane"
            ranked.append((rank, one, note))
        ranked.sort(key=lambda each: each[0])
        return [(one, note) for _, one, note in ranked]

    def prune(self) -> None:
        """Old lanes of the profile are dropped."""
        if self._confirmed.refused("lanes"):
            return
        profile = self._shown.profile
        if profile is None:
            self._nothing_here()
            return
        choices = [MenuChoice(str(at), f"{days} days") for at, days in enumerate(_DAYS, 1)]

        def chosen(key: str | None) -> None:
            if key is not None:
                self._push("prune", profile.name, days=_DAYS[int(key) - 1])

        self._program.push_screen(MenuScreen("Drop lanes without activity for more than", choices), chosen)

    def undo(self) -> None:
        """The lane's latest operation is taken back; where there is none, the profile's latest prune."""
        if self._confirmed.refused("lanes"):
            return
        profile, lane, news = self._shown.profile, self._shown.lane, self._shown.news
        if profile is None or news is None:
            self._nothing_here()
            return
        known = news.undoable.get((profile.name, lane.key)) if lane is not None else None
        operation = known or news.undoable.get((profile.name, ""))
        if operation is None:
            self._program.notify("Nothing was done to this lane that could be taken back.")
            return
        self._push("undo", profile.name, target=operation)

    def _ask_about_lane(self, kind: str, **more: Any) -> None:
        lane = self._shown.lane
        if self._confirmed.refused("lanes"):
            return
        if lane is None:
            self._nothing_here()
        else:
            self._ask(kind, lane, **more)

    def _ask(self, kind: str, lane: Lane, **more: Any) -> None:
        self._push(kind, lane.profile, key=lane.key, **more)

    def _push(self, kind: Any, profile: str, **more: Any) -> None:
        """Have it planned; the row says what became of it."""

        def make(operations: Operations, force: bool) -> Plan:
            from hermes_tui.lifecycle.operations.plan import Request

            return operations.plan(Request(kind=kind, profile=profile, force=force, **more))

        self._confirmed.propose(kind.capitalize(), make, self._agreed)

    def _nothing_here(self) -> None:
        self._program.notify("There is no lane here.")

    # Carrying out ------------------------------------------------------------------------------------------

    def _agreed(self, plan: Plan) -> None:
        self._say_doing(plan)

        def over() -> None:
            for key in plan.keys:
                self._doing.pop((plan.request.profile, key), None)
            self._changed()
            self._program.look_at_lanes()

        self._confirmed.carry_out(plan, partial(self._say_doing, plan), over)

    def _say_doing(self, plan: Plan, waits: str = "") -> None:
        doing = Doing(plan.request.kind, waits)
        self._doing.update(((plan.request.profile, key), doing) for key in plan.keys)
        self._changed()
