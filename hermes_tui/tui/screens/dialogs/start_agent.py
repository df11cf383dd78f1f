"""The dialog that confirms a resume or fork in the agent's own CLI."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from textual.app import ComposeResult
from textual.widgets import Input

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.cli_equivalent import own_command
from hermes_tui.tui.screens.dialogs.confirm import ConfirmScreen
from hermes_tui.tui.widgets.buttons import Buttons
from hermes_tui.tui.widgets.page import Page, Paragraph
from hermes_tui.tui.widgets.search_box import TextInput
from hermes_tui.tui.workers.coroutines import run_beside

if TYPE_CHECKING:
    from hermes_tui.sessions.native.plan import Start

__all__ = ["Agreed", "StartScreen", "start_blocks"]

_COLUMN = 11
_WORDS = {"resume": "Resume", "fork": "Fork"}


class Agreed(NamedTuple):
    """What to do."""

    start: Start
    where: Literal["here", "window"]


class StartScreen(ConfirmScreen[Agreed]):
    """Gives what was agreed to; None when nothing was."""

    BINDINGS = bindings("start")

    def __init__(
        self,
        verb: Literal["resume", "fork"],
        make: Callable[[str | None], Start],
        *,
        tmux: bool,
        home: Path | None = None,
    ) -> None:
        """`make` gives the plan for a directory (None: the session's own), called in a thread; it raises
        `HermesTuiError`. `tmux`: a window can be opened. `home`: as in `own_command`."""
        super().__init__(_WORDS[verb])
        self._verb = _WORDS[verb]
        self._make = make
        self._home = home
        self._tmux = tmux
        self._choices: tuple[Literal["here", "window"], ...] = ()
        self.start: Start | None = None
        """What is shown; None while it is made, or where there is no way."""

    def body(self) -> ComposeResult:
        """Text, the directory while it is typed, buttons."""
        yield Page()
        yield TextInput(id="directory", placeholder="Run it in another directory", select_on_focus=False)
        yield Buttons()

    def on_mount(self) -> None:
        """Have it looked up."""
        field = self.query_one(Input)
        field.cursor_blink = False
        field.display = False
        self.query_one(Page).show(
            [Paragraph("Looking at the program, the directory and running agents …", style="faint")]
        )
        self._look(None)

    def _look(self, directory: str | None) -> None:
        self.start = None

        async def plan() -> None:
            try:
                self._take(await in_thread(self._make, directory))
            except HermesTuiError as error:
                self._failed(str(error))
            except Exception as error:  # a bug: told, and nothing is started
                self._failed(f"{type(error).__name__}: {error}")

        run_beside(self, plan, exclusive=True)

    def _failed(self, reason: str) -> None:
        self.ask(f"Cannot {self._verb.lower()}", [Paragraph(f"{safe(reason)}.", style="warning")], refused=True)

    def _take(self, start: Start) -> None:
        self.start = start
        blocks = list(start_blocks(start, self._home))
        heading = f"{self._verb} with {safe(start.label)}?"
        if start.obstacles:
            self._choices = ()
            self.ask(f"Cannot {start.verb} yet", blocks, refused=True)
            return
        # A program in a window of its own leaves this one to be looked at.
        self._choices = ("window", "here") if self._tmux else ("here",)
        words = {"window": "New window (w)", "here": "Here (y)"}
        self.ask(heading, blocks, *(words[one] for one in self._choices))

    @property
    def _typing(self) -> bool:
        return isinstance(self.focused, Input)

    # Actions -----------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What is typed into the field is text."""
        return not self._typing or action == "close"

    def action_start(self, where: Literal["here", "window"]) -> None:
        """Yes; ignored where it may have been typed before this was to be seen."""
        if self.start is not None and where in self._choices and self.agreed():
            self.dismiss(Agreed(self.start, where))

    def action_choose(self) -> None:
        """What the chosen button says."""
        chosen = self.query_one(Buttons).chosen
        if chosen == 0:
            self.dismiss(None)
        else:
            self.action_start(self._choices[chosen - 1])

    def action_close(self) -> None:
        """From the field back to the question; from the question: close the dialog."""
        if self._typing:
            self._leave_field()
        else:
            self.dismiss(None)

    def action_directory(self) -> None:
        """Have another directory typed."""
        if self.start is None:
            return
        field = self.query_one(Input)
        field.display = True
        field.value = self.start.cwd
        self.set_focus(field)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Look again, in that directory."""
        event.stop()
        self._leave_field()
        self._look(event.value.strip() or None)

    def _leave_field(self) -> None:
        self.query_one(Input).display = False
        self.set_focus(self.query_one(Page))


def start_blocks(start: Start, home: Path | None = None) -> Iterator[Paragraph]:
    """What is started and where, what keeps it from starting, and what may go wrong. `home`: as in `own_command`."""
    yield Paragraph(safe(start.title or start.session_id), style="accent")
    yield Paragraph()
    yield Paragraph(safe(" ".join(start.argv)), label="starts", column=_COLUMN)
    yield Paragraph(safe(start.cwd), label="in", column=_COLUMN)
    for name, value in start.env.items():
        yield Paragraph(safe(f"{name}={value}"), label="with", column=_COLUMN)
    for name in start.unset:
        yield Paragraph(safe(name), label="without", column=_COLUMN)
    if start.obstacles or start.warnings:
        yield Paragraph()
    for obstacle in start.obstacles:
        # A program's name stays as it is typed.
        text = obstacle.text if obstacle.kind == "program" else f"{obstacle.text[:1].upper()}{obstacle.text[1:]}"
        yield Paragraph(f"{safe(text)}.", style="warning", label="✗", column=2)
    for warning in start.warnings:
        yield Paragraph(f"{safe(warning)}.", style="warning", label="!", column=2)
    yield Paragraph()
    if any(one.kind == "directory" for one in start.obstacles):
        yield Paragraph("d runs it in another directory.", style="accent")
        yield Paragraph()
    yield Paragraph("Same as:", style="faint")
    yield Paragraph(own_command(start.ours, home), style="accent", indent=1)
