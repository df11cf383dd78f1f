"""Discovery (spec 003): the conversations that a query finds, with snippets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from hermes_tui.sessions.catalogue.options import ListOptions, select
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.query.query import Query
from hermes_tui.sessions.query.tree import MessageFilter, all_of
from hermes_tui.sessions.search.details import compare, details, outline
from hermes_tui.sessions.search.engine import Hunt
from hermes_tui.sessions.search.gathering import Gathering, Kin, best_first
from hermes_tui.sessions.search.grouping import FoundConversation, root_of
from hermes_tui.sessions.search.model import Outcome, SearchCoverage, SearchOptions
from hermes_tui.sessions.search.relevance import MOST_RANKED, PLAIN, looked_for, weigh
from hermes_tui.sessions.search.stores import CatalogueStores
from session_adapters.model import Problem, SessionSummary

__all__ = ["Ranking", "discover", "kept", "narrowed", "rank"]

MOST_COUNTED = 500
"""Rows of the index whose words are counted to put sessions in order; the newest. Some 15 µs each."""
_MOST_COUNTED_OF_SHOWN = 20 * MOST_COUNTED
"""The same to find the best places in what is shown."""
Stop = Callable[[], bool]
Progress = Callable[[SearchCoverage], None]


def narrowed(query: Query, options: SearchOptions) -> Query:
    """The query with the role that the options name."""
    if options.role is None:
        return query
    tree = all_of((query.tree, MessageFilter("role", options.role)))
    return Query(query.text, tree, query.parts)


def kept(stores: CatalogueStores, options: SearchOptions, home: str) -> Sequence[int] | None:
    """Places of the sessions that the options leave to be searched; None for all."""
    asked = ListOptions(since=options.since, until=options.until, model=options.model, tags=options.tags, limit=None)
    if asked == ListOptions(limit=None):
        return None
    return sorted(map(stores.place, select(stores.sessions, asked, home)))


class Ranking(NamedTuple):
    """The conversations that a query finds, in order; none of them is described yet."""

    chosen: Sequence[FoundConversation]
    """The first of them, as many as were asked for."""
    total: int
    """All."""
    ranked: int
    """Of so many it is known how well they fit; the others are ordered by date behind them."""
    best: float
    """The score that counts as 1."""
    complete: bool
    """All was searched; false where it was stopped."""
    more: bool
    """There may be further ones, older than these."""
    coverage: SearchCoverage
    problems: list[Problem]


def discover(
    stores: CatalogueStores,
    query: Query,
    options: SearchOptions,
    index: SearchIndex | None,
    home: str,
    stop: Stop = lambda: False,
    progress: Progress = lambda coverage: None,
) -> Outcome:
    """Search everything, then order, cut and describe. After `stop()` what was found until then, and nothing is read
    to show it. `progress` is told how far it has come before each source that is read."""
    query = narrowed(query, options)
    found = rank(stores, query, options, index, kept(stores, options, home), stop, progress=progress)
    results = tuple(
        outline(stores, query, one, found.best, found.problems, stop)
        if not options.windows or stop()
        else details(stores, query, one, found.best, found.problems)
        for one in found.chosen
    )
    return Outcome(
        results=results,
        total=found.total,
        complete=found.complete,
        ranked=found.ranked,
        coverage=found.coverage,
        problems=tuple(found.problems),
    )


def rank(
    stores: CatalogueStores,
    query: Query,
    options: SearchOptions,
    index: SearchIndex | None,
    among: Sequence[int] | None,
    stop: Stop = lambda: False,
    kin: Kin | None = None,
    hidden: Callable[[SessionSummary], bool] | None = None,
    most: int | None = None,
    progress: Progress = lambda coverage: None,
) -> Ranking:
    """Search the sessions in the places `among` (None: all), then order and cut. `kin` tells conversations apart.
    What is `hidden` is searched and passed over: it is a few of all, and the others need not be told apart from them.
    After `most` sessions no further ones are looked for: the newest come first."""
    asked = index if options.use_index else None
    weights = PLAIN if index is None else weigh(index, query.tree)
    gathering = Gathering(kin or stores.kin, hidden)
    hunt = Hunt(
        stores,
        query,
        asked,
        among=among,
        rewound=options.rewound,
        stop=stop,
        most=most,
        weights=weights,
        listed=gathering.add_listed,
        progress=progress,
    )
    for found in hunt.run():
        gathering.add(found)
    by_words = options.sort == "relevance" and bool(looked_for(query.tree))
    if by_words and not stop():
        for found in hunt.fitting(MOST_COUNTED):
            gathering.add(found)
    conversations = gathering.newest_first()
    ranked = len(conversations)
    if by_words:
        ranked = sum(one.is_ranked for one in conversations)
        conversations = best_first(conversations)
    elif options.sort == "cost":
        costs = _costs(stores.sessions)
        conversations.sort(key=lambda one: -costs.get(one.root, -1.0))  # of unknown cost: last
    chosen = conversations if options.limit is None else conversations[: options.limit]
    problems = list(hunt.problems)
    _find_best_places(stores, query, options, hunt, chosen, problems, stop)
    best = max((one.score for one in conversations[:ranked]), default=0.0) if by_words else 0.0
    return Ranking(chosen, len(conversations), ranked, best, hunt.complete, hunt.more, hunt.coverage, problems)


def _find_best_places(
    stores: CatalogueStores,
    query: Query,
    options: SearchOptions,
    hunt: Hunt,
    chosen: Sequence[FoundConversation],
    problems: list[Problem],
    stop: Stop,
) -> None:
    """Know of what is shown which place fits best: by the index, else by a look at the texts."""
    open_parts = {part.summary.unified_id: one for one in chosen for part in one.parts.values() if part.lacks_best}
    if open_parts and len(open_parts) <= MOST_RANKED:
        for found in hunt.fitting(_MOST_COUNTED_OF_SHOWN, stores.places(open_parts)):
            open_parts[found.summary.unified_id].add(found)
    for conversation in dict.fromkeys(open_parts.values()):
        if any(part.lacks_best for part in conversation.parts.values()):
            compare(stores, query, conversation, options, problems, stop)


def _costs(sessions: Iterable[SessionSummary]) -> Mapping[tuple[str, str], float]:
    """What conversations cost in all their parts, by `root_of`; those of unknown cost are missing."""
    found: dict[tuple[str, str], float] = {}
    for one in sessions:
        if one.cost is not None:
            found[root_of(one)] = found.get(root_of(one), 0.0) + one.cost.total_usd
    return found
