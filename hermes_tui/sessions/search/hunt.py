"""Finds every session that a query finds, from whatever knows it soonest: the list of sessions, the index, a store's
own index, and a scan of what none of them answers for.

Law: what comes out is what `Query.finds` says of the sessions as they are in their stores, whatever there is of an
index. Hermes' own index may add to that (it has rows whose words are in no text of the conversation).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from hermes_tui.sessions.index.expression import match_expression
from hermes_tui.sessions.index.reader import Coverage as Covered
from hermes_tui.sessions.index.reader import Hit, Index
from hermes_tui.sessions.index.schema import IndexUnusable
from hermes_tui.sessions.index.writer import Level, key_of
from hermes_tui.sessions.query import Query
from hermes_tui.sessions.query.filters import MESSAGE_FILTERS
from hermes_tui.sessions.query.tree import Tree, Unit, Word, leaves
from hermes_tui.sessions.scan import Wanted, scan
from hermes_tui.sessions.search.model import Coverage, Field, Found, Match
from hermes_tui.sessions.search.relevance import of_unit
from session_adapters.base import Adapter, Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.searchable import Text

__all__ = ["Hunt", "Shelf", "Stores"]

Stop = Callable[[], bool]
_Key = tuple[str, str, str, str]
"""Agent, path and native id of a source, native id of a session."""


class Shelf(NamedTuple):
    """A source and the sessions in it."""

    source: Source
    sessions: tuple[SessionSummary, ...]
    """As the list shows them: with their relations."""
    whole: bool
    """It holds no others."""


_Task = tuple[Shelf, dict[str, Wanted]]


class Stores(Protocol):
    """What a hunt needs of the program."""

    def shelves(self) -> Sequence[Shelf]:
        """Every source with its sessions, as they are now, the newest first."""

    def title(self, summary: SessionSummary) -> Unit:
        """The title of a session, as it is searched."""

    def adapter(self, agent: str) -> Adapter:
        """Raises `AdapterBroken`."""


_NOBODY = SessionSummary(agent="", session_id="")


class Hunt:
    """One search for one query. Iterate over `run` once; `coverage` and `problems` may be read meanwhile."""

    def __init__(
        self,
        stores: Stores,
        query: Query,
        index: Index | None,
        *,
        keep: Callable[[SessionSummary], bool] = lambda summary: True,
        rewound: bool = False,
        stop: Stop = lambda: False,
        most: int | None = None,
    ) -> None:
        """`keep` says which sessions are searched at all. After `most` sessions the index is asked no further: it
        gives the newest first."""
        self._stores = stores
        self._query = query
        self._index = index
        self._keep = keep
        self._rewound = rewound
        self._stop = stop
        self._lock = threading.Lock()
        self._problems: list[Problem] = []
        self._coverage = Coverage()
        self._messages = query.needs_messages
        self._most = most
        self.more = False
        """The index knows more sessions than were asked for."""
        self.complete = False
        """Everything was searched that was to be."""
        fields = query.fields - MESSAGE_FILTERS
        self._same = None if fields else query.for_session(_NOBODY)
        """What every session is searched for, where that does not depend on the session."""

    @property
    def coverage(self) -> Coverage:
        """How far it has come."""
        return self._coverage

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be searched."""
        with self._lock:
            return tuple(self._problems)

    def run(self) -> Iterator[Found]:
        """The sessions that are found. Of one session further places may come later."""
        self._excluded: dict[str, SessionSummary] = {}
        self._forbidding: set[str] = set()
        self._suspects: set[_Key] = set()
        self._sure: set[_Key] = set()
        todo: list[_Task] = []
        for shelf in self._stores.shelves():
            wanted: dict[str, Wanted] = {}
            for summary in shelf.sessions:
                if self._keep(summary):
                    yield from self._first_look(summary, wanted)
            if wanted:
                todo.append((shelf, wanted))
        self._coverage = Coverage(sources=len(todo))
        left = todo
        if self._index is not None and todo:
            left = yield from self._indexed(self._index, todo)
        if not self.more:
            yield from self._own_indexes(todo)
        for number, (shelf, wanted) in enumerate(left, 1):
            if self._stop():
                return
            yield from self._sift(self._scan(shelf, wanted))
            self._coverage = replace(self._coverage, scanned=number)
        if not self._stop():
            self.complete = True
            yield from (Found(summary) for summary in self._excluded.values())

    # What needs no texts -----------------------------------------------------------------------------------

    def _first_look(self, summary: SessionSummary, wanted: dict[str, Wanted]) -> Iterator[Found]:
        search = self._same or self._query.for_session(summary)
        decided = search.decided
        if decided is not None:
            if decided:
                yield Found(summary)
            return
        wanted[summary.session_id] = Wanted(summary, search)
        if search.forbids:
            self._forbidding.add(summary.unified_id)
            self._excluded[summary.unified_id] = summary
        title = self._stores.title(summary)
        if search.matches(title):
            place = Match("", "title", score=of_unit(search, title, "title"))
            yield from self._sift([Found(summary, (place,), 1)])

    def _sift(self, found: Iterable[Found]) -> Iterator[Found]:
        """What was found, unless it should not have been: then the session is none of the answer."""
        for one in found:
            if one.summary.unified_id in self._forbidding:
                self._excluded.pop(one.summary.unified_id, None)
            else:
                yield one

    # Our index ---------------------------------------------------------------------------------------------

    def _indexed(self, index: Index, todo: list[_Task]) -> Generator[Found, None, list[_Task]]:
        """Ask the index; the return value is what is left to be scanned."""
        covered = index.coverage([shelf.source for shelf, _ in todo])
        known = {id(shelf): covered.level(shelf.source) for shelf, _ in todo}
        try:
            answered = yield from self._ask(index, covered, todo)
        except IndexUnusable as error:
            self._coverage = Coverage(sources=len(todo), trouble=str(error))
            return todo
        left: list[_Task] = []
        for shelf, wanted in todo:
            if known[id(shelf)] == Level.ALL and answered:
                # Only what the index cannot tell for sure is read again.
                suspects = self._suspects - self._sure
                wanted = {key: one for key, one in wanted.items() if (*key_of(shelf.source), key) in suspects}
                if not wanted:
                    continue
            left.append((shelf, wanted))
        self._coverage = Coverage(sources=len(todo), indexed=len(todo) - len(left), trouble=index.problem)
        return left

    def _ask(self, index: Index, covered: Covered, todo: list[_Task]) -> Generator[Found, None, bool]:
        """Give what the index knows; whether it could be asked everything."""
        by_tree: dict[Tree, dict[_Key, Wanted]] = {}
        for shelf, wanted in todo:
            if covered.level(shelf.source) != Level.NOTHING:
                for session_id, one in wanted.items():
                    by_tree.setdefault(one.search.tree, {})[*key_of(shelf.source), session_id] = one
        for tree, sessions in by_tree.items():
            hits = index.search(tree, covered)
            if hits is None:
                return False
            found = list(leaves(tree))
            sure = all(isinstance(leaf, Word) for leaf in found)
            alone = all(isinstance(leaf, Word) and len(leaf.tokens) == 1 for leaf in found)
            yield from self._sift(self._group(hits, sessions, sure, alone))
        return True

    def _group(
        self, hits: Iterable[Hit], sessions: Mapping[_Key, Wanted], sure: bool, alone: bool
    ) -> Iterator[Found]:
        """`sure`: the index understood all of it. `alone`: single words, of which the index knows even in the longest
        texts."""
        for hit in hits:
            if self._stop():
                return
            if self._most is not None and len(self._sure) >= self._most and not self._forbidding:
                self.more = True
                return
            key = (hit.agent, hit.path, hit.source_id, hit.session_id)
            one = sessions.get(key)
            if one is None or (hit.visibility == "rewound" and not self._rewound):
                continue
            if sure and (hit.exact or alone):
                self._sure.add(key)
                place = Match(hit.message_id, hit.field, hit.role, hit.time, hit.visibility)
                yield Found(one.summary, (place,), 1)
            else:
                self._suspects.add(key)

    # Indexes of the stores themselves ----------------------------------------------------------------------

    def _own_indexes(self, todo: list[_Task]) -> Iterator[Found]:
        """What a store's own index finds counts, also where the words are in no text that we show."""
        for shelf, wanted in todo:
            adapter = self._adapter(shelf)
            if adapter is None or type(adapter).full_text is Adapter.full_text:
                continue
            for tree in {one.search.tree for one in wanted.values() if not one.search.forbids}:
                if not all(isinstance(leaf, Word) for leaf in leaves(tree)):
                    continue
                expression = match_expression(tree)
                rows = adapter.full_text(shelf.source, expression) if expression else None
                yield from self._sift(self._rows(rows or (), wanted, tree))

    def _rows(self, rows: Iterable[Text], wanted: Mapping[str, Wanted], tree: Tree) -> Iterator[Found]:
        for row in rows:
            one = wanted.get(row.session_id)
            if one is None or one.search.tree != tree or (row.visibility == "rewound" and not self._rewound):
                continue
            field: Field = "prose" if row.role in ("user", "assistant") else "tool"
            place = Match(row.message_id, field, row.role, row.time, row.visibility)
            yield Found(one.summary, (place,), 1)

    # The stores --------------------------------------------------------------------------------------------

    def _scan(self, shelf: Shelf, wanted: Mapping[str, Wanted]) -> Iterator[Found]:
        adapter = self._adapter(shelf)
        if adapter is not None:
            yield from scan(
                adapter,
                shelf.source,
                wanted,
                self._report,
                self._stop,
                whole=shelf.whole and len(wanted) == len(shelf.sessions),
                rewound=self._rewound,
                messages=self._messages,
            )

    def _adapter(self, shelf: Shelf) -> Adapter | None:
        from hermes_tui.sessions.adapters import AdapterBroken

        try:
            return self._stores.adapter(shelf.source.agent)
        except AdapterBroken as error:
            self._report(Problem(agent=shelf.source.agent, path=shelf.source.path, reason=str(error)))
            return None

    def _report(self, problem: Problem) -> None:
        with self._lock:
            if len(self._problems) < 1000:
                self._problems.append(problem)
