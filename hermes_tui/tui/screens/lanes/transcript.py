"""The transcript of a lane: its current session, and the earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from textual import on
from textual.app import ComposeResult

from hermes_tui.clock import Clock
from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.background import Slot
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.dismissal import DismissOnce
from hermes_tui.tui.widgets.hints import OF_SEARCHES, Hints
from hermes_tui.tui.widgets.line import Line
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from hermes_tui.tui.workers.coroutines import run_beside
from hermes_tui.tui.workers.session_reader import OpenedSession, SessionReader
from session_adapters.model import SessionSummary
from session_adapters.transcript import Transcript

__all__ = ["LaneTranscript"]


class LaneTranscript(DismissOnce[None]):
    """Reads as the main screen's transcript does, and follows the session."""

    AUTO_FOCUS = "TranscriptPane"
    BINDINGS = bindings("lane")

    def __init__(
        self,
        clock: Clock,
        title: str,
        sessions: Sequence[tuple[str, str]],
        summary_of: Callable[[str], SessionSummary],
        part_of: Callable[[str], ListedPart | None],
        open_session: Callable[[str, str], Transcript],
        schedule: Callable[[Callable[[], None]], object],
    ) -> None:
        """`title` names the lane, safe for a terminal. `sessions`: id and what is to be said of it, the current one
        first. `summary_of` and `open_session` are called in threads; `schedule` runs a function in the screen's.
        `part_of`: what the list knows of a session by its unified id."""
        super().__init__()
        self._clock = clock
        self._lane = title
        self._sessions = tuple(sessions)
        self._summary_of = summary_of
        self._part_of = part_of
        self._at = 0
        self._transcript: Transcript | None = None
        self._asking = False
        opens: Slot[OpenedSession] = Slot(schedule, self._opened)
        growths: Slot[Transcript] = Slot(schedule, self._grown)
        self._reader = SessionReader(open_session, opens.put, growths.put)

    def compose(self) -> ComposeResult:
        """Title, transcript, hints."""
        yield Line(id="title")
        yield TranscriptPane(self._clock)
        yield Hints(id="hints")

    def on_mount(self) -> None:
        """Open the current session."""
        self._reader.start()
        self._turn(0)
        self.call_after_refresh(self.query_one(Hints).show_keys, OF_SEARCHES)

    def on_unmount(self) -> None:
        """Watch nothing any more."""
        self._reader.stop()

    @property
    def pane(self) -> TranscriptPane:
        """The transcript."""
        return self.query_one(TranscriptPane)

    @property
    def session_id(self) -> str:
        """Of the session that is wanted."""
        return self._sessions[self._at][0]

    def _turn(self, at: int) -> None:
        self._at = at
        self._transcript = None
        id_, note = self._sessions[at]
        total = len(self._sessions)  # counted as parts are: the current one is the last
        place = f"session {total - at} of {total}" if total > 1 else ""
        parts = [safe(part) for part in (id_, note, place) if part]
        self.query_one("#title", Line).show([(f" {self._lane}", "bright"), (f" · {' · '.join(parts)}", "faint")])
        run_beside(self, partial(self._find, id_), "find", exclusive=True)

    async def _find(self, session_id: str) -> None:
        try:
            summary = await in_thread(self._summary_of, session_id)
        except HermesTuiError as error:
            self.pane.clear(f"Cannot be shown: {safe(str(error))}")
            return
        self._reader.request(summary)

    def _opened(self, opened: OpenedSession) -> None:
        if self.is_left or opened.summary.session_id != self.session_id:
            return
        if self._transcript is not None and not (opened.transcript and self.pane.following):
            self._reader.watch(self._transcript)  # opened again, for nothing: what is shown stays
            return
        self._transcript = opened.transcript
        if opened.transcript is None:
            self.pane.clear(f"Cannot be shown: {safe(opened.reason)}")
        else:
            self.pane.show(opened.summary, opened.transcript)
            self.sessions_changed()

    def sessions_changed(self) -> None:
        """Show what the list knows of the session by now."""
        shown = self.pane.summary if self._transcript is not None else None
        part = self._part_of(shown.unified_id) if shown is not None else None
        if part is not None:
            self.pane.show_part(part)

    def _grown(self, transcript: Transcript) -> None:
        if not self.is_left and transcript is self._transcript and not self._asking:
            self._asking = True
            run_beside(self, self._poll, "poll")

    async def _poll(self) -> None:
        try:
            await self.pane.poll()
        finally:
            self._asking = False
        if self._transcript is not None and self.pane.is_heavy and self.pane.summary is not None:
            self._reader.request(self.pane.summary)

    @on(TranscriptPane.Refused)
    def _refused(self, event: TranscriptPane.Refused) -> None:
        self.notify(event.reason, markup=False)

    @on(TranscriptPane.NoMore)
    def _no_more(self) -> None:
        self.notify("Nothing is searched for here: / searches from the sessions.", markup=False)

    # Actions -----------------------------------------------------------------------------------------------

    def action_session(self, step: int) -> None:
        """The session before this one (1), or after it (-1)."""
        at = self._at + step
        if 0 <= at < len(self._sessions):
            self._turn(at)
        else:
            said = "There is no earlier session of this lane." if step > 0 else "This is the lane's current session."
            self.notify(said, markup=False)

    def action_close(self) -> None:
        """Back to the lanes."""
        self.dismiss(None)
