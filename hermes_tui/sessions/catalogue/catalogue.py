"""All sessions of all agents, kept in memory and in a cache file, updated by stat.

Any thread may call any method. What is handed out is a `Snapshot`, which never changes; compare `version` to see
whether there is anything new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, filterfalse, takewhile
from pathlib import Path

from msgspec.structs import replace

from hermes_tui.errors import HermesTuiError
from hermes_tui.sessions.adapters import AdapterBroken, Adapters
from hermes_tui.sessions.catalogue import cache
from hermes_tui.sessions.catalogue.agent import AgentSessions, agents_of
from hermes_tui.sessions.catalogue.saved_list import SavedList
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.catalogue.sorted_sessions import SortedSessions
from hermes_tui.sessions.catalogue.source_listing import newest_sources
from hermes_tui.sessions.catalogue.unreadable import Key
from hermes_tui.sessions.marks import NO_ONE_MARKED, OwnMarks
from session_adapters.base import Adapter, Liveness, Source
from session_adapters.model import Problem, SessionSummary, unified_id

__all__ = ["READ_FIRST", "Catalogue"]

READ_FIRST = 60
"""Sources that are read first where nothing is known: more than a screen has lines, for some hold no session."""
_PROGRESS = 0.3  # the part of its time that a refresh reads in any case, however long what comes before took


class Catalogue:
    """The one list of sessions that both faces show."""

    def __init__(
        self,
        adapters: Adapters,
        cache_file: Path | None,
        marks: Callable[[], Mapping[str, OwnMarks]] = lambda: NO_ONE_MARKED,
    ) -> None:
        """`cache_file` None: nothing is kept between runs. `marks` gives the user's own by unified id, the same
        object while there are no others; it raises `HermesTuiError`."""
        self._adapters = adapters
        self._saved = SavedList(cache_file, of_all=adapters.asked is None)
        self._read_marks = marks
        self._marks: Mapping[str, OwnMarks] = NO_ONE_MARKED
        self._known_agents: dict[str, AgentSessions] | None = None
        self._foreign: list[cache.CachedSource] = []
        self._work = threading.RLock()  # `complete` holds it while it asks for a `refresh`
        self._closing = threading.Event()
        self._snapshot = Snapshot()
        self._sorted = SortedSessions()
        self._by_id: Mapping[str, SessionSummary] = {}
        self.seconds: float | None = None
        """Of the processor's time that each `refresh` may take until it has read files; None: as long as it takes."""
        self.shares = True  # equal strings are in memory once: a command that ends soon does without
        self._marks_problem: Problem | None = None
        self._published: tuple[object, ...] = (None, None, NO_ONE_MARKED)
        """What the latest snapshot shows besides sessions of the program's own: its problems, the marks."""

    @property
    def snapshot(self) -> Snapshot:
        """The latest one; empty before the first `saved` or `refresh`."""
        return self._snapshot

    def saved(self) -> Snapshot:
        """What was known when the program last ran, for the first picture; touches no store, imports no adapter."""
        with self._work:
            if not self._saved.is_loaded and not self._snapshot.version:
                wanted, picture = self._adapters.asked, self._saved.picture
                shown = tuple(one for one in picture.sessions if wanted is None or one.agent in wanted)
                if shown:
                    self._marks = picture.marks
                    self._sorted.take(shown, picture.marks)
                    partial = self._sorted.partial + picture.left
                    self._show(Snapshot(sessions=self._sorted.sessions, partial=partial))
            return self._snapshot

    @property
    def labels(self) -> Mapping[str, tuple[str, str]]:
        """Agent name → label and badge as last saved, for the first picture."""
        with self._work:
            return self._saved.picture.labels

    def glance(self) -> Snapshot:
        """Where nothing is known yet: read only what changed last, whosever it is, so that the beginning of the list
        can be shown long before all of it is read. Problems are left for `refresh` to tell."""
        with self._work:
            self._load()
            if any(state.entries for state in self._agents.values()):
                return self._snapshot
            newest = newest_sources(self._adapters, filterfalse(self._is_absent, self._agents), READ_FIRST)
            for agent, source in newest:
                self._agents[agent].begin(self._adapters.get(agent), source)
            self._relate({agent for agent, _ in newest})
            self._publish()
            if newest:
                self._saved.outdate()  # not before: half a list is not worth keeping
            return self._snapshot

    def refresh(
        self,
        agents: Iterable[str] | None = None,
        *,
        everywhere: bool = False,
        again: bool = False,
        written: Collection[str] = (),
    ) -> Snapshot:
        """Stat every source of `agents` (all if None) and read the ends of those that changed; `again`, also of those
        that could not be read, before it is their time. `written`: nothing else is different in the places of
        `agents` than these paths, so that where they are files of known sessions no others are looked at.

        Of agents that certainly have nothing here no places are told, unless `everywhere` is to be looked, or nobody
        has a session. Within `seconds` the newest are read; the snapshot says how many are `unread`, and the next
        refresh goes on. Raises `AgentNotFound`. Whatever else goes wrong is in the snapshot's `problems`.
        """
        wanted = self._wanted(agents)
        with self._work:
            begun = time.thread_time()
            self._load()
            absent = [] if everywhere else [agent for agent in wanted if self._is_absent(agent)]
            for agent in absent:
                self._agents[agent].absent(self._adapters.label(agent).label)
            self._look([agent for agent in wanted if agent not in absent], begun, again, written)
            if not any(state.related for state in self._agents.values()):
                self._look(absent, begun, again)
            return self._publish()

    def _is_absent(self, agent: str) -> bool:
        """Whether it is certain that it has nothing here, nor had when it was last looked at."""
        from session_adapters.presence import may_have_sessions

        return not self._agents[agent].entries and not may_have_sessions(agent, self._adapters.environment)

    def _look(self, agents: Iterable[str], begun: float, again: bool, written: Collection[str] = ()) -> None:
        seconds = self.seconds
        looked: list[tuple[int, AgentSessions, Adapter]] = []
        for agent in takewhile(lambda _: not self._closing.is_set(), agents):
            state = self._agents[agent]
            try:
                adapter = self._adapters.get(agent)
            except AdapterBroken as error:
                state.broken(str(error))
                continue
            looked.append((state.look(adapter, again=again, written=written), state, adapter))
        looked.sort(key=lambda one: one[0])  # what those that have little leave goes to the others
        until = max(begun, time.thread_time() - (1.0 - _PROGRESS) * (seconds or 0.0)) + (seconds or 0.0)
        for at, (_, state, adapter) in enumerate(looked):
            share = None if seconds is None else (until - time.thread_time()) / (len(looked) - at)
            if state.read_new(adapter, share, self._closing.is_set):
                self._saved.outdate()

    def refresh_processes(self) -> Snapshot:
        """Look only at which sessions a process has open; no store is looked at. Raises nothing."""
        with self._work:
            for agent, state in self._agents.items():
                # Where there are none, no process has one open.
                if state.entries and (adapter := self.adapter_of(agent)) is not None:
                    state.refresh_processes(adapter)
            return self._publish()

    def refresh_marks(self) -> Snapshot:
        """Look only at the user's own marks, which another program may have changed. Raises nothing."""
        with self._work:
            _, before, said = self._published
            if self.marks is before and self._marks_problem is said:
                return self._snapshot
            if self._saved.is_loaded and self._marks != before:
                self._saved.outdate()
            return self._publish()

    @property
    def marks(self) -> Mapping[str, OwnMarks]:
        """The user's own marks by unified id, as they are now; what is wrong with them is one of the problems. Waits
        for no look at the stores."""
        try:
            self._marks, self._marks_problem = self._read_marks(), None
        except HermesTuiError as error:
            if self._marks_problem is None or self._marks_problem.reason != str(error):
                self._marks_problem = Problem(agent="hermes-tui", path="", reason=str(error))
        return self._marks

    @property
    def processes(self) -> Mapping[str, Liveness]:
        """By unified id, the process that had a session open when that was last looked at."""
        with self._work:
            return {
                unified_id(agent, session_id): live
                for agent, state in self._agents.items()
                for session_id, live in state.live.items()
            }

    @property
    def lacks_process(self) -> bool:
        """Whether one of `processes` has ended since, as far as `/proc` tells."""
        with self._work:
            return any(state.lacks_process for state in self._agents.values())

    def adapter_of(self, agent: str) -> Adapter | None:
        """The adapter; None where it is broken, which `refresh` says."""
        with suppress(AdapterBroken):
            return self._adapters.get(agent)
        return None

    def complete(
        self, stop: Callable[[], bool], agents: Iterable[str] | None = None, only: Collection[str] | None = None
    ) -> Snapshot:
        """Read in full what was only read at its ends, newest first, until `stop()`, which is asked before each
        source; with `only` the sources of the sessions of these unified ids. Of a source with more sessions than can
        be listed nothing is. Others may use the catalogue meanwhile."""
        wanted = self._wanted(agents)
        with self._work:
            if fresh := [agent for agent in wanted if self._agents[agent].place is None]:
                self.refresh(fresh)
            todo = [(agent, *found) for agent in wanted for found in self._agents[agent].partial(only)]
        todo.sort(key=lambda item: -item[2].source.modified)
        for agent, key, entry in todo:
            if stop():
                break
            self._read_in_full(agent, key, entry)
        with self._work:
            self._relate(wanted)
            return self._publish()

    def summary(self, agent: str, session_id: str) -> SessionSummary | None:
        """The session in the latest snapshot, if it is there."""
        return self._by_id.get(unified_id(agent, session_id))

    def listed_in(self, agent: str, session_id: str) -> Source | None:
        """The file that a session has to itself, as it was last listed; None where the list cannot tell."""
        one, state = self.summary(agent, session_id), self._agents.get(agent)
        return state.source_of(one) if state is not None and one is not None else None

    def entries(self) -> list[cache.CachedSource]:
        """What each source held when it was last looked at, for what else is made of the sources."""
        with self._work:
            return [*chain.from_iterable(state.entries.values() for state in self._agents.values())]

    def update(self, counted: Iterable[tuple[cache.CachedSource, cache.CachedSource]]) -> None:
        """Put the second of each pair, of which the calls were read, in the place of the first, if that is still what
        is known of its source."""
        with self._work:
            for old, new in counted:
                self._agents[old.source.agent].update((old.source.path, old.source.session_id), old, new)

    @property
    def sums(self) -> bytes:
        """What was last added up of the calls, by this process or an earlier one; see `keep`."""
        with self._work:
            return self._saved.sums

    def keep(self, sums: Callable[[], bytes]) -> Problem | None:
        """Have what this gives written beside the calls that were read: at once the first time; it is asked when the
        file is written. What is wrong with the place."""
        with self._work:
            self._saved.keep(sums)
            self._save_if_due()
            return self._saved.problem

    def close(self) -> None:
        """Write what is not yet in the cache file; a `refresh` in another thread reads no more, the next goes on."""
        self._closing.set()
        with self._work:
            self._closing.clear()
            self._saved.hurry()
            self._save_if_due()

    # Inside -------------------------------------------------------------------------------------------------

    def _wanted(self, agents: Iterable[str] | None) -> Sequence[str]:
        wanted = tuple(self._agents) if agents is None else tuple(dict.fromkeys(agents))
        for agent in wanted:
            self._adapters.check(agent)
        return wanted

    @property
    def _agents(self) -> dict[str, AgentSessions]:
        """Made on first use: which agents there are takes a search of what is installed."""
        if self._known_agents is None:
            self._known_agents = agents_of(self._adapters.names)
        return self._known_agents

    def _load(self) -> None:
        """Read the cache file once."""
        if self._saved.is_loaded:
            return
        for entry in self._saved.load(self._agents):
            state = self._agents.get(entry.source.agent)
            if state is None:
                self._foreign.append(entry)  # of an agent left out this time: kept for the next
            else:
                state.restore(entry, shares=self.shares)

    def _relate(self, agents: Iterable[str]) -> None:
        for agent in agents:
            try:
                self._agents[agent].relate(self._adapters.get(agent))
            except AdapterBroken as error:
                self._agents[agent].broken(str(error))

    def _read_in_full(self, agent: str, key: Key, entry: cache.CachedSource) -> None:
        adapter = self.adapter_of(agent)
        if adapter is None:
            return
        exact = self._agents[agent].read(adapter, entry.source, exact=True).with_calls_of(entry)
        with self._work:  # not before: others may use the catalogue while a long file is read
            self._agents[agent].completed(key, entry, exact)
            self._saved.outdate()

    def _save_if_due(self) -> None:
        picture = partial(self._saved.new_picture, self._agents.values(), self._adapters.label, self._marks)
        self._saved.save_if_due(lambda: [*self.entries(), *self._foreign], picture)

    def _publish(self) -> Snapshot:
        self._save_if_due()
        shown = (self._saved.problem, self.marks, self._marks_problem)
        news = [state.take_news() for state in self._agents.values()]  # all are asked: each forgets its own by that
        if not any(news) and all(one is other for one, other in zip(shown, self._published, strict=True)):
            return self._snapshot
        states, self._published = self._agents.values(), shown
        self._saved.forget_shown(states)
        problems = sorted((one for state in states for one in state.problems), key=lambda one: (one.agent, one.path))
        everything = self._sorted
        everything.take(tuple(chain.from_iterable(state.sessions for state in states)), self._marks)
        self._show(
            Snapshot(
                sessions=everything.sessions,
                memories=everything.memories,
                problems=(*problems, *(one for one in (self._saved.problem, self._marks_problem) if one is not None)),
                places=tuple(state.place for state in states if state.place is not None),
                partial=everything.partial,
                unread=sum(state.unread for state in states),
            )
        )
        return self._snapshot

    def _show(self, snapshot: Snapshot) -> None:
        """Make `snapshot`, which has what is `_sorted`, the latest, unless nothing in it is new."""
        snapshot = replace(snapshot, version=self._snapshot.version)
        if snapshot != self._snapshot:
            self._snapshot = replace(snapshot, version=snapshot.version + 1)
            self._by_id = self._sorted.by_id
