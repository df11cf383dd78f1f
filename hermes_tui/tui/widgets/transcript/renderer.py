"""Draws the transcript pane: visible rows as lines of a widget, scrollbar."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from hermes_tui.cells import fit
from hermes_tui.clock import Clock
from hermes_tui.display import safe
from hermes_tui.tui.themes import agent_colour
from hermes_tui.tui.widgets.styled import Styled
from hermes_tui.tui.widgets.transcript.layout.blocks import MessageLayout
from hermes_tui.tui.widgets.transcript.layout.layout_cache import Position
from hermes_tui.tui.widgets.transcript.layout.segments import TranscriptStyles
from hermes_tui.tui.widgets.transcript.layout.style import LazyMarkdown, markdown_for, palette_for
from hermes_tui.tui.widgets.transcript.view import View, VisibleRow

__all__ = ["TranscriptRenderer"]

_DIM = Style(dim=True)


class TranscriptRenderer(ScrollView, Styled, inherit_bindings=False):
    """Draws the rows of a `View`. Whoever changes the view calls `settle`; only lines that look different are drawn
    again."""

    LOOKS = "transcript"
    ALLOW_SELECT = False
    DEFAULT_CSS = "TranscriptRenderer { overflow-x: hidden; overflow-y: scroll; }"

    def __init__(self, clock: Clock, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.clock = clock
        self._view = View()
        self._agent = ""
        self._note = ""
        self.raw = False
        """Prose as it was written, not as Markdown."""
        self.strips: list[Strip] = []
        """What is on the screen."""
        self._was_drawn = False
        self._look: tuple[TranscriptStyles, LazyMarkdown] | None = None
        self._laid_for: tuple[int, bool, TranscriptStyles, str] | None = None

    @property
    def view(self) -> View:
        """Which rows are in view."""
        return self._view

    def show_view(self, view: View, agent: str, note: str) -> None:
        """Draw this view from now on, in the colours of that agent; `note` where it is empty."""
        self._view, self._agent, self._note = view, agent, note
        self._laid_for = None

    def settled(self) -> None:
        """Called when the screen shows what the view says."""

    def scrolled(self) -> None:
        """Called when the user has moved the scrollbar or the wheel."""

    def is_dimmed(self, entry: int) -> bool:
        """Whether an entry is to be dimmed, whatever it looks like."""
        return False

    def lay_out(self) -> bool:
        """Make the layout fit the size, the theme and the session. False while there is no size."""
        width, height = self.scrollable_content_region.size
        if width <= 0 or height <= 0:
            return False
        agent = self._agent
        palette = palette_for(self.own_look, agent_colour(agent))
        if self._look is None or self._look[0] != palette:
            theme = self.app.current_theme
            self._look = palette, markdown_for(self.own_look, dark=theme.dark, ansi=theme.ansi)
        wanted = (width, self.raw, palette, agent)
        if self._laid_for != wanted or self._view.height != height or self._view.layout is None:
            # The first column is that of the mark beside the block under the cursor.
            layout = MessageLayout(palette, self._look[1], self.clock, agent, width - 1, self.raw)
            anew = self._laid_for != wanted
            self._laid_for = wanted
            self._view.resize(height, layout, anew=anew)
        return True

    def settle(self) -> None:
        """Bring the screen in line with the view: draw the lines that look different now."""
        if not self.is_mounted or not self.lay_out():
            return
        width = self.scrollable_content_region.width
        rows = self._view.rows()
        strips = self.drawn(rows, width)
        before, self.strips = self.strips, strips
        if not self._was_drawn:
            # What was painted before the first size was known is blank.
            before = [Strip.blank(width, self.rich_style)] * len(strips)
            self._was_drawn = True
        changed = [y for y, strip in enumerate(strips) if y >= len(before) or before[y] != strip]
        if len(changed) > len(strips) // 2 or len(before) != len(strips):
            self.refresh()
        elif changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))
        self._place_scrollbar()
        self.settled()

    def drawn(self, rows: Sequence[VisibleRow], width: int) -> list[Strip]:
        """The rows as lines of the screen, blank ones below the last."""
        base = self.rich_style
        strips: list[Strip] = []
        if not rows:
            said = " " + fit(safe(self._note), width - 1)
            strips.append(self._strip([Segment(said, self.own_look("meta") if self._note else None)], width, base))
        piece = self._view.piece() if rows else None
        at = self._view.cursor
        cursor = base + self.own_look("cursor" if self.has_focus else "resting")
        mark = Segment("▎", self.own_look("mark" if self.has_focus else "meta"))
        for row in rows:
            part, line = row.rendered.at(row.position.line)
            segments = part.segments(line)
            if row.rendered.muted or self.is_dimmed(row.position.entry):
                segments = list(Segment.apply_style(segments, post_style=_DIM))
            same = piece is not None and piece.block and row.position.entry == at.entry and part.block == piece.block
            here = row.position == at
            segments = [mark if same or here else Segment(" "), *segments]
            strip = self._strip(segments, width, base)
            if here:
                strip = Strip([*Segment.apply_style(strip, post_style=cursor)], width)
            strips.append(strip)
        strips.extend(Strip.blank(width, base) for _ in range(self._view.height - len(strips)))
        return strips

    @staticmethod
    def _strip(segments: list[Segment], width: int, base: Style) -> Strip:
        return Strip(segments).adjust_cell_length(width).apply_style(base).simplify()

    def render_line(self, y: int) -> Strip:
        """One line of what is in view."""
        if y < len(self.strips):
            return self.strips[y]
        return Strip.blank(self.scrollable_content_region.width, self.rich_style)

    def notify_style_update(self) -> None:
        """Draw again in other colours: the theme or the focus changed."""
        super().notify_style_update()
        if self.is_mounted:
            self.call_next(self.settle)

    def _place_scrollbar(self) -> None:
        """Tell the scrollbar where the view is, without a new layout of the screen: only the bar changes."""
        view = self._view
        total = max(view.column.total, view.height)
        top = view.column.tops[view.top.entry] + view.top.line if view.column.total else 0
        size = Size(self.scrollable_content_region.width, total)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
        self.set_reactive(Widget.scroll_y, float(top))
        self.set_reactive(Widget.scroll_target_y, float(top))
        if self.show_vertical_scrollbar:
            bar = self.vertical_scrollbar
            bar.window_virtual_size = total
            bar.window_size = view.height
            bar.position = top

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The scrollbar or the wheel moved: `_place_scrollbar` itself does not come here."""
        rows = round(new_value) - round(old_value)
        if not rows or not self.strips or not self._view.is_ready:
            return
        width, height = self.scrollable_content_region.size
        if self._laid_for is None or (self._laid_for[0], self._view.height) != (width, height):
            return  # nobody moved it: in its new size, for which it is not laid out yet, it cannot be so far down
        self.scrolled()
        # A step lays out every message that it passes: from further away, estimates say which row it is.
        if abs(rows) <= 2 * self._view.height:
            self._view.scroll(rows)
        else:
            self._view.go(Position(*self._view.column.at(round(new_value))), at_top=True)
        self.settle()

    def on_mount(self) -> None:
        """Draw, once there is a size."""
        self.settle()

    def on_resize(self, event: events.Resize) -> None:
        self.strips = []
        self.settle()
