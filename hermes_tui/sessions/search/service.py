"""The search room's door: what the manager hands on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Literal

from hermes_tui.errors import ValidationError
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.query.completion import Completion, complete
from hermes_tui.sessions.query.filters import NowIn, no_states
from hermes_tui.sessions.query.query import Query, parse
from hermes_tui.sessions.search.discovery import Ranking, discover, kept, narrowed, rank
from hermes_tui.sessions.search.excerpt import messages_around, window_around
from hermes_tui.sessions.search.grouping import root_of
from hermes_tui.sessions.search.model import MessageWindow, Outcome, SearchCoverage, SearchOptions
from hermes_tui.sessions.search.stores import CatalogueStores
from session_adapters.base import Source
from session_adapters.model import SessionSummary
from session_adapters.transcript import Transcript

if TYPE_CHECKING:
    from hermes_tui.sessions.cost.service import CostDesk
    from hermes_tui.sessions.search.incremental.search import LiveSearch

__all__ = ["SearchDesk"]

_MOST = 100
"""Sessions that are found for an agent, which reads a few."""
Costs = Literal["none", "shown", "exact"]
"""Whether costs are filled in: as they were last added up, without reading anything, or as they are."""


class SearchDesk:
    """Answers every search. Any thread may call any method."""

    def __init__(
        self,
        catalogue: Catalogue,
        adapters: Adapters,
        home: str,
        index: Callable[[], SearchIndex | None],
        costs: Callable[[], CostDesk | None] = lambda: None,
        states: Callable[[], NowIn] = lambda: no_states,
    ) -> None:
        """`home` is what `~` stands for. `index` gives the index to ask, or None; `costs` what fills in tags, and
        costs where they are asked for, or None. `states` looks how sessions are; it is called when a query asks for
        that, and may raise `HermesTuiError`."""
        self._states = states
        self._catalogue = catalogue
        self._adapters = adapters
        self._home = home
        self._index = index
        self._costs = costs
        self._stores_for_rank = self._kept_stores()
        self._stores_for_live = self._kept_stores()

    def parse(self, text: str, now: datetime | None = None, *, typing: bool = False) -> Query:
        """Understand a query of this machine's sessions, by the states that they are in now."""
        look = cache(self._states)  # once, however many states it names
        return parse(text, now, typing=typing, now_in=lambda state: look()(state))

    def _understood(self, text: str, now: datetime | None = None) -> Query:
        """The same where nobody sees what becomes of a pattern that is none. Raises `ValidationError`."""
        query = self.parse(text, now)
        if query.refused:
            raise ValidationError(f'{query.refused}; in quotes ("…") it is searched as text')
        return query

    # Discovery ---------------------------------------------------------------------------------------------

    def discover(
        self,
        text: str,
        options: SearchOptions,
        now: datetime | None = None,
        stop: Callable[[], bool] = lambda: False,
        progress: Callable[[SearchCoverage], None] = lambda coverage: None,
    ) -> Outcome:
        """What a query finds, as the stores are now; nothing for one that asks for nothing (checklist S-9). While
        sources are read, `progress` is told how far it has come. Raises `ValidationError` for a regular expression
        that is none."""
        query = self._understood(text, now)
        if query.empty or (options.agent is not None and options.agent not in self._adapters.names):
            return Outcome()
        agents = None if options.agent is None else (options.agent,)
        stores = self.stores(query, options, agents)
        return discover(stores, query, options, self._index(), self._home, stop, progress)

    def stores(
        self, query: Query, options: SearchOptions, agents: Sequence[str] | None = None, *, refresh: bool = True
    ) -> CatalogueStores:
        """The sessions with all that the query or the options ask of them. Without `refresh` as last looked at, and
        no session is read for its cost."""
        fields = query.fields
        snapshot = self._catalogue.refresh(agents) if refresh else self._catalogue.snapshot
        exact = options.model is not None or options.sort == "cost" or fields & {"model", "cost", "tokens", "turns"}
        if refresh and exact and snapshot.partial:
            self._catalogue.complete(lambda: False, agents)
        priced = options.sort == "cost" or "cost" in fields
        costs: Costs = "none" if not priced else "exact" if refresh else "shown"
        return CatalogueStores(self._catalogue, self._adapters, agents, lambda found: self._dressed(found, costs))

    def _dressed(self, sessions: Sequence[SessionSummary], wanted: Costs) -> tuple[Sequence[SessionSummary], int]:
        """The sessions with what a list of them does not know itself; of how many the cost is not added up yet."""
        costs = self._costs()
        if costs is None:
            return sessions, 0
        tagged = costs.tagged(sessions)
        if wanted == "shown":
            return costs.priced_so_far(tagged), len(costs.pending(tagged))
        return (costs.all_priced(tagged), costs.left) if wanted == "exact" else (tagged, 0)

    def _kept_stores(self) -> Callable[[Query], CatalogueStores]:
        """`stores` as last looked at, made anew only when the list changed, or the costs that are asked for."""
        known: list[tuple[int, bool, CatalogueStores]] = []

        def stores(query: Query) -> CatalogueStores:
            priced = "cost" in query.fields
            state = (self._catalogue.snapshot.version, priced)
            held = known[0] if known else None  # another thread may put its own there meanwhile
            if held is None or held[:2] != state or (priced and not held[2].is_priced_as_now):
                held = (*state, self.stores(query, SearchOptions(), refresh=False))
                known[:] = [held]
            return held[2]

        return stores

    def get_ready(self) -> None:
        """Do now what the first `rank` would have to wait for."""
        stores = self._stores_for_rank(self.parse(""))
        stores.get_ready(self._index())
        _ = stores.kin_with_helpers

    def live(self) -> LiveSearch:
        """A search for a box in which somebody types. Close it when the box goes."""
        from hermes_tui.sessions.search.incremental.search import LiveSearch

        return LiveSearch(self._stores_for_live, self._index, lambda text: self.parse(text, typing=True))

    def rank(
        self,
        text: str,
        options: SearchOptions,
        sees: Callable[[SessionSummary], bool] | None = None,
        hidden: Callable[[SessionSummary], bool] | None = None,
    ) -> tuple[CatalogueStores, Query, Ranking] | None:
        """As `discover` for the list as it is known, of the sessions that `sees` says (None: all) but for those that
        are `hidden`, and nothing described: helpers' own sessions are parts of the conversation that started them.
        Of very many only the newest. None for a query that asks for nothing."""
        query = self._understood(text)
        if query.empty:
            return None
        stores = self._stores_for_rank(query)
        query = narrowed(query, options)
        among = kept(stores, options, self._home)
        if sees is not None:
            places = range(len(stores.sessions)) if among is None else among
            among = [place for place in places if sees(stores.sessions[place])]
        found = rank(
            stores,
            query,
            options,
            self._index(),
            among,
            kin=stores.kin_with_helpers,
            hidden=hidden,
            most=_MOST,
        )
        return stores, query, found

    def complete(self, text: str, cursor: int) -> list[Completion]:
        """How the filter at `cursor` can go on, from the sessions that are known and the tools that the index has;
        no store is looked at."""
        return complete(text, cursor, self._values)

    def instead(self, text: str) -> str:
        """What may have been meant by a query that found nothing; nothing where nobody can tell. Takes as long as a
        few searches, and looks at no store."""
        index, query = self._index(), self.parse(text)
        if index is None or not query.searches_text:
            return ""
        from hermes_tui.sessions.search.spelling import instead_of

        return instead_of(query, index, self._stores_for_live(query).sources)

    def _values(self, name: str) -> Sequence[str]:
        sessions = [one for one in self._catalogue.snapshot.sessions if not one.gone]
        match name:
            case "agent":
                values = list(self._adapters.names)
            case "model":
                values = [model for one in sessions for model in one.models or (one.model or "",)]
            case "cwd":
                values = [one.cwd or "" for one in sessions]
            case "source":
                values = [one.source or "" for one in sessions]
            case "tag":
                values = [tag for one in self._dressed(sessions, "none")[0] for tag in one.tags]
            case "tool":
                index = self._index()
                values = index.tools() if index is not None else []
            case _:
                values = []
        return list(dict.fromkeys(values))

    # Scroll and browse -------------------------------------------------------------------------------------

    def scroll(self, transcript: Transcript, message_id: str, size: int) -> MessageWindow:
        """The message and `size` messages before and after it, their texts uncut, on whichever branch it is. No more
        of the session is read than that takes. Raises `ValidationError` for a message that is not there."""
        return window_around(*messages_around(transcript, message_id, size), size, length=None)

    def source_of(self, summary: SessionSummary) -> tuple[Source | None, str]:
        """Where a session is by the list as it is known, which takes no look at its agent's stores, and what it is
        called there."""
        try:
            shelf = self._stores_for_rank(self.parse("")).shelf(summary.unified_id)
        except LookupError:
            return None, summary.session_id
        return shelf.source, shelf.named or summary.session_id

    def browse(self, agent: str | None, limit: int | None) -> list[SessionSummary]:
        """The conversations that were active last, each by its newest part, helpers' own left out."""
        agents = None if agent is None else (agent,)
        if agent is not None and agent not in self._adapters.names:
            return []
        self._catalogue.refresh(agents)
        return self.recent(lambda one: agent in (None, one.agent), limit)

    def recent(self, sees: Callable[[SessionSummary], bool], limit: int | None) -> list[SessionSummary]:
        """The same of the sessions that `sees` says, by the list as it is known."""
        newest: dict[tuple[str, str], SessionSummary] = {}
        for one in self._catalogue.snapshot.sessions:  # newest first
            if len(newest) == limit:
                break
            if not one.gone and one.kind != "subagent" and sees(one):
                newest.setdefault(root_of(one), one)
        return list(newest.values())
