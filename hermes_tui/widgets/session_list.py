"""The list of conversations: one line each, any number of them; only the lines in view are ever drawn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import ClassVar, NamedTuple

from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hermes_tui.clock import Clock
from hermes_tui.keymap import bindings
from hermes_tui.widgets.session_line import Painter, columns_for
from hermes_tui.widgets.session_rows import Conversation, Forest, Row, Wanted
from hermes_tui.widgets.states import State

__all__ = ["SessionList"]


class _Position(NamedTuple):
    """Where one was, to come back to."""

    key: str
    row: int
    scroll: float
    unfolded: frozenset[str]


class SessionList(ScrollView, can_focus=True):
    """Conversations, newest first, under headings for days; forks and helpers folded below where they came from.

    A cursor move draws two lines. New data draws the lines that look different, and leaves the cursor on the
    conversation it was on.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "session-list--cursor",
        "session-list--resting",
        "session-list--heading",
        "session-list--title",
        "session-list--faint",
        "session-list--rule",
        "session-list--cost",
        "session-list--match",
        "session-list--live",
        "session-list--idle",
        "session-list--error",
        "session-list--accent",
        "session-list--warning",
        *(f"session-list--agent-{number}" for number in range(8)),
    }
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

    class Refused(Message):
        """An action could not run; `reason` is one sentence."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(self, clock: Clock, badges: Mapping[str, str], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._clock = clock
        self._badges = badges
        self._forest = Forest()
        self._unfolded: set[str] = set()
        self._words: tuple[Wanted, ...] = ()
        self._marked: list[str] = []
        """Keys of conversations, the one that was marked first at first."""
        self._lane_states: Mapping[str, State] = {}
        self._rows: list[Row] = []
        self._cursor = -1
        self._day = clock.local(clock.now()).date()
        self._styles: dict[str, Style] = {}
        self._base: Style | None = None
        self._drawn: dict[int, Strip] = {}
        self._kept: _Position | None = None
        self.state_words = False
        """Write states out where there is room; set by the screen when the list has it to itself."""

    # What is shown -----------------------------------------------------------------------------------------

    @property
    def rows(self) -> Sequence[Row]:
        """The lines, headings included."""
        return self._rows

    @property
    def cursor(self) -> int:
        """Index into `rows`; -1 when there is nothing to be on."""
        return self._cursor

    @property
    def highlighted(self) -> Conversation | None:
        """The conversation under the cursor."""
        return self._rows[self._cursor].conversation if 0 <= self._cursor < len(self._rows) else None

    @property
    def words(self) -> Sequence[Wanted]:
        """What is filtered by."""
        return self._words

    @property
    def marked(self) -> Sequence[Conversation]:
        """The conversations that are marked for a comparison, at most two, in the order in which they were."""
        found = (self._forest.by_session.get(key) for key in self._marked)
        return [conversation for conversation in found if conversation is not None]

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
        self._lay(key, self._cursor)

    def set_lane_states(self, states: Mapping[str, State]) -> None:
        """Show these (by unified id) beside the sessions of lanes."""
        if dict(states) != self._lane_states:
            self._lane_states = dict(states)
            self._redraw_changed()

    def lane_state(self, conversation: Conversation) -> State | None:
        """The state of the lane that is in a part of it, where there is something to be said of it."""
        if not self._lane_states or conversation.tip.agent != "hermes" or conversation.tip.gone:
            return None
        found = (self._lane_states.get(part.unified_id) for part in reversed(conversation.parts))
        return next((state for state in found if state is not None), None)

    def set_filter(self, text: str, only: frozenset[str] = frozenset()) -> None:
        """Show only conversations that match all words of `text`, or hold a session of `only` where there is one.
        The first filter remembers where one was; an empty one goes back there."""
        words: tuple[Wanted, ...] = (only,) if only else tuple(text.lower().split())
        if words == self._words:
            return
        if self._kept is None:
            highlighted = self.highlighted
            key = highlighted.key if highlighted else ""
            self._kept = _Position(key, self._cursor, self.scroll_y, frozenset(self._unfolded))
        self._words = words
        if words:
            self._lay("", 0, top=True)
            return
        kept, self._kept = self._kept, None
        self._unfolded = set(kept.unfolded)
        self._lay(kept.key, kept.row)
        self.scroll_to(y=kept.scroll, animate=False, force=True, immediate=True)

    def tick(self) -> None:
        """Let time pass: draw the lines whose age reads differently now, and move headings after midnight."""
        today = self._clock.local(self._clock.now()).date()
        if today != self._day:
            highlighted = self.highlighted
            self._lay(highlighted.key if highlighted else "", self._cursor)
        else:
            self._redraw_changed()

    def _lay(self, key: str, index: int, *, top: bool = False) -> None:
        """Work out the rows anew, with the cursor on `key`, else near `index`."""
        before_index = self._cursor
        before = self.highlighted
        self._day = self._clock.local(self._clock.now()).date()
        self._rows = self._forest.rows(self._clock, self._unfolded, self._words)
        found = next((at for at, row in enumerate(self._rows) if row.key == key), -1) if key else -1
        self._cursor = found if found >= 0 else self._first_match() if top else self._near(index)
        height = len(self._rows)
        if not self.size:
            # Before the first layout: with its scrollbar from the beginning it is laid out once.
            self.show_vertical_scrollbar = height > self.app.size.height
        if self.virtual_size.height != height:
            self.virtual_size = Size(self.size.width, height)
        if top:
            self.scroll_to(y=0, animate=False, force=True, immediate=True)
        elif found >= 0 and self.scroll_y > 0 and found != before_index:
            # The same line of the screen as before.
            self.scroll_to(y=self.scroll_y + found - before_index, animate=False, force=True, immediate=True)
        self._show_cursor()
        self._redraw_changed()
        after = self.highlighted
        if after is not before:
            self.post_message(self.HighlightChanged(after))

    def _first_match(self) -> int:
        """The first row that matches the filter itself, not only by something below it; -1 when there is none."""
        rows = enumerate(row.conversation for row in self._rows)
        return next((at for at, one in rows if one is not None and one.matches(self._words)), -1)

    def _near(self, index: int) -> int:
        """The row with a conversation at `index` or nearest to it; -1 when there is none."""
        if not self._rows:
            return -1
        index = min(max(index, 0), len(self._rows) - 1)
        for at in chain(range(index, len(self._rows)), range(index, -1, -1)):
            if self._rows[at].conversation is not None:
                return at
        return -1

    # Drawing -----------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One line of the part in view."""
        strip = self._strip(y + self.scroll_offset.y, self._painter())
        self._drawn[y] = strip
        return strip

    def notify_style_update(self) -> None:
        """Forget looked-up styles: theme or focus changed."""
        self._styles.clear()
        self._base = None
        super().notify_style_update()

    def _painter(self) -> Painter:
        width = self.size.width
        columns = columns_for(width, words=self.state_words)
        if self._base is None:
            self._base = self.rich_style  # asks all ancestors
        now, base = self._clock.now(), self._base
        words = [word for word in self._words if isinstance(word, str)]
        return Painter(width, columns, now, self._badges, words, base, self._purpose, self.lane_state, self._marked)

    def _purpose(self, name: str) -> Style:
        style = self._styles.get(name)
        if style is None:
            style = self._styles[name] = self.get_component_rich_style(f"session-list--{name}", partial=True)
        return style

    def _strip(self, index: int, painter: Painter) -> Strip:
        if not 0 <= index < len(self._rows):
            return Strip.blank(painter.width, painter.base)
        cursor = None
        if index == self._cursor:
            cursor = self._purpose("cursor" if self.has_focus else "resting")
        return painter.strip(self._rows[index], cursor)

    def _redraw_changed(self) -> None:
        """Draw the lines in view that look different from what is on the screen."""
        if not self.is_attached or not self.size:
            return
        painter = self._painter()
        top = self.scroll_offset.y
        for y in range(self.size.height):
            if self._drawn.get(y) != self._strip(top + y, painter):
                self.refresh_line(top + y)

    # Moving ------------------------------------------------------------------------------------------------

    def move_to(self, index: int) -> None:
        """Put the cursor on row `index`; a heading gives way to the row after it."""
        old, new = self._cursor, self._near(index)
        if new == old or new < 0:
            return
        self._cursor = new
        self.refresh_line(old)
        self.refresh_line(new)
        self._show_cursor()
        self.post_message(self.HighlightChanged(self.highlighted))

    def _show_cursor(self) -> None:
        """Scroll no further than needed to have the cursor in view, with its heading if that is just above."""
        height = self.size.height
        if self._cursor < 0 or not height:
            return
        top = self.scroll_offset.y
        first = self._cursor
        if first and self._rows[first - 1].conversation is None:
            first -= 1
        if first < top:
            self.scroll_to(y=first, animate=False, force=True, immediate=True)
        elif self._cursor >= top + height:
            self.scroll_to(y=self._cursor - height + 1, animate=False, force=True, immediate=True)

    def action_move(self, step: int) -> None:
        """One conversation up (-1) or down (1)."""
        at = self._cursor + step
        while 0 <= at < len(self._rows) and self._rows[at].conversation is None:
            at += step
        if 0 <= at < len(self._rows):
            self.move_to(at)
        elif step < 0:
            self.scroll_to(y=0, animate=False, force=True, immediate=True)

    def action_page(self, step: int) -> None:
        """A page up (-1) or down (1)."""
        self._leap(step * max(1, self.size.height - 1))

    def action_half_page(self, step: int) -> None:
        """Half a page up (-1) or down (1)."""
        self._leap(step * max(1, self.size.height // 2))

    def _leap(self, rows: int) -> None:
        """Cursor and view together, so that the cursor keeps its line of the screen."""
        if not self._rows:
            return
        target = min(max(self._cursor + rows, 0), len(self._rows) - 1)
        self.scroll_to(y=self.scroll_y + rows, animate=False, force=True, immediate=True)
        if rows < 0 and self._rows[target].conversation is None and target > 0:
            target -= 1
        self.move_to(target)

    def action_first(self) -> None:
        """To the first conversation."""
        self.scroll_to(y=0, animate=False, force=True, immediate=True)
        self.move_to(0)

    def action_last(self) -> None:
        """To the last one."""
        self.move_to(len(self._rows) - 1)

    def action_day(self, step: int) -> None:
        """To the first conversation of the next (1) or of this or the previous (-1) day."""
        headings = [at for at, row in enumerate(self._rows) if row.conversation is None]
        at = bisect_left(headings, self._cursor) + (0 if step > 0 else -1)
        if step < 0 and at > 0 and headings[at] + 1 == self._cursor:
            at -= 1
        if 0 <= at < len(headings):
            self.move_to(headings[at] + 1)

    # Folding and opening -----------------------------------------------------------------------------------

    def action_open(self) -> None:
        """Ask for the conversation under the cursor to be opened."""
        conversation = self.highlighted
        if conversation is None:
            self.post_message(self.Refused("There is no session here to open."))
        else:
            self.post_message(self.Selected(conversation))

    def action_mark(self) -> None:
        """Mark what is under the cursor, or take its mark away, and go on; a third mark takes the first away."""
        conversation = self.highlighted
        if conversation is None:
            self.post_message(self.Refused("There is no session here to mark."))
            return
        if conversation.key in self._marked:
            self._marked.remove(conversation.key)
        else:
            self._marked = [*self._marked[-1:], conversation.key]
        self._redraw_changed()
        self.action_move(1)

    def action_toggle_fold(self) -> None:
        """Unfold or fold what is under the cursor."""
        conversation = self.highlighted
        if conversation is None or not conversation.children:
            self.post_message(self.Refused("Nothing to unfold: no fork or helper came from this session."))
            return
        self._unfolded ^= {conversation.key}
        self._lay(conversation.key, self._cursor)

    def action_unfold(self) -> None:
        """Unfold; if it is unfolded already, go to the first below."""
        conversation = self.highlighted
        if conversation is None or not conversation.children:
            return
        if conversation.key not in self._unfolded:
            self.action_toggle_fold()
        else:
            self.action_move(1)

    def action_fold(self) -> None:
        """Fold; where nothing is unfolded, go to where this came from."""
        conversation = self.highlighted
        if conversation is None:
            return
        if conversation.key in self._unfolded and conversation.children:
            self.action_toggle_fold()
            return
        depth = len(self._rows[self._cursor].guide)
        for at in range(self._cursor - 1, -1, -1):
            row = self._rows[at]
            if row.conversation is None:
                return
            if len(row.guide) < depth:
                self.move_to(at)
                return

    def action_toggle_all(self) -> None:
        """Fold everything if anything is unfolded, else unfold everything."""
        conversation = self.highlighted
        if self._unfolded:
            self._unfolded = set()
        else:
            self._unfolded = {one.key for one in self._forest.by_session.values() if one.children}
        self._lay(conversation.key if conversation else "", self._cursor)

    # Events ------------------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; on the fold mark fold, on the cursor open."""
        index = self.scroll_offset.y + event.y
        if not 0 <= index < len(self._rows) or self._rows[index].conversation is None:
            return
        row = self._rows[index]
        mark = 2 + len(row.guide)
        if row.unfolded is not None and event.x < (mark + 2 if row.guide else 2):
            self.move_to(index)
            self.action_toggle_fold()
        elif index == self._cursor:
            self.action_open()
        else:
            self.move_to(index)

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._show_cursor()

    def on_focus(self) -> None:
        """The cursor looks different where the keys go."""
        self.refresh_line(self._cursor)

    def on_blur(self) -> None:
        """See `on_focus`."""
        self.refresh_line(self._cursor)
