"""Costs of the catalogue's sessions: what the manager hands on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

from msgspec.structs import replace

from hermes_tui.config import Price
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.catalogue.options import ListOptions, select
from hermes_tui.sessions.cost.cache import CostCache
from hermes_tui.sessions.cost.messages import with_costs
from hermes_tui.sessions.cost.overview import Overview, Span, overview
from hermes_tui.sessions.cost.priced_sessions import PricedSessions, priced
from hermes_tui.sessions.cost.report import CostOptions, CostSummary, total_cost
from hermes_tui.sessions.cost.summary import SpendSummary
from session_adapters.model import Cost, Problem, Session, SessionSummary
from session_adapters.usage import Usage

__all__ = ["CostDesk"]


class CostDesk:
    """Answers every question about money. Any thread may call any method."""

    def __init__(self, catalogue: Catalogue, adapters: Adapters, prices: Mapping[str, Price]) -> None:
        """`prices`: the user's own."""
        self._catalogue = catalogue
        self._ledger = CostCache(catalogue, adapters, prices)
        self._booking = threading.Lock()
        self._shown = PricedSessions()

    def total(self, options: CostOptions) -> CostSummary:
        """The sums of the sessions that match, as the stores are now."""
        self._catalogue.refresh()
        return self.known_total(options)

    def known_total(self, options: CostOptions) -> CostSummary:
        """The same for the sessions as last listed: no store is looked for anything new."""
        return total_cost(self.sheet(), self._sessions(), options)

    def overview(self, today: date, span: Span = "30 days") -> Overview:
        """Spending at a glance, of the sessions as last listed; `today` is a local date."""
        return overview(self.book(), self._sessions(), today, span)

    def overview_so_far(self, today: date, span: Span = "30 days") -> tuple[Overview, bool]:
        """The same as it was last added up, and whether nothing has changed since; no session is read for it."""
        sessions = self._sessions()
        current = self._ledger.current()
        sheet = self._ledger.last() if current is None else current
        return overview(sheet, sessions, today, span), current is not None

    def book(self) -> SpendSummary:
        """The same as `sheet`, but read by a process of its own where that takes long; for faces. Who asks while
        there is one waits for it."""
        with self._booking:
            self._ledger.look_ahead()
            return self.sheet()

    def shown(self, sessions: Sequence[SessionSummary]) -> tuple[SessionSummary, ...]:
        """All sessions of a list, each as `priced_so_far`; those that did not change since it was last asked are the
        same objects."""
        return self._shown.take(tuple(sessions), self._ledger.last().own)

    def priced_so_far(self, sessions: Iterable[SessionSummary]) -> list[SessionSummary]:
        """The sessions, each with its cost as it was last added up; nothing is read for it."""
        return priced(sessions, self._ledger.last().own)

    def sheet(self) -> SpendSummary:
        """What every session spent, by model and day."""
        return self._ledger.refresh()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read when the sheet was last made."""
        return self._ledger.last().problems

    @property
    def left(self) -> int:
        """Files that there was no time to read for it (`Catalogue.seconds`)."""
        return self._ledger.last().left

    def tagged(self, sessions: Sequence[SessionSummary]) -> list[SessionSummary]:
        """The sessions with the tags that agent-mux gave them."""
        tags = self._ledger.tags(sessions)
        if not tags:
            return list(sessions)
        return [
            replace(one, tags=tuple(dict.fromkeys((*one.tags, *more))))
            if (more := tags.get((one.agent, one.session_id)))
            else one
            for one in sessions
        ]

    def all_priced(self, sessions: Iterable[SessionSummary]) -> list[SessionSummary]:
        """The sessions, each with its cost, for a list in the order of costs."""
        own = self.sheet().own
        return priced(sessions, own)

    def some_priced(self, sessions: Sequence[SessionSummary]) -> list[SessionSummary]:
        """The same, for a few: what others cost is not added up for it, nor what was added up before."""
        wanted = [one for one in sessions if one.cost is None or one.partial]
        own = dict(self._ledger.known(wanted))
        if len(own) < len(wanted):
            own.update(self._ledger.some([one for one in wanted if one.unified_id not in own]))
        return priced(sessions, own)

    def select(self, sessions: Sequence[SessionSummary], options: ListOptions, home: str) -> list[SessionSummary]:
        """See `catalogue.options.select`; with tags and with costs, added up where the order asks for it."""
        tagged = self.tagged(sessions)
        if options.sort == "cost":
            return select(self.all_priced(tagged), options, home)
        return self.known(select(tagged, options, home))

    def known(self, sessions: Sequence[SessionSummary]) -> list[SessionSummary]:
        """The sessions, each with what it cost where its agent recorded that or it was added up before; the cost of
        the others, and of those of which only the ends were read, is None. Nothing is read for it."""
        costs = self._kept(sessions)
        found = []
        for one in sessions:
            cost = costs.get(one.unified_id) if one.cost is None or one.partial else one.cost
            found.append(one if cost == one.cost else replace(one, cost=cost))
        return found

    def pending(self, sessions: Sequence[SessionSummary]) -> frozenset[str]:
        """Unified ids of those whose cost `known` cannot tell before they are read: not the same as unknown."""
        costs = self._kept(sessions)
        return frozenset(one.unified_id for one in sessions if one.cost is None and one.unified_id not in costs)

    def _kept(self, sessions: Sequence[SessionSummary]) -> Mapping[str, Cost | None]:
        wanted = [one for one in sessions if one.cost is None or one.partial]
        return self._ledger.known(wanted) if wanted else {}

    def session(self, session: Session, calls: Callable[[], Iterable[Usage]]) -> Session:
        """A session that was read, with its cost and that of each message; `calls` gives the calls in its record."""
        return with_costs(session, calls, self._ledger.runs(session), self._ledger.prices)

    def _sessions(self) -> list[SessionSummary]:
        return [one for one in self._catalogue.snapshot.sessions if not one.gone]
