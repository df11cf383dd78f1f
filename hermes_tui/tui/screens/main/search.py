"""Searching on the main screen: from what is typed to rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hermes_tui.platform.background import Slot, in_background
from hermes_tui.tui.delay import Delay
from hermes_tui.tui.screens.main.history import SearchHistory
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.screens.main.results import SearchResults
from hermes_tui.tui.screens.main.transcript import SearchHit, TranscriptController
from hermes_tui.tui.widgets.header import SEARCHING
from hermes_tui.tui.widgets.session_list.conversation import Conversation
from hermes_tui.tui.workers.previewer import look

if TYPE_CHECKING:
    from hermes_tui.sessions.query.query import Query
    from hermes_tui.sessions.search.incremental.search import LiveSearch, LiveSnapshot

__all__ = ["GATHERING", "PATIENCE", "TYPING_PAUSE", "SearchController"]

TYPING_PAUSE = 0.02
"""Seconds to wait for more keys, so that a burst of them costs as much as one."""
GATHERING = 0.04
"""Seconds in which an answer may become complete before a part of it is shown."""
PATIENCE = 0.1
"""Seconds without any answer after which what fits by name is shown."""
_LOOK_AGAIN = 3.0
"""Seconds after a change of the sessions at which the same question is asked again."""
_BROKEN = "broken off"
"""What the header says of an answer to which there will be no more, for an error."""
_EVERYTHING: tuple[str, frozenset[str]] = ("", frozenset())


class SearchController:
    """Owns the question, the engine's answer to it, and what the list shows of that."""

    def __init__(
        self, parts: MainParts, transcript: TranscriptController, history: SearchHistory, changed: Callable[[], None]
    ) -> None:
        """`changed` is called when something else is shown, or known of the search."""
        self._parts = parts
        self._transcript = transcript
        self._history = history
        self._changed = changed
        self._question: Query | None = None
        """The question that was asked last."""
        self._asked_at = 0.0
        self._asked_early = False
        """That was while there was only the beginning of the list."""
        self._overtaken: LiveSnapshot | None = None
        """An answer of that time, which stands until there is one of all."""
        self._live: LiveSearch | None = None
        manager = parts.program.manager
        self.results = SearchResults(parts, lambda text, wish: look(manager, self.engine, text, wish))
        self._only = _EVERYTHING
        """A text in the box that stands for these very sessions."""
        self._way_back: Callable[[], None] = lambda: None
        """To where that was chosen."""
        self._typing = Delay(parts.screen, self.filter, TYPING_PAUSE)
        self._late = Delay(parts.screen, self._show_late, PATIENCE)
        self._again = Delay(parts.screen, self._ask_again, _LOOK_AGAIN)

    # What is known -----------------------------------------------------------------------------------------

    @property
    def is_searching(self) -> bool:
        """The list shows what a search has found."""
        return self._question is not None

    @property
    def note(self) -> str:
        """What the header says of the search."""
        if self._question is None:
            return ""
        shown = self.results.snapshot
        if self._parts.is_early or (shown is not None and (not shown.done or shown is self._overtaken)):
            return SEARCHING
        if shown is not None and shown.failure:
            return _BROKEN
        return str(shown.coverage) if shown is not None and shown.coverage.sources else ""

    @property
    def total(self) -> int | None:
        """How many conversations were found; None without a search."""
        return self.results.answer.listed.total if self.results.answer is not None else None

    @property
    def has_more(self) -> bool:
        """There are more than `total`."""
        return self.results.answer is not None and self.results.answer.listed.least

    @property
    def meant(self) -> str:
        """What may have been meant by a query in the box that found nothing, as far as that is known."""
        return self.results.meant_by(self._parts.box.value)

    @property
    def typed(self) -> str:
        """The query in the box; empty where sessions were chosen in another way."""
        text = self._parts.box.value
        return "" if text == self._only[0] else text

    # Asking ------------------------------------------------------------------------------------------------

    def get_ready(self) -> None:
        """The focus is in the box: a query comes soon."""
        if self._question is None:
            self.engine.ask("")
            self.results.get_ready()

    def typed_on(self) -> None:
        """The text in the box has changed: filter the list, though not at every key of a burst."""
        if not self._typing.is_waiting:
            left = self._asked_at + TYPING_PAUSE - time.monotonic()
            if left <= 0:
                self.filter()
            else:
                self._typing.start(left)

    def filter(self) -> None:
        """Show what is asked for in the box now."""
        self._typing.stop()
        text = self._parts.box.value
        only_text, only = self._only
        if only and text == only_text:
            self._transcript.keep_place()
            self._forget_answer()
            self._parts.sessions.set_filter(only)
        else:
            self._ask(text)
        self._changed()

    def show_only(self, text: str, sessions: Iterable[str], way_back: Callable[[], None]) -> None:
        """Show the conversations that hold one of these sessions (unified ids), and `text` in the box as what they
        are; it can be changed there, like any search. `way_back`: called by `leave` if it is unchanged."""
        self._only = (text, frozenset(sessions))
        self._way_back = way_back
        self._parts.box.value = text
        self.filter()

    def leave(self) -> Callable[[], None]:
        """Show all sessions again. To be called then: the way back to where the sessions were chosen."""
        text, only = self._only
        as_it_was = bool(only) and self._parts.box.value == text
        self._parts.box.value = ""
        self.filter()
        return self._way_back if as_it_was else lambda: None

    def stop(self) -> None:
        """End the threads."""
        self.results.previews.stop()
        if self._live is not None:
            in_background("closing the search", self._live.close)  # it waits for the read that is under way

    def _ask(self, text: str) -> None:
        query = self._parts.program.manager.searches.parse(text, typing=True)
        if query.empty:
            self._forget_answer()
            self._parts.sessions.set_filter(None)
            if not text:
                self._only = _EVERYTHING
                self._transcript.bring_back()
            return
        self._transcript.keep_place()
        before, self._question = self._question, query
        if before is not None and before.tree == query.tree:
            return  # the answer is still right
        self._asked_at = time.monotonic()
        self._asked_early = self._parts.is_early
        self.engine.ask(query)
        self.results.previews.look_later()
        self._late.start()

    @property
    def engine(self) -> LiveSearch:
        """Answers the questions; made when it is first asked for."""
        if self._live is None:
            program = self._parts.program
            self._live = live = program.manager.searches.live()
            slot = Slot(program.in_loop, self._answered)
            live.changed = lambda: slot.put(live.snapshot)
        return self._live

    def sessions_changed(self) -> None:
        """Other sessions are known now: show their rows, and ask again before long."""
        if self._question is None:
            return
        if self.results.answer is not None:
            self._show_answer(self.results.answer.snapshot)
        if self._asked_early:
            self._asked_early = False
            self._overtaken = self._live.snapshot if self._live is not None else None
            self._changed()
            self._ask_again()
        else:
            self._again.start_once()

    def states_changed(self) -> None:
        """Sessions are in other states now: ask again at once where that was asked for."""
        if self._question is not None and self._question.asks_for_states:
            if self.results.answer is not None:
                self._show_answer(self.results.answer.snapshot)
            self._ask(self._question.text)

    def ask_further(self) -> None:
        """The index has come further: an answer that ended before all was searched may be had whole by now."""
        shown = self.results.snapshot
        if shown is not None and shown.done and shown.coverage.left:
            self._ask_again()

    def _ask_again(self) -> None:
        if self._question is not None:
            self.results.previews.forget()
            self.engine.ask(self._question)

    # Answers -----------------------------------------------------------------------------------------------

    def _answered(self, snapshot: LiveSnapshot) -> None:
        if self._question is None or snapshot.query.tree != self._question.tree:
            return
        if not snapshot.done:
            left = self._asked_at + GATHERING - time.monotonic()
            if left > 0:
                self._late.start(left)
                return
            if self._has_whole_answer(self._question):
                return  # the same question was asked again: the complete answer stays until there is another
        self._show_answer(snapshot)

    def _has_whole_answer(self, question: Query) -> bool:
        shown = self.results.snapshot
        return shown is not None and shown.query.tree == question.tree and shown.done

    def _show_late(self) -> None:
        """Show the results found so far."""
        question, live = self._question, self._live
        if question is None or live is None or self._has_whole_answer(question):
            return
        from hermes_tui.sessions.search.incremental.search import LiveSnapshot

        latest = live.snapshot
        self._show_answer(latest if latest.query.tree == question.tree else LiveSnapshot(query=question))

    def _show_answer(self, snapshot: LiveSnapshot) -> None:
        if snapshot.done:
            self._late.stop()
        self.results.show(snapshot)
        self._changed()

    def _forget_answer(self) -> None:
        self._question = None
        self.results.clear()
        self._transcript.forget_hit()
        if self._live is not None:
            self._live.ask("")

    # Opening what was found --------------------------------------------------------------------------------

    def open(self, conversation: Conversation, step: int = 0) -> None:
        """Open the session that was found at its best match; with a `step`, the conversation at its first match (1)
        or its last one (-1)."""
        answer = self.results.answer
        if answer is None:
            return
        self._history.remember(self.typed)
        summary, result = answer.summary_of(conversation), answer.found.get(conversation.key)
        seen = self.results.previews.seen(answer.query, summary.unified_id)
        message_id = ""
        if seen is not None and seen.whole and seen.result is not None:
            message_id = seen.result.message_id or ""
        elif result is not None and result.match is not None:
            place = result.match.place
            message_id = result.match.message_id or (f"#{place}" if place is not None else "")
        parts = self.engine.parts(answer.query, summary.unified_id)
        self._transcript.open_hit(SearchHit(answer.query, conversation.key, summary, message_id, parts), step)

    def open_next(self, step: int) -> None:
        """There is no match below (1) or above (-1) in what is open: say so, and the next time go on in the next part
        of the conversation, then in the next conversation."""
        if self._question is not None and not self._transcript.has_told_edge(step):
            key, where, other = ("n", "below", "next") if step > 0 else ("N", "above", "previous")
            self._parts.screen.notify(f"No match {where} in this session: {key} again goes to the {other} one.")
            return
        sessions, query = self._parts.sessions, self.results.query
        here = sessions.highlighted
        if query is not None and here is not None and self._transcript.open_beyond(query, here.key, step):
            return
        before = sessions.cursor
        if self._question is not None:
            sessions.action_move(step)
        if sessions.cursor == before or sessions.highlighted is None:
            where = "below" if step > 0 else "above"
            self._parts.screen.notify(f"There is no match {where} this one.")
        else:
            self.open(sessions.highlighted, step)
