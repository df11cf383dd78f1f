"""The keys that hand a session to its agent's own program, and bring one back to the same place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import aside

if TYPE_CHECKING:
    from hermes_tui.sessions.native import Start
    from hermes_tui.tui.app import HermesApp
    from hermes_tui.tui.screens.dialogs.start_agent import Agreed
    from session_adapters.model import SessionSummary

__all__ = ["NativeActions"]


class NativeActions:
    """For a screen that knows which session its keys act on."""

    if TYPE_CHECKING:
        app: Any
        notify: Any
        is_attached: bool

        @property
        def subject(self) -> SessionSummary | None:
            """The session that keys act on."""
            raise NotImplementedError

        @property
        def _program(self) -> HermesApp:
            raise NotImplementedError

        def _nothing_here(self) -> None:
            raise NotImplementedError

    def action_resume(self) -> None:
        """Go on with the session in the agent's own program."""
        self._propose("resume")

    def action_fork(self) -> None:
        """Begin a new session with what was said in this one."""
        self._propose("fork")

    def _propose(self, verb: Literal["resume", "fork"]) -> None:
        """Show what would be started. At once: what is typed next must not reach the list any more."""
        from hermes_tui.tui.screens.dialogs.start_agent import StartScreen

        subject = self.subject
        if subject is None:
            self._nothing_here()
            return
        manager = self._program.manager
        plan = manager.resume if verb == "resume" else manager.fork

        def make(directory: str | None) -> Start:
            return plan(subject.agent, subject.session_id, cwd=directory)

        home = self._program.named_home
        screen = StartScreen(verb, make, tmux=bool(os.environ.get("TMUX")), home=home)
        self.app.push_screen(screen, self._agreed)

    def _agreed(self, agreed: Agreed | None) -> None:
        if agreed is None:
            return
        if agreed.where == "window":
            self._program.run_worker(self._open_window(agreed.start), group="native", exit_on_error=True)
        else:
            # Not before the question is off the screen: what is seen afterwards is where one was.
            self.app.call_after_refresh(self._run_here, agreed.start)

    async def _open_window(self, start: Start) -> None:
        from hermes_tui.sessions.native.start import open_window

        try:
            await aside(open_window, start)
        except HermesTuiError as error:
            self._tell(str(error), bad=True)
        else:
            self._tell(f"{start.label} runs in a new window of tmux.")

    def _run_here(self, start: Start) -> None:
        from hermes_tui.platform.external import run_start

        try:
            start.check()
            code = run_start(self.app, start)
        except HermesTuiError as error:
            self._tell(str(error), bad=True)
            return
        if code:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            self._tell(f"{start.label} {how}.", bad=True)
        self._program.action_refresh()

    def _tell(self, text: str, *, bad: bool = False) -> None:
        self._program.notify(safe(text), severity="error" if bad else "information", markup=False, timeout=10)
