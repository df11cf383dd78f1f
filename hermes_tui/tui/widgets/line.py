"""One line of text with a left and a right part: header counts, key hints.

Fixed height, compared before it is repainted: showing what is shown already writes nothing to the terminal.
"""

from __future__ import annotations

from textual.strip import Strip

from hermes_tui.cells import fit, width_of
from hermes_tui.tui.widgets.styled import Part, Parts, Styled

__all__ = ["Line", "Part", "Parts"]


class Line(Styled):
    """One line; the left part gives way when both do not fit."""

    DEFAULT_CSS = "Line { height: 1; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._left: tuple[Part, ...] = ()
        self._right: tuple[Part, ...] = ()

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
        # A layout of the whole screen, only where another width moves what stands beside it.
        self.refresh(layout=self.styles.is_auto_width and width_of(self.text) != before)

    def get_content_width(self, container: object, viewport: object) -> int:
        """Columns that both parts take."""
        return width_of(self.text)

    def render_line(self, y: int) -> Strip:
        """The line; there is only one."""
        width = self.size.width
        if y:
            return self.strip(())
        right = _cut(self._right, width)
        right_width = sum(width_of(text) for text, _ in right)
        room = max(0, width - right_width - (1 if right_width else 0))
        left = _cut(self._left, room)
        used = sum(width_of(text) for text, _ in left)
        return self.strip([*left, (" " * (width - right_width - used), ""), *right])


def _cut(parts: Parts, room: int) -> list[Part]:
    """As much of the parts as there is room for, with an ellipsis where they are cut."""
    shown: list[Part] = []
    for text, purpose in parts:
        fitting = fit(text, room)
        shown.append((fitting, purpose))
        room -= width_of(fitting)
        if fitting != text:
            break
    return shown
