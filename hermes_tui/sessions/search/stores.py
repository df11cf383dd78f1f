"""The program's sessions as a search needs them: by source."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, cached_property
from heapq import merge
from typing import NamedTuple

from hermes_tui.errors import AgentNotFound
from hermes_tui.sessions.adapters import AdapterBroken, Adapters
from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.catalogue.snapshot import newest_first
from hermes_tui.sessions.index.reading.reader import IndexCoverage, Place, SearchIndex
from hermes_tui.sessions.index.source_state import Level, key_of
from hermes_tui.sessions.query.filters import SessionFilter
from hermes_tui.sessions.search.gathering import Kin
from hermes_tui.sessions.search.grouping import root_of
from hermes_tui.sessions.search.titles import Titles
from session_adapters.base import Adapter, Source
from session_adapters.model import SessionSummary, unified_id
from session_adapters.reading.bounds import is_cut
from session_adapters.text import scrub

__all__ = ["CatalogueStores", "Place", "SourceSessions", "by_age"]

_KEPT = 8
"""Filters of which it is kept what passes them."""


class SourceSessions(NamedTuple):
    """A source and the sessions in it."""

    source: Source
    sessions: tuple[SessionSummary, ...]
    """As the list shows them: with their relations."""
    whole: bool
    """It holds no others."""
    named: str = ""
    """Native id that the source has for its only session, where the list has another."""
    cut: bool = False
    """The list of its sessions had to be cut: there are more than anybody has."""

    def place(self, one: SessionSummary) -> Place:
        """Where a session of it is, as the index has it."""
        return (*key_of(self.source), self.named or one.session_id)


class CatalogueStores:
    """The sessions of the catalogue, as of one moment."""

    def __init__(
        self,
        catalogue: Catalogue,
        adapters: Adapters,
        agents: Sequence[str] | None = None,
        dress: Callable[[Sequence[SessionSummary]], tuple[Sequence[SessionSummary], int]] = lambda all_: (all_, 0),
    ) -> None:
        """What the catalogue knows by now of `agents` (None: all), with what `dress` fills in. Bring it up to date
        before."""
        self._adapter = cache(adapters.get)  # which looks at the whole environment each time
        wanted = None if agents is None else frozenset(agents)
        snapshot = catalogue.snapshot
        known = (
            merge(snapshot.sessions, snapshot.memories, key=newest_first) if snapshot.memories else snapshot.sessions
        )
        there = [one for one in known if not one.gone and (wanted is None or one.agent in wanted)]
        self._undressed, self._dress = there, dress
        dressed, self.unpriced = dress(there)
        self.sessions = tuple(dressed)
        """Newest first."""
        entries = [one for one in catalogue.entries() if wanted is None or one.source.agent in wanted]
        self._shelves = tuple(_shelves(self.sessions, entries))
        self.unread = tuple(problem for entry in entries if entry.problems or entry.stale for problem in entry.unread)
        """Why the list lacks sessions of some sources, or all."""
        self.waiting = snapshot.unread
        """Files, of any agent, that the list does not know yet."""
        self.sources = tuple(shelf.source for shelf in self._shelves)
        self._places = {one.unified_id: at for at, one in enumerate(self.sessions)}
        """Unified id → where the session stands among them."""
        self._shelf_of = array("L", [len(self._shelves)]) * len(self.sessions)
        """For each session the number of its shelf; one too large where it is on none."""
        for number, shelf in enumerate(self._shelves):
            for one in shelf.sessions:
                self._shelf_of[self._places[one.unified_id]] = number
        self._verdicts: dict[SessionFilter, Sequence[bool]] = {}
        self._uncovered: tuple[IndexCoverage, tuple[SourceSessions, ...]] | None = None

    @property
    def is_priced_as_now(self) -> bool:
        """The costs that are known are the same still: they come in while the list stays."""
        dressed, unpriced = self._dress(self._undressed)
        return unpriced == self.unpriced and all(
            one.cost == known.cost for one, known in zip(dressed, self.sessions, strict=True)
        )

    def shelves(self, places: Sequence[int] | None = None) -> Sequence[SourceSessions]:
        """Every source with its sessions, the newest first; where places in the list are given, those of what stands
        there alone."""
        if places is None or len(places) == len(self.sessions):
            return self._shelves
        wanted = set(map(self._shelf_of.__getitem__, places)) - {len(self._shelves)}
        return [self._shelves[number] for number in sorted(wanted)]

    def shelf(self, unified: str) -> SourceSessions:
        """Where the session is. Raises `LookupError`."""
        return self._shelves[self._shelf_of[self._places[unified]]]

    def place(self, summary: SessionSummary) -> int:
        """Where it stands among the sessions."""
        return self._places[summary.unified_id]

    @cached_property
    def kin(self) -> Kin:
        """Conversations by `root_of`."""
        return Kin(self.sessions, self._places, root_of)

    @cached_property
    def kin_with_helpers(self) -> Kin:
        """Conversations by `started_by`."""
        return Kin(self.sessions, self._places, self.started_by)

    @cached_property
    def titles(self) -> Titles[SessionSummary]:
        """All titles, as they are searched: a name of the user's own, and the agent's. Not one that says what is in
        the rows of another session."""
        named: list[tuple[SessionSummary, str]] = []
        for one in self.sessions:
            text = one.title
            if one.repeated and one.agent_title is None:
                text = ""
            elif one.agent_title and not one.repeated:
                text = f"{one.title}\n{one.agent_title}"
            named.append((one, text if one.repeated else text.rstrip()))  # itself, mostly
        return Titles(named)

    def get_ready(self, index: SearchIndex | None) -> None:
        """Do now what the first question would have to wait for."""
        _ = self.titles, self.by_place, self.answering
        if index is not None:
            index.coverage(self.sources)

    def verdicts(self, condition: SessionFilter) -> Sequence[bool]:
        """Which of the sessions pass a filter. Kept while somebody types the words behind a filter."""
        found = self._verdicts.get(condition)
        if found is None:
            found = self._verdicts[condition] = [condition.passes(one) for one in self.sessions]
            while len(self._verdicts) > _KEPT:
                self._verdicts.pop(next(iter(self._verdicts)), None)
        return found

    @cached_property
    def by_place(self) -> Mapping[Place, SessionSummary]:
        """The session that is in a place."""
        return {shelf.place(one): one for shelf in self._shelves for one in shelf.sessions}

    def places(self, unified_ids: Iterable[str]) -> Sequence[Place]:
        """Where sessions are, as `by_place` has it."""
        shelves = ((self.shelf(one), one.partition(":")[2]) for one in unified_ids)
        return [(*key_of(shelf.source), shelf.named or native) for shelf, native in shelves]

    @cached_property
    def answering(self) -> Sequence[SourceSessions]:
        """Those with an index of their own."""
        asked: set[str] = set()
        for agent in {shelf.source.agent for shelf in self._shelves}:
            with suppress(AdapterBroken):  # said when its sessions are searched
                if self.adapter(agent).has_index:
                    asked.add(agent)
        return [shelf for shelf in self._shelves if shelf.source.agent in asked]

    def uncovered(self, coverage: IndexCoverage) -> Sequence[SourceSessions]:
        """Those for which our index does not answer in full."""
        if coverage.complete:
            return ()
        known = self._uncovered
        if known is None or known[0] is not coverage:
            left = tuple(shelf for shelf in self._shelves if coverage.level(shelf.source) != Level.ALL)
            known = self._uncovered = (coverage, left)
        return known[1]

    def adapter(self, agent: str) -> Adapter:
        """Raises `AdapterBroken`."""
        try:
            return self._adapter(agent)
        except AgentNotFound:
            raise LookupError(f"no adapter is called {agent!r}") from None

    def started_by(self, summary: SessionSummary) -> tuple[str, str]:
        """As `root_of`, but that a helper's own session counts as part of the conversation that started it."""
        seen = {summary.session_id}
        while summary.kind == "subagent" and summary.parent_id and summary.parent_id not in seen:
            place = self._places.get(unified_id(summary.agent, summary.parent_id))
            if place is None:
                break
            summary = self.sessions[place]
            seen.add(summary.session_id)
        return root_of(summary)

    def conversation(self, summary: SessionSummary) -> list[SessionSummary]:
        """All parts of the conversation that the session is part of, oldest first."""
        return sorted(self._by_root.get(root_of(summary), (summary,)), key=by_age)

    @cached_property
    def _by_root(self) -> Mapping[tuple[str, str], Sequence[SessionSummary]]:
        """Of conversations in several parts, which few are."""
        found: dict[tuple[str, str], list[SessionSummary]] = {
            (one.agent, one.lineage_id): [] for one in self.sessions if one.lineage_id
        }
        for one in self.sessions:
            for root in {one.session_id, one.lineage_id or one.session_id}:
                if (parts := found.get((one.agent, root))) is not None:
                    parts.append(one)
        return found


