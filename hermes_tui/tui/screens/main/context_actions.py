"""The key that dims what the agent no longer sees of the open conversation, and other windows on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import aside
from hermes_tui.tui.screens.dialogs.menu import MenuChoice as Line
from hermes_tui.tui.screens.dialogs.menu import MenuScreen

if TYPE_CHECKING:
    from hermes_tui.config import ContextWindow
    from hermes_tui.tui.app import HermesApp
    from hermes_tui.tui.widgets.transcript.context_view import SeeingPane

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
    """For a screen with a transcript."""

    if TYPE_CHECKING:
        app: Any
        notify: Any
        run_worker: Any

        @property
        def pane(self) -> SeeingPane:
            """The transcript."""
            raise NotImplementedError

        @property
        def _program(self) -> HermesApp:
            raise NotImplementedError

    def action_context(self) -> None:
        """Dim what the agent no longer sees, or show everything again."""
        if self.pane.choice is not None and self.pane.display:
            self.pane.see(None)
        else:
            self._see(None)

    def action_context_window(self) -> None:
        """Choose another window on the conversation."""
        from hermes_tui.sessions.context import parse_window

        choices = [Line(key, window.replace(":", " "), what) for key, window, what in _WINDOWS]
        choices.insert(0, Line("0", "its own", "what the agent itself is set to"))
        choices.append(Line(_TYPED, "another …", "a size that is typed"))
        windows = {key: window for key, window, _ in _WINDOWS}

        def chosen(key: str | None) -> None:
            if key == _TYPED:
                self._type_window()
            elif key is not None:
                self._see(parse_window(windows[key]) if key in windows else None)

        if self.pane.summary is None or not self.pane.display:
            self._nothing_open()
        else:
            self.app.push_screen(MenuScreen("What the agent would see through", choices), chosen)

    def _type_window(self) -> None:
        from hermes_tui.tui.screens.dialogs.context_window import WindowScreen

        def typed(window: ContextWindow | None) -> None:
            if window is not None:
                self._see(window)

        self.app.push_screen(WindowScreen("buffer_window:"), typed)

    def _nothing_open(self) -> None:
        self.notify("Open a session first: then this dims what its agent no longer sees.", markup=False)

    def _see(self, window: ContextWindow | None) -> None:
        if self.pane.summary is None or not self.pane.display:
            self._nothing_open()
        else:
            self.run_worker(self._find_window(window), group="context", exclusive=True, exit_on_error=True)

    async def _find_window(self, window: ContextWindow | None) -> None:
        """Reading the agent's configuration may take a moment."""
        summary = self.pane.summary
        if summary is None:
            return
        try:
            choice = await aside(self._program.manager.context_window, summary, window)
        except HermesTuiError as error:
            self.notify(safe(str(error)), severity="error", markup=False)
            return
        if self.pane.summary is not None and self.pane.summary.unified_id == summary.unified_id:
            self.pane.see(choice)
            if choice.trouble:
                self.notify(safe(choice.trouble), severity="warning", markup=False)
