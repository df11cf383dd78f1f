"""Shows the plan of an operation, and carries it out once it is confirmed.

Plans and their application run in threads; the operation goes on when the screen is left.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.program import Program
from hermes_tui.tui.screens.lanes.plan import PlanScreen
from hermes_tui.tui.workers.coroutines import run_beside

if TYPE_CHECKING:
    from hermes_tui.lifecycle.operations.operations import Operations
    from hermes_tui.lifecycle.operations.plan import Plan
    from hermes_tui.lifecycle.operations.verify import Outcome

__all__ = ["ConfirmedOperations"]


class ConfirmedOperations:
    """What the keys that change lanes and those that change sessions have in common."""

    def __init__(self, program: Program, *, read_only: bool) -> None:
        """`read_only`: `refused` says so."""
        self._program = program
        self._read_only = read_only

    def refused(self, what: str) -> bool:
        """Whether nothing may be changed; then it says so. `what`: "lanes", "sessions"."""
        if self._read_only:
            self._program.notify(
                f"Read-only: {what} are shown, not changed. Start without --read-only, or set read_only = false."
            )
        return self._read_only

    def propose(self, heading: str, make: Callable[[Operations, bool], Plan], agreed: Callable[[Plan], None]) -> None:
        """Have a plan made and shown. At once: what is typed next must not reach the screen below any more. `make`
        runs in a thread; its last argument: also against Hermes' own rule."""
        self._program.clear_notifications()  # they would lie over the buttons

        def chosen(plan: Plan | None) -> None:
            if plan is not None:
                agreed(plan)

        plan = lambda force: make(self._operations(), force)  # noqa: E731
        self._program.push_screen(PlanScreen(plan, heading, self._program.named_home), chosen)

    def carry_out(
        self,
        plan: Plan,
        waits: Callable[[str], None],
        over: Callable[[], None],
        further: Callable[[Outcome], str] = lambda outcome: "",
    ) -> None:
        """Apply it beside the program and say how it went. `waits` is told, in the screen's thread, for whom it has
        to wait; `over`, that it has ended; `further` gives what else is to be said of the outcome."""
        kind = plan.request.kind
        ended = False

        def told(words: str) -> None:
            if not ended:  # it comes through the loop, and may be overtaken by the end
                waits(words)

        async def work() -> None:
            nonlocal ended
            operations = self._operations(lambda words: self._program.in_loop(partial(told, words)))
            try:
                outcome: Outcome = await in_thread(operations.apply, plan)
            except HermesTuiError as error:
                self._tell(f"{kind}: {error}", bad=True)
            except Exception as error:  # a bug, or a system that fails in a new way: the log has what was begun
                self._tell(f"{kind}: it did not work ({type(error).__name__}: {error})", bad=True)
            else:
                bad = outcome.state in ("lost", "failed")
                self._tell(f"{kind}: {outcome.state}, {outcome.text}{further(outcome)}", bad=bad)
            ended = True
            over()

        # Of the program, not of a screen: it goes on when the screen is left.
        run_beside(self._program, work, "lanes")

    def _operations(self, waiting: Callable[[str], None] = lambda words: None) -> Operations:
        from hermes_tui.lifecycle.operations.operations import Operations

        environment, now = self._program.manager.environment, self._program.clock.now
        return Operations(environment, read_only=self._read_only, clock=now, waiting=waiting)

    def _tell(self, text: str, *, bad: bool) -> None:
        self._program.notify(safe(text), severity="error" if bad else "information", timeout=10)
