"""What came since a person looked: marks it read by looking, and goes to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from weakref import ReferenceType, ref

from hermes_tui.display import counted
from hermes_tui.tui.delay import Delay
from hermes_tui.tui.screens.main.parts import MainParts
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.tui.widgets.session_list.conversation import Conversation
    from hermes_tui.tui.widgets.transcript.open_transcript import OpenTranscript

__all__ = ["UnreadController"]

_LOOKS = 1.0
"""Seconds that a session must be in sight before it counts as looked at."""
_BESIDE, _READING = 30.0, 600.0
"""Seconds after a key in which a person counts as being there: while the list has the keys, and while somebody
reads."""


class UnreadController:
    """Owns what is known of the person: when the latest key came, and since when what is shown is looked at."""

    def __init__(self, parts: MainParts, now: Callable[[], float] = time.monotonic) -> None:
        self._parts = parts
        self._now = now
        self._touched = -_READING  # whoever starts a program may look at another
        self._divided: ReferenceType[OpenTranscript] | None = None
        """What is shown, once it is known whether something in it is new. It is not kept for that."""
        self._look = Delay(parts.screen, self._looked, _LOOKS)

    def touched(self) -> None:
        """Somebody pressed a key, moved the mouse, or came to the terminal or left it."""
        self._touched = self._now()
        if self._parts.sessions.states.unread:
            self.consider()

    def consider(self) -> None:
        """Another session is shown, there is more of it, it came into sight, or somebody came back."""
        pane, states = self._parts.pane, self._parts.sessions.states
        opened, summary = pane.opened, pane.summary
        if summary is None or self._parts.program.attention is None:
            return
        is_other = self._divided is None or self._divided() is not opened
        if is_other:
            self._look.stop()
        if summary.unified_id in states.unread and (is_other or not self._sees):
            since, before = datetime.fromtimestamp(states.unread[summary.unified_id], UTC), opened.view.since
            if before is None or since > before:  # what was seen meanwhile is not new to whoever comes back again
                opened.view.mark_new(since)
                pane.settle()
        self._divided = ref(opened)
        if self._sees and self._unread_parts():
            self._look.start_once()

    @property
    def _sees(self) -> bool:
        """Somebody is there, and has the transcript in sight."""
        recent = self._now() - self._touched < (_READING if self._parts.is_reading else _BESIDE)
        is_there = recent and self._parts.program.app_focus  # of which a terminal may tell nothing: then it is True
        return is_there and self._parts.screen.is_active and bool(self._parts.pane.region.area)

    def _unread_parts(self) -> Sequence[SessionSummary]:
        """Of the conversation that is shown."""
        summary, sessions = self._parts.pane.summary, self._parts.sessions
        home = sessions.forest.by_session.get(summary.unified_id) if summary is not None else None
        return self._unread_of(home) if home is not None else ()

    def _unread_of(self, conversation: Conversation) -> Sequence[SessionSummary]:
        unread = self._parts.sessions.states.unread
        return [one for one in conversation.parts if one.unified_id in unread]

    def _looked(self) -> None:
        if self._sees:
            self._see(self._unread_parts())

    def _see(self, sessions: Sequence[SessionSummary]) -> None:
        for one in sessions:
            self._parts.program.see(one)

    # Keys --------------------------------------------------------------------------------------------------

    def go_next(self) -> None:
        """To the next session of the list with something new in it; it is opened where one is read."""
        parts, sessions = self._parts, self._parts.sessions
        states, rows = sessions.states, sessions.rows
        found = [
            at for at, row in enumerate(rows) if row.conversation is not None and states.is_unread(row.conversation)
        ]
        folded = [one for one in states.unread if one in sessions.forest.by_session]
        if found:
            sessions.go(next((at for at in found if at > sessions.cursor), found[0]))
        elif folded and not sessions.is_filtered:
            sessions.reveal(folded[0])
        else:
            elsewhere = "; those of other lists have" if folded else ""
            parts.screen.notify(f"No session here has anything new{elsewhere}.")
            return
        if parts.is_reading:
            sessions.action_open()

    def mark_read(self) -> None:
        """Count the session that is read, or the one under the cursor, as looked at."""
        subject = self._parts.subject
        home = self._parts.sessions.forest.by_session.get(subject.unified_id) if subject is not None else None
        unread = self._unread_of(home) if home is not None else ()
        if not unread:
            self._parts.screen.notify("There is nothing new in this session.")
        self._see(unread)

    def mark_all_read(self) -> None:
        """Count all that is new anywhere as looked at, once that is agreed to."""
        from hermes_tui.tui.screens.main.all_seen import AllSeenScreen

        parts, program = self._parts, self._parts.program

        def unread() -> Sequence[SessionSummary]:
            return [one for one in parts.snapshot.sessions if one.unified_id in parts.sessions.states.unread]

        def chosen(agreed: bool | None) -> None:
            if agreed:
                found = unread()
                self._see(found)
                program.notify(f"{counted(len(found), 'session')} counted as seen.")

        if found := unread():
            program.push_screen(AllSeenScreen(len(found)), chosen)
        else:
            program.notify("No session has anything new.")
