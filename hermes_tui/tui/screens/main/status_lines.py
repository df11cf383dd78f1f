"""The lines above and below the panes of the main screen: counts, details of a session, keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from hermes_tui.tui.widgets.detail import detail_parts
from hermes_tui.tui.widgets.header import Header
from hermes_tui.tui.widgets.hints import OF_SEARCHES, Hints, hints_of
from hermes_tui.tui.widgets.line import Line, Part

if TYPE_CHECKING:
    from hermes_tui.clock import Clock
    from hermes_tui.sessions.catalogue.snapshot import Snapshot
    from hermes_tui.tui.widgets.search_box import SearchBox
    from hermes_tui.tui.widgets.session_list.widget import SessionList
    from hermes_tui.tui.workers.lane_watch import LaneNews

__all__ = ["StatusLines"]

_LONG = 100
"""Columns from which the gateway has more than a word in the header."""
_FIGURES = " %0123456789"
_OF_SESSIONS = tuple(f"main.{name}" for name in ("filter", "diff", "export", "copy", "resume", "fork", "context"))
"""Keys that are not worth a hint where there is no session."""


class StatusLines(Screen[None]):
    """For a screen with the list and a search box."""

    if TYPE_CHECKING:
        snapshot: Snapshot
        indexing: str
        lanes: LaneNews | None
        _clock: Clock

        @property
        def search_note(self) -> str:
            """What the header says of the search."""
            raise NotImplementedError

        @property
        def sessions(self) -> SessionList:
            """The list."""
            raise NotImplementedError

        @property
        def box(self) -> SearchBox:
            """Where one types what to search for."""
            raise NotImplementedError

        @property
        def is_searching(self) -> bool:
            """The list shows what a search has found."""
            raise NotImplementedError

        @property
        def can_go_back(self) -> bool:
            """There is something to go back to."""
            raise NotImplementedError

        @property
        def found_total(self) -> int | None:
            """How many a search has found."""
            raise NotImplementedError

        @property
        def found_more(self) -> bool:
            """There are more."""
            raise NotImplementedError

        def ask_further(self) -> None:
            """Ask again what was not answered in full."""

        def box_hint(self) -> list[Part]:
            """What is said about what is typed."""
            raise NotImplementedError

    def _show_counts(self) -> None:
        sessions = self.snapshot.sessions
        shown = self.found_total
        if shown is None:
            shown = self.sessions.left
        self.query_one(Header).show(
            shown=shown,
            more=self.found_more,
            sessions=len(sessions),
            marked=len(self.sessions.marked),
            live=sum(one.live for one in sessions),
            partial=self.snapshot.partial,
            problems=len(self.snapshot.problems),
            gateway=self._gateway(),
            asking=self.focused is self.box or self.sessions.is_filtered,
            searching=self.search_note,
            indexing=self.indexing,
        )

    def _gateway(self) -> str:
        if self.lanes is None:
            return ""
        from hermes_tui.tui.widgets.lanes.states import brand_words

        return brand_words(self.lanes.board, self._clock.now(), short=self.app.size.width < _LONG)

    def searched_words(self, coverage: str) -> str:
        """What a search has looked at; `coverage` is empty where that took no look at any text."""
        sessions = self.snapshot.sessions
        agents = len({one.agent for one in sessions})
        number = f"{len(sessions):,} session{'' if len(sessions) == 1 else 's'}"
        whose = f"{number} of {agents} agent{'' if agents == 1 else 's'}"
        if not coverage:
            return f"the list of {whose}"
        return f"titles, what was said, and what tools got and gave, in {whose}; {coverage}"

    def say_indexing(self, words: str) -> None:
        """How far the index is, while it is being made."""
        before, self.indexing = self.indexing, words
        self._show_counts()
        if before.rstrip(_FIGURES) != words.rstrip(_FIGURES):  # all that was said is indexed, or everything
            self.ask_further()

    def _show_detail(self) -> None:
        conversation = self.sessions.highlighted
        line = self.query_one("#detail", Line)
        if self.focused is self.box and (hint := self.box_hint()):
            line.show(hint)
        elif conversation is not None:
            lane = self.sessions.lane_state(conversation)
            line.show(*detail_parts(conversation, self._clock, self.app.size.width, lane))
        elif self.sessions.is_filtered:
            line.show([(" No session matches; esc leaves the search.", "faint")])
        else:
            line.show()

    def _show_hints(self) -> None:
        needless: tuple[str, ...] = () if self.is_searching else OF_SEARCHES
        if not self.can_go_back:
            needless = (*needless, "main.back")
        if self.has_class("-empty"):
            needless = (*needless, *_OF_SESSIONS)
        self.query_one(Hints).show_hints(hints_of(self, without=needless))