def by_age(one: SessionSummary) -> tuple[datetime, datetime, str]:
    """Puts the parts of a conversation in order, the oldest first."""
    return one.created_at, one.updated_at, one.session_id


def _shelves(sessions: Iterable[SessionSummary], entries: Sequence[CachedSource]) -> Iterable[SourceSessions]:
    """Each session on one shelf, though copies of it may lie in several sources. The sessions are given newest first,
    and so are the shelves, each by its newest one."""
    there: dict[str, int] = {}
    """The first entry with a session."""
    copied: dict[str, list[int]] = {}
    """All, of one that is in several."""
    for number, entry in enumerate(entries):
        for one in entry.summaries:
            first = there.setdefault(one.unified_id, number)
            if first != number:
                copied.setdefault(one.unified_id, [first]).append(number)
    # Where comparing the sessions gave one another file, that is the file with its messages.
    by_path = {scrub(entry.source.path): number for number, entry in enumerate(entries)}
    held: dict[int, list[SessionSummary]] = {}
    for summary in sessions:
        name, path = summary.unified_id, summary.path
        place = there.get(name)
        if place is None:  # two sessions were given one id: the list tells them apart
            place = by_path.get(path)
        elif name in copied or entries[place].source.path != path:
            with_path = (
                number
                for number in copied.get(name, (place,))
                if any(one.unified_id == name and one.path == path for one in entries[number].summaries)
            )
            place = next(with_path, by_path.get(path, place))
        if place is not None:
            held.setdefault(place, []).append(summary)
    for number, kept in held.items():
        entry = entries[number]
        whole = len(kept) == len(entry.summaries)
        renamed = kept[0].unified_id not in there
        own = entry.summaries[0].session_id if renamed and whole and len(kept) == 1 else ""
        renamed = renamed and own != kept[0].session_id
        cut = bool(entry.problems) and is_cut(entry.problems)
        yield SourceSessions(entry.source, tuple(kept), whole and not renamed, own if renamed else "", cut)
