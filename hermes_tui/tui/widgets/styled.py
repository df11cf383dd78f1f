"""Bases of widgets that draw lines of texts, each text styled by its purpose."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from hermes_tui.cells import fit
from hermes_tui.tui.agent_colours import AGENT_COLOURS

__all__ = ["LOOKS", "FoldedRows", "NotedRows", "Part", "Parts", "RowView", "Styled", "TextView"]

Part = tuple[str, str]
"""A text, safe for a terminal, and its purpose: empty for plain, else one of `LOOKS`."""
Parts = Sequence[Part]

_COLOURS = [f"agent-{number}" for number in range(AGENT_COLOURS)]
_PURPOSES = {
    "look": (
        "accent", "bright", "heading", "faint", "idle", "needs", "question", "warning", "limited", "error", "gone",
        "live", "key", "match", "cursor",
        "resting", "caption", "title", "rule", "cost", "who", "bar", "column", "removed", "added", "removed-word",
        "added-word", "head", *_COLOURS,
    ),
    "transcript": (
        "user", "agent", "meta", "prose", "prompt", "tool", "target", "output", "thinking", "notice", "rule", "error",
        "added", "removed", "more", "heading", "code", "link", "quote", "cursor", "resting", "mark", "match",
        *_COLOURS,
    ),
    "query": ("filter", "operator", "odd", "idle"),
}  # fmt: skip
LOOKS = {f"{family}--{purpose}" for family, purposes in _PURPOSES.items() for purpose in purposes}
"""The component classes of all purposes; the style sheet says how each looks. They are the program's: for those of
a widget Textual makes a node each, at every change of the focus and for every screen that is opened."""


class Styled(Widget):
    """Makes lines of parts. Looked-up styles are kept until the theme, the focus or a class changes."""

    LOOKS = "look"
    """The family of its purposes."""
    _looks: dict[tuple[str, str], Style] | None = None
    _own: dict[str, Style] | None = None

    def own_look(self, purpose: str) -> Style:
        """What text of that purpose looks like by itself, whatever it stands on."""
        if self._own is None:
            self._own = {}
        if purpose not in self._own:
            styles = self.app.get_component_styles(f"{self.LOOKS}--{purpose}")
            self._own[purpose] = styles.partial_rich_style
        return self._own[purpose]

    def look(self, purpose: str = "", cursor: str = "") -> Style:
        """How text of that purpose looks; `cursor` is the purpose of what lies under it."""
        if self._looks is None:
            self._looks = {}
        style = self._looks.get((purpose, cursor))
        if style is None:
            if not purpose and not cursor:
                style = self.rich_style  # asks all ancestors
            else:
                base = self.look("", cursor) if purpose else self.look()
                # Reversed colours would turn every colour of the text into a patch; what is faint could not be read.
                if purpose and cursor and (purpose == "faint" or (base.reverse and purpose != "heading")):
                    style = base
                else:
                    style = base + self.own_look(purpose or cursor)
            self._looks[purpose, cursor] = style
        return style

    def strip(self, parts: Parts, cursor: str = "", width: int = -1) -> Strip:
        """The parts as a line as wide as the widget, unless a `width` is given."""
        segments = [Segment(text, self.look(purpose, cursor)) for text, purpose in parts if text]
        room = self.size.width if width < 0 else width
        return Strip(segments).adjust_cell_length(room, self.look("", cursor)).simplify()

    def notify_style_update(self) -> None:
        """Forget the styles."""
        self._looks = self._own = None
        super().notify_style_update()


class TextView(ScrollView, Styled):
    """Shows `lines`; whoever changes them sets the virtual size."""

    lines: Sequence[Parts] = ()

    @property
    def text(self) -> str:
        """All lines as they are wrapped now."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self.lines)

    def render_line(self, y: int) -> Strip:
        """One line of the part in view."""
        at = y + self.scroll_offset.y
        return self.strip(self.lines[at] if at < len(self.lines) else ())


