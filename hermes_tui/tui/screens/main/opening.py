"""Opening sessions in the transcript of the main screen, and following them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from hermes_tui.tui.widgets.session_list.rows import Conversation
from hermes_tui.tui.workers.session_reader import OpenedSession, SessionReader
from session_adapters.model import SessionSummary
from session_adapters.transcript import Transcript

if TYPE_CHECKING:
    from hermes_tui.tui.widgets.session_list.widget import SessionList
    from hermes_tui.tui.widgets.transcript.context_view import SeeingPane
    from hermes_tui.tui.widgets.transcript.loading import Kept

__all__ = ["Opening"]


class Opening(Screen[None]):
    """For a screen with the list and the transcript."""

    if TYPE_CHECKING:

        @property
        def sessions(self) -> SessionList:
            """The list."""
            raise NotImplementedError

        @property
        def pane(self) -> SeeingPane:
            """The transcript."""
            raise NotImplementedError

    def _begin_opening(self, reader: SessionReader) -> None:
        """Called when the screen is made."""
        self._reader = reader
        self._wanted = ""
        """Unified id of the session that the transcript shows or is about to show."""
        self._transcript: Transcript | None = None
        self._asking = False

    def take_aim(self) -> None:
        """Called when a session was opened."""

    def _update_pane(self) -> None:
        """Tell the transcript what is new about the session that it shows."""
        shown = self.pane.summary
        part = self.sessions.forest.part(shown.unified_id) if shown is not None else None
        if part is not None:
            self.pane.show_part(part)

    def opened(self, opened: OpenedSession) -> None:
        """A session was opened, or could not be."""
        if opened.summary.unified_id != self._wanted:
            return
        again = self._transcript is not None
        if self._transcript is not None and not (opened.transcript and self.pane.following):
            self._reader.watch(self._transcript)  # opened again, for nothing: what is shown stays
            return
        self._transcript = opened.transcript
        if opened.transcript is None:
            self._wanted = ""
            self.pane.clear(f"Cannot be shown: {opened.reason}")
        else:
            self.pane.show(opened.summary, opened.transcript)
            self._update_pane()  # the list may know more by now than when the session was asked for
            if not again:
                self.take_aim()

    def grown(self, transcript: Transcript) -> None:
        """The file of a transcript has changed, or it is time to ask its server, unless that has yet to answer."""
        if transcript is self._transcript and not (transcript.is_remote and self._asking):
            self._asking = True
            self.run_worker(self._poll(), group="poll", exit_on_error=True)

    async def _poll(self) -> None:
        await self.pane.poll()
        self._asking = False
        if self._transcript is not None and self.pane.is_heavy and self.pane.summary is not None:
            self._reader.request(self.pane.summary)

    def _open(self, conversation: Conversation) -> None:
        """Have the newest part of a conversation shown, unless it is."""
        self.request(conversation.tip)

    def request(self, summary: SessionSummary) -> bool:
        """Have a session shown; whether it has to be opened for that."""
        if summary.unified_id == self._wanted:
            return self._transcript is None
        self._wanted = summary.unified_id
        self._transcript = None
        self.pane.light(None)
        self._reader.request(summary)
        return True

    def bring_back(self, kept: Kept) -> None:
        """Show the session that was kept, as it was."""
        self.pane.light(None)
        self.pane.bring_back(kept)
        self._transcript = kept.transcript
        self._wanted = kept.summary.unified_id if kept.summary is not None else ""
        if kept.transcript is not None:
            self._reader.watch(kept.transcript)
            self._update_pane()
        else:
            self._reader.forget()
