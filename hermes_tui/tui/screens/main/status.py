"""The status lines of the main screen: counts, session details, keys."""

from __future__ import annotations

from hermes_tui.display import safe
from hermes_tui.tui.screens.main.completion import FilterCompletion
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.screens.main.search import SearchController
from hermes_tui.tui.widgets.detail import detail_parts
from hermes_tui.tui.widgets.hints import OF_SEARCHES

__all__ = ["StatusBar"]

_LONG = 100
"""Columns from which the gateway has more than a word in the header."""
_FIGURES = " %0123456789"
_OF_SESSIONS = tuple(f"main.{name}" for name in ("filter", "diff", "export", "copy", "resume", "fork", "context"))
"""Keys that are not worth a hint where there is no session."""


class StatusBar:
    """Tells the header, the line of details and the hints what to show."""

    def __init__(self, parts: MainParts, search: SearchController, completion: FilterCompletion) -> None:
        self._parts = parts
        self._search = search
        self._completion = completion
        self._labels: dict[str, str] = {}
        """Agent → what people call it, safe for a terminal."""
        self._indexing = ""
        """How far the index is; empty where there is nothing to be said."""

    def show(self) -> None:
        """Show all three as they are to be now."""
        self.show_counts()
        self.show_detail()
        self.show_hints()

    def show_counts(self) -> None:
        """Show the header."""
        parts, found, attention = self._parts, self._search.total, self._parts.program.attention
        snapshot, sessions = parts.snapshot, parts.sessions
        parts.header.show(
            shown=found if found is not None else sessions.left,
            more=self._search.has_more,
            sessions=len(snapshot.sessions),
            marked=len(sessions.marked),
            needs=attention.needs if attention is not None else 0,
            live=parts.live,
            partial=snapshot.partial,
            problems=len(snapshot.problems),
            gateway=self.gateway,
            asking=parts.screen.focused is parts.box or sessions.is_filtered,
            searching=self._search.note,
            indexing=self._indexing,
        )

    @property
    def gateway(self) -> str:
        """What the header says of Hermes' gateway."""
        if self._parts.lanes is None:
            return ""
        from hermes_tui.tui.widgets.lanes.states import brand_words

        short = self._parts.screen.app.size.width < _LONG
        return brand_words(self._parts.lanes.board, self._parts.clock.now(), short=short)

    def say_indexing(self, words: str) -> None:
        """How far the index is, while it is being made."""
        before, self._indexing = self._indexing, words
        self.show_counts()
        if before.rstrip(_FIGURES) != words.rstrip(_FIGURES):  # all that was said is indexed, or everything
            self._search.ask_further()

    def show_detail(self) -> None:
        """Show the line of details: of the session under the cursor, or of what is typed."""
        parts = self._parts
        conversation = parts.sessions.highlighted
        if parts.screen.focused is parts.box and (hint := self._completion.hint()):
            parts.detail.show(hint)
        elif conversation is not None:
            width = parts.screen.app.size.width
            agent = conversation.tip.agent
            if agent not in self._labels:
                labels = parts.program.manager.saved_labels
                self._labels.update((name, safe(one.label)) for name, one in labels.items())
            label = self._labels.setdefault(agent, safe(agent))
            parts.detail.show(*detail_parts(conversation, parts.clock, width, parts.sessions.states, label))
        elif parts.sessions.is_filtered:
            parts.detail.show([(" No session matches; esc leaves the search.", "faint")])
        else:
            parts.detail.show()

    def show_hints(self) -> None:
        """Show the keys of what has the focus, in the box too."""
        self._parts.box.placeholder = "\\ to search all" if self._parts.is_reading else "/ to search"
        finds = self._search.is_searching or self._parts.pane.typed.found is not None
        needless: tuple[str, ...] = () if finds else OF_SEARCHES
        if not self._parts.is_reading:
            needless = (*needless, "main.search_all")
        if not self._parts.can_go_back:
            needless = (*needless, "main.back")
        if self._parts.screen.has_class("-empty"):
            needless = (*needless, *_OF_SESSIONS)
        self._parts.hints.show_keys(needless)
