"""Goes to what came since a person looked, and counts it as seen."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.display import counted
from hermes_tui.tui.screens.looking import Looking
from hermes_tui.tui.screens.main.parts import MainParts
from session_adapters.model import SessionSummary

__all__ = ["UnreadController"]


class UnreadController:
    """What the keys `u`, `U` and `N` do."""

    def __init__(self, parts: MainParts, looking: Looking) -> None:
        self._parts = parts
        self._looking = looking

    def go_next(self) -> None:
        """To the next session of the list with something new in it; it is opened where one is read."""
        parts, sessions = self._parts, self._parts.sessions
        states, rows = sessions.states, sessions.rows
        found = [
            at for at, row in enumerate(rows) if row.conversation is not None and states.is_unread(row.conversation)
        ]
        shown = {rows[at].key for at in found}
        homes = sessions.forest.by_session
        folded = [one for one in states.unread if one in homes and homes[one].key not in shown]
        at = next((at for at in found if at > sessions.cursor), None)
        if at is not None:
            sessions.go(at)
        elif folded and not sessions.is_filtered:
            sessions.reveal(folded[0])
        elif found:
            if found[0] == sessions.cursor:
                parts.screen.notify("No other session here has anything new.")
            sessions.go(found[0])
        else:
            elsewhere = "; those of other lists have" if folded else ""
            parts.screen.notify(f"No session here has anything new{elsewhere}.")
            return
        if parts.is_reading:
            sessions.action_open()

    def mark_read(self) -> None:
        """Count the session that is read, or the one under the cursor, as looked at."""
        unread = self._looking.unread_parts(self._parts.subject)
        if not unread:
            self._parts.screen.notify("There is nothing new in this session.")
        for one in unread:
            self._parts.program.see(one)

    def mark_all_read(self) -> None:
        """Count all that is new anywhere as looked at, once that is agreed to."""
        from hermes_tui.tui.screens.main.all_seen import AllSeenScreen

        parts, program = self._parts, self._parts.program

        def unread() -> Sequence[SessionSummary]:
            return [one for one in parts.snapshot.sessions if one.unified_id in parts.sessions.states.unread]

        def chosen(agreed: bool | None) -> None:
            if agreed:
                found = unread()
                for one in found:
                    program.see(one)
                program.notify(f"{counted(len(found), 'session')} counted as seen.")

        if found := unread():
            program.push_screen(AllSeenScreen(len(found)), chosen)
        else:
            program.notify("No session has anything new.")
