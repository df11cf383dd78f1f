"""Recent and saved searches, as the search box gives them back."""

from __future__ import annotations

from collections.abc import Callable

from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.state.query_file import SearchesUnreadable, tidy
from hermes_tui.tui.state.recent_searches import Recent
from hermes_tui.tui.state.saved_searches import Saved

__all__ = ["SearchHistory"]


class SearchHistory:
    """Owns the searches that were made and saved, and which of them is in the box."""

    def __init__(self, parts: MainParts) -> None:
        self._parts = parts
        self.recent = Recent()
        self._saved = Saved()
        self._recalled = ""
        """The recent search that was put into the box; moving on goes to the next one."""
        self._recalled_at = -1
        self._told: set[str] = set()
        """What was said of files of searches that cannot be read."""

    def remember(self, query: str) -> None:
        """Keep a query among the recent searches."""
        try:
            if query.strip():
                self.recent.add(query.strip())
        except SearchesUnreadable as error:
            self._say_unreadable(error)
        except OSError as error:
            said = f"The search is not kept: {error.strerror or error}"
            self._parts.screen.notify(said, severity="warning")

    def recall(self, step: int) -> bool:
        """Put the search before (-1) or after (1) into the box; False where another is typed there, or there is
        none."""
        box = self._parts.box
        if box.value not in ("", self._recalled):
            return False
        queries = self._read(lambda: self.recent.queries)
        wanted = (self._recalled_at if box.value else -1) - step  # the newest is number 0
        if not queries or (wanted < 0 and not box.value):
            return False
        wanted = min(wanted, len(queries) - 1)
        self._recalled_at = wanted
        self._recalled = queries[wanted] if wanted >= 0 else ""
        box.fill(self._recalled)
        return True

    def named(self) -> list[tuple[str, str]]:
        """(name, query): those of the settings, then those that were saved by key, which are their own names."""
        named = self._parts.program.config.searches
        saved = [query for query in self._read(lambda: self._saved.queries) if query not in named.values()]
        return [*named.items(), *((query, query) for query in saved)]

    def choose(self, typed: str, chosen: Callable[[str], None]) -> None:
        """Have one of the searches chosen, one saved or one removed. `typed` is what stands in the box."""
        from hermes_tui.tui.screens.dialogs.search_menu import Offers, SearchMenu

        program = self._parts.program
        recent, saved = self._read(lambda: self.recent.queries), self._read(lambda: self._saved.queries)
        offers = Offers(tidy(typed), recent, program.config.searches, saved)
        if any(offers):
            program.push_screen(SearchMenu(offers, self._saved), lambda query: chosen(query) if query else None)
        else:
            self._parts.screen.notify("No search was made yet, and none is saved.")

    def _read(self, queries: Callable[[], list[str]]) -> list[str]:
        try:
            return queries()
        except SearchesUnreadable as error:
            self._say_unreadable(error)
            return []

    def _say_unreadable(self, error: SearchesUnreadable) -> None:
        """Tell it once: the keys that ask for these searches are pressed often."""
        if str(error) not in self._told:
            self._told.add(str(error))
            self._parts.screen.notify(str(error), severity="warning")
