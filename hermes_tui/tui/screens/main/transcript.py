"""The session on the main screen: opened, followed, searched match by match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hermes_tui.tui.screens.followed import FollowedSession
from hermes_tui.tui.screens.looking import Looking
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.screens.main.unread import UnreadController
from hermes_tui.tui.workers.session_reader import SessionReader
from session_adapters.model import SessionSummary, unified_id

if TYPE_CHECKING:
    from hermes_tui.sessions.query.query import Query
    from hermes_tui.sessions.search.incremental.search import LivePart
    from hermes_tui.sessions.search.within import Within
    from hermes_tui.tui.widgets.transcript.open_transcript import OpenTranscript
    from hermes_tui.tui.widgets.transcript.view import Bookmark

__all__ = ["SearchHit", "TranscriptController"]


class SearchHit(NamedTuple):
    """What a search has found in a conversation."""

    query: Query
    key: str
    """Of the conversation in the list."""
    summary: SessionSummary
    """The session with the best match."""
    message_id: str
    """Of that match; empty for the end of the session."""
    parts: Sequence[LivePart]
    """All sessions of the conversation with a match, the one that is opened from the list at first. They stay the
    same while more is found."""


class _Aim(NamedTuple):
    """Where to go in a session once it is open."""

    unified_id: str
    within: Within
    message_id: str
    """Empty for its end."""
    step: int = 0
    """1 for its first match, -1 for its last one, whatever `message_id` is."""
    known: frozenset[str] = frozenset()
    """Ids of all messages with a match, where they are known."""


class TranscriptController(FollowedSession):
    """Shows what the list and a search ask for."""

    def __init__(self, parts: MainParts, reader: SessionReader) -> None:
        """`reader` opens sessions, and tells of those that have grown."""
        self.looking = Looking(parts.pane, parts.program, lambda: parts.is_reading)
        super().__init__(parts.pane, reader, parts.sessions.part, self.looking)
        self.pane = parts.pane
        self._part_by_id = parts.sessions.part
        self._sessions = reader
        self.unread = UnreadController(parts, self.looking)
        self._kept: OpenTranscript | None = None
        """The session as it was before the search."""
        self._callers: list[OpenTranscript] = []
        """Sessions to return to, from those of their sub-agents."""
        self._aim: _Aim | None = None
        self._hit: SearchHit | None = None
        self._edge: tuple[int, Bookmark | None] = (0, None)
        """The match behind which it was said that there is no other, and in which direction."""

    @property
    def is_settled(self) -> bool:
        """Nothing is under way: no session to be opened, no match to be gone to, nothing to be read on."""
        return self.shown is not None and not self.polling and self._aim is None and not self.pane.finder.is_seeking

    def shows_one_of(self, sessions: Sequence[SessionSummary]) -> bool:
        """One of these is shown or about to be."""
        return any(one.unified_id == self.wanted for one in sessions)

    # Opening and following ---------------------------------------------------------------------------------

    def ask_for(self, summary: SessionSummary) -> bool:
        """Have a session shown; whether it has to be opened for that."""
        if summary.unified_id == self.wanted:
            return self.shown is None
        self._callers = []
        self.request(summary)
        self.pane.finder.light(None)
        return True

    # Sub-agents --------------------------------------------------------------------------------------------

    @property
    def is_in_helper(self) -> bool:
        """What is read was opened from the call of a sub-agent."""
        return bool(self._callers)

    def open_helper(self, session_id: str) -> None:
        """Read the session of a sub-agent that the shown one has called."""
        caller = self.pane.opened
        part = None if caller.summary is None else self._part_by_id(unified_id(caller.summary.agent, session_id))
        if part is None:
            self.pane.refuse("This sub-agent's session is not among those that were found")
            return
        callers = [*self._callers, caller]
        # It takes a session for one that was chosen anew, and forgets who has called.
        self.ask_for(part.summary)
        self._callers = callers

    def return_to_caller(self) -> bool:
        """Show the session that has called the sub-agent, where it was left; False where none has."""
        if self._callers:
            self._show_again(self._callers.pop())
            return True
        return False

    # Before and after a search -----------------------------------------------------------------------------

    def keep_place(self) -> None:
        """Before the first question of a search: remember the session as it is."""
        if self._kept is None:
            self._kept = self.pane.opened

    def forget_hit(self) -> None:
        """What was found is not asked for any more."""
        self._aim = self._hit = None

    def bring_back(self) -> None:
        """The search is over: show the session as it was before."""
        kept, self._kept = self._kept, None
        if kept is not None:
            self._callers = []
            self._show_again(kept)

    def _show_again(self, kept: OpenTranscript) -> None:
        self.pane.finder.light(None)
        self.pane.bring_back(kept)
        self.shown = kept.transcript
        self.wanted = kept.summary.unified_id if kept.summary is not None else ""
        if kept.transcript is not None:
            self._sessions.watch(kept.transcript)
            self.update()
        else:
            self._sessions.forget()

    # From match to match -----------------------------------------------------------------------------------

    def open_hit(self, hit: SearchHit, step: int = 0) -> None:
        """Open what was found at its best match; with a `step`, the conversation at its first match (1) or its last
        one (-1)."""
        from hermes_tui.sessions.search.within import Within

        self._hit = hit
        if step and hit.parts:
            self._open_part(hit.query, hit.parts[0 if step > 0 else -1], step)
        else:
            aim = _Aim(hit.summary.unified_id, Within(hit.query, hit.summary), hit.message_id)
            self._aim_at(aim, hit.summary)

    def has_told_edge(self, step: int) -> bool:
        """Whether this was asked before, here and in that direction."""
        before, self._edge = self._edge, (step, self.pane.view.bookmark())
        return before == self._edge

    def open_beyond(self, query: Query, key: str, step: int) -> bool:
        """Open the next part (1) or the one before (-1) with a match of the conversation, which has this key in the
        list; False behind the last."""
        hit, shown = self._hit, self.pane.summary
        if hit is None or shown is None or key != hit.key:
            return False
        ids = [one.summary.unified_id for one in hit.parts]
        at = ids.index(shown.unified_id) + step if shown.unified_id in ids else -1
        if not 0 <= at < len(ids):
            return False
        self._open_part(query, hit.parts[at], step)
        return True

    def _open_part(self, query: Query, part: LivePart, step: int) -> None:
        """Open it at its first match, or at its last where one comes from below."""
        from hermes_tui.sessions.search.within import Within

        summary = part.summary
        edge = step if part.in_texts else 0
        self._aim_at(_Aim(summary.unified_id, Within(query, summary), "", edge, part.messages), summary)

    def _aim_at(self, aim: _Aim, summary: SessionSummary) -> None:
        self._aim = aim
        if not self.ask_for(summary):
            self.arrived()

    def arrived(self) -> None:
        """The session that was asked for is there: go to the match."""
        aim, pane = self._aim, self.pane
        if aim is None or pane.summary is None or pane.summary.unified_id != aim.unified_id:
            return
        self._aim = None
        pane.finder.light(aim.within)
        if aim.step:
            pane.finder.enter(aim.step, aim.known)
        elif aim.message_id:
            pane.finder.go_to(aim.message_id)
