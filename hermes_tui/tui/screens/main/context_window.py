"""The keys that dim what the agent no longer sees, and other context windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.screens.dialogs.menu import MenuChoice, MenuScreen
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.config import ContextWindow

__all__ = ["ContextActions"]

_WINDOWS = (
    ("1", "summary_buffer", "since the last summary, what fits 8,000 tokens"),
    ("2", "buffer_window:10", "the last 10 messages"),
    ("3", "buffer_window:20", "the last 20 messages"),
    ("4", "buffer_window:50", "the last 50 messages"),
    ("5", "token_window:2000", "the newest that fit 2,000 tokens"),
    ("6", "token_window:8000", "the newest that fit 8,000 tokens"),
    ("7", "token_window:32000", "the newest that fit 32,000 tokens"),
)
"""(key, window, what it is)"""
_TYPED = "8"


class ContextActions:
    """Each acts on the conversation that the transcript shows."""

    def __init__(self, parts: MainParts) -> None:
        self._parts = parts
        self._pane = parts.pane

    def toggle(self) -> None:
        """Dim what the agent no longer sees, or show everything again."""
        if self._pane.context.choice is not None and self._pane.display:
            self._pane.context.see(None)
        else:
            self._see(None)

    def choose(self) -> None:
        """Choose another window on the conversation."""
        from hermes_tui.sessions.context.window_choice import parse_window

        if self._open_session() is None:
            return
        choices = [MenuChoice(key, window.replace(":", " "), what) for key, window, what in _WINDOWS]
        choices.insert(0, MenuChoice("0", "its own", "what the agent itself is set to"))
        choices.append(MenuChoice(_TYPED, "another …", "a size that is typed"))
        windows = {key: window for key, window, _ in _WINDOWS}

        def typed(window: ContextWindow | None) -> None:
            if window is not None:
                self._see(window)

        def chosen(key: str | None) -> None:
            if key == _TYPED:
                from hermes_tui.tui.screens.dialogs.context_window import WindowScreen

                self._parts.program.push_screen(WindowScreen("buffer_window:"), typed)
            elif key is not None:
                self._see(parse_window(windows[key]) if key in windows else None)

        self._parts.program.push_screen(MenuScreen("What the agent would see through", choices), chosen)

    def memory(self) -> None:
        """Show the three layers of memory of a session of Hector's."""
        from hermes_tui.tui.screens.memory import MemoryScreen

        subject = self._parts.subject
        if subject is None:
            self._parts.screen.notify("There is no session here.")
        elif subject.agent != "hector":
            said = f"Only Hector's agents have a memory that can be shown; this session is of {safe(subject.agent)}."
            self._parts.screen.notify(said)
        else:
            self._parts.program.push_screen(MemoryScreen(self._parts.program, subject))

    def _open_session(self) -> SessionSummary | None:
        """The session that is to be seen; where there is none, that is said."""
        if self._pane.summary is not None and self._pane.display:
            return self._pane.summary
        said = "Open a session first: then this dims what its agent no longer sees."
        self._parts.screen.notify(said)
        return None

    def _see(self, window: ContextWindow | None) -> None:
        summary = self._open_session()
        if summary is None:
            return

        async def find() -> None:
            try:
                choice = await in_thread(self._parts.program.manager.context_window, summary, window)
            except HermesTuiError as error:
                self._parts.screen.notify(safe(str(error)), severity="error")
                return
            # Reading the agent's configuration may take a moment: another session may be open by now.
            if self._pane.summary is not None and self._pane.summary.unified_id == summary.unified_id:
                self._pane.context.see(choice)
                if choice.trouble:
                    self._parts.screen.notify(safe(choice.trouble), severity="warning")

        run_beside(self._parts.screen, find, "context", exclusive=True)
