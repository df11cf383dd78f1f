"""A session in a transcript pane: opened, followed, opened again when it is long."""

from __future__ import annotations

from collections.abc import Callable

from hermes_tui.tui.screens.looking import Looking
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from hermes_tui.tui.workers.coroutines import run_beside
from hermes_tui.tui.workers.session_reader import OpenedSession, SessionReader
from session_adapters.model import SessionSummary
from session_adapters.transcript import Transcript

__all__ = ["FollowedSession"]


class FollowedSession:
    """Owns which session the pane shows."""

    def __init__(
        self,
        pane: TranscriptPane,
        reader: SessionReader,
        part_of: Callable[[str], ListedPart | None],
        looking: Looking,
    ) -> None:
        """`reader` opens sessions, and tells of those that have grown. `part_of`: what the list knows of a session by
        its unified id. `looking`: knows whether a person looks at the pane."""
        self._pane = pane
        self._reader = reader
        self._part_of = part_of
        self._looking = looking
        self.wanted = ""
        """Unified id of the session that is shown or about to be."""
        self.shown: Transcript | None = None
        """What is open; None while the session that was asked for is not."""
        self.polling = False
        """What came since is being read."""

    def request(self, summary: SessionSummary) -> None:
        """Have a session opened and shown."""
        self.forget()
        self.wanted = summary.unified_id
        self._reader.request(summary)

    def forget(self) -> None:
        """No session is wanted."""
        self.wanted = ""
        self.shown = None

    def opened(self, opened: OpenedSession) -> None:
        """Show a session that was opened, or why it could not be."""
        if opened.summary.unified_id != self.wanted:
            return
        before = self.shown
        if before is not None and not (opened.transcript and self._pane.following):
            self._reader.watch(before)  # opened again, for nothing: what is shown stays
            return
        self.shown = opened.transcript
        if opened.transcript is None:
            self.wanted = ""
            self._pane.clear(f"Cannot be shown: {opened.reason}")
            return
        self._pane.show(opened.summary, opened.transcript)
        self.update()  # the list may know more by now than when the session was asked for
        if before is None:
            self._pane.typed.session_opened()
            self.arrived()

    def arrived(self) -> None:
        """Called when a session that was asked for is shown."""

    def update(self) -> None:
        """Tell the pane what the list knows of the session by now, and have its file looked at: the list hears first
        that one at rest goes on. Look for what is new in it."""
        if self.shown is not None and not self.shown.is_remote:
            self._reader.look_now()
        summary = self._pane.summary
        part = self._part_of(summary.unified_id) if summary is not None else None
        if part is not None:
            self._pane.show_part(part)
        self._looking.consider()

    def grown(self, transcript: Transcript) -> None:
        """The file of a transcript has changed, or it is time to ask its server, unless that has yet to answer."""
        if transcript is self.shown and not (transcript.is_remote and self.polling):
            self.polling = True

            async def poll() -> None:
                try:
                    await self._pane.poll()
                finally:
                    self.polling = False
                if self.shown is not None and self._pane.is_heavy and self._pane.summary is not None:
                    self._reader.request(self._pane.summary)

            run_beside(self._pane.screen, poll, "poll")
