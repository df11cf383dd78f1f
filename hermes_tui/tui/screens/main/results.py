"""Search results as rows of the list, and what is said where there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hermes_tui.display import counted
from hermes_tui.platform.background import in_background
from hermes_tui.tui.delay import Delay
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.screens.main.preview import Answer, SearchPreviews
from hermes_tui.tui.widgets.session_list.conversation import Conversation
from hermes_tui.tui.widgets.session_list.result_rows import (
    ConversationNames,
    answer_of,
    broken_rows,
    by_need,
    left,
    listed,
    nothing_rows,
)
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.workers.previewer import PreviewWish

if TYPE_CHECKING:
    from hermes_tui.sessions.query.query import Query
    from hermes_tui.sessions.search.incremental.search import LiveSnapshot
    from hermes_tui.sessions.search.model import Result

__all__ = ["SearchResults"]

_WONDER = 0.3
"""Seconds after an empty answer, without another question, at which it is looked for what was meant: a word that is
being typed is not mistyped yet."""
_LEAST_LINES = 20
"""Lines of the screen from which results have a second line."""


class SearchResults:
    """Owns the answer that the list shows."""

    def __init__(self, parts: MainParts, look: Callable[[str, PreviewWish], Result | None]) -> None:
        """`look`: see `SearchPreviews`."""
        self._parts = parts
        self.answer: Answer | None = None
        """None where all sessions are shown."""
        self.previews = SearchPreviews(parts, look, lambda: self.answer, self._show_rows)
        self._failure_said = ""
        """Why the latest answer is broken off; empty where it is not."""
        self._names = ConversationNames(Forest())
        self._named: tuple[str, Sequence[Conversation]] = ("", ())
        """A query, and what fits it by name."""
        self._meant = ("", "")
        """A query that found nothing, and what is offered instead; nothing where nobody can tell."""
        self._wondering = Delay(parts.screen, self._wonder, _WONDER)

    @property
    def query(self) -> Query | None:
        """The question that the rows answer."""
        return self.answer.query if self.answer is not None else None

    @property
    def snapshot(self) -> LiveSnapshot | None:
        """The engine's answer that the rows are made from."""
        return self.answer.snapshot if self.answer is not None else None

    def meant_by(self, text: str) -> str:
        """What may have been meant by a query that found nothing, as far as that is known."""
        return self._meant[1] if self._meant[0] == text else ""

    def get_ready(self) -> None:
        """A query comes soon."""
        in_background("names to be searched", self._all_names().get_ready)

    def clear(self) -> None:
        """There is no answer any more."""
        self.answer = None
        self.previews.clear()

    def show(self, snapshot: LiveSnapshot) -> None:
        """Show an answer, which may be incomplete."""
        forest, query = self._parts.sessions.forest, snapshot.query
        if snapshot.sessions is not None:
            found = left(snapshot.sessions, forest)
        else:
            names = self._all_names()
            # What fits by name is the same for every snapshot of an answer.
            if self._named[0] != query.text:
                self._named = (query.text, names.fitting(query))
            found = listed(snapshot, forest, self._named[1])
        if not found.conversations and (not snapshot.done or self._parts.is_early):
            return  # what is there stays until it is known that nothing takes its place
        same = self.query is not None and (self.query.tree == query.tree or self.query.text == query.text)
        # While the answer is still coming in and the cursor has not left the first of it, that is where it stays.
        shown, sessions = self.snapshot, self._parts.sessions
        first = next((at for at, row in enumerate(sessions.rows) if row.conversation is not None), -1)
        top = not same or (shown is not None and not shown.done and sessions.cursor == first)
        self.answer = Answer(query, snapshot, found, {one.key: result for one, result in found.conversations})
        self._show_rows(top=top)
        if snapshot.done:
            # Once, while it is the same at every key.
            before, self._failure_said = self._failure_said, snapshot.failure
            if snapshot.failure and snapshot.failure != before:
                self._parts.screen.notify(f"The search broke off: {snapshot.failure}", severity="error")
            self.previews.look_later()
            self._wondering.stop()
            if not found.conversations:
                self._wondering.start()

    def order_changed(self) -> None:
        """The list is in another order now: show the answer in that one."""
        self._show_rows(top=True)

    def _all_names(self) -> ConversationNames:
        forest = self._parts.sessions.forest
        if self._names.forest is not forest:
            self._names, self._named = ConversationNames(forest, self._names), ("", ())
        return self._names

    def _show_rows(self, *, top: bool = False) -> None:
        if self.answer is None:
            return
        query, snapshot, found, _ = self.answer
        sessions, clock = self._parts.sessions, self._parts.clock
        width = sessions.size.width
        two = self._parts.screen.app.size.height >= _LEAST_LINES  # the list has no height while it is hidden
        if found.conversations and snapshot.sessions is not None and not query.asks_for_states:
            sessions.set_filter(snapshot.sessions, top=top)
            return
        if found.conversations and snapshot.sessions is not None and sessions.order.is_usual:
            answer = by_need(found, sessions.states)
        elif found.conversations:
            two = two and snapshot.sessions is None
            snippets, states = self.previews.snippets(self.answer), sessions.states
            answer = answer_of(found, query, clock, snippets, sessions.order, states, two_lines=two)
        elif snapshot.failure:
            answer = broken_rows(query, snapshot.failure, width)
        else:
            every = self._parts.snapshot.sessions
            agents = counted(len({one.agent for one in every}), "agent")
            whose = f"{counted(len(every), 'session')} of {agents}"
            covered = str(snapshot.coverage) if snapshot.coverage.sources else ""
            searched = (
                f"titles, what was said, and what tools got and gave, in {whose}; {covered}"
                if covered
                else f"the list of {whose}"  # a search that took no look at any text
            )
            answer = nothing_rows(query, searched, width, self.meant_by(query.text))
        sessions.set_answer(answer, top=top)

    # What was meant ----------------------------------------------------------------------------------------

    def _wonder(self) -> None:
        """The answer is complete and empty: look in a thread for what was meant."""
        answer, program = self.answer, self._parts.program
        if answer is None or answer.listed.conversations or self._meant[0] == answer.query.text:
            return
        text = answer.query.text

        def find() -> None:
            instead = program.manager.searches.instead(text)
            program.in_loop(lambda: offer(instead))

        def offer(instead: str) -> None:
            self._meant = (text, instead)
            if instead and self.query is not None and self.query.text == text:
                self._show_rows()

        in_background("spelling", find)
