"""The filter: one line to type into; the list follows every key."""

from __future__ import annotations

from textual.widgets import Input

from hermes_tui.keymap import bindings

__all__ = ["SearchBox"]


class SearchBox(Input):
    """What is typed here filters the session list. Keeping, leaving and moving are actions of the screen, run at
    once and not by message: what is typed ahead must reach the widget that it was meant for."""

    BINDINGS = bindings("search")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(placeholder="/ to filter", compact=True, select_on_focus=False, id=id)
        self.cursor_blink = False
