"""Finds sessions by list, index, a store's own index, or a scan of the rest.

Law: what comes out is what `Query.finds` says of the sessions as they are in their stores, whatever there is of an
index. Hermes' own index may add to that (it has rows whose words are in no text of the conversation).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from hermes_tui.sessions.adapters import AdapterBroken
from hermes_tui.sessions.index.reading.reader import Field as Asked
from hermes_tui.sessions.index.reading.reader import Hit, SearchIndex
from hermes_tui.sessions.index.reading.reader import IndexCoverage as Covered
from hermes_tui.sessions.index.schema import IndexUnusable, row_time
from hermes_tui.sessions.index.source_state import key_of
from hermes_tui.sessions.query.query import Query
from hermes_tui.sessions.query.tree import Tree
from hermes_tui.sessions.scan import Wanted, scan
from hermes_tui.sessions.search.grouping import best_of
from hermes_tui.sessions.search.model import Match, SearchCoverage, SourceMatch
from hermes_tui.sessions.search.own_index import own_rows
from hermes_tui.sessions.search.planner import decide, is_dear
from hermes_tui.sessions.search.relevance import MOST_RANKED, PLAIN, Weights, of_title, scored
from hermes_tui.sessions.search.stores import CatalogueStores, Place, SourceSessions
from session_adapters.base import Adapter
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.bounds import Stint

__all__ = ["Hunt"]

Stop = Callable[[], bool]
_FIELDS: Sequence[Asked] = ("prose", "tool")


class Hunt:
    """One search for one query. Iterate over `run` once; `coverage` and `problems` may be read meanwhile."""

    def __init__(
        self,
        stores: CatalogueStores,
        query: Query,
        index: SearchIndex | None,
        *,
        among: Sequence[int] | None = None,
        rewound: bool = False,
        stop: Stop = lambda: False,
        most: int | None = None,
        weights: Weights = PLAIN,
        listed: Callable[[Sequence[int]], None] | None = None,
        before_reading: Callable[[], None] = lambda: None,
        progress: Callable[[SearchCoverage], None] = lambda coverage: None,
    ) -> None:
        """Of the sessions in the places `among`, in order; None: of all. After `most` sessions the index is asked no
        further, and nothing more is read: the newest come first. `weights` are for how well each text fits. What the
        list alone finds goes to `listed`, where it is given, as places in the list. `before_reading` is called when
        what is quick to know was given and stores have to be read, and `progress` before each of them."""
        self._stores, self._index = stores, index
        self._rewound = rewound
        self._stop = stop
        self._listed, self._before_reading, self._progress = listed, before_reading, progress
        self._problems: list[Problem] = list(stores.unread)
        self._coverage = SearchCoverage()
        self._most = most
        self._weights = weights
        self.more = False
        """There may be more sessions than were asked for."""
        self.complete = False
        """Everything was searched that was to be."""
        self._decided = decide(stores, query, among)
        self._forbids = bool(self._decided.excluded)
        self._dropped: set[int] = set()
        """Places of sessions that are found unless something is in their texts, and something is, or may be."""
        self._times: dict[str, datetime] = {}
        """Unified id of a session that texts were found in → when it was last active."""
        self._suspects: set[Place] = set()
        self._sure: set[Place] = set()
        self._numbers: dict[Place, int] = {}
        """Units that the index found, of each session."""
        self._covered: Covered | None = None
        """What the index answered for."""

    @property
    def coverage(self) -> SearchCoverage:
        """How far it has come."""
        unread = len({(one.agent, one.path) for one in self.problems})
        waiting = self._stores.waiting
        return replace(self._coverage, unread=unread, waiting=waiting) if unread or waiting else self._coverage

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be searched."""
        return tuple(self._problems)

    def run(self) -> Iterator[SourceMatch]:
        """The sessions that are found. Of one session further places may come later."""
        yield from self._by_list(self._decided.found)
        if not self._decided.every:
            self.complete = True
            return
        todo = self._decided.todo
        yield from self._sift(self._titles())
        self._coverage = SearchCoverage(sources=len(todo))
        left, suspects = (todo, ()) if self._index is None else (yield from self._indexed(self._index, todo))
        reading = [*((shelf, self._suspects) for shelf in suspects), *((shelf, None) for shelf in left)]
        if suspects and left:
            reading.sort(key=lambda pair: max(one.updated_at for one in pair[0].sessions), reverse=True)
        if reading:
            self._before_reading()
        if not self.more:
            yield from self._own_indexes(left)
        for number, (shelf, only) in enumerate(reading, 1):
            self._progress(self._coverage)
            if self._enough(shelf):
                self.more = True
                break
            for found in self._sift(self._scan(shelf, self._wanted(shelf, only))):
                self._times[found.summary.unified_id] = found.summary.updated_at
                yield found
            if self._stop():
                return  # perhaps in the middle of it, and before anything was found
            self._coverage = replace(self._coverage, scanned=number)
        if not self._stop():
            self.complete = True
            dropped = self._dropped
            yield from self._by_list([place for place in self._decided.excluded if place not in dropped])

    def _by_list(self, places: Sequence[int]) -> Iterable[SourceMatch]:
        if self._listed is None:
            return (SourceMatch(self._stores.sessions[place]) for place in places)
        self._listed(places)
        return ()

    def _enough(self, shelf: SourceSessions) -> bool:
        """As many sessions as were asked for are newer than all on the shelf, and so on those behind it."""
        if self._most is None or self._forbids or len(self._times) < self._most:
            return False
        newest = max(one.updated_at for one in shelf.sessions)
        return sum(time > newest for time in self._times.values()) >= self._most

    # What needs no texts -----------------------------------------------------------------------------------

    def _titles(self) -> Iterator[SourceMatch]:
        for tree in self._decided.trees:
            titles = self._stores.titles.matching(tree)
            # Of more than are put in order by how well they fit, nobody asks how well.
            scored = self._most is None or len(titles) <= MOST_RANKED
            for summary, title in titles:
                search = self._decided.search_for(summary, tree)
                if search is not None:
                    score = of_title(search, title.passage.text, self._weights) if scored else None
                    yield SourceMatch(summary, (Match("", "title", score=score),), 1)

    def _sift(self, found: Iterable[SourceMatch]) -> Iterator[SourceMatch]:
        """What was found, unless it should not have been: then the session is none of the answer."""
        return self._allowed(found) if self._forbids else iter(found)

    def _allowed(self, found: Iterable[SourceMatch]) -> Iterator[SourceMatch]:
        for one in found:
            if self._decided.forbids(one.summary):
                self._dropped.add(self._stores.place(one.summary))
            else:
                yield one

    def _wanted(self, shelf: SourceSessions, only: Collection[Place] | None = None) -> dict[str, Wanted]:
        """The sessions of a shelf that are to be read; of those in `only`, where it is given."""
        return {
            one.session_id: Wanted(one, search, self._weights)
            for one in shelf.sessions
            if (only is None or shelf.place(one) in only) and (search := self._decided.search(one)) is not None
        }

    # Our index ---------------------------------------------------------------------------------------------

    def _indexed(
        self, index: SearchIndex, todo: Sequence[SourceSessions]
    ) -> Generator[SourceMatch, None, tuple[Sequence[SourceSessions], Sequence[SourceSessions]]]:
        """Ask the index; the return value is what is left to be read: all of it, or the suspects there."""
        covered = self._covered = index.coverage(self._stores.sources)
        answered = True
        try:
            for tree in self._decided.trees:
                answered = (yield from self._ask(index, covered, tree, self._decided.few())) and answered
        except IndexUnusable as error:
            self._coverage = SearchCoverage(sources=len(todo), trouble=str(error))
            return todo, ()
        left: Sequence[SourceSessions] = todo
        if answered and (left := self._stores.uncovered(covered)):
            asked = {id(shelf) for shelf in todo}
            left = [shelf for shelf in left if id(shelf) in asked]
        if answered and left:
            left = yield from self._caught_up(index, covered, left)
        said = {(problem.agent, problem.path) for problem in self._problems}  # by the list
        for problem in self._covered.problems(shelf.source for shelf in todo):
            if (problem.agent, problem.path) not in said:
                self._report(problem)
        self._suspects -= self._sure  # another message of theirs is found for certain
        open_places = {key_of(shelf.source) for shelf in left}
        held = {place[:3] for place in self._suspects} - open_places
        suspects = [shelf for shelf in todo if key_of(shelf.source) in held] if held else []
        unread = len(left) + len(suspects)
        self._coverage = SearchCoverage(sources=len(todo), indexed=len(todo) - unread, trouble=index.problem)
        return left, suspects

    def _caught_up(
        self, index: SearchIndex, before: Covered, left: Sequence[SourceSessions]
    ) -> Generator[SourceMatch, None, Sequence[SourceSessions]]:
        """Ask about those that were written to, once the index has what is new in them; what is left."""
        self._before_reading()
        now = index.caught_up(before, self._stores.sources, self._stop)
        fresh = now.beyond(before)
        there = [shelf for shelf in left if key_of(shelf.source) in fresh.levels]
        if not there:
            return left
        self._covered = now
        for tree in self._decided.trees:
            yield from self._ask(index, fresh, tree, self._decided.few(there))
        return [shelf for shelf in left if key_of(shelf.source) not in fresh.levels]

    def _ask(
        self, index: SearchIndex, covered: Covered, tree: Tree, few: Collection[Place] | None
    ) -> Generator[SourceMatch, None, bool]:
        """Give what the index knows; whether it could be asked everything."""
        if self._forbids and self._decided.forbidden(tree):
            places = index.holding(tree, covered, rewound=self._rewound, stop=self._stop)
            if places is not None:
                for place in places:  # these hold what must not be there
                    summary = self._stores.by_place.get(place)
                    if summary is not None and self._decided.search_for(summary, tree) is not None:
                        self._dropped.add(self._stores.place(summary))
                return True
        if self._most is None or self._forbids:
            hits = index.search(tree, covered, stop=self._stop, each=False, among=few)
            if hits is not None:
                yield from self._sift(self._group(hits, tree, None))
            return hits is not None
        # What was said is told apart from what tools wrote in much less time, and is what is mostly looked for.
        since = 0.0
        for field in _FIELDS:
            hits = index.search(tree, covered, fields=(field,), since=since, stop=self._stop, each=False, among=few)
            if hits is None:
                return False
            last = yield from self._group(hits, tree, self._most)
            if last is not None:
                since = row_time(last)
                if is_dear(tree):
                    break
        return True

    def _group(self, hits: Iterable[Hit], tree: Tree, most: int | None) -> Generator[SourceMatch, None, int | None]:
        """The sessions of the newest hits; the row of the last one when `most` sessions were found before the end."""
        found = set[Place]()
        for hit in hits:
            if self._stop():
                return None
            place = (hit.agent, hit.path, hit.source_id, hit.session_id)
            summary = self._summary_of(hit, tree)
            if summary is None:
                continue
            if not hit.exact:
                self._suspects.add(place)
                continue
            if most is not None and place not in found and len(found) >= most:
                self.more = True
                return hit.row
            found.add(place)
            self._sure.add(place)
            self._times[summary.unified_id] = summary.updated_at
            number = self._numbers[place] = self._numbers.get(place, 0) + hit.number
            yield SourceMatch(summary, (_match_of(hit),), number)
        return None

    def _summary_of(self, hit: Hit, tree: Tree) -> SessionSummary | None:
        """The session of a hit, if it is searched for this, and the message counts."""
        summary = self._stores.by_place.get((hit.agent, hit.path, hit.source_id, hit.session_id))
        if summary is None or (hit.visibility == "rewound" and not self._rewound):
            return None
        return summary if self._decided.search_for(summary, tree) is not None else None

    # How well it fits --------------------------------------------------------------------------------------

    def fitting(self, most: int, among: Collection[Place] | None = None) -> Iterator[SourceMatch]:
        """After `run`: how well the messages fit that the index found, of the newest `most` rows that it has, of
        sessions `among` those alone. No text is read."""
        index, covered = self._index, self._covered
        if index is None or covered is None:
            return
        try:
            for tree in self._decided.trees:
                among = self._decided.few() if among is None else among
                hits = scored(index, tree, covered, self._weights, most, among, rewound=self._rewound)
                found = [(summary, hit, score) for hit, score in hits if (summary := self._summary_of(hit, tree))]
                best = best_of(((one, score) for one, _, score in found), self._most)
                self.more = self.more or len(best) == self._most
                for summary, hit, score in found:
                    if summary.unified_id in best and not self._decided.forbids(summary):
                        yield SourceMatch(summary, (_match_of(hit, score),))
        except IndexUnusable as error:
            self._coverage = replace(self._coverage, trouble=str(error))

    # Indexes of the stores themselves ----------------------------------------------------------------------

    def _own_indexes(self, unread: Sequence[SourceSessions]) -> Iterator[SourceMatch]:
        """What a store's own index finds counts, also where the words are in no text that we show."""
        open_places = {key_of(shelf.source) for shelf in unread}
        for search in self._decided.every:
            for shelf in () if search.forbids else self._stores.answering:
                wanted = {key: one for key, one in self._wanted(shelf).items() if one.search.tree == search.tree}
                adapter = self._adapter(shelf) if wanted else None
                if adapter is not None:
                    thorough = key_of(shelf.source) in open_places  # else our index has told already
                    yield from self._sift(own_rows(adapter, shelf, wanted, thorough, rewound=self._rewound))

    def _scan(self, shelf: SourceSessions, wanted: Mapping[str, Wanted]) -> Iterator[SourceMatch]:
        adapter = self._adapter(shelf)

        def missed(left: Sequence[str]) -> None:
            for session_id in left:  # nobody knows whether it is to be found
                self._dropped.add(self._stores.place(wanted[session_id].summary))

        if adapter is not None:
            yield from scan(
                adapter,
                shelf.source,
                wanted,
                self._report,
                self._stop,
                whole=shelf.whole and len(wanted) == len(shelf.sessions),
                rewound=self._rewound,
                stint=Stint() if shelf.cut else None,
                missed=missed,
            )

    def _adapter(self, shelf: SourceSessions) -> Adapter | None:
        try:
            return self._stores.adapter(shelf.source.agent)
        except AdapterBroken as error:
            self._report(Problem(agent=shelf.source.agent, path=shelf.source.path, reason=str(error)))
            return None

    def _report(self, problem: Problem) -> None:
        if len(self._problems) < 1000 and problem not in self._problems:
            self._problems.append(problem)


def _match_of(hit: Hit, score: float | None = None) -> Match:
    return Match(hit.message_id, hit.field, hit.role, hit.time, hit.visibility, score)
