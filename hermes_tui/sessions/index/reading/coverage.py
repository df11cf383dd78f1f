"""What an index has of every source, and how much of those that are asked about.

All of it is kept, so that a look costs as much as was written since the last one, into the index and into the stores:
the index tells which of its rows a later commit wrote, and sources are given in nearly the same order again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import apsw

from hermes_tui.changes import differences
from hermes_tui.sessions.index.schema import IndexUnusable
from hermes_tui.sessions.index.source_state import Key, Level, has_text_key, key_of
from session_adapters.base import Source
from session_adapters.model import Problem

__all__ = ["IndexCoverage", "Stock", "generation_of"]

_LEVELS = tuple(Level)
_NOT_THERE = (0, (), Level.NOTHING, 0, "")
_STATE = "SELECT (SELECT value FROM meta WHERE key='commits'), (SELECT value FROM meta WHERE key='struck')"
_SOURCES = "SELECT agent, path, native, id, stamp, level, again, lost FROM source WHERE changed > ?"


Known = dict[Key, tuple[int, tuple[int, ...], Level, int, str]]
"""Number of the source, its stamp, its level, the second up to which it is left alone, and what of it is lost."""


class IndexCoverage(NamedTuple):
    """How much of some sources the index answers for, as they are now."""

    generation: str
    levels: Mapping[Key, Level]
    """(agent, path, native id) → level; only those of which there is anything."""
    numbers: Mapping[int, Level]
    lost: Mapping[Key, str] = {}
    """What of a source could not be read when it was indexed."""
    complete: bool = False
    """Each of the sources is at `Level.ALL`."""

    def level(self, source: Source) -> Level:
        """How much of `source` there is."""
        return self.levels.get(key_of(source), Level.NOTHING)

    def problems(self, sources: Iterable[Source]) -> Iterator[Problem]:
        """What of `sources` could not be read when they were indexed."""
        if self.lost:
            for agent, path, session_id in self.lost.keys() & set(map(key_of, sources)):
                reason = self.lost[agent, path, session_id]
                yield Problem(agent=agent, path=path, reason=reason, session_id=session_id)

    def beyond(self, before: IndexCoverage) -> IndexCoverage:
        """The sources all of which is there now, and of which there was nothing before."""
        if self is before or self.generation != before.generation:
            return IndexCoverage(self.generation, {}, {})
        levels = {key: one for key, one in self.levels.items() if one is Level.ALL and key not in before.levels}
        numbers = {key: one for key, one in self.numbers.items() if one is Level.ALL and key not in before.numbers}
        return IndexCoverage(self.generation, levels, numbers, self.lost)


class Stock:
    """Of one index at a time. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin("")

    def _begin(self, generation: str) -> None:
        self._commits = -1
        self._known: Known = {}
        self._asked: tuple[Source, ...] = ()
        """What was last asked about."""
        self._sources: dict[Key, Source] = {}
        self._open: dict[Key, Source] = {}
        """Those of them that are not at `Level.ALL` as they are now."""
        self._coverage = IndexCoverage(generation, {}, {}, complete=True)

    def coverage(self, connection: apsw.Connection, sources: Iterable[Source]) -> IndexCoverage:
        """How much of `sources` there is; the same object again while nothing is different. Raises `apsw.Error` and
        `IndexUnusable`."""
        with self._lock:
            self._look(connection, sources)
            return self._coverage

    def lacking(self, connection: apsw.Connection, sources: Iterable[Source], now: float) -> list[Source]:
        """Those of which not everything is there as it is now, without what is left alone for a while: it
        could not be read as it is, or takes long. Raises `apsw.Error` and `IndexUnusable`."""
        with self._lock:
            self._look(connection, sources)
            return [source for source in self._open.values() if self._lacks(source, now)]

    def _lacks(self, source: Source, now: float) -> bool:
        found = self._known.get(key_of(source))
        if found is None:
            return has_text_key(source)  # another can never be put in
        _, stamp, level, again, _ = found
        if level == Level.NOTHING:  # it could not be read
            return stamp != source.stamp or now >= again
        return (stamp != source.stamp or level == Level.PROSE) and now >= again

    # Keeping up --------------------------------------------------------------------------------------------

    def _look(self, connection: apsw.Connection, sources: Iterable[Source]) -> None:
        generation = generation_of(connection)
        commits, struck = next(connection.execute(_STATE))
        # What was taken out since is in no row that could be asked for: all is begun anew.
        if generation != self._coverage.generation or struck > self._commits:
            self._begin(generation)
        there = tuple(sources)
        gone, fresh = differences(self._asked, there)
        self._asked = there
        changed = dict.fromkeys(map(key_of, gone))
        for key in changed:
            self._sources.pop(key, None)
        for source in fresh:
            key = key_of(source)
            changed.pop(key, None)  # its strings are of one that is there no more
            changed[key] = None
            self._sources[key] = source
        if commits != self._commits:
            rows = connection.execute(_SOURCES, (self._commits,))
            for agent, path, native, number, text, level, again, lost in rows:
                key, stamp = (agent, path, native), tuple(map(int, text.split()))
                if (known := self._sources.get(key)) is not None:
                    # What it has already: at first these are as many as there are sessions.
                    key, stamp = key_of(known), known.stamp if known.stamp == stamp else stamp
                changed[key] = None
                self._known[key] = (number, stamp, _LEVELS[level], again, lost)
            self._commits = commits
        if changed:
            self._renew(changed)

    def _renew(self, changed: Iterable[Key]) -> None:
        """Say anew what there is of some sources. Their keys are made of their own strings: one copy is enough."""
        levels, numbers = dict(self._coverage.levels), dict(self._coverage.numbers)
        all_lost = dict(self._coverage.lost)
        sources, all_known = self._sources, self._known
        for key in changed:  # thousands, at first
            source = sources.get(key)
            number, stamp, level, again, lost = all_known.pop(key, _NOT_THERE)
            if number:
                stamp = source.stamp if source is not None and source.stamp == stamp else stamp
                all_known[key] = (number, stamp, level, again, lost)
            if source is None or stamp is not source.stamp:  # the very same, where it was equal
                level = Level.NOTHING
            if level is not Level.NOTHING:
                levels[key] = numbers[number] = level
            elif levels.pop(key, None) is not None:
                del numbers[number]
            if all_lost:
                all_lost.pop(key, None)
            if lost and level is not Level.NOTHING:
                all_lost[key] = lost
            if source is None or level is Level.ALL:
                self._open.pop(key, None)
            else:
                self._open[key] = source
        self._coverage = IndexCoverage(self._coverage.generation, levels, numbers, all_lost, not self._open)


def generation_of(connection: apsw.Connection) -> str:
    """What tells an index from one that is made anew. Raises `IndexUnusable` while there is nothing in it."""
    found = connection.execute("SELECT value FROM meta WHERE key='generation'").get
    if not isinstance(found, str):
        raise IndexUnusable("there is nothing in it yet")
    return found
