"""Searching on the main screen: from what is typed to rows.

What there is to see of a row is in `looking`, what can be done with one in `found_actions`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.timer import Timer
from textual.widgets import Input

from hermes_tui.tui.recent_searches import Recent
from hermes_tui.tui.saved_searches import Saved
from hermes_tui.tui.screens.main.did_you_mean import Offering
from hermes_tui.tui.screens.main.preview import Looking
from hermes_tui.tui.screens.main.result_actions import Aim, FoundActions, Walk
from hermes_tui.tui.widgets.header import SEARCHING
from hermes_tui.tui.widgets.session_list.result_rows import (
    ConversationNames,
    Listed,
    answer_of,
    broken_rows,
    left,
    listed,
    nothing_rows,
)
from hermes_tui.tui.widgets.session_list.rows import Conversation, Forest, Snippet
from hermes_tui.tui.widgets.transcript.loading import Kept
from hermes_tui.tui.workers.previewer import Previewer, look
from hermes_tui.tui.workers.session_watch import Slot

if TYPE_CHECKING:
    from hermes_tui.sessions.query import Query
    from hermes_tui.sessions.search.incremental.search import LiveResult, LiveSearch, LiveSnapshot

__all__ = ["Searching"]

_TYPING = 0.02
"""Seconds in which what is typed is gathered, so that a burst of keys costs as much as one."""
_GATHER = 0.04
"""Seconds in which an answer may become complete before a part of it is shown."""
_PATIENCE = 0.1
"""Seconds without any answer after which what fits by name is shown."""
_LOOK_AGAIN = 3.0
"""Seconds after a change of the sessions at which the same question is asked again."""
_LEAST_LINES = 20
"""Lines of the screen from which results have a second line."""
_BROKEN = "broken off"
"""What the header says of an answer to which there will be no more, for an error."""


class Searching(FoundActions, Looking, Offering):
    """For the main screen."""

    def _begin_searching(self) -> None:
        """Called when the screen is made."""
        self.recent = Recent()
        self.saved = Saved()
        self.query_shown: Query | None = None
        """The question that the rows answer; None where all sessions are shown."""
        self._question: Query | None = None
        """The question that was asked last."""
        self._asked_at = 0.0
        self._asked_early = False
        """That was while there was only the beginning of the list."""
        self._overtaken: LiveSnapshot | None = None
        """An answer of that time, which stands until there is one of all."""
        self._live: LiveSearch | None = None
        self._previewer: Previewer | None = None
        self._snapshots: Slot[LiveSnapshot] | None = None
        self._snapshot_shown: LiveSnapshot | None = None
        self._failure_said = ""
        """Why the latest answer is broken off; empty where it is not."""
        self._listed = Listed()
        self._found: dict[str, LiveResult | None] = {}
        """Key of a conversation in the rows → what was found in it."""
        self._lines: dict[str, Snippet] = {}
        """Unified id of a session that was found → the line below it."""
        self._aim: Aim | None = None
        self._walk: Walk | None = None
        self._kept: Kept | None = None
        """The transcript as it was before the search."""
        self._was_reading = False
        self._only: tuple[str, frozenset[str]] = ("", frozenset())
        """A text in the box that stands for these very sessions."""
        self._way_back: Callable[[], None] = lambda: None
        """To where that was chosen."""
        self._names = ConversationNames(Forest())
        self._named: tuple[str, Sequence[Conversation]] = ("", ())
        """A query, and what fits it by name."""
        self._typing: Timer | None = None
        self._late: Timer | None = None
        self._again: Timer | None = None
        self._fresh: Timer | None = None
        self._look: Timer | None = None

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
        if self._is_early or (shown is not None and (not shown.done or shown is self._overtaken)):
            return SEARCHING
        if shown is not None and shown.failure:
            return _BROKEN
        return str(shown.coverage) if shown is not None and shown.coverage.sources else ""

    @property
    def _is_early(self) -> bool:
        """There is only the beginning of the list: not all stores were looked at yet."""
        return not self._main.snapshot.places

    @property
    def found_total(self) -> int | None:
        """How many conversations were found; None without a search."""
        return self._listed.total if self.query_shown is not None and self._question is not None else None

    @property
    def found_more(self) -> bool:
        """There are more than `found_total`."""
        return self.found_total is not None and self._listed.least

    def stop_searching(self) -> None:
        """End the threads."""
        if self._previewer is not None:
            self._previewer.stop()
        if self._live is not None:
            # It waits for the read that is under way.
            threading.Thread(target=self._live.close, name="closing the search", daemon=True).start()

    # Asking ------------------------------------------------------------------------------------------------

    def get_ready(self) -> None:
        """Somebody has gone to the box and will type."""
        if self._question is None:
            self._search().ask("")
            names = self._all_names()
            threading.Thread(target=names.get_ready, name="names to be searched", daemon=True).start()

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
            main.sessions.set_filter(only)
        else:
            self._ask(text)
        main.said()

    def _ask(self, text: str) -> None:
        main = self._main
        from hermes_tui.sessions.query import parse

        query = parse(text, typing=True)
        if query.empty:
            self._forget_answer()
            main.sessions.set_filter(None)
            if not text:
                self._bring_back()
            return
        self._keep_place()
        before, self._question = self._question, query
        if before is not None and before.tree == query.tree:
            return  # the answer is still right
        self._asked_at = time.monotonic()
        self._asked_early = self._is_early
        self._search().ask(text)
        self.look_later()
        if self._late is not None:
            self._late.stop()
        self._late = self.set_timer(_PATIENCE, self._show_late)

    def _search(self) -> LiveSearch:
        if self._live is None:
            # Asked for here: a thread cannot find the program once the screen is taken down.
            manager, in_loop = self._main.program.manager, self._main.program.in_loop
            self._live = live = manager.searches.live()
            self._snapshots = slot = Slot(in_loop, self._answered)
            live.changed = lambda: slot.put(live.snapshot)
            self._previewer = Previewer(
                lambda text, wish: look(manager, live, text, wish),
                lambda: in_loop(self.was_seen),
            )
        return self._live

    def sessions_changed(self) -> None:
        """Other sessions are known now: show their rows, and ask again before long."""
        if self._question is None:
            return
        shown = self._snapshot_shown
        if shown is not None:
            self._show_answer(shown)
        if self._asked_early:
            self._asked_early = False
            self._overtaken = self._live.snapshot if self._live is not None else None
            self._main.said()
            self._ask_again()
        elif self._again is None:
            self._again = self.set_timer(_LOOK_AGAIN, self._ask_again)

    def ask_further(self) -> None:
        """The index has come further: an answer that ended before all was searched may be had whole by now."""
        shown = self._snapshot_shown
        if shown is not None and shown.done and shown.coverage.left:
            self._ask_again()

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
        from hermes_tui.sessions.search.incremental.search import LiveSnapshot

        latest = live.snapshot
        self._show_answer(latest if latest.query.tree == question.tree else LiveSnapshot(query=question))

    def _show_answer(self, snapshot: LiveSnapshot) -> None:
        if self._late is not None and snapshot.done:
            self._late.stop()
            self._late = None
        main, query = self._main, snapshot.query
        if snapshot.sessions is not None:
            found = left(snapshot.sessions, main.sessions.forest)
        else:
            found = listed(snapshot, main.sessions.forest, self._fitting(query))
        if not found.conversations and (not snapshot.done or self._is_early):
            main.said()
            return  # what is there stays until it is known that nothing takes its place
        top = self.query_shown is None or self.query_shown.tree != query.tree or self._stays_at_top()
        self.query_shown, self._snapshot_shown, self._listed = query, snapshot, found
        self._found = {one.key: result for one, result in found.conversations}
        self._show_rows(top=top)
        main.said()
        if snapshot.done:
            self._say_failure(snapshot.failure)
            self.look_later()
            self.wonder_later()

    def _say_failure(self, failure: str) -> None:
        """Say why the search broke off: once, while it is the same at every key."""
        before, self._failure_said = self._failure_said, failure
        if failure and failure != before:
            self.notify(f"The search broke off: {failure}", severity="error", markup=False)

    def _fitting(self, query: Query) -> Sequence[Conversation]:
        """What fits by name: the same for every snapshot of an answer."""
        names = self._all_names()
        if self._named[0] != query.text:
            self._named = (query.text, names.fitting(query))
        return self._named[1]

    def _all_names(self) -> ConversationNames:
        forest = self._main.sessions.forest
        if self._names.forest is not forest:
            self._names, self._named = ConversationNames(forest, self._names), ("", ())
        return self._names

    def _stays_at_top(self) -> bool:
        """The answer is still coming in, and the cursor has not left the first of it: that is where it stays."""
        shown, sessions = self._snapshot_shown, self._main.sessions
        first = next((at for at, row in enumerate(sessions.rows) if row.conversation is not None), -1)
        return shown is not None and not shown.done and sessions.cursor == first

    def _show_rows(self, *, top: bool = False) -> None:
        main, query, snapshot = self._main, self.query_shown, self._snapshot_shown
        if query is None or snapshot is None:
            return
        if self._listed.conversations and snapshot.sessions is not None:
            main.sessions.set_filter(snapshot.sessions, top=top)
            return
        if not self._listed.conversations and snapshot.failure:
            answer = broken_rows(query, snapshot.failure, main.sessions.size.width)
        elif not self._listed.conversations:
            covered = str(snapshot.coverage) if snapshot.coverage.sources else ""
            searched, width = main.searched_words(covered), main.sessions.size.width
            answer = nothing_rows(query, searched, width, self.offered_for(query.text))
        else:
            lines = main.app.size.height  # the list itself has none while it is hidden
            answer = answer_of(
                self._listed, query, main.clock, self.known_snippets(query), two_lines=lines >= _LEAST_LINES
            )
        main.sessions.set_answer(answer, top=top)

    # Coming and going --------------------------------------------------------------------------------------

    def _keep_place(self) -> None:
        """Before the first question: remember the transcript as it is."""
        if self._kept is None:
            self._kept = self._main.pane.keep()

    def _forget_answer(self) -> None:
        self._question = self.query_shown = self._snapshot_shown = None
        self._listed, self._found, self._lines = Listed(), {}, {}
        self._aim = self._walk = None
        if self._live is not None:
            self._live.ask("")

    def _bring_back(self) -> None:
        """The search is over: show the transcript as it was before."""
        kept, self._kept = self._kept, None
        self._only = ("", frozenset())
        if kept is not None:
            self._main.bring_back(kept)
