"""All sessions of all agents: kept in memory and in a cache file of ours, brought up to date by `stat`.

Any thread may call any method. What is handed out is a `Snapshot`, which never changes; compare `version` to see
whether there is anything new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from hermes_tui.sessions import cache
from hermes_tui.sessions.adapters import AdapterBroken, Adapters
from hermes_tui.sessions.agent import AgentSessions, Key, read
from hermes_tui.sessions.snapshot import Snapshot, newest_first
from session_adapters.model import Problem, SessionSummary, unified_id

__all__ = ["Catalogue"]

_SAVE_EVERY = 60.0
"""Seconds between two writes of the cache file while sessions keep changing."""


class Catalogue:
    """The one list of sessions that both faces show."""

    def __init__(self, adapters: Adapters, cache_file: Path | None) -> None:
        """`cache_file` None: nothing is kept between runs."""
        self._adapters = adapters
        self._file = cache_file
        self._agents = {name: AgentSessions(name) for name in adapters.names}
        self._foreign: list[cache.Entry] = []
        self._work = threading.RLock()
        self._snapshot = Snapshot()
        self._by_id: dict[str, SessionSummary] = {}
        self._loaded = False
        self._unsaved = False
        self._saved_at: float | None = None
        self._own_problem: Problem | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The latest one; empty before the first `saved` or `refresh`."""
        return self._snapshot

    def saved(self) -> Snapshot:
        """What was known when the program last ran, for the first picture; touches no store. After a `refresh`
        the latest snapshot."""
        with self._work:
            if not self._loaded and self._load():
                for agent, state in self._agents.items():
                    if state.entries:
                        self._relate(agent, state)
                self._publish()
            return self._snapshot

    def refresh(self, agents: Iterable[str] | None = None) -> Snapshot:
        """Stat every source of `agents` (all if None) and read the ends of those that changed.

        Raises `AgentNotFound`. Whatever else goes wrong is in the snapshot's `problems`.
        """
        wanted = self._wanted(agents)
        with self._work:
            self._load()
            for agent in wanted:
                state = self._agents[agent]
                try:
                    adapter = self._adapters.get(agent)
                except AdapterBroken as error:
                    state.broken(str(error))
                    continue
                self._unsaved = state.refresh(adapter) or self._unsaved
            self._save_if_due()
            return self._publish()

    def complete(self, stop: Callable[[], bool], agents: Iterable[str] | None = None) -> Snapshot:
        """Read in full what was only read at its ends, newest first, until `stop()`, which is asked before each
        source. Others may use the catalogue meanwhile."""
        wanted = self._wanted(agents)
        with self._work:
            fresh = [agent for agent in wanted if self._agents[agent].place is None]
            if fresh:
                self.refresh(fresh)
            todo = [
                (agent, key, entry)
                for agent in wanted
                for key, entry in self._agents[agent].entries.items()
                if not entry.exact and any(summary.partial for summary in entry.summaries)
            ]
        todo.sort(key=lambda item: -item[2].source.modified)
        for agent, key, entry in todo:
            if stop():
                break
            self._read_in_full(agent, key, entry)
        with self._work:
            for agent in wanted:
                self._relate(agent, self._agents[agent])
            self._save_if_due()
            return self._publish()

    def summary(self, agent: str, session_id: str) -> SessionSummary | None:
        """The session in the latest snapshot, if it is there."""
        return self._by_id.get(unified_id(agent, session_id))

    def close(self) -> None:
        """Write what is not yet in the cache file."""
        with self._work:
            self._saved_at = None
            self._save_if_due()

    # Inside -------------------------------------------------------------------------------------------------

    def _wanted(self, agents: Iterable[str] | None) -> Sequence[str]:
        wanted = tuple(self._agents) if agents is None else tuple(dict.fromkeys(agents))
        for agent in wanted:
            self._adapters.check(agent)
        return wanted

    def _load(self) -> bool:
        """Read the cache file once; whether it held anything for the agents in use."""
        if self._loaded:
            return False
        self._loaded = True
        for entry in cache.load(self._file) if self._file else ():
            state = self._agents.get(entry.source.agent)
            if state is None:
                self._foreign.append(entry)  # of an agent left out this time: kept for the next
            else:
                state.restore(entry)
        return any(state.entries for state in self._agents.values())

    def _relate(self, agent: str, state: AgentSessions) -> None:
        try:
            state.relate(self._adapters.get(agent))
        except AdapterBroken as error:
            state.broken(str(error))

    def _read_in_full(self, agent: str, key: Key, entry: cache.Entry) -> None:
        try:
            adapter = self._adapters.get(agent)
        except AdapterBroken:
            return  # `_relate` says so
        exact = read(adapter, entry.source, exact=True)
        with self._work:
            self._agents[agent].update(key, entry, exact)
            self._unsaved = True

    def _save_if_due(self) -> None:
        now = time.monotonic()
        if not self._unsaved or self._file is None:
            return
        if self._saved_at is not None and now - self._saved_at < _SAVE_EVERY:
            return
        self._saved_at = now
        self._unsaved = False
        kept = [entry for state in self._agents.values() for entry in state.entries.values()]
        try:
            cache.save(self._file, [*kept, *self._foreign])
            self._own_problem = None
        except OSError as error:
            reason = f"the list of sessions cannot be kept for the next start: {error.strerror or error}"
            self._own_problem = Problem(agent="hermes-tui", path=str(self._file), reason=reason)

    def _publish(self) -> Snapshot:
        states = self._agents.values()
        by_id = {one.unified_id: one for state in states for one in state.sessions}
        problems = sorted(
            (problem for state in states for problem in state.problems),
            key=lambda problem: (problem.agent, problem.path),
        )
        if self._own_problem is not None:
            problems.append(self._own_problem)
        snapshot = Snapshot(
            sessions=tuple(sorted(by_id.values(), key=newest_first)),
            problems=tuple(problems),
            places=tuple(state.place for state in states if state.place is not None),
            partial=sum(one.partial for one in by_id.values()),
            version=self._snapshot.version,
        )
        if snapshot != self._snapshot:
            self._snapshot = replace(snapshot, version=snapshot.version + 1)
            self._by_id = by_id
        return self._snapshot
