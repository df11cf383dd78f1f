"""What an index has of every source, and how much of those that are asked about.

All of it is kept, so that a look costs as much as was written since the last one, into the index and into the stores:
the index tells which of its rows a later commit wrote, and a source that did not change is the same object again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import apsw

from hermes_tui.sessions.index.answers import Coverage, Known
from hermes_tui.sessions.index.schema import IndexUnusable
from hermes_tui.sessions.index.standing import Level, key_of
from session_adapters.base import Source

__all__ = ["Stock", "generation_of"]

_LEVELS = tuple(Level)
_STATE = "SELECT (SELECT value FROM meta WHERE key='commits'), (SELECT value FROM meta WHERE key='struck')"
_SOURCES = "SELECT agent, path, native, id, stamp, level, again FROM source WHERE changed > ?"


class Stock:
    """Of one index at a time. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin("")

    def _begin(self, generation: str) -> None:
        self._commits = -1
        self._known: Known = {}
        self._asked: Sequence[Source] = ()
        """What was last asked about."""
        self._sources: dict[int, Source] = {}
        """The same by identity."""
        self._open: dict[int, Source] = {}
        """Those that are not at `Level.ALL` as they are now."""
        self._coverage = Coverage(generation, {}, {})

    def coverage(self, connection: apsw.Connection, sources: Sequence[Source]) -> Coverage:
        """How much of `sources` there is; the same object again while nothing is different. Raises `apsw.Error` and
        `IndexUnusable`."""
        with self._lock:
            self._look(connection, sources)
            return self._coverage

    def lacking(self, connection: apsw.Connection, sources: Sequence[Source], now: float) -> list[Source]:
        """Those of which not everything is there as it is now, without what could not be read as it is, and what is
        left alone for a while. Raises `apsw.Error` and `IndexUnusable`."""
        with self._lock:
            self._look(connection, sources)
            return [source for source in self._open.values() if self._lacks(source, now)]

    def _lacks(self, source: Source, now: float) -> bool:
        found = self._known.get(key_of(source))
        if found is None:
            return True
        _, stamp, level, again = found
        return (stamp != source.stamp or level == Level.PROSE) and now >= again

    # Keeping up --------------------------------------------------------------------------------------------

    def _look(self, connection: apsw.Connection, sources: Sequence[Source]) -> None:
        written = self._read(connection)
        if not written and sources is self._asked and isinstance(sources, tuple):
            return
        there = dict(zip(map(id, sources), sources, strict=True))
        gone = [self._sources[one] for one in self._sources.keys() - there.keys()]
        fresh = [there[one] for one in there.keys() - self._sources.keys()]
        if written and self._sources:
            fresh += [source for source in sources if source.path in written]
        self._asked, self._sources = sources, there
        if gone or fresh:
            self._renew(gone, fresh)

    def _read(self, connection: apsw.Connection) -> set[str]:
        """Bring up to date what is known; the paths of which something was written since."""
        generation = generation_of(connection)
        commits, struck = next(connection.execute(_STATE))
        if generation != self._coverage.generation or struck > self._commits:
            self._begin(generation)
        elif commits == self._commits:
            return set()
        written = {
            (agent, path, native): (number, tuple(map(int, stamp.split())), _LEVELS[level], again)
            for agent, path, native, number, stamp, level, again in connection.execute(_SOURCES, (self._commits,))
        }
        self._known.update(written)
        self._commits = commits
        return {path for _, path, _ in written}

    def _renew(self, gone: Iterable[Source], fresh: Iterable[Source]) -> None:
        levels, numbers = dict(self._coverage.levels), dict(self._coverage.numbers)
        known, unfinished = self._known, self._open
        for source in gone:
            key = key_of(source)
            unfinished.pop(id(source), None)
            if levels.pop(key, None) is not None:
                del numbers[known[key][0]]
        for source in fresh:
            key = key_of(source)
            found = known.get(key)
            level = found[2] if found is not None and found[1] == source.stamp else Level.NOTHING
            if found is not None and level:
                levels[key] = numbers[found[0]] = level
            elif levels.pop(key, None) is not None:
                del numbers[known[key][0]]
            if level is Level.ALL:
                unfinished.pop(id(source), None)
            else:
                unfinished[id(source)] = source
        whole = bool(levels) and not any(key_of(source) in levels for source in unfinished.values())
        self._coverage = Coverage(self._coverage.generation, levels, numbers, whole)


def generation_of(connection: apsw.Connection) -> str:
    """What tells an index from one that is made anew. Raises `IndexUnusable` while there is nothing in it."""
    found = connection.execute("SELECT value FROM meta WHERE key='generation'").get
    if not isinstance(found, str):
        raise IndexUnusable("there is nothing in it yet")
    return found
