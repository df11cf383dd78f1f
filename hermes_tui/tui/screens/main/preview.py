"""Snippets and preview for search results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from hermes_tui.tui.delay import Delay
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.widgets.session_list.conversation import Conversation, Snippet
from hermes_tui.tui.widgets.session_list.result_rows import Listed, finder, snippet_of
from hermes_tui.tui.widgets.session_list.rows import ListedPart
from hermes_tui.tui.workers.previewer import Previewer, PreviewWish, Seen

if TYPE_CHECKING:
    from hermes_tui.sessions.query.query import Query
    from hermes_tui.sessions.search.incremental.search import LiveResult, LiveSnapshot
    from hermes_tui.sessions.search.model import Result
    from session_adapters.model import SessionSummary

__all__ = ["Answer", "SearchPreviews"]

_GATHER = 0.04
"""Seconds between two updates of the shown preview."""
_REST = 0.12
"""Seconds without a key or a new answer after which sessions are read: while somebody types, the next answer counts
for more than the preview of this one."""


class Answer(NamedTuple):
    """What the rows of the list answer."""

    query: Query
    snapshot: LiveSnapshot
    listed: Listed
    found: Mapping[str, LiveResult | None]
    """Key of a conversation in the rows → what was found in it."""

    def summary_of(self, conversation: Conversation) -> SessionSummary:
        """The session of a conversation that was found; its newest where only its name was."""
        result = self.found.get(conversation.key)
        return result.summary if result is not None else conversation.tip


class SearchPreviews:
    """Owns what was seen of results: has those looked at that are in view, and shows it."""

    def __init__(
        self,
        parts: MainParts,
        look: Callable[[str, PreviewWish], Result | None],
        shown: Callable[[], Answer | None],
        changed: Callable[[], None],
    ) -> None:
        """`look` reads the preview of one session for a query, in a thread. `shown`: the answer in the
        list, None without a search. `changed` is called when there are other snippets."""
        self._parts = parts
        self._shown = shown
        self._changed = changed
        self._previewer = Previewer(look, lambda: parts.program.in_loop(self._gather.start_once))
        self._snippets: dict[str, Snippet] = {}
        """Unified id of a session that was found → the line below it."""
        self._rest = Delay(parts.screen, self.look_closer, _REST)
        self._gather = Delay(parts.screen, self._show_seen, _GATHER)

    @property
    def is_settled(self) -> bool:
        """All that was wanted was looked at and is shown."""
        return not self._previewer.is_busy and not self._gather.is_waiting

    def stop(self) -> None:
        """End the thread."""
        self._previewer.stop()

    def clear(self) -> None:
        """There is no answer any more."""
        self._snippets = {}

    def forget(self) -> None:
        """The sessions are others now."""
        self._previewer.forget()

    def look_later(self) -> None:
        """Look at what is in view once nothing has changed for a moment."""
        self._previewer.want("", ())
        self._rest.start()

    def look_closer(self) -> None:
        """The cursor rests on a row: have it looked at, and show what is known."""
        answer, sessions = self._shown(), self._parts.sessions
        if answer is None:
            return
        # Those that are in view are looked at, the one under the cursor first and whole.
        top = round(sessions.scroll_y)
        near = [row.conversation for row in sessions.rows[top : top + sessions.size.height]]
        wishes: dict[str, PreviewWish] = {}
        for conversation in [sessions.highlighted, *near]:
            if conversation is not None and (answer.found.get(conversation.key) is not None or not wishes):
                summary = answer.summary_of(conversation)
                wishes.setdefault(summary.unified_id, PreviewWish(summary.unified_id, summary.path, not wishes))
        self._previewer.want(answer.query.text, list(wishes.values()))
        self.show()

    def snippets(self, answer: Answer) -> dict[str, Snippet]:
        """Those that are known; else those of the question before, which are mostly the same: less to be painted."""
        for _, result in answer.listed.conversations:
            seen = self.seen(answer.query, result.summary.unified_id) if result is not None else None
            if result is not None and seen is not None and seen.result is not None:
                self._snippets[result.summary.unified_id] = snippet_of(seen.result)
        return self._snippets

    def seen(self, query: Query, unified_id: str) -> Seen | None:
        """What was seen of a session for a query; None where it was not looked at yet."""
        return self._previewer.get(query.text, unified_id)

    def show(self) -> None:
        """Show the preview of the conversation under the cursor, beside the list."""
        answer, panel, sessions = self._shown(), self._parts.preview, self._parts.sessions
        if answer is None or not self._parts.is_wide:
            return
        find = finder(answer.query)
        if sessions.highlighted is None:
            panel.show(None, None, "", find)
            return
        summary = answer.summary_of(sessions.highlighted)
        seen = self.seen(answer.query, summary.unified_id)
        if seen is None or not seen.whole:
            shown = panel.summary
            if shown is None or shown.unified_id != summary.unified_id:  # else what is there will do until then
                panel.show(self._part(summary), None, "Reading …", find)
        else:
            panel.show(self._part(summary), seen.result, seen.reason, find)

    def _part(self, summary: SessionSummary) -> ListedPart:
        return self._parts.sessions.part(summary.unified_id) or ListedPart(summary)  # the list has its cost

    def _show_seen(self) -> None:
        if self._shown() is not None:
            self._changed()
            self.show()
