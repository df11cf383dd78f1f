"""The keys that change a lane: make a plan, show it, apply it once confirmed.

Plans and their application run in threads; the screen is told how it went, and `LaneWatch` sees what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.program import Program
from hermes_tui.tui.screens.dialogs.menu import MenuChoice, MenuScreen
from hermes_tui.tui.screens.lanes.plan import PlanScreen
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.lifecycle.lanes import Lane, Profile
    from hermes_tui.lifecycle.operations import Operations, Outcome, Plan, Request
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
        self._read_only = read_only
        self._doing: dict[tuple[str, str], Doing] = {}

    @property
    def is_busy(self) -> bool:
        """One is being carried out."""
        return bool(self._doing)

    def doing(self, lane: Lane) -> Doing | None:
        """What is being carried out on a lane."""
        return self._doing.get((lane.profile, lane.key))

    def _operations(self, waiting: Callable[[str], None] = lambda words: None) -> Operations:
        from hermes_tui.lifecycle.operations import Operations

        environment, now = self._program.manager.environment, self._program.clock.now
        return Operations(environment, read_only=self._read_only, clock=now, waiting=waiting)

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

        if self._is_read_only():
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
            elif one.session_id in taken - {lane.continues_in}:
                rank, note = 3, "in another lane"
            ranked.append((rank, one, note))
        ranked.sort(key=lambda each: each[0])
        return [(one, note) for _, one, note in ranked]

    def prune(self) -> None:
        """Old lanes of the profile are dropped."""
        if self._is_read_only():
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
        if self._is_read_only():
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
        if self._is_read_only():
            return
        if lane is None:
            self._nothing_here()
        else:
            self._ask(kind, lane, **more)

    def _ask(self, kind: str, lane: Lane, **more: Any) -> None:
        self._push(kind, lane.profile, key=lane.key, **more)

    def _push(self, kind: Any, profile: str, **more: Any) -> None:
        """Have a plan made and shown. At once: what is typed next must not reach the table any more."""

        def request(force: bool) -> Request:
            from hermes_tui.lifecycle.operations import Request

            return Request(kind=kind, profile=profile, force=force, **more)

        self._program.clear_notifications()  # they would lie over the buttons; the row says what became of it
        make: Callable[[bool], Plan] = lambda force: self._operations().plan(request(force))  # noqa: E731
        self._program.push_screen(PlanScreen(make, kind.capitalize(), self._program.named_home), self._agreed)

    def _is_read_only(self) -> bool:
        """Whether nothing may be changed; then it says so."""
        if self._read_only:
            said = "Read-only: lanes are shown, not changed. Start without --read-only, or set read_only = false."
            self._program.notify(said)
        return self._read_only

    def _nothing_here(self) -> None:
        self._program.notify("There is no lane here.")

    # Carrying out ------------------------------------------------------------------------------------------

    def _agreed(self, plan: Plan | None) -> None:
        if plan is None:
            return
        self._say_doing(plan)
        # The program's, not the screen's: it goes on when the screen is left.
        run_beside(self._program, partial(self._carry_out, plan), "lanes")

    def _say_doing(self, plan: Plan, waits: str = "") -> None:
        doing = Doing(plan.request.kind, waits)
        self._doing.update(((plan.request.profile, key), doing) for key in plan.keys)
        self._changed()

    async def _carry_out(self, plan: Plan) -> None:
        kind = plan.request.kind
        over = False

        def waits(words: str) -> None:
            if not over:
                self._say_doing(plan, words)

        operations = self._operations(lambda words: self._program.in_loop(partial(waits, words)))
        try:
            outcome: Outcome = await in_thread(operations.apply, plan)
        except HermesTuiError as error:
            self._tell(f"{kind}: {error}", bad=True)
        except Exception as error:  # a bug, or a system that fails in a new way: the log has what was begun
            self._tell(f"{kind}: it did not work ({type(error).__name__}: {error})", bad=True)
        else:
            self._tell(f"{kind}: {outcome.state}, {outcome.text}", bad=outcome.state in ("lost", "failed"))
        over = True
        for key in plan.keys:
            self._doing.pop((plan.request.profile, key), None)
        self._changed()
        self._program.look_at_lanes()

    def _tell(self, text: str, *, bad: bool) -> None:
        self._program.notify(safe(text), severity="error" if bad else "information", timeout=10)
