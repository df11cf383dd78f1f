"""The transcript of a lane: its current session, and the earlier ones."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.background import Slot
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.program import Program
from hermes_tui.tui.screens.followed import FollowedSession
from hermes_tui.tui.screens.full_screen import FullScreen
from hermes_tui.tui.screens.looking import Looking
from hermes_tui.tui.widgets.hints import OF_SEARCHES
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from hermes_tui.tui.workers.coroutines import run_beside
from hermes_tui.tui.workers.session_reader import OpenedSession, SessionReader
from session_adapters.transcript import Transcript

__all__ = ["LaneTranscript"]


class LaneTranscript(FullScreen[None]):
    """Reads as the main screen's transcript does, and follows the session."""

    AUTO_FOCUS = "TranscriptPane"
    BINDINGS = bindings("lane")
    without = OF_SEARCHES

    def __init__(self, program: Program, title: str, sessions: Sequence[tuple[str, str]]) -> None:
        """`title` names the lane, safe for a terminal. `sessions`: id and what is to be said of it, the current one
        first."""
        super().__init__()
        self._program = program
        self._lane = title
        self._sessions = tuple(sessions)
        self._at = 0
        self.pane = TranscriptPane(program.clock)
        opens: Slot[OpenedSession] = Slot(program.in_loop, self._opened)
        growths: Slot[Transcript] = Slot(program.in_loop, self._grown)
        self._reader = SessionReader(program.manager.open, opens.put, growths.put)
        self._looking = Looking(self.pane, program)
        part_of = lambda unified: program.forest.part(unified)  # noqa: E731  (the forest of that moment)
        self._followed = FollowedSession(self.pane, self._reader, part_of, self._looking)

    def body(self) -> ComposeResult:
        """The transcript."""
        yield self.pane
        yield self.pane.find_bar

    def on_mount(self) -> None:
        """Open the current session."""
        self._reader.start()
        self._looking.begin()
        self._turn(0)

    def on_unmount(self) -> None:
        """Watch nothing any more."""
        self._reader.stop()

    @property
    def session_id(self) -> str:
        """Of the session that is wanted."""
        return self._sessions[self._at][0]

    def _turn(self, at: int) -> None:
        self._at = at
        self._followed.forget()
        id_, note = self._sessions[at]
        total = len(self._sessions)  # counted as parts are: the current one is the last
        place = f"session {total - at} of {total}" if total > 1 else ""
        parts = [safe(part) for part in (id_, note, place) if part]
        self.show_title([(f" {self._lane}", "bright"), (f" · {' · '.join(parts)}", "faint")])

        async def find() -> None:
            try:
                summary = await in_thread(self._program.manager.summary, "hermes", id_)
            except HermesTuiError as error:
                self.pane.clear(f"Cannot be shown: {safe(str(error))}")
            else:
                self._followed.request(summary)

        # Exclusive: of sessions that were gone to in haste, the last one is shown.
        run_beside(self, find, "find", exclusive=True)

    def _opened(self, opened: OpenedSession) -> None:
        if not self.is_left:
            self._followed.opened(opened)

    def _grown(self, transcript: Transcript) -> None:
        if not self.is_left:
            self._followed.grown(transcript)

    def sessions_changed(self) -> None:
        """Show what the list knows of the session by now."""
        if self._followed.shown is not None:
            self._followed.update()

    @on(TranscriptPane.NoMore)
    def _no_more(self) -> None:
        self.notify("Nothing is looked for here: press / and type.")

    @on(TranscriptPane.HelperWanted)
    def _helper_wanted(self) -> None:
        self.notify("Open the session from the list to read its sub-agents: space opens the call.")

    # Actions -----------------------------------------------------------------------------------------------

    def action_close(self) -> None:
        """Find nothing any more, or leave."""
        if not self.pane.typed.step_back():
            super().action_close()

    def action_session(self, step: int) -> None:
        """The session before this one (1), or after it (-1)."""
        at = self._at + step
        if 0 <= at < len(self._sessions):
            self._turn(at)
        else:
            said = "There is no earlier session of this lane." if step > 0 else "This is the lane's current session."
            self.notify(said)
