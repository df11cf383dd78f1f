"""What can be done with the rows of a search: open one at its match, go on to the next, keep the question."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

from textual import on
from textual.screen import Screen

from hermes_tui.recent import RecentUnreadable
from hermes_tui.widgets.session_rows import Conversation
from hermes_tui.widgets.transcript.pane import TranscriptPane

if TYPE_CHECKING:
    from hermes_tui.screens.main import MainScreen
    from hermes_tui.sessions.search.within import Within

__all__ = ["Aim", "FoundActions"]


class Aim(NamedTuple):
    """Where to go in a transcript once it is open."""

    unified_id: str
    within: Within
    message_id: str


class FoundActions(Screen[None]):
    """For the main screen."""

    @property
    def _main(self) -> MainScreen:
        return cast("MainScreen", self)

    # Opening -----------------------------------------------------------------------------------------------

    def open_found(self, conversation: Conversation) -> None:
        """Open the session that was found at its match."""
        query = self._main.query_shown
        if query is None:
            return
        from hermes_tui.sessions.search.within import Within

        result = self._main._found.get(conversation.key)
        summary = result.summary if result is not None else conversation.tip
        self.remember_query()
        seen = self._main.seen_of(query, summary.unified_id)
        message_id = ""
        if seen is not None and seen.whole and seen.result is not None:
            message_id = seen.result.message_id or ""
        elif result is not None and result.match is not None:
            place = result.match.place
            message_id = result.match.message_id or (f"#{place}" if place is not None else "")
        self._main._aim = Aim(summary.unified_id, Within(query, summary), message_id)
        if not self._main.request(summary):
            self.take_aim()

    def take_aim(self) -> None:
        """The transcript that was asked for is there: go to the match."""
        aim, pane = self._main._aim, self._main.pane
        if aim is None or pane.summary is None or pane.summary.unified_id != aim.unified_id:
            return
        self._main._aim = None
        pane.light(aim.within)
        if aim.message_id:
            pane.go_to(aim.message_id)

    @on(TranscriptPane.NoMore)
    def _no_more(self, event: TranscriptPane.NoMore) -> None:
        sessions = self._main.sessions
        before = sessions.cursor
        if self._main._question is not None:
            sessions.action_move(event.step)
        conversation = sessions.highlighted
        if sessions.cursor == before or conversation is None:
            self.notify(f"There is no match {'below' if event.step > 0 else 'above'} this one.", markup=False)
        else:
            self.open_found(conversation)

    # Coming and going --------------------------------------------------------------------------------------

    def show_only(self, text: str, sessions: Iterable[str]) -> None:
        """Show the conversations that hold one of these sessions (unified ids), and `text` in the box as what they
        are; it can be changed there, and dropped, like any search."""
        self._main._only = (text, frozenset(sessions))
        self._main.box.value = text
        self._main._filter()
        self._main.go_to_list()

    def remember_query(self) -> None:
        """Keep what is in the box among the recent searches."""
        text = self._main.box.value.strip()
        if text and text != self._main._only[0]:
            try:
                self._main.recent.add(text)
            except RecentUnreadable as error:
                self._main.say_unreadable(error)
            except OSError as error:
                self.notify(f"The search is not kept: {error.strerror or error}", severity="warning", markup=False)
