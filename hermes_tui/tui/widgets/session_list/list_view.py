"""Draws the session list: rows, cursor, filter; only the lines in view."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

from rich.style import Style
from textual.strip import Strip

from hermes_tui.clock import Clock
from hermes_tui.config import USUAL_COLUMNS, Column
from hermes_tui.tui.agent_colours import AGENT_COLOURS
from hermes_tui.tui.widgets.key_count import KeyCount
from hermes_tui.tui.widgets.session_list.conversation import Conversation, ListRow
from hermes_tui.tui.widgets.session_list.list_columns import RowTexts, columns_for, containing
from hermes_tui.tui.widgets.session_list.order import Order
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.widgets.session_list.shown_answer import ListPosition, ShownAnswer
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from hermes_tui.tui.widgets.styled import Parts, RowView

__all__ = ["SessionLines"]


_USUAL = Order()
_Look = tuple[Parts, str]
"""What stands in a line, and where the cursor is on it, how that looks: `cursor` or `resting`."""

_PURPOSES = (
    *("caption", "title", "faint", "rule", "cost", "match", "live", "idle", "error", "accent", "needs", "warning"),
    *("question", "limited", "gone"),
    *(f"agent-{number}" for number in range(AGENT_COLOURS)),
)
"""Of the texts in a row."""


class SessionLines(RowView):
    """Conversations, newest first, under headings for days; forks and helpers folded below where they came from.

    New data draws the lines that look different, and leaves the cursor on the conversation it was on.
    """

    def __init__(
        self,
        clock: Clock,
        badges: Mapping[str, str],
        *,
        order: Order = _USUAL,
        chosen: Collection[Column] = USUAL_COLUMNS,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self.key_count = KeyCount()
        """Digits before a motion."""
        self._clock = clock
        self._badges = badges
        self._forest = Forest()
        self._unfolded: set[str] = set()
        self._only: frozenset[str] | None = None
        """Unified ids of the sessions that the filter leaves; None without a filter."""
        self._answer: ShownAnswer | None = None
        self._marked: list[str] = []
        """Keys of conversations, the one that was marked first at first."""
        self._states = ShownStates()
        self._order, self._chosen = order, chosen
        self._rows: list[ListRow] = []
        self._headings: list[int] = []
        """Where in the rows they are."""
        self._day = clock.local(clock.now()).date()
        self._drawn: dict[int, _Look] = {}
        """Line of the view → what is on the screen there; making a strip of it takes as long as finding out."""
        self._found: dict[int, _Look] = {}
        """Line of the view → what is to be there, as it was just compared with that: it is drawn next."""
        self._found_at = (0, 0)
        """Where the view began then, and how wide it was."""
        self._kept: ListPosition | None = None
        self.state_words = False
        """Write states out where there is room; set by the screen when the list has it to itself."""

    # What is shown -----------------------------------------------------------------------------------------

    @property
    def rows(self) -> Sequence[ListRow]:
        """The lines, headings included."""
        return self._rows

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._rows)

    def may_rest(self, at: int) -> bool:
        """On a conversation."""
        return self._rows[at].conversation is not None

    @property
    def highlighted(self) -> Conversation | None:
        """The conversation under the cursor."""
        return self._rows[self.cursor].conversation if 0 <= self.cursor < len(self._rows) else None

    @property
    def marked(self) -> Sequence[Conversation]:
        """The conversations that are marked, in the order in which they were."""
        found = (self._forest.by_session.get(key) for key in self._marked)
        return [conversation for conversation in found if conversation is not None]

    def mark(self, conversations: Sequence[Conversation]) -> None:
        """Mark these, and no others."""
        self._marked = [one.key for one in conversations]
        self._redraw_changed()

    @property
    def forest(self) -> Forest:
        """All conversations, whatever the filter hides."""
        return self._forest

    def set_forest(self, forest: Forest) -> None:
        """Show new data; the cursor stays on its conversation, also when that went on in another part."""
        before = self.highlighted
        self._forest = forest
        key = ""
        if before is not None:
            here = forest.by_session.get(before.tip.unified_id)
            key = here.key if here else before.key
        self._lay(key, self.cursor)

    @property
    def unfolded(self) -> frozenset[str]:
        """Keys of the conversations that are unfolded."""
        return frozenset(self._unfolded)

    def unfold(self, keys: Collection[str]) -> None:
        """Unfold these conversations, and no others."""
        self._unfolded = set(keys)
        self._lay_again()

    @property
    def states(self) -> ShownStates:
        """What the rows say of sessions besides what the sessions say."""
        return self._states

    def set_states(self, states: ShownStates) -> None:
        """Show these from now on."""
        if states != self._states:
            self._states = states
            if self._order.group == "state" and self._answer is None:
                self._lay_again()
            else:
                self._redraw_changed()

    @property
    def order(self) -> Order:
        """How the rows are sorted and grouped."""
        return self._order

    def set_order(self, order: Order) -> None:
        """Show the rows in this order, from the beginning; an answer is laid out by whoever gave it."""
        self._order = order
        if self._answer is None:
            self._lay("", 0, top=True)

    @property
    def is_filtered(self) -> bool:
        """Not all conversations are shown."""
        return self._only is not None or self._answer is not None

    @property
    def left(self) -> int | None:
        """How many sessions the filter leaves; None without one."""
        return None if self._only is None else sum(one in self._forest.by_session for one in self._only)

    @property
    def answer(self) -> ShownAnswer | None:
        """What a search has found, while that is shown."""
        return self._answer

    def set_columns(self, chosen: Collection[Column]) -> None:
        """Show these beside the titles, as far as there is room."""
        self._chosen = chosen
        self._redraw_changed()

    def set_filter(self, only: frozenset[str] | None, *, top: bool = True) -> None:
        """Show only conversations that hold one of these sessions (unified ids), unfolded below what they came from;
        None: all, as it was before the first filter. `top`: as in `set_answer`."""
        if only == self._only and self._answer is None:
            return
        self._remember()
        highlighted = self.highlighted
        self._only, self._answer = only, None
        if only is None:
            kept, self._kept = self._kept, None
            if kept is not None:
                self._unfolded = set(kept.unfolded)
                self._lay(kept.key, kept.row)
                self.jump(kept.scroll)
        elif top:
            way = self._forest.way_to(only)
            self._unfolded |= {above.key for key in way if (above := self._forest.above.get(key)) is not None}
            self._lay("", 0, top=True)
        else:
            self._lay(highlighted.key if highlighted else "", self.cursor)

    def set_answer(self, answer: ShownAnswer, *, top: bool) -> None:
        """Show what a search has found; with `top` from its beginning, else where the cursor is."""
        self._remember()
        highlighted = self.highlighted
        self._only, self._answer = None, answer
        if top:
            self._lay("", 0, top=True)
        else:
            self._lay(highlighted.key if highlighted else "", self.cursor)

    def _remember(self) -> None:
        if self._kept is None:
            highlighted = self.highlighted
            key = highlighted.key if highlighted else ""
            self._kept = ListPosition(key, self.cursor, self.scroll_y, frozenset(self._unfolded))

    def tick(self) -> None:
        """Let time pass: draw the lines whose age reads differently now, and move headings after midnight."""
        today = self._clock.local(self._clock.now()).date()
        if today != self._day:
            self._lay_again()
        else:
            self._redraw_changed()

    def _lay_again(self) -> None:
        """With the cursor on the conversation that it is on."""
        self._lay(self.highlighted.key if self.highlighted else "", self.cursor)

    def _lay(self, key: str, index: int, *, top: bool = False) -> None:
        """Work out the rows anew, with the cursor on `key`, else near `index`."""
        before_index = self.cursor
        before = self.highlighted
        self._day = self._clock.local(self._clock.now()).date()
        if self._answer is not None:
            self._rows = list(self._answer.rows)
        else:
            only = None if self._only is None else self._forest.way_to(self._only)
            self._rows = self._forest.rows(self._clock, self._unfolded, only, self._order, self._states)
        self._headings = [at for at, row in enumerate(self._rows) if row.heading]
        found = next((at for at, row in enumerate(self._rows) if row.key == key), -1) if key else -1
        if found >= 0:
            self.cursor = found
        elif top:
            # The first row that the filter leaves itself, not only for something below it.
            wanted, shown = self._only, enumerate(row.conversation for row in self._rows)
            matches = (at for at, one in shown if one is not None and (wanted is None or one.holds(wanted)))
            self.cursor = next(matches, -1)
        else:
            self.cursor = self.nearest(index)
        # Room comes first: Textual lets nobody scroll further than there are lines.
        self.hold(len(self._rows))
        if top:
            self.jump(0)
        elif found >= 0 and self.scroll_y > 0 and found != before_index:
            # The same line of the screen as before.
            self.jump(self.scroll_y + found - before_index)
        self.show_cursor()
        self._redraw_changed()
        after = self.highlighted
        if after is not before:
            self.moved()

    # Drawing -----------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One line of the part in view."""
        top = self.scroll_offset.y
        look = self._found.pop(y, None) if self._found_at == (top, self.size.width) else None
        look = self._drawn[y] = look or self._look_at(y, top, self._texts())
        return self.strip(*look)

    def notify_style_update(self) -> None:
        """Forget looked-up styles: theme or focus changed."""
        self._found.clear()
        super().notify_style_update()

    def _texts(self) -> RowTexts:
        width = self.size.width
        columns = columns_for(width, words=self.state_words, chosen=self._chosen, order=self._order)
        find = self._answer.find if self._answer is not None else containing(())
        return RowTexts(
            width, columns, self._clock.now(), self._badges, find, self._states, self._marked, self._order
        )

    def looks(self, *, on_cursor: bool) -> Mapping[str, Style]:
        """How text of each purpose looks, on the row under the cursor or on another."""
        return {name: self.look(name, "cursor" if on_cursor else "") for name in ("", *_PURPOSES)}

    def _look_at(self, y: int, top: int, texts: RowTexts) -> _Look:
        """Line `y` of a view that begins at row `top`. The first is the heading of what is there, with the names of
        the columns, however far one has scrolled."""
        if y == 0 and top > 0 and self._rows and self._rows[0].names:
            heading = self._headings[bisect_right(self._headings, top) - 1]
            return texts.parts(self._rows[heading]._replace(names=True)), ""
        index = top + y
        if not 0 <= index < len(self._rows):
            return (), ""
        row = self._rows[index]
        on_cursor = index == self.cursor or (index - 1 == self.cursor and row.snippet is not None)
        return texts.parts(row, on_cursor=on_cursor), ("cursor" if self.has_focus else "resting") * on_cursor

    def _redraw_changed(self) -> None:
        """Draw the lines in view that look different from what is on the screen."""
        self._found.clear()
        if not self.is_attached or not self.size:
            return
        texts = self._texts()
        top = self.scroll_offset.y
        self._found_at = (top, self.size.width)
        for y in range(self.size.height):
            look = self._look_at(y, top, texts)
            if self._drawn.get(y) != look:
                self._found[y] = look
                self.refresh_line(top + y)

    # Moving ------------------------------------------------------------------------------------------------

    def draw(self, at: int) -> None:
        """Draw a row again, with its snippet."""
        self._found.clear()
        for row in range(at, self.extent(at)[1] + 1):
            self.refresh_line(row)

    def extent(self, at: int) -> tuple[int, int]:
        """With its snippet, and with the line above: the first in view is a heading."""
        return max(0, at - 1), at + (0 <= at < len(self._rows) - 1 and self._rows[at + 1].snippet is not None)

    def fit(self) -> None:
        """Keep the cursor in view: `hold` has made room."""
        self.show_cursor()
