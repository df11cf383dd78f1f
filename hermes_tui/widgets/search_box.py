"""The filter: one line to type into; the list follows every key."""

from __future__ import annotations

from textual.widgets import Input

from hermes_tui.keymap import bindings

__all__ = ["LONGEST", "SearchBox"]

LONGEST = 1_000
"""Characters. Nobody looks for more; a file that was pasted by mistake would be laid out anew at every key."""


class SearchBox(Input):
    """What is typed here filters the session list. Keeping, leaving and moving are actions of the screen, run at
    once and not by message: what is typed ahead must reach the widget that it was meant for."""

    BINDINGS = bindings("search")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(placeholder="/ to filter", compact=True, select_on_focus=False, id=id)
        self.cursor_blink = False

    def replace(self, text: str, start: int, end: int) -> None:
        """Put `text` in the place of what is between `start` and `end`, as much of it as there is room for."""
        room = LONGEST - len(self.value) + abs(end - start)
        super().replace(text[: max(room, 0)], start, end)
