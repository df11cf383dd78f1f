"""A query as it was typed and understood, and whether it finds a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from msgspec import Struct

from hermes_tui.sessions.query.filters import ATTENDED, NowIn, no_states
from hermes_tui.sessions.query.grammar import QueryToken, read
from hermes_tui.sessions.query.tree import (
    TRUE,
    Always,
    Inside,
    Literally,
    MessageFilter,
    Regex,
    SessionFilter,
    TextUnit,
    Tree,
    Word,
    decide,
    holds,
    leaves,
    opposite,
    spans,
)
from hermes_tui.sessions.words import Span
from session_adapters.model import SessionSummary
from session_adapters.text import scrub

__all__ = ["Query", "Search", "parse"]

_EMPTY = TextUnit("")


class Search(Struct, frozen=True):
    """What is left of a query for the units of one session."""

    tree: Tree
    """Without conditions on sessions. With `forbids`: what no unit may satisfy."""
    forbids: bool

    @property
    def decided(self) -> bool | None:
        """Whether the session is found, where that takes no look at its messages."""
        if isinstance(self.tree, Always):
            return self.tree.value != self.forbids
        return None

    def matches(self, unit: TextUnit) -> bool:
        """Whether the unit satisfies `tree`."""
        return holds(self.tree, unit)

    def spans(self, unit: TextUnit) -> list[Span]:
        """What is to be lit up in the unit."""
        return spans(self.tree, unit)


class Query(Struct, frozen=True):
    """A query as typed, and as understood."""

    text: str
    tree: Tree
    parts: tuple[QueryToken, ...]
    """The pieces of `text`, in order, for colours."""
    refused: str = ""
    """Why a regular expression in it is searched as text, one sentence without a full stop; empty where none is."""

    @property
    def empty(self) -> bool:
        """It asks for nothing."""
        return self.tree == TRUE

    @property
    def searches_text(self) -> bool:
        """Whether texts have to be looked at for some session."""
        return any(isinstance(leaf, Word | Literally | Inside | Regex | MessageFilter) for leaf in leaves(self.tree))

    @property
    def asks_for_states(self) -> bool:
        """It asks for states that change while nothing is written: what it finds is of one moment."""
        asked = (leaf for leaf in leaves(self.tree) if isinstance(leaf, SessionFilter) and leaf.field == "is")
        return any(value in ATTENDED for leaf in asked for value in leaf.values)

    @property
    def fields(self) -> frozenset[str]:
        """Names of the filters in it."""
        return frozenset(leaf.field for leaf in leaves(self.tree) if isinstance(leaf, SessionFilter | MessageFilter))

    def for_session(self, summary: SessionSummary) -> Search:
        """What to look for in one session's units."""
        tree = decide(self.tree, summary)
        if holds(tree, _EMPTY):
            return Search(opposite(tree), forbids=True)
        return Search(tree, forbids=False)

    def searches(self) -> Callable[[SessionSummary], Search]:
        """`for_session` for many sessions: worked out once for all that pass the same filters."""
        filters = [leaf for leaf in leaves(self.tree) if isinstance(leaf, SessionFilter)]
        known: dict[tuple[bool, ...], Search] = {}

        def search(summary: SessionSummary) -> Search:
            passed = tuple([one.passes(summary) for one in filters])
            found = known.get(passed)
            if found is None:
                found = known[passed] = self.for_session(summary)
            return found

        return search

    def finds(self, summary: SessionSummary, units: Iterable[TextUnit]) -> bool:
        """Whether the session is found; `units` are those of all its messages, and its title."""
        search = self.for_session(summary)
        return any(search.matches(unit) for unit in units) != search.forbids


def parse(text: str, now: datetime | None = None, *, typing: bool = False, now_in: NowIn = no_states) -> Query:
    """Understand a query. Never raises, unless `now_in` does.

    `now` is aware, in the local zone; None: the clock's. `typing`: the last word may still grow, so every word that
    begins with it counts. `now_in` tells which sessions are in a state that changes while nothing is written; it is
    asked only for those that the query names. Halves of characters are taken for what they are in texts (`scrub`).
    """
    return Query(text, *read(scrub(text), now or datetime.now().astimezone(), typing, now_in))
