"""Searching on the main screen: from what is typed to rows, a preview, and the transcript at the match."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

from textual import on
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from hermes_tui.previewer import Previewer, Seen, Wish, look
from hermes_tui.recent import Recent
from hermes_tui.watch import Slot
from hermes_tui.widgets.results import Listed, answer_of, finder, listed, named, nothing_rows, snippet_of
from hermes_tui.widgets.session_rows import Conversation, Snippet
from hermes_tui.widgets.transcript.loading import Kept
from hermes_tui.widgets.transcript.pane import TranscriptPane

if TYPE_CHECKING:
    from hermes_tui.screens.main import MainScreen
    from hermes_tui.sessions.query import Query
    from hermes_tui.sessions.search.live import LiveResult, LiveSearch, LiveSnapshot
    from hermes_tui.sessions.search.within import Within

__all__ = ["Searching"]

_TYPING = 0.02
"""Seconds in which what is typed is gathered, so that a burst of keys costs as much as one."""
_GATHER = 0.04
"""Seconds in which an answer may become complete before a part of it is shown."""
_PATIENCE = 0.1
"""Seconds without any answer after which what fits by name is shown."""
_LOOK_AGAIN = 3.0
"""Seconds after a change of the sessions at which the same question is asked again."""
_LEAST_LINES = 16
"""Lines of the list from which results have a second line."""


class _Aim(NamedTuple):
    """Where to go in a transcript once it is open."""

    unified_id: str
    within: Within
    message_id: str


class Searching(Screen[None]):
    """For the main screen."""

    def _begin_searching(self) -> None:
        """Called when the screen is made."""
        self.recent = Recent()
        self.query_shown: Query | None = None
        """The question that the rows answer; None where all sessions are shown."""
        self._question: Query | None = None
        """The question that was asked last."""
        self._asked_at = 0.0
        self._live: LiveSearch | None = None
        self._previewer: Previewer | None = None
        self._snapshots: Slot[LiveSnapshot] | None = None
        self._snapshot_shown: LiveSnapshot | None = None
        self._listed = Listed()
        self._found: dict[str, LiveResult | None] = {}
        """Key of a conversation in the rows → what was found in it."""
        self._lines: dict[str, Snippet] = {}
        """Unified id of a session that was found → the line below it."""
        self._aim: _Aim | None = None
        self._kept: Kept | None = None
        """The transcript as it was before the search."""
        self._was_reading = False
        self._only: tuple[str, frozenset[str]] = ("", frozenset())
        """A text in the box that stands for these very sessions."""
        self._typing: Timer | None = None
        self._late: Timer | None = None
        self._again: Timer | None = None
        self._fresh: Timer | None = None

    @property
    def _main(self) -> MainScreen:
        return cast("MainScreen", self)

    @property
    def is_searching(self) -> bool:
        """The list shows what a search has found."""
        return self._question is not None

    @property
    def search_note(self) -> str:
        """What the header says of the search."""
        if self._question is None:
            return ""
        shown = self._snapshot_shown
        if shown is None:
            return ""
        return str(shown.coverage) if shown.done else "searching …"

    @property
    def found_total(self) -> int | None:
        """How many conversations were found; None without a search."""
        return self._listed.total if self.query_shown is not None and self._question is not None else None

    def stop_searching(self) -> None:
        """End the threads."""
        if self._previewer is not None:
            self._previewer.stop()
        if self._live is not None:
            # It waits for the read that is under way.
            threading.Thread(target=self._live.close, name="closing the search", daemon=True).start()

    # Asking ------------------------------------------------------------------------------------------------

    @on(Input.Changed, "#search")
    def _typed(self) -> None:
        if self._typing is not None:
            return
        left = self._asked_at + _TYPING - time.monotonic()
        if left <= 0:
            self._filter()
        else:
            self._typing = self.set_timer(left, self._filter)

    def _filter(self) -> None:
        """Show what is asked for in the box now."""
        if self._typing is not None:
            self._typing.stop()
            self._typing = None
        main, text = self._main, self._main.box.value
        only_text, only = self._only
        if only and text == only_text:
            self._keep_place()
            self._forget_answer()
            main.sessions.set_filter(text, only)
        else:
            self._ask(text)
        main.said()

    def _ask(self, text: str) -> None:
        main = self._main
        from hermes_tui.sessions.query import parse

        query = parse(text, typing=True)
        if query.empty:
            self._forget_answer()
            main.sessions.set_filter("")
            if not text:
                self._bring_back()
            return
        self._keep_place()
        before, self._question = self._question, query
        if before is not None and before.tree == query.tree:
            return  # the answer is still right
        self._asked_at = time.monotonic()
        self._search().ask(text)
        if self._late is not None:
            self._late.stop()
        self._late = self.set_timer(_PATIENCE, self._show_late)

    def _search(self) -> LiveSearch:
        if self._live is None:
            manager = self._main.program.manager
            self._live = live = manager.searches.live()
            self._snapshots = slot = Slot(self._main.program.in_loop, self._answered)
            live.changed = lambda: slot.put(live.snapshot)
            self._previewer = Previewer(
                lambda text, unified_id: look(manager, live, text, unified_id),
                lambda: self._main.program.in_loop(self._seen),
            )
        return self._live

    def sessions_changed(self) -> None:
        """Other sessions are known now: show their rows, and ask again before long."""
        if self._question is None or self._snapshot_shown is None:
            return
        self._show_answer(self._snapshot_shown)
        if self._again is None:
            self._again = self.set_timer(_LOOK_AGAIN, self._ask_again)

    def _ask_again(self) -> None:
        self._again = None
        if self._question is not None and self._live is not None:
            if self._previewer is not None:
                self._previewer.forget()
            self._live.ask(self._question.text)

    # Answers -----------------------------------------------------------------------------------------------

    def _answered(self, snapshot: LiveSnapshot) -> None:
        if self._question is None or snapshot.query.tree != self._question.tree:
            return
        again = self._snapshot_shown is not None and self._snapshot_shown.query.tree == snapshot.query.tree
        if not snapshot.done:
            left = self._asked_at + _GATHER - time.monotonic()
            if left > 0:
                if self._late is not None:
                    self._late.stop()
                self._late = self.set_timer(left, self._show_late)
                return
            if again and self._snapshot_shown is not None and self._snapshot_shown.done:
                return  # the same question was asked again: the complete answer stays until there is another
        self._show_answer(snapshot)

    def _show_late(self) -> None:
        """Show what there is by now."""
        self._late = None
        question, live = self._question, self._live
        if question is None or live is None:
            return
        shown = self._snapshot_shown
        if shown is not None and shown.query.tree == question.tree and shown.done:
            return
        from hermes_tui.sessions.search.live import LiveSnapshot

        latest = live.snapshot
        self._show_answer(latest if latest.query.tree == question.tree else LiveSnapshot(query=question))

    def _show_answer(self, snapshot: LiveSnapshot) -> None:
        if self._late is not None and snapshot.done:
            self._late.stop()
            self._late = None
        main, query = self._main, snapshot.query
        forest = main.sessions.forest
        found = listed(snapshot, forest, named(query, forest))
        if not found.conversations and not snapshot.done:
            main.said()
            return  # what is there stays until it is known that nothing takes its place
        top = self.query_shown is None or self.query_shown.tree != query.tree or self._stays_at_top()
        self.query_shown, self._snapshot_shown, self._listed = query, snapshot, found
        self._found = {one.key: result for one, result in found.conversations}
        self._show_rows(top=top)
        main.said()
        if snapshot.done:
            self._want_snippets()

    def _stays_at_top(self) -> bool:
        """The answer is still coming in, and the cursor has not left the first of it: that is where it stays."""
        shown, sessions = self._snapshot_shown, self._main.sessions
        first = next((at for at, row in enumerate(sessions.rows) if row.conversation is not None), -1)
        return shown is not None and not shown.done and sessions.cursor == first

    def _show_rows(self, *, top: bool = False) -> None:
        main, query, snapshot = self._main, self.query_shown, self._snapshot_shown
        if query is None or snapshot is None:
            return
        if not self._listed.conversations:
            answer = nothing_rows(query, main.searched_words(str(snapshot.coverage)), main.sessions.size.width)
        else:
            lines = main.sessions.size.height
            answer = answer_of(
                self._listed, query, main.clock, self._snippets(query), two_lines=lines >= _LEAST_LINES
            )
        main.sessions.set_answer(answer, top=top)

    def _snippets(self, query: Query) -> dict[str, Snippet]:
        """Those that are known; else those of the question before, which are mostly the same: less to be painted."""
        for _, result in self._listed.conversations:
            seen = self._seen_of(query, result.summary.unified_id) if result is not None else None
            if result is not None and seen is not None and seen.result is not None:
                self._lines[result.summary.unified_id] = snippet_of(seen.result)
        return self._lines

    # Previews ----------------------------------------------------------------------------------------------

    def _seen_of(self, query: Query, unified_id: str) -> Seen | None:
        return self._previewer.get(query.text, unified_id) if self._previewer is not None else None

    def _want_snippets(self) -> None:
        """Have the sessions looked at that are in view, the one under the cursor first."""
        main, query = self._main, self.query_shown
        if query is None or self._previewer is None or self._question is None:
            return
        sessions = main.sessions
        top = round(sessions.scroll_y)
        here = [sessions.highlighted] if sessions.highlighted is not None else []
        near = [row.conversation for row in sessions.rows[top : top + sessions.size.height]]
        wishes: dict[str, Wish] = {}
        for conversation in [*here, *near]:
            if conversation is not None and conversation.key in self._found:
                result = self._found[conversation.key]
                summary = result.summary if result is not None else conversation.tip
                if result is not None or not wishes:
                    wishes.setdefault(summary.unified_id, Wish(summary.unified_id, summary.path, not wishes))
        self._previewer.want(query.text, list(wishes.values()))

    def _seen(self) -> None:
        """Something was looked at: soon show it, together with what comes next."""
        if self._fresh is None:
            self._fresh = self.set_timer(_GATHER, self._show_seen)

    def _show_seen(self) -> None:
        self._fresh = None
        if self._question is not None:
            self._show_rows()
            self.show_preview()

    def show_preview(self) -> None:
        """Show what there is to see of the conversation under the cursor, beside the list."""
        main, query = self._main, self.query_shown
        conversation = main.sessions.highlighted
        if query is None or self._question is None or not main.is_wide:
            return
        if conversation is None or conversation.key not in self._found:
            main.preview.show(None, None, "", finder(query))
            return
        result = self._found[conversation.key]
        summary = result.summary if result is not None else conversation.tip
        seen = self._seen_of(query, summary.unified_id)
        if seen is None and main.preview.summary == summary:
            return  # until it was looked at for this question, what is there will do
        note = "Reading …" if seen is None else seen.reason
        main.preview.show(summary, seen.result if seen is not None else None, note, finder(query))

    def look_closer(self) -> None:
        """The cursor rests on a row: have it looked at, and show what is known."""
        self._want_snippets()
        self.show_preview()

    # Opening -----------------------------------------------------------------------------------------------

    def open_found(self, conversation: Conversation) -> None:
        """Open the session that was found at its match."""
        query = self.query_shown
        if query is None:
            return
        from hermes_tui.sessions.search.within import Within

        result = self._found.get(conversation.key)
        summary = result.summary if result is not None else conversation.tip
        self.remember_query()
        seen = self._seen_of(query, summary.unified_id)
        message_id = ""
        if seen is not None and seen.result is not None:
            message_id = seen.result.message_id or ""
        elif result is not None and result.match is not None:
            place = result.match.place
            message_id = result.match.message_id or (f"#{place}" if place is not None else "")
        self._aim = _Aim(summary.unified_id, Within(query, summary), message_id)
        if not self._main.request(summary):
            self.take_aim()

    def take_aim(self) -> None:
        """The transcript that was asked for is there: go to the match."""
        aim, pane = self._aim, self._main.pane
        if aim is None or pane.summary is None or pane.summary.unified_id != aim.unified_id:
            return
        self._aim = None
        pane.light(aim.within)
        if aim.message_id:
            pane.go_to(aim.message_id)

    @on(TranscriptPane.NoMore)
    def _no_more(self, event: TranscriptPane.NoMore) -> None:
        sessions = self._main.sessions
        before = sessions.cursor
        if self._question is not None:
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
        self._only = (text, frozenset(sessions))
        self._main.box.value = text
        self._filter()
        self._main.go_to_list()

    def remember_query(self) -> None:
        """Keep what is in the box among the recent searches."""
        text = self._main.box.value.strip()
        if text and text != self._only[0]:
            try:
                self.recent.add(text)
            except OSError as error:
                self.notify(f"The search is not kept: {error.strerror or error}", severity="warning", markup=False)

    def _keep_place(self) -> None:
        """Before the first question: remember the transcript as it is."""
        if self._kept is None:
            self._kept = self._main.pane.keep()

    def _forget_answer(self) -> None:
        self._question = self.query_shown = self._snapshot_shown = None
        self._listed, self._found, self._lines, self._aim = Listed(), {}, {}, None
        if self._live is not None:
            self._live.ask("")

    def _bring_back(self) -> None:
        """The search is over: show the transcript as it was before."""
        kept, self._kept = self._kept, None
        self._only = ("", frozenset())
        if kept is not None:
            self._main.bring_back(kept)
