"""The menu of recent and saved searches, where they are saved and removed, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from textual.app import ComposeResult

from hermes_tui.display import safe
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.menu import MenuChoice, MenuScreen
from hermes_tui.tui.state.saved_searches import Saved
from hermes_tui.tui.widgets.hints import Hints

__all__ = ["Offers", "SearchMenu"]

_TYPED = "/"
_SAVED = "★"
_RECENT_KEYS = "123456789"
_SAVED_KEYS = "abcdefghijlmnopqrstuvwxyz"


class _Offer(NamedTuple):
    """One line."""

    key: str
    """Empty where there are more lines than characters: the cursor goes there too."""
    query: str
    name: str = ""
    """The name that the settings give it."""


class Offers(NamedTuple):
    """Queries to choose from."""

    typed: str
    """What is in the box; empty for nothing."""
    recent: Sequence[str]
    """The newest first."""
    named: Mapping[str, str]
    """Name → query: those of the settings."""
    saved: Sequence[str]
    """Those that were saved by key."""

    def lines(self) -> Iterator[_Offer]:
        """Each query once. Saved ones are not shown among the recent as well."""
        known = {*self.named.values(), *self.saved}
        if self.typed and self.typed not in known:
            yield _Offer("0", self.typed)
        others = [one for one in self.recent if one not in known and one != self.typed]
        for key, query in zip(_RECENT_KEYS, others, strict=False):
            yield _Offer(key, query)
        keys = iter(_SAVED_KEYS)
        for name, query in self.named.items():
            yield _Offer(next(keys, ""), query, name)
        for query in self.saved:
            if query not in self.named.values():
                yield _Offer(next(keys, ""), query)


class SearchMenu(MenuScreen):
    """Gives the query that was chosen; None when it was left. A line stays in its place while it is open, so that
    what was saved or removed by mistake is undone on the spot."""

    BINDINGS = bindings("searches")

    def __init__(self, offers: Offers, store: Saved) -> None:
        """There must be something to choose."""
        self._offers = list(offers.lines())
        self._typed = offers.typed
        self._saved = set(offers.saved)
        self._store = store
        at = next((at for at, one in enumerate(self._offers) if one.query == offers.typed), 0)
        choices = [self._choice(one) for one in self._offers]
        super().__init__("Search again", choices, note=f"{_TYPED} typed  {_SAVED} saved", at=at)

    def body(self) -> ComposeResult:
        """With the keys below: there are more than in other menus."""
        yield from super().body()
        yield Hints()

    def on_mount(self) -> None:
        """Say what the keys are."""
        self.query_one(Hints).show_keys()

    def given(self, at: int) -> str:
        """The query of a line."""
        return self._offers[at].query

    def action_save(self) -> None:
        """Save what the cursor is on."""
        one = self._offers[self.cursor]
        if one.name:
            self._say(f"“{safe(one.name)}” is saved already, in [searches] of your settings file.")
        else:
            self._change(one, saved=True)

    def action_remove(self) -> None:
        """Remove the saved search."""
        one = self._offers[self.cursor]
        if one.name:
            self._say(f"“{safe(one.name)}” stands in [searches] of your settings file: remove it there.")
        elif one.query not in self._saved:
            self._say("This search is not saved, so there is nothing to remove.")
        else:
            self._change(one, saved=False)

    def _change(self, one: _Offer, *, saved: bool) -> None:
        try:
            (self._store.add if saved else self._store.remove)(one.query)
        except OSError as error:
            reason = f"{self._store.path}: {error.strerror}." if error.strerror else str(error)
            self._say(f"Nothing was changed: {reason}", severe=True)
            return
        (self._saved.add if saved else self._saved.discard)(one.query)
        self.change_line(self.cursor, self._choice(one))

    def _say(self, text: str, *, severe: bool = False) -> None:
        self.notify(text, severity="warning" if severe else "information")

    def _choice(self, one: _Offer) -> MenuChoice:
        if one.name:
            return MenuChoice(one.key, f"{_SAVED} {safe(one.name)}", f"settings: {safe(one.query)}")
        sign = _SAVED if one.query in self._saved else _TYPED if one.query == self._typed else " "
        return MenuChoice(one.key, f"{sign} {safe(one.query)}")
