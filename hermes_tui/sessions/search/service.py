"""The search room's door: what the manager hands on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Literal

from hermes_tui.errors import ValidationError
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.query import NowIn, Query, complete, parse
from hermes_tui.sessions.query.completion import Completion
from hermes_tui.sessions.query.filters import no_states
from hermes_tui.sessions.search.discovery import discover
from hermes_tui.sessions.search.excerpt import name_of, window_around
from hermes_tui.sessions.search.incremental.search import LiveSearch
from hermes_tui.sessions.search.model import MessageWindow, Outcome, SearchOptions
from hermes_tui.sessions.search.stores import CatalogueStores
from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.model import Message, Session, SessionSummary
from session_adapters.reading.searchable import along

__all__ = ["SearchDesk"]

Costs = Literal["none", "shown", "exact"]
"""Whether costs are filled in: as they were last added up, without reading anything, or as they are."""
Dress = Callable[[Sequence[SessionSummary], Costs], tuple[Sequence[SessionSummary], int]]
"""The sessions with what a list of them does not know itself; and of how many the cost is not added up yet."""


class SearchDesk:
    """Answers every search. Any thread may call any method."""

    def __init__(
        self,
        catalogue: Catalogue,
        adapters: Adapters,
        home: str,
        index: Callable[[], SearchIndex | None],
        dress: Dress = lambda sessions, costs: (sessions, 0),
        states: Callable[[], NowIn] = lambda: no_states,
    ) -> None:
        """`home` is what `~` stands for. `index` gives the index to ask, or None. `dress` fills in tags, and costs
        where they are asked for. `states` looks how sessions are; it is called when a query asks for that, and may
        raise `HermesTuiError`."""
        self._states = states
        self._catalogue = catalogue
        self._adapters = adapters
        self._home = home
        self._index = index
        self._dress = dress

    def parse(self, text: str, now: datetime | None = None, *, typing: bool = False) -> Query:
        """Understand a query of this machine's sessions, by the states that they are in now."""
        look = cache(self._states)  # once, however many states it names
        return parse(text, now, typing=typing, now_in=lambda state: look()(state))

    # Discovery ---------------------------------------------------------------------------------------------

    def discover(
        self, text: str, options: SearchOptions, now: datetime | None = None, stop: Callable[[], bool] = lambda: False
    ) -> Outcome:
        """What a query finds, as the stores are now; nothing for one that asks for nothing (checklist S-9)."""
        query = self.parse(text, now)
        if query.empty or (options.agent is not None and options.agent not in self._adapters.names):
            return Outcome()
        agents = None if options.agent is None else (options.agent,)
        return discover(self.stores(query, options, agents), query, options, self._index(), self._home, stop)

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
        return CatalogueStores(self._catalogue, self._adapters, agents, lambda sessions: self._dress(sessions, costs))

    def live(self) -> LiveSearch:
        """A search for a box in which somebody types. Close it when the box goes."""
        known: list[tuple[int, bool, CatalogueStores]] = []

        def stores(query: Query) -> CatalogueStores:
            """Made anew only when the list changed, or the costs that are asked for."""
            priced = "cost" in query.fields
            state = (self._catalogue.snapshot.version, priced)
            if not known or known[0][:2] != state or (priced and not known[0][2].is_priced_as_now):
                known[:] = [(*state, self.stores(query, SearchOptions(), refresh=False))]
            return known[0][2]

        return LiveSearch(stores, self._index, lambda text: self.parse(text, typing=True))

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

        return instead_of(query, index, self.stores(query, SearchOptions(), refresh=False).sources)

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
                values = [tag for one in self._dress(sessions, "none")[0] for tag in one.tags]
            case "tool":
                index = self._index()
                values = index.tools() if index is not None else []
            case _:
                values = []
        return list(dict.fromkeys(values))

    # Scroll and browse -------------------------------------------------------------------------------------

    def scroll(self, session: Session, message_id: str, size: int) -> MessageWindow:
        """The message and `size` messages before and after it, their texts uncut, on whichever branch it is.
        Raises `ValidationError` for a message that is not there."""
        every: Sequence[Message] = session.messages
        if all(name_of(message, at) != message_id for at, message in enumerate(every)):
            every = self._along(session, message_id)
        for at, message in enumerate(every):
            if name_of(message, at) == message_id:
                return window_around(every, at, size, length=None)
        raise ValidationError(
            f"{session.agent} session {session.session_id!r} has no message {message_id!r};"
            " `hermes-tui sessions search --json` and `sessions show --format json` name them"
        )

    def _along(self, session: Session, message_id: str) -> Sequence[Message]:
        """The messages of the other branch that one is on."""
        adapter = self._adapters.get(session.agent)
        source = adapter.find(session.session_id)
        try:
            found = along(adapter.open(source, session.session_id), message_id) if source is not None else None
        except (SessionMissing, SessionUnreadable):  # since it was read: the message is not there any more
            return ()
        return found or ()

    def browse(self, agent: str | None, limit: int | None) -> list[SessionSummary]:
        """The conversations that were active last, each by its newest part, helpers' own left out."""
        agents = None if agent is None else (agent,)
        if agent is not None and agent not in self._adapters.names:
            return []
        snapshot = self._catalogue.refresh(agents)
        newest: dict[tuple[str, str], SessionSummary] = {}
        for one in snapshot.sessions:  # newest first
            if not one.gone and one.kind != "subagent" and agent in (None, one.agent):
                newest.setdefault((one.agent, one.lineage_id or one.session_id), one)
        return list(newest.values())[:limit]