class RowView(ScrollView, Styled, inherit_bindings=False):
    """Rows with a cursor on one of them. Moving it draws two lines.

    A subclass gives `count` and `parts`, and whatever else is not as it is here."""

    HEAD = 0
    """Lines above the rows that stay where they are."""
    cursor = -1
    """The row that it is on; -1 where there is none to be on."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def parts(self, at: int) -> Parts:
        """The texts of a row."""
        raise NotImplementedError

    def may_rest(self, at: int) -> bool:
        """Whether the cursor can be on that row."""
        return True

    def extent(self, at: int) -> tuple[int, int]:
        """The first and the last row that are to be in view when the cursor is on row `at`."""
        return at, at

    def moved(self) -> None:
        """Called when the cursor was put on another row."""

    def render_line(self, y: int) -> Strip:
        """One line of the part in view."""
        at = y + self.scroll_offset.y - self.HEAD
        if not 0 <= at < self.count:
            return self.strip(())
        return self.strip(self.parts(at), "cursor" if at == self.cursor else "")

    @property
    def page_height(self) -> int:
        """Rows that there is room for, but one: what moving by a page leaves in view."""
        return max(1, self.size.height - self.HEAD - 1)

    def nearest(self, at: int, step: int = 1) -> int:
        """The row at `at`, or the next in the direction of `step`, or else in the other, that the cursor may be on;
        -1 where there is none."""
        at = max(0, min(at, self.count - 1))
        ways = [range(at, self.count), range(at, -1, -1)]
        rows = chain(*(ways if step > 0 else reversed(ways)))
        return next((row for row in rows if row < self.count and self.may_rest(row)), -1)

    def go(self, at: int, step: int = 1) -> None:
        """Put the cursor on a row, or near it; see `nearest`."""
        before, at = self.cursor, self.nearest(at, step)
        if at < 0 or at == before:
            return
        self.cursor = at
        self.draw(before)
        self.draw(at)
        self.show_cursor()
        self.moved()

    def draw(self, at: int) -> None:
        """Draw a row again."""
        self.refresh_line(at + self.HEAD)

    def show_cursor(self) -> None:
        """Scroll no further than needed to have the row under the cursor in view."""
        height = self.size.height - self.HEAD
        if self.cursor < 0 or height <= 0:
            return
        first, last = self.extent(self.cursor)
        if first < self.scroll_offset.y:
            self.jump(first)
        elif last >= self.scroll_offset.y + height:
            self.jump(last - height + 1)

    def jump(self, y: float) -> None:
        """Let the view begin there, at once."""
        self.scroll_to(y=y, animate=False, force=True, immediate=True)

    def hold(self, height: int) -> None:
        """Make room for so many lines. A layout of the screen would paint every line of the list again, and most of
        an answer looks like the one before: there is one only where the scrollbar comes or goes."""
        if not self.size:
            # Before the first layout: with its scrollbar from the beginning it is laid out once.
            self.show_vertical_scrollbar = height > self.app.size.height
        if self.virtual_size.height == height:
            return
        size = Size(self.size.width, height)
        if not self.size or self.show_vertical_scrollbar is not (height > self.size.height):
            self.virtual_size = size
            return
        self.set_reactive(Widget.virtual_size, size)
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = height
        if self.scroll_y > self.max_scroll_y:
            self.jump(self.max_scroll_y)

    def on_resize(self) -> None:
        """Fit the rows in."""
        self.fit()

    def fit(self) -> None:
        """Make room for the rows there are, with the cursor in view."""
        self.virtual_size = Size(self.size.width, self.HEAD + self.count)
        self.show_cursor()

    def on_click(self, event: events.Click) -> None:
        """Say which row it was."""
        at = event.y + self.scroll_offset.y - self.HEAD
        if event.y >= self.HEAD and at < self.count:
            self.clicked(at, event)

    def clicked(self, at: int, event: events.Click) -> None:
        """Go to a row; a second click opens it."""
        if self.may_rest(at):
            self.go(at)
            if event.chain > 1:
                self.action_open()

    def action_open(self) -> None:
        """Have the row under the cursor opened."""

    def action_move(self, step: int) -> None:
        """A row down (1) or up (-1)."""
        self.go(self.cursor + step, step)

    def action_page(self, step: int) -> None:
        """A page down (1) or up (-1)."""
        self.go(self.cursor + step * self.page_height, step)

    def action_edge(self, edge: int) -> None:
        """To the first (-1) or the last (1)."""
        self.go(0 if edge < 0 else self.count - 1, -edge)


class NotedRows(RowView, inherit_bindings=False):
    """Rows, or one line of text where there are none; says when the cursor is on another row."""

    GAP, MARGIN = 0, 1
    """Lines above that text, below the heads, and blanks before it."""
    note = ""
    """The text; safe for a terminal."""

    class Moved(Message):
        """The cursor is on another row, or what is shown has changed."""

    def moved(self) -> None:
        """Say it."""
        self.post_message(self.Moved())

    def say(self, note: str) -> None:
        """Show this where there are no rows."""
        self.note = note
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """A row, or the text."""
        if self.count:
            return super().render_line(y)
        said = " " * self.MARGIN + fit(self.note, self.scrollable_content_region.width - self.MARGIN - 1)
        return self.strip([(said, "faint")] if y == self.HEAD + self.GAP else ())


class FoldedRows(NotedRows, inherit_bindings=False):
    """Rows that open and close."""

    def clicked(self, at: int, event: events.Click) -> None:
        """Put the cursor there; on the cursor, open or close."""
        if at == self.cursor:
            self.action_fold()
        else:
            self.go(at)

    def action_fold(self) -> None:
        """Open or close what the cursor is on."""
        raise NotImplementedError
