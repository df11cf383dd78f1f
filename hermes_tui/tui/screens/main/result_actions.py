"""What can be done with the rows of a search: open one at its match, go on to the next, keep the question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from textual import on
from textual.screen import Screen

from hermes_tui.tui.query_file import SearchesUnreadable
from hermes_tui.tui.widgets.session_list.rows import Conversation
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane

if TYPE_CHECKING:
    from hermes_tui.sessions.query import Query
    from hermes_tui.sessions.search.incremental.search import LivePart
    from hermes_tui.sessions.search.within import Within
    from hermes_tui.tui.screens.main.screen import MainScreen
    from session_adapters.model import SessionSummary

__all__ = ["Aim", "FoundActions", "Walk"]


class Aim(NamedTuple):
    """Where to go in a transcript once it is open."""

    unified_id: str
    within: Within
    message_id: str
    """Empty for its end."""
    step: int = 0
    """1 for its first match, -1 for its last one, whatever `message_id` is."""
    known: frozenset[str] = frozenset()
    """Ids of all messages with a match, where they are known."""


class Walk(NamedTuple):
    """What one goes through from match to match before the next conversation; it stays the same while more is
    found."""

    key: str
    """Of the conversation in the list."""
    parts: Sequence[LivePart]
    """The one that is opened from the list at first."""


class FoundActions(Screen[None]):
    """For the main screen."""

    @property
    def _main(self) -> MainScreen:
        return cast("MainScreen", self)

    # Opening -----------------------------------------------------------------------------------------------

    def open_found(self, conversation: Conversation, step: int = 0) -> None:
        """Open the session that was found at its best match; with a `step`, the conversation at its first match (1)
        or its last one (-1)."""
        query = self._main.query_shown
        if query is None:
            return
        from hermes_tui.sessions.search.within import Within

        result = self._main._found.get(conversation.key)
        summary = result.summary if result is not None else conversation.tip
        self.remember_query()
        parts = self._main._live.parts(query, summary.unified_id) if self._main._live is not None else ()
        self._main._walk = Walk(conversation.key, parts)
        if step and parts:
            self._open_part(query, parts[0 if step > 0 else -1], step)
            return
        seen = self._main.seen_of(query, summary.unified_id)
        message_id = ""
        if seen is not None and seen.whole and seen.result is not None:
            message_id = seen.result.message_id or ""
        elif result is not None and result.match is not None:
            place = result.match.place
            message_id = result.match.message_id or (f"#{place}" if place is not None else "")
        self._aim_at(Aim(summary.unified_id, Within(query, summary), message_id), summary)

    def _open_part(self, query: Query, part: LivePart, step: int) -> None:
        """Open it at its first match, or at its last where one comes from below."""
        from hermes_tui.sessions.search.within import Within

        summary = part.summary
        edge = step if part.in_texts else 0
        self._aim_at(Aim(summary.unified_id, Within(query, summary), "", edge, part.messages), summary)

    def _aim_at(self, aim: Aim, summary: SessionSummary) -> None:
        self._main._aim = aim
        if not self._main.request(summary):
            self.take_aim()

    def take_aim(self) -> None:
        """The transcript that was asked for is there: go to the match."""
        aim, pane = self._main._aim, self._main.pane
        if aim is None or pane.summary is None or pane.summary.unified_id != aim.unified_id:
            return
        self._main._aim = None
        pane.light(aim.within)
        if aim.step:
            pane.enter(aim.step, aim.known)
        elif aim.message_id:
            pane.go_to(aim.message_id)

    @on(TranscriptPane.NoMore)
    def _no_more(self, event: TranscriptPane.NoMore) -> None:
        sessions, query = self._main.sessions, self._main.query_shown
        part = self._part_beyond(event.step)
        if part is not None and query is not None:
            self._open_part(query, part, event.step)
            return
        before = sessions.cursor
        if self._main._question is not None:
            sessions.action_move(event.step)
        conversation = sessions.highlighted
        if sessions.cursor == before or conversation is None:
            self.notify(f"There is no match {'below' if event.step > 0 else 'above'} this one.", markup=False)
        else:
            self.open_found(conversation, event.step)

    def _part_beyond(self, step: int) -> LivePart | None:
        """The next or the previous part with a match of the conversation that is open; None behind the last."""
        walk, here, shown = self._main._walk, self._main.sessions.highlighted, self._main.pane.summary
        if walk is None or here is None or shown is None or here.key != walk.key:
            return None
        ids = [one.summary.unified_id for one in walk.parts]
        at = ids.index(shown.unified_id) + step if shown.unified_id in ids else -1
        return walk.parts[at] if 0 <= at < len(ids) else None

    # Coming and going --------------------------------------------------------------------------------------

    def show_only(self, text: str, sessions: Iterable[str], way_back: Callable[[], None]) -> None:
        """Show the conversations that hold one of these sessions (unified ids), and `text` in the box as what they
        are; it can be changed there, like any search. `way_back` is where one is led who leaves it as it is."""
        self._main._only = (text, frozenset(sessions))
        self._main._way_back = way_back
        self._main.box.value = text
        self._main._filter()
        self._main.go_to_list()

    def remember_query(self) -> None:
        """Keep what is in the box among the recent searches."""
        text = self._main.box.value.strip()
        if text and text != self._main._only[0]:
            try:
                self._main.recent.add(text)
            except SearchesUnreadable as error:
                self._main.say_unreadable(error)
            except OSError as error:
                self.notify(f"The search is not kept: {error.strerror or error}", severity="warning", markup=False)
