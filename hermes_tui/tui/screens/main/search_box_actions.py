"""What keys do in the search box: go to the results, leave, complete a filter, bring back a recent search."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from hermes_tui.display import safe
from hermes_tui.tui.query_file import SearchesUnreadable, tidy
from hermes_tui.tui.widgets.line import Part

if TYPE_CHECKING:
    from hermes_tui.sessions.query import Completion
    from hermes_tui.tui.screens.main.screen import MainScreen

__all__ = ["BoxActions"]

_OFFERED = 6
"""Ways to complete a filter that are named."""
_NEAR = 0.8
"""How like a filter's name another one must be to be taken for it mistyped: one letter of five is another."""


class BoxActions(Screen[None]):
    """For the main screen."""

    _recalled = ""
    """The recent search that was put into the box; moving on goes to the next one."""
    _recalled_at = -1
    _told: frozenset[str] = frozenset()
    """What was said of files of searches that cannot be read."""
    _cycle: tuple[str, int, tuple[Completion, ...], str] = ("", 0, (), "")
    """What completing made of the box, which of the ways that is, all of them, and what the box was before."""

    @property
    def _screen(self) -> MainScreen:
        return cast("MainScreen", self)

    def action_filter(self) -> None:
        """Type into the box. The focus moves at once: the next key may be in the same read."""
        screen = self._screen
        if not screen.sessions.is_filtered and self.focused is not screen.box:
            screen._was_reading = screen.is_reading
        screen._turn_to(reading=False)
        self.set_focus(screen.box)
        screen.get_ready()

    def action_keep(self) -> None:
        """From the box to the results."""
        self._screen._filter()
        self._screen.remember_query()
        self._screen.go_to_list()

    def action_leave(self) -> None:
        """From the box to where one was before."""
        screen = self._screen
        was_reading, screen._was_reading = screen._was_reading, False
        text, only = screen._only
        as_it_was = bool(only) and screen.box.value == text
        screen.box.value = ""
        screen._filter()
        if was_reading:
            screen.go_to_transcript()
        else:
            screen.go_to_list()
        if as_it_was:
            screen._way_back()

    # Moving ------------------------------------------------------------------------------------------------

    def action_list_move(self, step: int) -> None:
        """Move the list's cursor from the box; in an empty box go through the recent searches."""
        screen = self._screen
        if screen.box.value in ("", self._recalled) and self._recall(step):
            return
        screen._filter()
        screen.sessions.action_move(step)

    def action_list_page(self, step: int) -> None:
        """Move the list by a page from the box."""
        self._screen._filter()
        self._screen.sessions.action_page(step)

    def _recall(self, step: int) -> bool:
        """Put the search before (-1) or after (1) into the box; False where there is none."""
        box = self._screen.box
        queries = self._recent_queries()
        at = -1 if not box.value else self._recalled_at
        wanted = at - step
        if not queries or (wanted < 0 and not box.value):
            return False
        wanted = min(wanted, len(queries) - 1)
        self._recalled_at = wanted
        self._recalled = queries[wanted] if wanted >= 0 else ""
        box.fill(self._recalled)
        return True

    def _recent_queries(self) -> list[str]:
        try:
            return self._screen.recent.queries
        except SearchesUnreadable as error:
            self.say_unreadable(error)
            return []

    def _saved_queries(self) -> list[str]:
        try:
            return self._screen.saved.queries
        except SearchesUnreadable as error:
            self.say_unreadable(error)
            return []

    def say_unreadable(self, error: SearchesUnreadable) -> None:
        """Tell it once: the keys that ask for these searches are pressed often."""
        if str(error) not in self._told:
            self._told |= {str(error)}
            self.notify(str(error), severity="warning", markup=False)

    def saved_searches(self) -> list[tuple[str, str]]:
        """(name, query): those of the settings, then those that were saved by key, which are their own names."""
        named = self._screen.program.config.searches
        saved = [query for query in self._saved_queries() if query not in named.values()]
        return [*named.items(), *((query, query) for query in saved)]

    def action_recent(self) -> None:
        """Choose one of the recent and the saved searches, save one or remove one."""
        from hermes_tui.tui.screens.dialogs.search_menu import Offers, SearchMenu

        screen = self._screen
        typed = screen.box.value
        offers = Offers(
            "" if typed == screen._only[0] else tidy(typed),
            self._recent_queries(),
            screen.program.config.searches,
            self._saved_queries(),
        )
        if not any(offers):
            self.notify("No search was made yet, and none is saved.", markup=False)
            return

        def chosen(query: str | None) -> None:
            if query is not None:
                self.search_for(query)

        self.app.push_screen(SearchMenu(offers, screen.saved), chosen)

    def search_for(self, query: str) -> None:
        """Search for this, with the keys in the box."""
        self.action_filter()
        self._screen.box.fill(query)

    # Completing --------------------------------------------------------------------------------------------

    def action_complete(self) -> None:
        """Complete the filter at the cursor, the next way each time; where there is none, take what is offered
        instead of a query that found nothing, else go to the results."""
        box = self._screen.box
        text, at, ways, before = self._cycle
        if ways and box.value == text:
            at = (at + 1) % len(ways)
        else:
            at, before = 0, box.value
            ways = tuple(self._screen.program.manager.searches.complete(box.value, box.cursor_position))
        if not ways:
            if offer := self._screen.offered_for(box.value):
                box.fill(offer)
            else:
                self.action_keep()
            return
        way = ways[at]
        after = f"{before[: way.start]}{way.insert}{before[way.end :]}"
        box.value = after
        box.cursor_position = way.start + len(way.insert)
        # A filter without a value yet: the next key completes that.
        self._cycle = ("", 0, (), "") if way.insert.endswith(":") and len(ways) == 1 else (after, at, ways, before)

    def box_hint(self) -> list[Part]:
        """What there is to be said of the word at the cursor; nothing for an ordinary one."""
        box = self._screen.box
        text, cursor = box.value, box.cursor_position
        if not text:
            return [(' Words, "phrases", OR, -not, begin*, and filters such as agent: since:7d is:error', "faint")]
        from hermes_tui.sessions.query import FILTERS, parse
        from hermes_tui.sessions.query.grammar import split

        piece = next((one for one in split(text) if one.start < cursor <= one.end), None)
        kinds = {part.kind for part in parse(text, typing=True).parts if part.start < cursor <= part.end}
        said: list[Part] = []
        if "odd" in kinds and piece is not None:
            said.append(
                (f" {safe(text[piece.start : piece.end])} makes no filter: it is searched as text", "warning")
            )
        if piece is not None and piece.kind != "filter":
            said += _mistyped(text[piece.start : piece.end], FILTERS)
        if piece is not None and piece.kind == "filter":
            said.append((f" {piece.name}:", "accent"))
            said.append((f" {FILTERS[piece.name]}", ""))
        ways = self._screen.program.manager.searches.complete(text, cursor)
        if ways and (piece is None or piece.kind == "filter" or cursor - piece.start > 1):
            shown = ", ".join(safe(way.insert) for way in ways[:_OFFERED])
            more = ", …" if len(ways) > _OFFERED else ""
            said += [("   tab", "accent"), (f" {shown}{more}", "faint")]
        return said


def _mistyped(word: str, names: Collection[str]) -> list[Part]:
    """What there is to be said of `agnet:claude`, which is a word like any other."""
    name, colon, _ = word.lstrip("-(").partition(":")
    if not colon or not name.isalpha() or name.lower() in names:
        return []
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), list(names), 1, _NEAR)
    return [(f" {safe(name)}: is no filter; there is ", "warning"), (f"{near[0]}:", "accent")] if near else []
