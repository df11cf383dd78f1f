"""What is known of one agent's sessions, and how that is brought up to date."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import PurePath
from typing import NamedTuple

from msgspec.structs import replace

from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.growing_sessions import WarmCounters
from hermes_tui.sessions.catalogue.interning import share_strings
from hermes_tui.sessions.catalogue.read_source import failure, is_left, is_torn, read_source
from hermes_tui.sessions.catalogue.related_sessions import RelatedSessions
from hermes_tui.sessions.catalogue.snapshot import AgentPlace
from hermes_tui.sessions.catalogue.source_listing import SourceListing, written_sources
from hermes_tui.sessions.catalogue.unreadable import Key, Unreadable
from session_adapters.base import Adapter, Liveness, Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.bounds import TOO_MANY, Stint, is_cut

__all__ = ["AgentSessions", "agents_of"]


_UNSHARED = 20_000
"""Sources that are kept as they come out of the file where nobody asks for less: to share strings takes longer."""


_Found = dict[Key, CachedSource | None]
"""What is known of each source; None of one that is new."""
_Todo = tuple[Key, Source, bool]
"""What is to be read, and whether in full."""


class _Looked(NamedTuple):
    """What one look at an agent's places found."""

    found: _Found
    todo: list[_Todo]
    gone: bool
    """A source is not there any more, or not listed."""
    left_out: Collection[str]
    """Native ids of the sessions that were listed and had to make room."""
    problems: tuple[Problem, ...]
    place: AgentPlace | None
    few: bool = False
    """Nothing else is different from what is known."""


