"""The session list: what keys and mouse do with it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from textual import events
from textual.message import Message

from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.session_list.conversation import Conversation, ListRow
from hermes_tui.tui.widgets.session_list.list_view import SessionLines
from hermes_tui.tui.widgets.session_list.rows import ListedPart

__all__ = ["SessionList"]


class SessionList(SessionLines, can_focus=True):
    """Conversations with a cursor on one of them, forks and helpers folded below where they came from."""

    BINDINGS = bindings("list")

    class HighlightChanged(Message):
        """The cursor is on another conversation, or on none, or the one it is on has changed."""

        def __init__(self, conversation: Conversation | None) -> None:
            super().__init__()
            self.conversation = conversation

    class Selected(Message):
        """A conversation is to be opened."""

        def __init__(self, conversation: Conversation) -> None:
            super().__init__()
            self.conversation = conversation

    class MarksChanged(Message):
        """A conversation was marked, or a mark was taken away."""

    at_once: Callable[[], None] | None = None
    """Called before `HighlightChanged` is sent, so that what it shows is painted together with the cursor."""

    def moved(self) -> None:
        """The cursor is on another conversation, or on none, or the one it is on has changed."""
        if self.at_once is not None:
            self.at_once()
        self.post_message(self.HighlightChanged(self.highlighted))

    def reveal(self, unified_id: str) -> None:
        """Put the cursor on the conversation that holds this session, unfolding what it is folded under."""
        home = self.forest.by_session.get(unified_id)
        if home is not None:
            self.unfold(self.unfolded | self.forest.way_to((unified_id,)) - {home.key})
            self.go(next((at for at, row in enumerate(self.rows) if row.key == home.key), self.cursor))

    def part(self, unified: str) -> ListedPart | None:
        """The session of this unified id, and how it is."""
        part = self.forest.part(unified)
        return part and part._replace(state=self.states.of(Conversation((part.summary,))))

    # Moving ------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Digits before a motion say how often: `5j`."""
        self.key_count.typed(event, self.screen)

    def action_move(self, step: int) -> None:
        """One conversation up (-1) or down (1), or as many as were typed."""
        before = at = self.cursor
        for _ in range(self.key_count.take() or 1):
            at = self.nearest(at + step, step)
        self.go(at, step)
        if step < 0 and self.cursor == before:
            self.jump(0)

    def action_page(self, step: int) -> None:
        """A page up (-1) or down (1)."""
        self._leap(step * max(1, self.size.height - 1) * (self.key_count.take() or 1))

    def action_half_page(self, step: int) -> None:
        """Half a page up (-1) or down (1)."""
        self._leap(step * max(1, self.size.height // 2) * (self.key_count.take() or 1))

    def _leap(self, rows: int) -> None:
        """Cursor and view together, so that the cursor keeps its line of the screen."""
        if not self.rows:
            return
        target = min(max(self.cursor + rows, 0), len(self.rows) - 1)
        self.jump(self.scroll_y + rows)
        while rows < 0 and self.rows[target].conversation is None and target > 0:
            target -= 1
        self.go(target)

    def action_first(self) -> None:
        """To the first conversation."""
        self.jump(0)
        self.go(0)

    def action_last(self) -> None:
        """To the last one; with a number before it, to the one of that number."""
        if (number := self.key_count.take()) == 0:
            self.go(len(self.rows) - 1)
            return
        there = [at for at, row in enumerate(self.rows) if row.conversation is not None]
        if there:
            self.go(there[min(number, len(there)) - 1])

    def action_day(self, step: int) -> None:
        """To the first conversation of the next (1) or of this or the previous (-1) day or other group."""
        headings = [at for at, row in enumerate(self.rows) if row.heading]
        at = bisect_left(headings, self.cursor) + (0 if step > 0 else -1)
        # On the first of a day already: the day before is meant.
        if step < 0 and at > 0 and headings[at] + 1 == self.cursor:
            at -= 1
        at += step * max(0, self.key_count.take() - 1)
        if 0 <= at < len(headings):
            self.go(headings[at] + 1)
        else:
            self.notify(f"There is no heading {'below' if step > 0 else 'above'} this one.")

    # Folding and opening -----------------------------------------------------------------------------------

    def action_open(self) -> None:
        """Ask for the conversation under the cursor to be opened."""
        conversation = self.highlighted
        if conversation is None:
            self.notify("There is no session here to open.")
        else:
            self.post_message(self.Selected(conversation))

    def action_mark(self) -> None:
        """Mark what is under the cursor, or take its mark away, and go on."""
        conversation = self.highlighted
        if conversation is None:
            self.notify("There is no session here to mark.")
            return
        if conversation.key not in self.forest.by_session:
            self.notify("Only sessions can be marked: this is what an agent keeps in mind.")
            return
        marked = [one for one in self.marked if one is not conversation]
        self.mark(marked if len(marked) < len(self.marked) else [*marked, conversation])
        self.post_message(self.MarksChanged())
        self.action_move(1)

    def action_unmark(self) -> None:
        """Take all marks away."""
        if not self.marked:
            self.notify("No session is marked.")
        self.mark([])
        self.post_message(self.MarksChanged())

    def action_toggle_fold(self) -> None:
        """Unfold or fold what is under the cursor."""
        conversation = self.highlighted
        if conversation is None:
            self.notify("There is no session here to unfold.")
        elif self.rows[self.cursor].unfolded is not None:
            self.unfold(self.unfolded ^ {conversation.key})
        elif self.answer is not None:
            self.notify("Nothing to unfold: each session that was found stands in a row of its own.")
        elif conversation.children:
            self.notify("Nothing to unfold: the filter leaves no fork or helper of this session.")
        else:
            self.notify("Nothing to unfold: no fork or helper came from this session.")

    def action_unfold(self) -> None:
        """Unfold; if it is unfolded already, go to the first below."""
        if self.highlighted is not None and self.rows[self.cursor].unfolded:
            self.action_move(1)
        else:
            self.action_toggle_fold()

    def action_fold(self) -> None:
        """Fold; where nothing is unfolded, go to where this came from."""
        here = self.rows[self.cursor] if self.highlighted is not None else ListRow()
        if here.unfolded:
            self.action_toggle_fold()
        elif here.guide:
            above = range(self.cursor - 1, -1, -1)
            self.go(next(at for at in above if len(self.rows[at].guide) < len(here.guide)))
        else:
            self.notify("Nothing to fold: nothing is unfolded below this row.")

    def action_toggle_all(self) -> None:
        """Fold everything if anything is unfolded, else unfold everything."""
        if self.answer is not None or all(row.unfolded is None for row in self.rows):
            self.notify("Nothing to unfold: no session here has a fork or helper below it.")
            return
        self.unfold([] if any(row.unfolded for row in self.rows) else [one.key for one in self.forest.above.values()])

    # Events ------------------------------------------------------------------------------------------------

    def clicked(self, at: int, event: events.Click) -> None:
        """Put the cursor there; on the fold mark fold, on the cursor open."""
        if event.y == 0 and at > 0:
            return  # the heading that stays lies over it
        index = at - (at > 0 and self.rows[at].snippet is not None)
        if not self.may_rest(index):
            return
        row = self.rows[index]
        mark = 2 + len(row.guide)
        if row.unfolded is not None and event.x < (mark + 2 if row.guide else 2):
            self.go(index)
            self.action_toggle_fold()
        elif index == self.cursor:
            self.action_open()
        else:
            self.go(index)

    def on_focus(self) -> None:
        """The cursor looks different where the keys go."""
        self.draw(self.cursor)

    def on_blur(self) -> None:
        """See `on_focus`. Digits that were typed are forgotten."""
        self.key_count.forget()
        self.draw(self.cursor)
