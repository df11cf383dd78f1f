"""What is offered where a search has found nothing: the query with the word that was probably meant."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

from textual.screen import Screen
from textual.timer import Timer

if TYPE_CHECKING:
    from hermes_tui.tui.screens.main.screen import MainScreen

__all__ = ["Offering"]

_REST = 0.3
"""Seconds without another question after which it is looked for: a word that is being typed is not mistyped yet."""


class Offering(Screen[None]):
    """For the main screen."""

    _offer: tuple[str, str] = ("", "")
    """A query that found nothing, and what is offered instead; nothing where nobody can tell."""
    _wondering: Timer | None = None

    @property
    def _searched(self) -> MainScreen:
        return cast("MainScreen", self)

    def offered_for(self, text: str) -> str:
        """What may have been meant by a query that found nothing, as far as that is known."""
        return self._offer[1] if self._offer[0] == text else ""

    def wonder_later(self) -> None:
        """A complete answer is there: if it is empty, and stays so for a moment, look for what was meant."""
        if self._wondering is not None:
            self._wondering.stop()
        self._wondering = self.set_timer(_REST, self._wonder) if not self._searched._listed.conversations else None

    def _wonder(self) -> None:
        self._wondering = None
        main, query = self._searched, self._searched.query_shown
        if query is None or main._listed.conversations or self._offer[0] == query.text:
            return
        text, in_loop, manager = query.text, main.program.in_loop, main.program.manager

        def look() -> None:
            instead = manager.searches.instead(text)
            in_loop(lambda: self._offer_this(text, instead))

        threading.Thread(target=look, name="spelling", daemon=True).start()

    def _offer_this(self, text: str, instead: str) -> None:
        self._offer = (text, instead)
        query = self._searched.query_shown
        if instead and query is not None and query.text == text:
            self._searched._show_rows()
