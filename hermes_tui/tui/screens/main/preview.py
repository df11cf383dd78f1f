"""What there is to see of the rows of a search: a line below each, and the preview beside the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from hermes_tui.tui.widgets.session_list.result_rows import finder, snippet_of
from hermes_tui.tui.widgets.session_list.rows import ListedPart, Snippet
from hermes_tui.tui.workers.previewer import PreviewWish, Seen

if TYPE_CHECKING:
    from hermes_tui.sessions.query import Query
    from hermes_tui.tui.screens.main.screen import MainScreen

__all__ = ["Looking"]

_GATHER = 0.04
"""Seconds in which what was looked at is gathered before it is shown."""
_REST = 0.12
"""Seconds without a key or a new answer after which sessions are read: while somebody types, the next answer counts
for more than what there is to see of this one."""


class Looking(Screen[None]):
    """For the main screen."""

    @property
    def _main(self) -> MainScreen:
        return cast("MainScreen", self)

    def look_later(self) -> None:
        """Look at what is in view once nothing has changed for a moment."""
        main = self._main
        if main._previewer is not None:
            main._previewer.want("", ())
        if main._look is not None:
            main._look.stop()
        main._look = self.set_timer(_REST, self.look_closer)

    def known_snippets(self, query: Query) -> dict[str, Snippet]:
        """Those that are known; else those of the question before, which are mostly the same: less to be painted."""
        for _, result in self._main._listed.conversations:
            seen = self.seen_of(query, result.summary.unified_id) if result is not None else None
            if result is not None and seen is not None and seen.result is not None:
                self._main._lines[result.summary.unified_id] = snippet_of(seen.result)
        return self._main._lines

    def seen_of(self, query: Query, unified_id: str) -> Seen | None:
        """What was seen of a session for a query; None where it was not looked at yet."""
        return self._main._previewer.get(query.text, unified_id) if self._main._previewer is not None else None

    def _want_snippets(self) -> None:
        """Have the sessions looked at that are in view, the one under the cursor first."""
        main = self._main
        query = main.query_shown
        if query is None or self._main._previewer is None or self._main._question is None:
            return
        sessions = main.sessions
        top = round(sessions.scroll_y)
        here = [sessions.highlighted] if sessions.highlighted is not None else []
        near = [row.conversation for row in sessions.rows[top : top + sessions.size.height]]
        wishes: dict[str, PreviewWish] = {}
        for conversation in [*here, *near]:
            if conversation is not None:
                result = self._main._found.get(conversation.key)
                summary = result.summary if result is not None else conversation.tip
                if result is not None or not wishes:
                    wishes.setdefault(summary.unified_id, PreviewWish(summary.unified_id, summary.path, not wishes))
        self._main._previewer.want(query.text, list(wishes.values()))

    def was_seen(self) -> None:
        """Something was looked at: soon show it, together with what comes next."""
        if self._main._fresh is None:
            self._main._fresh = self.set_timer(_GATHER, self._show_seen)

    def _show_seen(self) -> None:
        self._main._fresh = None
        if self._main._question is not None:
            self._main._show_rows()
            self.show_preview()

    def show_preview(self) -> None:
        """Show what there is to see of the conversation under the cursor, beside the list."""
        main = self._main
        query = main.query_shown
        conversation = main.sessions.highlighted
        if query is None or self._main._question is None or not main.is_wide:
            return
        if conversation is None:
            main.preview.show(None, None, "", finder(query))
            return
        result = self._main._found.get(conversation.key)
        summary = result.summary if result is not None else conversation.tip
        seen = self.seen_of(query, summary.unified_id)
        if seen is not None and not seen.whole:
            seen = None
        part = main.sessions.forest.part(summary.unified_id) or ListedPart(
            summary
        )  # with its cost as the list has it
        shown = main.preview.summary
        if seen is None and shown is not None and shown.unified_id == summary.unified_id:
            return  # until it was looked at for this question, what is there will do
        note = "Reading …" if seen is None else seen.reason
        main.preview.show(part, seen.result if seen is not None else None, note, finder(query))

    def look_closer(self) -> None:
        """The cursor rests on a row: have it looked at, and show what is known."""
        self._want_snippets()
        self.show_preview()
