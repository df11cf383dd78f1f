"""Decides from the list alone which sessions match, fail or need their text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, repeat
from typing import NamedTuple

from hermes_tui.sessions.query.filters import MESSAGE_FILTERS
from hermes_tui.sessions.query.query import Query, Search
from hermes_tui.sessions.query.tree import SessionFilter, Tree, Word, leaves
from hermes_tui.sessions.search.stores import CatalogueStores, Place, SourceSessions
from session_adapters.model import SessionSummary

__all__ = ["Decision", "decide", "is_dear"]

_FEW = 256
"""Sessions, at most, that the index is told to look at alone."""
_BEGUN = 2
"""Letters of a word, at most, with which very many words begin."""
_NOBODY = SessionSummary(agent="", session_id="")


class Decision(NamedTuple):
    """For one query and all sessions."""

    found: Sequence[SessionSummary]
    """Those that the list alone finds."""
    todo: Sequence[SourceSessions]
    """Where there are others, the newest first."""
    every: Sequence[Search]
    """All that texts are searched for, each once."""
    searches: Mapping[str, Search] | None
    """Unified id of a session → what its texts are searched for; None where that is the only one for all."""
    excluded: Sequence[SessionSummary]
    """Those that are found unless something is in their texts."""

    def search(self, summary: SessionSummary) -> Search | None:
        """What its texts are searched for; None where there is no need to."""
        return self.every[0] if self.searches is None else self.searches.get(summary.unified_id)

    def search_for(self, summary: SessionSummary, tree: Tree) -> Search | None:
        """The same, if it is this."""
        search = self.search(summary)
        return search if search is not None and (search.tree is tree or search.tree == tree) else None

    def forbids(self, summary: SessionSummary) -> bool:
        """The session is found unless something is in its texts."""
        search = self.search(summary)
        return search is not None and search.forbids

    @property
    def trees(self) -> Sequence[Tree]:
        """What the index is asked for."""
        return list(dict.fromkeys(search.tree for search in self.every))

    def forbidden(self, tree: Tree) -> bool:
        """Wherever it is looked for, there must be none of it."""
        return all(search.forbids for search in self.every if search.tree == tree)

    def few(self, shelves: Sequence[SourceSessions] | None = None) -> Sequence[Place] | None:
        """The sessions whose texts are searched, where they are few; of those on `shelves`, where these are given."""
        if shelves is None and self.searches is None:
            return None
        wanted = (
            shelf.place(one)
            for shelf in (self.todo if shelves is None else shelves)
            for one in shelf.sessions
            if self.search(one) is not None
        )
        found = list(islice(wanted, _FEW + 1))
        return found if len(found) <= _FEW else None


def decide(stores: CatalogueStores, query: Query, keep: Callable[[SessionSummary], bool] | None) -> Decision:
    """`keep` says which sessions are searched at all; None: all of them."""
    shelves = stores.shelves()
    everyone = query.for_session(_NOBODY)
    # Where nothing is asked of the sessions themselves, all of them are searched for the same.
    if not query.fields - MESSAGE_FILTERS and keep is None and everyone.decided is None:
        excluded = stores.sessions if everyone.forbids else ()
        return Decision((), shelves, (everyone,) if shelves else (), None, excluded)
    found: list[SessionSummary] = []
    doubtful: list[SessionSummary] = []
    searches: dict[str, Search] = {}
    known: dict[tuple[bool, ...], tuple[Search, bool | None]] = {}
    distinct: dict[Search, Search] = {}
    # For each session which of the query's filters it passes: those that pass the same are searched for the same.
    filters = [leaf for leaf in leaves(query.tree) if isinstance(leaf, SessionFilter)]
    verdicts: Iterable[tuple[bool, ...]] = (
        zip(*(stores.verdicts(one) for one in filters), strict=True) if filters else repeat(())
    )
    for summary, passed in zip(stores.sessions, verdicts, strict=False):
        if keep is not None and not keep(summary):
            continue
        if passed not in known:
            search = query.for_session(summary)
            known[passed] = distinct.setdefault(search, search), search.decided
        search, decided = known[passed]
        if decided is None:
            searches[summary.unified_id] = search
            if search.forbids:
                doubtful.append(summary)
        elif decided:
            found.append(summary)
    every = tuple(search for search in distinct if search.decided is None)
    todo = [shelf for shelf in shelves if any(one.unified_id in searches for one in shelf.sessions)] if every else ()
    return Decision(found, todo, every, searches, doubtful)


def is_dear(tree: Tree) -> bool:
    """Whether so little of a word is known that looking it up in tool text takes longer than typing the next letter
    should: where what was said fills the answer, that one is waited for."""
    return any(isinstance(leaf, Word) and leaf.prefix and len(leaf.tokens[-1]) <= _BEGUN for leaf in leaves(tree))
