"""Which source stands for a session, where several say something of it."""

from __future__ import annotations

import hashlib
import marshal
from collections import defaultdict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

from hermes_tui.changes import differences
from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.index.source_state import key_of
from session_adapters.base import Source
from session_adapters.model import SessionSummary, unified_id
from session_adapters.text import scrub

__all__ = ["CountedAt", "ListedSessions", "SourcesNow", "WatchedSources", "counted_at", "sources_of"]

CountedAt = tuple[CachedSource, str]
"""A source, and the name that a session has there."""


class ListedSessions:
    """Sessions by what a source says of them. Where a file is that of one session alone, its name in the list may be
    another than the one in the file."""

    def __init__(self, sessions: Iterable[SessionSummary]) -> None:
        self._by_id = {one.unified_id: one for one in sessions}
        self._by_path: dict[tuple[str, str], list[SessionSummary]] = {}
        for one in self._by_id.values():
            self._by_path.setdefault((one.agent, one.path), []).append(one)

    def find(self, source: Source, session_id: str) -> SessionSummary | None:
        """The session that the source has under that id."""
        named = self._by_id.get(unified_id(source.agent, session_id))
        there = self._by_path.get((source.agent, source.path), ())
        return there[0] if len(there) == 1 and (named is None or named.path != source.path) else named


class SourcesNow(NamedTuple):
    """All sources at one moment, and what is to be known of them together."""

    entries: tuple[CachedSource, ...] = ()
    digest: int = 0
    """Changes with every source, and whether its calls are there."""
    uncounted: Sequence[CachedSource] = ()
    """Those of which not all calls are there."""
    troubled: Sequence[CachedSource] = ()
    """Those that something is wrong with, in the order of the list."""


class WatchedSources:
    """Looks at all of them once, then at those that are others. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._now = SourcesNow()

    def look(self, entries: tuple[CachedSource, ...]) -> SourcesNow:
        """How they are now."""
        with self._lock:
            before = self._now
            gone, new = differences(before.entries, entries)
            digest = before.digest - sum(map(_digest, gone)) + sum(map(_digest, new))
            uncounted = [one for one in new if not one.is_counted]
            troubled = [one for one in new if one.unread or one.call_problems]
            out = set(map(id, gone))
            uncounted += [one for one in before.uncounted if id(one) not in out]
            if before.troubled or troubled:
                wanted = {id(one) for one in (*before.troubled, *troubled)} - out
                troubled = [one for one in entries if id(one) in wanted]
            self._now = SourcesNow(entries, digest, uncounted, troubled)
            return self._now


def _digest(entry: CachedSource) -> int:
    counted = entry.calls is not None and not entry.uncounted
    stamp = (*key_of(entry.source), entry.source.stamp, entry.exact, counted, bool(entry.stale))
    # `marshal` is faster than `repr`; its second version knows no references.
    return int.from_bytes(hashlib.blake2b(marshal.dumps(stamp, 2), digest_size=16).digest())


def counted_at(
    entries: Iterable[CachedSource], sessions: Iterable[SessionSummary]
) -> tuple[dict[str, CountedAt], set[str]]:
    """For each session the one source that stands for it in the list; and the sessions that are another agent's
    reading of a file that was read already (checklist C-7)."""
    listed = ListedSessions(sessions)
    chosen: dict[str, CountedAt] = {}
    copies: set[str] = set()
    first: dict[tuple[str, tuple[int, ...]], str] = {}
    for entry in entries:
        source = entry.source
        is_whole = not entry.call_problems
        owner = first.setdefault((source.path, source.stamp), source.agent) if is_whole else source.agent
        for name in dict.fromkeys((*entry.callers, *entry.names)):
            session = listed.find(source, name)
            if session is None:
                continue
            unified = session.unified_id
            if owner != source.agent:
                copies.add(unified)
            elif unified not in chosen or session.path == scrub(source.path):
                chosen[unified] = entry, name
    return chosen, copies


def sources_of(entries: Iterable[CachedSource], sessions: Iterable[SessionSummary]) -> list[CachedSource]:
    """Every source that says something of one of these sessions, and the others in the same files."""
    names: dict[str, set[str]] = defaultdict(set)
    paths: set[str] = set()
    for one in sessions:
        names[one.agent].add(one.session_id)
        paths.add(one.path)
    told = [(scrub(entry.source.path), entry) for entry in entries]
    for path, entry in told:
        some = names.get(entry.source.agent)
        if some is not None and not (some.isdisjoint(entry.callers) and some.isdisjoint(entry.names)):
            paths.add(path)
    return [entry for path, entry in told if path in paths]