class AgentSessions:
    """One agent's sources and sessions. Not thread-safe: the catalogue holds its lock around every call."""

    def __init__(self, agent: str, warm: WarmCounters) -> None:
        self.agent = agent
        self._warm = warm
        self.entries: dict[Key, CachedSource] = {}
        self.place: AgentPlace | None = None
        """Where it was looked; None before the first `read_new`."""
        self.unread = 0
        """Sources that the last `read_new` had no time for: they are not listed, or as they were."""
        self._looked = _Looked({}, [], False, (), (), None)
        self._related = RelatedSessions(agent)
        self._unreadable = Unreadable[Key]()
        self._live: Mapping[str, Liveness] = {}
        self._proc = ""
        """Where they were looked for."""
        self._listing: tuple[Problem, ...] = ()
        self._troubled: dict[Key, Sequence[Problem]] = {}
        """What is wrong with sources."""
        self._waiting: set[Key] = set()
        """Sources that are looked at again though nobody writes to them."""
        self._stale = False
        """The sessions are to be compared anew."""
        self._grown: list[tuple[CachedSource, CachedSource]] = []
        """Sources as they were when that was last done, and as they are now."""
        self._news = False

    @property
    def problems(self) -> Iterable[Problem]:
        """What could not be listed, read or related."""
        yield from self._listing
        for some in self._troubled.values():
            yield from some
        yield from self._related.problems

    @property
    def related(self) -> tuple[SessionSummary, ...]:
        """Those there are, as the adapter compared them."""
        return self._related.present

    @property
    def sessions(self) -> tuple[SessionSummary, ...]:
        """Those there are, with their processes, then those that are gone; the same object while they are."""
        return self._related.shown(self._live)

    @property
    def live(self) -> Mapping[str, Liveness]:
        """By native id, the process that had the session open when that was last looked at."""
        return self._live

    @property
    def lacks_process(self) -> bool:
        """Whether one of them has ended since, as far as `/proc` tells."""
        # As text: it is asked every second, and a `Path` of each takes longer than to ask.
        if not self._live or not os.path.isdir(self._proc):  # noqa: PTH112
            return False
        return not all(os.path.isdir(f"{self._proc}/{one.pid}") for one in self._live.values() if one.pid)  # noqa: PTH112

    def take_news(self) -> bool:
        """Whether `sessions`, `problems` or `place` may differ from what they were when this was last asked."""
        news, self._news = self._news, False
        return news

    def restore(self, entry: CachedSource, *, shares: bool = True) -> None:
        """Take over what was known when the program last ran; its strings are those of others, with `shares` and
        where there are many."""
        if shares or len(self.entries) >= _UNSHARED:
            share_strings(entry)
        self._put((entry.source.path, entry.source.session_id), entry)
        self._stale = True

    def _put(self, key: Key, entry: CachedSource) -> None:
        self.entries[key] = entry
        self._note(key, entry)

    def _note(self, key: Key, entry: CachedSource) -> None:
        """Note what is to be told of it, and whether it is to be looked at again."""
        if problems := entry.stale or entry.problems:
            self._troubled[key] = problems
        else:
            self._troubled.pop(key, None)
        (self._waiting.add if entry.waits else self._waiting.discard)(key)

    def begin(self, adapter: Adapter, source: Source) -> None:
        """Read one before the first `look`."""
        self.restore(self._kept((source.path, source.session_id), None, self.read(adapter, source)))

    def source_of(self, one: SessionSummary) -> Source | None:
        """The source that holds a session and nothing else; None where that cannot be told without a look."""
        entry = self.entries.get((one.path, one.session_id)) or self.entries.get((one.path, ""))
        if entry is None or [summary.session_id for summary in entry.summaries] != [one.session_id]:
            return None
        return entry.source

    def update(self, key: Key, old: CachedSource, new: CachedSource) -> None:
        """Put `new` in the place of `old`, unless something newer is there by now."""
        if self.entries.get(key) is old:
            self._put(key, new)
            if new.summaries is not old.summaries:
                self._grown.append((old, new))

    def completed(self, key: Key, old: CachedSource, new: CachedSource) -> None:
        """The same with what was just read in full: where that failed, `old` stays."""
        self.update(key, old, self._kept(key, old, new))

    def partial(self, only: Collection[str] | None = None) -> Iterator[tuple[Key, CachedSource]]:
        """The sources that were read at their ends only and can be read in full, of these sessions (unified ids)."""
        for key, entry in self.entries.items():
            wanted = any(one.partial and (only is None or one.unified_id in only) for one in entry.summaries)
            if wanted and not entry.exact and self._unreadable.is_due(key) and not is_cut(entry.problems):
                yield key, entry

    def _kept(self, key: Key, known: CachedSource | None, new: CachedSource) -> CachedSource:
        """`new`; where it could not be read what was `known`, with the reason: its sessions are not gone."""
        share_strings(new, known)
        if new.is_unreadable:
            self._unreadable.failed(key, new.source)
            new = new if known is None or not known.summaries else replace(known, stale=new.problems)
        else:
            self._unreadable.read(key)
        self._news = self._news or new != known
        return new

    def broken(self, reason: str) -> None:
        """The adapter cannot be used: say so, and list nothing of this agent."""
        self.place = AgentPlace(agent=self.agent, label=self.agent)
        self.unread = 0
        self._listing = (Problem(agent=self.agent, path="", reason=reason),)
        self.entries.clear()
        self._troubled.clear()
        self._waiting.clear()
        self._related.clear()
        self._news = True

    def absent(self, label: str) -> None:
        """It certainly has nothing here: its places need no look."""
        if self.place is None or self._listing or self.unread:
            self.place = AgentPlace(agent=self.agent, label=label)
            self._listing, self.unread, self._news = (), 0, True

    def look(self, adapter: Adapter, *, again: bool, written: Collection[str] = ()) -> int:
        """Stat all sources, or those that are `written`; how many are new or changed. `read_new` must follow. For
        `again` and `written` see `Catalogue.refresh`."""
        if written and self.place is not None and not self.unread:
            also = self._waiting.union(key for key in self._unreadable if key in self.entries)
            few = written_sources(written, self.place.roots, self.entries, also)
            if few is not None:
                found, todo = self._compared(few, again)
                self._looked = _Looked(found, todo, False, (), self._listing, self.place, few=True)
                return len(todo)
        problems: list[Problem] = []
        failures: list[Exception] = []
        listing = SourceListing(lambda: adapter.sources(problems.append), failures)
        found, todo = self._compared(listing.first(), again)
        if listing.more:
            problems.clear()  # what is wrong is told again when all are listed once more
            found, todo = self._compared(listing.newest(), again)
        try:
            roots = tuple(adapter.roots())
        except Exception as error:
            roots = self.place.roots if self.place else ()
            failures.append(error)
        problems += [failure(self.agent, "", "listing its sessions", error) for error in failures]
        hidden = {problem.path for problem in problems if problem.path}
        gone = False
        left_out: set[str] = set()
        for key in self.entries.keys() - found.keys():
            # Not seen because of an unreadable directory, or of newer ones, is not the same as gone.
            entry = self.entries[key]
            if failures or (hidden and not hidden.isdisjoint((key[0], *map(str, PurePath(key[0]).parents)))):
                found[key] = entry
                continue
            gone = True
            left_out.update(entry.names if listing.left and os.path.lexists(key[0]) else ())
        if listing.left:
            reason = f"{TOO_MANY}: {listing.left:,} older files are left out"
            problems.append(Problem(agent=self.agent, path="", reason=reason))
        place = AgentPlace(agent=self.agent, label=adapter.label, roots=roots)
        self._looked = _Looked(found, todo, gone, left_out, tuple(problems), place)
        return len(todo)

    def _compared(self, sources: Iterable[Source], again: bool) -> tuple[_Found, list[_Todo]]:
        """What is known of each source, and what is to be read."""
        found: _Found = {}
        todo: list[_Todo] = []
        for source in sources:
            key = (source.path, source.session_id)
            known = self.entries.get(key)
            if known is not None:  # the strings that are there already
                key = (known.source.path, known.source.session_id)
            if key in self._unreadable:
                if again or self._unreadable.is_due(key, source):
                    todo.append((key, source, False))
            elif known is None or known.source.stamp != source.stamp:
                todo.append((key, source, False))
            elif known.waits and is_left(source):
                if is_torn(source):
                    todo.append((key, source, known.exact))
                else:
                    known = replace(known, waits=False)
            elif known.source != source:
                known = replace(known, source=source)
            found[key] = known  # in the order of the listing, also where it is read later
        return found, todo

    def read_new(self, adapter: Adapter, seconds: float | None, stop: Callable[[], bool]) -> bool:
        """Read what `look` found until `stop()`, the newest first where the `seconds` of the processor that it may
        take are given (one source is always read); whether anything was read or dropped."""
        looked, self._looked = self._looked, _Looked({}, [], False, (), (), None)
        todo, stint = looked.todo, Stint(inf if seconds is None else seconds)
        if seconds is not None:
            todo.sort(key=lambda one: -one[1].modified)
        changes: list[tuple[CachedSource | None, CachedSource]] = []
        for key, source, exact in todo:
            if changes and (stint.over or stop()):
                break
            known = self.entries.get(key)
            new = self._kept(key, known, self.read(adapter, source, exact=exact).with_calls_of(known))
            looked.found[key] = new
            changes.append((known, new))
        self.unread = len(todo) - len(changes)
        changed = looked.gone or bool(changes)
        first = self.place is None
        self._take(looked)
        self._grown += [(known, new) for known, new in changes if known is not None]
        self._stale = self._stale or looked.gone or any(known is None for known, _ in changes)
        self.relate(adapter, None if first else looked.left_out)
        problems = list(looked.problems)
        live = self._processes(adapter, problems)
        before = (self.place, self._listing, self._live)
        self.place, self._listing, self._live = looked.place, tuple(problems), live
        self._news = self._news or before != (self.place, self._listing, live)
        return changed

    def _take(self, looked: _Looked) -> None:
        """What was found is what is known."""
        found = {key: entry for key, entry in looked.found.items() if entry is not None}
        if looked.few:
            self.entries = {**self.entries, **found}
        else:
            self.entries = found
            self._troubled.clear()
            self._waiting.clear()
        for key, entry in found.items():
            self._note(key, entry)
        self._unreadable.keep(self.entries)

    def read(self, adapter: Adapter, source: Source, *, exact: bool = False) -> CachedSource:
        """What is in a source now, exact too where it was read in full before. Needs no lock; nothing is taken
        over."""
        return read_source(adapter, source, self._warm, exact=exact)

    def refresh_processes(self, adapter: Adapter) -> None:
        """Look only at which sessions a process has open."""
        problems: list[Problem] = []
        live = self._processes(adapter, problems)
        if problems:
            return  # the next `look` says so
        self._news = self._news or live != self._live
        self._live = live

    def relate(self, adapter: Adapter, left_out: Collection[str] | None = None) -> None:
        """Let the adapter compare the sessions with each other, if any changed since it last did. Sessions that are
        missing now are listed as gone, but for those `left_out`; none where that is None."""
        grown, self._grown = self._grown, []
        if not (self._stale or grown):
            return
        self._news = True
        if not self._stale and self._related.grow(grown):
            return
        self._stale = False
        self._related.relate(adapter, self.entries.values(), left_out)

    def _processes(self, adapter: Adapter, problems: list[Problem]) -> Mapping[str, Liveness]:
        """The sessions that are open now. Where there are none at all, no process has one."""
        if not self.entries:
            return {}
        try:
            self._proc = str(adapter.environment.proc)
            return dict(adapter.live())
        except Exception as error:
            problems.append(failure(self.agent, "", "looking for its processes", error))
            return {}


def agents_of(names: Iterable[str]) -> dict[str, AgentSessions]:
    """All of these: what is known of sources that grow is kept for them together."""
    warm = WarmCounters()
    return {name: AgentSessions(name, warm) for name in names}
