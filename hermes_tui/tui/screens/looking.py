"""Counts a session as seen once a person looked, and draws a line above the new."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from weakref import ReferenceType, ref

from hermes_tui.tui.delay import Delay
from hermes_tui.tui.program import Program
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.tui.widgets.transcript.open_transcript import OpenTranscript

__all__ = ["Looking"]

_LOOKS = 1.0
"""Seconds that a session must be in sight before it counts as looked at."""
_BESIDE, _READING = 30.0, 600.0
"""Seconds after a key in which a person counts as being there: while the list has the keys, and while somebody
reads."""


class Looking:
    """Owns what was looked at in a pane."""

    def __init__(self, pane: TranscriptPane, program: Program, is_reading: Callable[[], bool] = lambda: True) -> None:
        """`is_reading`: the pane has the keys."""
        self._pane = pane
        self._program = program
        self._is_reading = is_reading
        self._divided: ReferenceType[OpenTranscript] | None = None
        """What is shown, once it is known whether something in it is new. It is not kept for that."""
        self._look = Delay(pane, self._looked, _LOOKS)

    def begin(self) -> None:
        """Hear of whatever may change it; once the pane is there."""
        pane, screen = self._pane, self._pane.screen
        self._program.onlookers.add(self)
        pane.watch(screen, "stack_updates", self.consider, init=False)
        screen.screen_layout_refresh_signal.subscribe(pane, lambda _: self.consider())

    def consider(self) -> None:
        """Another session is shown, there is more of it, it came into sight, or somebody came back."""
        pane, report = self._pane, self._program.attention
        opened, summary = pane.opened, pane.summary
        if summary is None or report is None or not (pane.is_running and pane.is_attached):
            return
        is_other = self._divided is None or self._divided() is not opened
        if is_other:
            self._look.stop()
        if summary.unified_id in report.unread and (is_other or not self._sees):
            since, before = datetime.fromtimestamp(report.unread[summary.unified_id], UTC), opened.view.since
            if before is None or since > before:  # what was seen meanwhile is not new to whoever comes back again
                opened.view.mark_new(since)
                pane.settle()
        self._divided = ref(opened)
        if self._sees and self.unread_parts(summary):
            self._look.start_once()

    @property
    def _sees(self) -> bool:
        """Somebody is there, and has the transcript in sight."""
        recent = time.monotonic() - self._program.touched < (_READING if self._is_reading() else _BESIDE)
        is_there = recent and self._program.app_focus  # of which a terminal may tell nothing: then it is True
        return is_there and self._pane.screen.is_active and bool(self._pane.region.area)

    def unread_parts(self, session: SessionSummary | None) -> Sequence[SessionSummary]:
        """Of the conversation that a session belongs to."""
        report = self._program.attention
        home = self._program.forest.by_session.get(session.unified_id) if session is not None else None
        if home is None or report is None:
            return ()
        return [one for one in home.parts if one.unified_id in report.unread]

    def _looked(self) -> None:
        async def see() -> None:
            before, shown = self._divided, await self._program.is_shown()
            if shown and self._sees and self._divided is before:  # else another was opened meanwhile
                for one in self.unread_parts(self._pane.summary):
                    self._program.see(one)

        if self._sees:
            run_beside(self._pane.screen, see, "looking")
