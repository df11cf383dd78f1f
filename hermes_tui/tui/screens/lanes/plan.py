"""The plan of an operation on a lane or a session, to be agreed to or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.cli_equivalent import own_command
from hermes_tui.tui.screens.dialogs.confirm import ConfirmScreen
from hermes_tui.tui.widgets.buttons import Buttons
from hermes_tui.tui.widgets.page import Page, Paragraph
from hermes_tui.tui.workers.coroutines import run_beside

if TYPE_CHECKING:
    from hermes_tui.lifecycle.operations.plan import Plan

__all__ = ["PlanScreen", "plan_blocks"]

_QUESTIONS = {
    "reset": "Reset this lane?",
    "suspend": "Suspend this lane?",
    "resume": "Resume this lane in another session?",
    "mark": "Mark this lane as interrupted?",
    "clear": "Clear the resume mark of this lane?",
    "prune": "Drop old lanes of the profile?",
    "undo": "Undo this?",
    "rename": "Rename this session?",
    "end": "End this session?",
    "reopen": "Open this session again?",
    "delete": "Delete this session?",
    "clear-messages": "Delete the messages of this session?",
    "prune-sessions": "Delete these sessions?",
}
_YES = {
    "prune": "Drop",
    "reopen": "Open",
    "clear-messages": "Clear",
    "prune-sessions": "Delete",
}
_FORCIBLE = ("resume", "end", "reopen", "delete", "clear-messages")
_COLUMN = 9


class PlanScreen(ConfirmScreen["Plan"]):
    """Gives the plan that was agreed to; None when it was not."""

    BINDINGS = bindings("plan")

    def __init__(self, make: Callable[[bool], Plan], heading: str, home: Path | None = None) -> None:
        """`make` gives the plan, called in a thread; its argument: also against Hermes' own rules. It raises
        `HermesTuiError`. `home`: as in `own_command`."""
        super().__init__(heading)
        self._make = make
        self._home = home
        self.plan: Plan | None = None
        """What is shown; None while it is made, or when none could be."""
        self._forced: Plan | None = None
        """The same by force, where that would do."""

    def on_mount(self) -> None:
        """Have it made."""
        self.query_one(Page).show([Paragraph("Making the plan …", style="faint")])
        run_beside(self, self._begin)

    async def _begin(self) -> None:
        try:
            plan = await in_thread(self._make, False)
            forced = await in_thread(self._make, True) if plan.refusal and plan.request.kind in _FORCIBLE else None
        except HermesTuiError as error:
            self._failed(str(error))
            return
        except Exception as error:  # a bug: told, and nothing is done
            self._failed(f"{type(error).__name__}: {error}")
            return
        self._forced = forced if forced is not None and not forced.refusal else None
        self._take(plan)

    def _take(self, plan: Plan) -> None:
        self.plan = plan
        blocks = list(plan_blocks(plan, self._home, forcible=self._forced is not None))
        if plan.refusal:
            self.ask(f"Refused: {plan.request.kind}", blocks, refused=True)
        else:
            self.ask(
                _QUESTIONS[plan.request.kind],
                blocks,
                f"{_YES.get(plan.request.kind, plan.request.kind.capitalize())} (y)",
            )

    def _failed(self, reason: str) -> None:
        self.query_one(Page).show([Paragraph("It cannot be planned:", style="warning"), Paragraph(safe(reason))])

    # Actions -----------------------------------------------------------------------------------------------

    def action_confirm(self) -> None:
        """Yes; ignored where it may have been typed before the plan was to be seen."""
        if self.plan is not None and not self.plan.refusal and self.agreed():
            self.dismiss(self.plan)

    def action_choose(self) -> None:
        """What the chosen button says."""
        if self.query_one(Buttons).chosen == 0:
            self.dismiss(None)
        else:
            self.action_confirm()

    def action_force(self) -> None:
        """The plan against Hermes' own rule, to be agreed to like any other."""
        if self._forced is not None:
            plan, self._forced = self._forced, None
            self._take(plan)


def plan_blocks(plan: Plan, home: Path | None = None, *, forcible: bool = False) -> Iterator[Paragraph]:
    """What was read, will be written and happens then; or why it cannot be done. `home`: as in `own_command`;
    `forcible`: it could be by force."""
    request = plan.request
    about = request.key or request.session
    lanes = (about,) if about else plan.keys
    for key in lanes[:8]:
        yield Paragraph(safe(key), style="accent")
    if len(lanes) > 8:
        yield Paragraph(f"and {len(lanes) - 8} more", style="faint")
    if plan.refusal:
        yield Paragraph()
        yield Paragraph(f"It cannot be done now: {safe(plan.refusal)}.", style="warning")
        if forcible:
            yield Paragraph("f plans it all the same.", style="accent")
    yield Paragraph()
    yield from _listed("read", plan.read)
    if not plan.refusal:
        yield from _listed("writes", plan.writes or ("nothing",))
        if plan.next_message:
            yield from _listed("then", (f"the next message {plan.next_message}",))
        if plan.expects == "pending":
            yield from _listed("when", ("at the lane's next message; until then it is pending",))
    yield from _listed("note", plan.notes)
    yield Paragraph()
    yield Paragraph("Same as:", style="faint")
    yield Paragraph(own_command(request.words, home), style="accent", indent=1)


def _listed(name: str, words: tuple[str, ...]) -> Iterator[Paragraph]:
    for at, word in enumerate(words):
        yield Paragraph(f"• {safe(word)}", label="" if at else name, column=_COLUMN)
