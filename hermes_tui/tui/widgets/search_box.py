"""The lines to type into: the search box, and what it and others are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.highlighter import Highlighter
from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.geometry import Size
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widgets import Input

from hermes_tui.display import safe
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.styled import Styled

if TYPE_CHECKING:
    from hermes_tui.sessions.query.grammar import PartKind

__all__ = ["LONGEST", "QueryBox", "SearchBox", "TextInput"]

LONGEST = 1_000
"""Characters. Nobody looks for more; a file that was pasted by mistake would be laid out anew at every key."""
_LOOKS: dict[PartKind, str] = {"filter": "filter", "operator": "operator", "odd": "odd", "idle": "idle"}


class _Parts(Highlighter):
    """Shows how a query is understood."""

    def __init__(self, box: QueryBox) -> None:
        self._box = box

    def highlight(self, text: Text) -> None:
        if not text.plain:
            return
        from hermes_tui.sessions.query.query import parse

        for part in parse(text.plain, typing=True).parts:
            look = _LOOKS.get(part.kind)
            if look is not None:
                style = self._box.own_look(look)
                text.stylize(style, part.start, min(part.end, len(text.plain)))


class TextInput(Input):
    """A line to type in. Textual's own gives the terminal whatever was pasted or filled in (a title, a path); here a
    code that a terminal acts on is drawn otherwise, and stays in the value. `…` says that there is more than room."""

    def render_line(self, y: int) -> Strip:
        """See `Widget.render_line`."""
        drawn = super().render_line(y)
        if not (drawn.text.isascii() and drawn.text.isprintable()):
            made = [Segment(safe(text), style) for text, style, control in drawn if not control]
            drawn = Strip(made).adjust_cell_length(drawn.cell_length, self.rich_style)
        width, left = self.scrollable_content_region.width, self.scroll_offset.x
        more = Strip([Segment("…", self.rich_style)], 1)
        if left and width > 1:
            drawn = Strip.join([more, drawn.crop(1)])
        if self.value and cell_len(self.value) - left > width > 1:
            drawn = Strip.join([drawn.crop(0, width - 1), more])
        return drawn


class QueryBox(TextInput, Styled):
    """A query is typed here."""

    LOOKS = "query"
    virtual_size = Reactive(Size(0, 0), layout=False)
    """What is typed moves nothing else on the screen: without this the whole of it is laid out anew at every key."""

    def __init__(self, placeholder: str = "", *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(
            placeholder=placeholder, compact=True, select_on_focus=False, id=id, highlighter=_Parts(self)
        )
        self.cursor_blink = False

    def on_paste(self, event: events.Paste) -> None:
        """Before the text is taken in: an error of several lines is looked for as a whole, where Textual has the
        first one alone."""
        event.text = " ".join(line for line in event.text[: 2 * LONGEST].splitlines() if line.strip())

    def replace(self, text: str, start: int, end: int) -> None:
        """Put `text` in the place of what is between `start` and `end`, as much of it as there is room for."""
        room = LONGEST - len(self.value) + abs(end - start)
        super().replace(text[: max(room, 0)], start, end)

    def fill(self, text: str) -> None:
        """Put a query into it, to be changed there: the cursor is behind it, and in view."""
        self.value = text
        self.cursor_position = len(text)
        # Textual does not move the view for the first text that a box ever has.
        self.scroll_to(x=self.virtual_size.width, animate=False, force=True, immediate=True)


class SearchBox(QueryBox):
    """What is typed here is searched for in all sessions; the list follows every key. Going to the results, leaving
    and moving are actions of the screen."""

    BINDINGS = bindings("search")
