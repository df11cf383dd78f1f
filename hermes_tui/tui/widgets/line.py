"""One line of text with a left and a right part: header counts, key hints.

Fixed height, compared before it is repainted: showing what is shown already writes nothing to the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from hermes_tui.tui.widgets.cells import fit, width_of

__all__ = ["Line", "Part", "Parts"]

Part = tuple[str, str]
"""A text, and what it is: empty for plain, else one of `accent`, `bright`, `faint`, `warning`, `error`, `live`,
`idle`. The text must be safe for a terminal already."""
Parts = Sequence[Part]


class Line(Widget):
    """One line; the left part gives way when both do not fit."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line--accent",
        "line--bright",
        "line--faint",
        "line--warning",
        "line--error",
        "line--live",
        "line--idle",
    }
    DEFAULT_CSS = "Line { height: 1; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._left: tuple[Part, ...] = ()
        self._right: tuple[Part, ...] = ()
        self._styles_of: dict[str, Style] = {}

    @property
    def parts(self) -> tuple[Parts, Parts]:
        """Left and right, as they were given."""
        return self._left, self._right

    @property
    def text(self) -> str:
        """What it says, left and right together."""
        return "".join(text for text, _ in (*self._left, *self._right))

    def show(self, left: Parts = (), right: Parts = ()) -> None:
        """Show these parts; does nothing when they are shown already."""
        new = tuple(left), tuple(right)
        if new == (self._left, self._right):
            return
        before = width_of(self.text)
        self._left, self._right = new
        self.refresh(layout=self.styles.is_auto_width and width_of(self.text) != before)

    def get_content_width(self, container: object, viewport: object) -> int:
        """Columns that both parts take."""
        return width_of(self.text)

    def render_line(self, y: int) -> Strip:
        """The line; there is only one."""
        width = self.size.width
        base = self._style("")
        if y:
            return Strip.blank(width, base)
        right_text = "".join(text for text, _ in self._right)
        right_width = min(width_of(right_text), width)
        segments: list[Segment] = []
        room = max(0, width - right_width - (1 if right_width else 0))
        used = 0
        for text, purpose in self._left:
            shown = fit(text, room - used)
            if not shown:
                break
            segments.append(Segment(shown, self._style(purpose)))
            used += width_of(shown)
            if shown != text:
                break
        segments.append(Segment(" " * (width - right_width - used), base))
        left_over = right_width
        for text, purpose in self._right:
            shown = fit(text, left_over)
            segments.append(Segment(shown, self._style(purpose)))
            left_over -= width_of(shown)
        return Strip(segments).adjust_cell_length(width, base).simplify()

    def notify_style_update(self) -> None:
        """Forget looked-up styles: the theme changed, or a class."""
        self._styles_of.clear()
        super().notify_style_update()

    def _style(self, purpose: str) -> Style:
        style = self._styles_of.get(purpose)
        if style is None:
            if purpose:
                style = self._style("") + self.get_component_rich_style(f"line--{purpose}", partial=True)
            else:
                style = self.rich_style  # asks all ancestors
            self._styles_of[purpose] = style
        return style
