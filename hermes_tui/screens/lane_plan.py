"""The plan of an operation on a lane, to be agreed to or not.

A key that was typed ahead agrees to nothing: yes counts only once the plan has been on the screen, and no key has
come, for a moment (law 9).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from hermes_tui.aside import aside
from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.keymap import bindings
from hermes_tui.widgets.line import Line
from hermes_tui.widgets.page import Block, Page

if TYPE_CHECKING:
    from hermes_tui.lifecycle.operations import Plan

__all__ = ["PlanScreen", "plan_blocks"]

_WORDS = {
    "reset": "Reset",
    "suspend": "Suspend",
    "resume": "Resume into",
    "mark": "Mark as interrupted",
    "clear": "Clear the resume mark of",
    "prune": "Drop old lanes of",
    "undo": "Undo on",
}
_YES = {"clear": "Clear", "mark": "Mark", "prune": "Drop", "resume": "Resume"}
_COLUMN = 9


class _Buttons(Widget):
    """Cancel, and what is asked; the chosen one stands in brackets and is drawn as a cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"choices--key", "choices--faint", "choices--cursor"}

    def __init__(self) -> None:
        super().__init__(id="buttons")
        self.words: tuple[str, ...] = ("Cancel",)
        self.chosen = 0

    def show(self, *words: str) -> None:
        """Show these, the first one chosen."""
        self.words, self.chosen = words, 0
        self.refresh()

    def turn(self) -> None:
        """Choose the next one."""
        self.chosen = (self.chosen + 1) % len(self.words)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The only line, at the right."""
        base, segments = self.rich_style, []
        for at, word in enumerate(self.words):
            chosen = at == self.chosen
            style = base + self.get_component_rich_style(f"choices--{'cursor' if chosen else 'faint'}", partial=True)
            segments += [Segment("  ", base), Segment(f"[ {word} ]" if chosen else f"  {word}  ", style)]
        used = sum(len(one.text) for one in segments)
        blank = Segment(" " * max(0, self.size.width - used), base)
        return Strip([blank, *segments]).adjust_cell_length(self.size.width, base)


class PlanScreen(ModalScreen["Plan | None"]):
    """Gives the plan that was agreed to; None when it was not."""

    AUTO_FOCUS = "Page"
    BINDINGS = bindings("plan")
    contexts = ("plan", "page")
    """Contexts of the keys that work here."""
    QUIET: ClassVar[float] = 0.4
    """Seconds for which the plan must have been on the screen, and no key have come, before yes counts."""

    def __init__(self, make: Callable[[bool], Plan], heading: str) -> None:
        """`make` gives the plan, called in a thread; its argument: also against Hermes' own rules. It raises
        `HermesTuiError`."""
        super().__init__()
        self._make = make
        self._heading = heading
        self.plan: Plan | None = None
        """What is shown; None while it is made, or when none could be."""
        self._forced: Plan | None = None
        """The same by force, where that would do."""
        self._shown = float("inf")
        self._last_key = 0.0
        self._quiet = 0.0
        """Seconds without a key before the latest one."""

    def compose(self) -> ComposeResult:
        """Heading, the plan, the buttons."""
        with Vertical(classes="dialog"):
            yield Line(id="dialog-title")
            yield Page(id="plan")
            yield _Buttons()

    def on_mount(self) -> None:
        """Have it made."""
        self.query_one("#dialog-title", Line).show([(f" {self._heading}", "bright")], [("esc leaves ", "faint")])
        self.query_one(Page).show([Block("Making the plan …", style="faint")])
        self.run_worker(self._begin(), exit_on_error=True)

    async def _begin(self) -> None:
        try:
            plan = await aside(self._make, False)
            forced = await aside(self._make, True) if plan.refusal and plan.request.kind == "resume" else None
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
        self._shown = float("inf")
        heading = f" {_WORDS[plan.request.kind]} {'this lane' if plan.request.kind != 'prune' else 'the profile'}?"
        left = [(" Refused" if plan.refusal else heading, "error" if plan.refusal else "bright")]
        self.query_one("#dialog-title", Line).show(left, [("esc leaves ", "faint")])
        self.query_one(Page).show(list(plan_blocks(plan, forcible=self._forced is not None)))
        yes = f"{_YES.get(plan.request.kind, plan.request.kind.capitalize())} (y)"
        self.query_one(_Buttons).show(*(("Cancel",) if plan.refusal else ("Cancel", yes)))
        self.call_after_refresh(self._painted)

    def _failed(self, reason: str) -> None:
        self.query_one(Page).show([Block("It cannot be planned:", style="warning"), Block(safe(reason))])

    def _painted(self) -> None:
        self._shown = time.monotonic()

    def on_key(self, event: events.Key) -> None:
        """Remember when it came: as the terminal gave it, not as its turn came."""
        self._quiet = event.time - max(self._last_key, self._shown)
        self._last_key = event.time

    @property
    def _armed(self) -> bool:
        return self.plan is not None and not self.plan.refusal and self._quiet >= self.QUIET

    # Actions -----------------------------------------------------------------------------------------------

    def action_confirm(self) -> None:
        """Yes; ignored where it may have been typed before the plan was to be seen."""
        if self._armed:
            self.dismiss(self.plan)
        elif self.plan is not None and not self.plan.refusal:
            title = self.query_one("#dialog-title", Line)
            title.show(title.parts[0], [("too soon; once more ", "warning")])

    def action_choose(self) -> None:
        """What the chosen button says."""
        if self.query_one(_Buttons).chosen == 0:
            self.dismiss(None)
        else:
            self.action_confirm()

    def action_turn(self) -> None:
        """The other button."""
        self.query_one(_Buttons).turn()

    def action_close(self) -> None:
        """No."""
        self.dismiss(None)

    def action_force(self) -> None:
        """The plan against Hermes' own rule, to be agreed to like any other."""
        if self._forced is not None:
            plan, self._forced = self._forced, None
            self._take(plan)


def plan_blocks(plan: Plan, *, forcible: bool = False) -> Iterator[Block]:
    """What was read, will be written and happens then; or why it cannot be done. `forcible`: it could be by force."""
    request = plan.request
    lanes = (request.key,) if request.key else plan.keys
    for key in lanes[:8]:
        yield Block(safe(key), style="accent")
    if len(lanes) > 8:
        yield Block(f"and {len(lanes) - 8} more", style="faint")
    if plan.refusal:
        yield Block()
        yield Block(f"It cannot be done now: {safe(plan.refusal)}.", style="warning")
        if forcible:
            yield Block("f plans it all the same.", style="accent")
    yield Block()
    yield from _listed("read", plan.read)
    if not plan.refusal:
        yield from _listed("writes", plan.writes or ("nothing",))
        if plan.next_message:
            yield from _listed("then", (f"the next message {plan.next_message}",))
        if plan.expects == "pending":
            yield from _listed("when", ("at the lane's next message; until then it is pending",))
    yield from _listed("note", plan.notes)
    yield Block()
    yield Block("Same as:", style="faint")
    yield Block(safe(plan.command), style="accent", indent=1)


def _listed(name: str, words: tuple[str, ...]) -> Iterator[Block]:
    for at, word in enumerate(words):
        yield Block(f"• {safe(word)}", label="" if at else name, column=_COLUMN)
