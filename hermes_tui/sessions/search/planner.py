"""Decides from the list alone which sessions match, fail or need their text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, islice
from typing import NamedTuple

from hermes_tui.sessions.query.query import Query, Search
from hermes_tui.sessions.query.tree import SessionFilter, Tree, Word, leaves
from hermes_tui.sessions.search.stores import CatalogueStores, Place, SourceSessions
from session_adapters.model import SessionSummary

__all__ = ["Decision", "decide", "is_dear"]

_FEW = 256
"""Sessions, at most, that the index is told to look at alone."""
_BEGUN = 2
"""Letters of a word, at most, with which very many words begin."""


class Decision(NamedTuple):
    """For one query and all sessions, which are named by their places in the list."""

    found: Sequence[int]
    """Those that the list alone finds."""
    todo: Sequence[SourceSessions]
    """Where there are others, the newest first."""
    every: Sequence[Search]
    """All that texts are searched for, each once."""
    excluded: Sequence[int]
    """Those that are found unless something is in their texts."""
    search_of: Callable[[SessionSummary], Search | None] | None
    """What the texts of a session are searched for, None where there is no need to. There is no such function where
    it is the same for all."""

    def search(self, summary: SessionSummary) -> Search | None:
        """What its texts are searched for; None where there is no need to."""
        return self.every[0] if self.search_of is None else self.search_of(summary)

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
        if shelves is None and self.search_of is None:
            return None
        wanted = (
            shelf.place(one)
            for shelf in (self.todo if shelves is None else shelves)
            for one in shelf.sessions
            if self.search(one) is not None
        )
        found = list(islice(wanted, _FEW + 1))
        return found if len(found) <= _FEW else None


def decide(stores: CatalogueStores, query: Query, among: Sequence[int] | None) -> Decision:
    """Of the sessions in the places `among`, in order; None: all of them."""
    here = range(len(stores.sessions)) if among is None else among
    # Those that pass the same of the query's filters are searched for the same. For each session a number, in which
    # a bit is a filter.
    passed = [0] * len(stores.sessions)
    for one in leaves(query.tree):
        if isinstance(one, SessionFilter):
            passed = [2 * bits + now for bits, now in zip(passed, stores.verdicts(one), strict=True)]
    given = passed if among is None else [passed[place] for place in among]
    searches = {bits: query.for_session(stores.sessions[passed.index(bits)]) for bits in dict.fromkeys(given)}

    def those(which: Callable[[Search], bool]) -> Sequence[int]:
        chosen = {bits: which(search) for bits, search in searches.items()}
        return list(compress(here, map(chosen.__getitem__, given))) if any(chosen.values()) else ()

    def search_of(summary: SessionSummary) -> Search | None:
        search = searches_of(summary)
        return search if search.decided is None and (kept is None or stores.place(summary) in kept) else None

    open_ = {search: None for search in searches.values() if search.decided is None}
    searches_of, kept = query.searches(), None if among is None else frozenset(among)
    return Decision(
        found=those(lambda search: search.decided is True),
        todo=stores.shelves(those(lambda search: search.decided is None)) if open_ else (),
        every=tuple(open_),
        excluded=those(lambda search: search.decided is None and search.forbids),
        search_of=None if among is None and len(set(searches.values())) == len(open_) == 1 else search_of,
    )


def is_dear(tree: Tree) -> bool:
    """Whether so little of a word is known that looking it up in tool text takes longer than typing the next letter
    should: where what was said fills the answer, that one is waited for."""
    return any(isinstance(leaf, Word) and leaf.prefix and len(leaf.tokens[-1]) <= _BEGUN for leaf in leaves(tree))
