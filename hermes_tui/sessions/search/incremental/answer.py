"""One query of a user who types: gathers matches, and shows them in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakMethod

from msgspec.structs import replace

from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.query.query import Query
from hermes_tui.sessions.query.subsumption import narrows
from hermes_tui.sessions.search.engine import Hunt
from hermes_tui.sessions.search.gathering import Gathering, likely_first
from hermes_tui.sessions.search.incremental.snapshot import LiveSnapshot, SnapshotView, live_result
from hermes_tui.sessions.search.model import SearchCoverage
from hermes_tui.sessions.search.relevance import MOST_RANKED
from hermes_tui.sessions.search.stores import CatalogueStores
from session_adapters.model import Problem

__all__ = ["SNAPSHOT_PAUSE", "Known", "LiveAnswer", "broken_off"]

SNAPSHOT_PAUSE = 0.05
"""Seconds between two snapshots at least, while more is found. The first comes after as many, or before anything is
read, or when all is known."""
_REST = 4
"""Times as long as making one took, at least, is spent on searching before the next."""
_SHOWN = 100
"""Conversations in a snapshot; of more the newest."""
_FEW = 256
"""Sessions, at most, of an answer in which the next one is looked for."""


class Known(NamedTuple):
    """A complete answer: what a longer query finds is among it, as long as the sessions are the same."""

    query: Query
    stores: CatalogueStores
    found: Sequence[int]
    """All sessions, by their places in the list."""
    coverage: SearchCoverage


class LiveAnswer:
    """For the searching thread alone."""

    def __init__(
        self,
        query: Query,
        stores: CatalogueStores,
        index: SearchIndex | None,
        superseded: Callable[[], bool],
        publish: Callable[[SnapshotView], None],
        before: Known | None = None,
    ) -> None:
        """`publish` is given what is known, from time to time and at the end, unless another question came. `before`
        is what is known from an earlier question."""
        self._query = query
        self._stores = stores
        self._superseded = superseded
        self._publish = publish
        self._gathering = Gathering(stores.kin)
        leads_here = before is not None and before.stores is stores and narrows(query.tree, before.query.tree)
        self._within = before if leads_here else None
        shown = WeakMethod(self._show)  # else each has the other, and all that was found stays until that is noticed

        def show() -> None:
            if (now := shown()) is not None:
                now()

        self._hunt = Hunt(
            stores,
            query,
            index,
            among=None if self._within is None else self._within.found,
            stop=superseded,
            most=_SHOWN,
            listed=self._gathering.add_listed,
            before_reading=show,
        )
        self._version = 0
        self._due = time.monotonic() + SNAPSHOT_PAUSE

    def run(self) -> None:
        """Search."""
        for found in self._hunt.run():
            if self._superseded():
                return
            self._gathering.add(found)
            if time.monotonic() >= self._due:
                self._show()
        if not self._superseded():
            self._publish(self._picture(done=True))

    @property
    def known(self) -> Known | None:
        """What it is worth to later questions; None for nothing."""
        hunt = self._hunt
        if not hunt.complete or hunt.more or hunt.problems or len(self._gathering) > _FEW:
            return None
        found = self._gathering.places()
        return Known(self._query, self._stores, found, self._coverage) if len(found) <= _FEW else None

    @property
    def _coverage(self) -> SearchCoverage:
        """Of all that was searched, now and for what is known from before."""
        return self._within.coverage if self._within is not None else self._hunt.coverage

    def _ids(self) -> frozenset[str]:
        sessions = self._stores.sessions
        return frozenset(sessions[place].unified_id for place in self._gathering.places())

    def break_off(self, failure: str) -> None:
        """Show what was found by now, and why there will be no more."""
        found = self._picture(done=True)
        self._publish(found._replace(snapshot=broken_off(found.snapshot, failure)))

    def _show(self) -> None:
        began = time.monotonic()
        self._publish(self._picture(done=False))
        ended = time.monotonic()
        self._due = ended + max(SNAPSHOT_PAUSE, _REST * (ended - began))

    def _picture(self, *, done: bool) -> SnapshotView:
        self._version += 1
        hunt, total = self._hunt, len(self._gathering)
        ranked = done and hunt.complete and not hunt.more and total <= MOST_RANKED
        found = self._gathering.newest_first(None if ranked else _SHOWN)
        # What a filter alone finds fits all the same: it stays by date.
        ranked = ranked and any(part.total for one in found for part in one.parts.values())
        # Where all of them were read, their order is known without another look.
        if ranked and all(not part.unscored for one in found for part in one.parts.values()):
            found.sort(key=lambda one: -round(one.score, 6))  # the newest of equals stays first
        elif ranked:
            found = likely_first(found)
        chosen = found[:_SHOWN]
        snapshot = LiveSnapshot(
            query=self._query,
            version=self._version,
            results=tuple(live_result(one) for one in chosen),
            total=total,
            sessions=None if self._query.searches_text else self._ids(),
            more=hunt.more,
            ranked=ranked,
            done=done,
            coverage=replace(self._coverage, unpriced=self._stores.unpriced),
            problems=hunt.problems,
        )
        by_id = {part.summary.unified_id: one for one in chosen for part in one.parts.values()}
        return SnapshotView(snapshot, self._stores, by_id)


def broken_off(snapshot: LiveSnapshot, failure: str) -> LiveSnapshot:
    """It, with why there will be no more."""
    problem = Problem(agent="hermes-tui", path="", reason=failure)
    return replace(snapshot, done=True, problems=(*snapshot.problems, problem), failure=failure)
