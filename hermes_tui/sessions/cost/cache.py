"""The costs of all sessions, updated as sessions change, kept between runs.

Any thread may call any method; one works at a time.
"""

from __future__ import annotations

import hashlib
import marshal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from hermes_tui.config import Price
from hermes_tui.sessions.adapters import AdapterBroken, Adapters
from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.snapshot import newest_first
from hermes_tui.sessions.cost import store
from hermes_tui.sessions.cost.aggregate import Accounts
from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.runs import Run, RunIndex, index_files, read_index
from hermes_tui.sessions.cost.store import SourceCalls
from hermes_tui.sessions.cost.summary import Own, SpendSummary
from session_adapters.base import Adapter, Environment, Source
from session_adapters.model import Cost, Problem, SessionSummary, unified_id
from session_adapters.reading.bounds import Stint, is_cut
from session_adapters.text import scrub
from session_adapters.usage import Usage

__all__ = ["CostCache"]

Key = tuple[str, str, str]
"""Agent, path and native id of a source."""


class CostCache:
    """Reads what sessions used, prices it, and remembers both."""

    def __init__(self, adapters: Adapters, file: Path | None, own_prices: Mapping[str, Price]) -> None:
        """`file` None: nothing is kept between runs."""
        self._adapters = adapters
        self._file = file
        self._own_prices = own_prices
        self._work = threading.RLock()
        self._sheet: SpendSummary | None = None
        self._prices: Prices | None = None
        self._index: tuple[Mapping[str, tuple[int, ...]], RunIndex] = ({}, RunIndex())

    def refresh(self, entries: Sequence[CachedSource], sessions: Sequence[SessionSummary]) -> SpendSummary:
        """The sheet of `sessions`, whose sources are `entries`; reads only what changed since the last time."""
        with self._work:
            sheet = self._known()
            index = self._read_index(sessions)
            key = self._key(entries, sessions)
            if sheet.key == key:
                return sheet
            calls, problems = self._read(entries)
            sheet = self._add_up(key, calls, sessions, index, problems)
            self._sheet = sheet
            if self._file is not None:
                try:
                    # What failed is tried again by the next process, not by this one at every look.
                    whole = all(one.stamp for one in calls)
                    kept = sheet if whole else replace(sheet, key=b"")
                    store.save(self._file, kept, [one for one in calls if one.stamp])
                except OSError as error:
                    reason = f"costs cannot be kept for the next start: {error.strerror or error}"
                    problem = Problem(agent="hermes-tui", path=str(self._file), reason=reason)
                    self._sheet = sheet = replace(sheet, problems=(*sheet.problems, problem))
            return sheet

    def current(self, entries: Sequence[CachedSource], sessions: Sequence[SessionSummary]) -> SpendSummary | None:
        """The sheet, if nothing has changed since it was made."""
        with self._work:
            sheet = self._known()
            self._read_index(sessions)
            return sheet if sheet.key == self._key(entries, sessions) else None

    def last(self) -> SpendSummary:
        """The sheet as it was last made, by this process or an earlier one."""
        with self._work:
            return self._known()

    def reload(self) -> SpendSummary:
        """The sheet that another process has made, and the prices that it looked up: to import their list takes 15 MB
        that a face would keep for weeks."""
        with self._work:
            self._sheet = self._prices = None
            return self._known()

    def kept(self, entries: Sequence[CachedSource], sessions: Sequence[SessionSummary]) -> Mapping[str, Cost | None]:
        """What each of `sessions` cost, by unified id, where that was added up before and nothing has changed since;
        the others are missing. Reads no session: a list must not wait for that."""
        with self._work:
            known = self._known().own
            runs = _by_session(self._read_index(sessions))
            listed = _Listed(one for one in sessions if one.unified_id in known)
            found: dict[str, Cost | None] = {}
            for entry in entries if listed else ():
                for summary in entry.summaries:
                    session = listed.find(entry.source, summary.session_id)
                    if session is None:
                        continue
                    own = known[session.unified_id]
                    if own.mark == _mark(entry, summary, runs.get(session.unified_id, ()), self.prices):
                        found[session.unified_id] = own.cost
            return found

    def tags(self, sessions: Sequence[SessionSummary]) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """(agent, session id) → tags that agent-mux's run index has for it."""
        with self._work:
            return self._read_index(sessions).tags()

    def runs(self, session: SessionSummary) -> Sequence[Run]:
        """The runs that agent-mux recorded of a session."""
        with self._work:
            return _by_session(self._read_index((session,))).get(session.unified_id, ())

    @property
    def prices(self) -> Prices:
        """The prices in force."""
        with self._work:
            if self._prices is None:
                prices = Prices(self._own_prices)
                sheet = self._known()
                if sheet.edition == prices.edition:
                    prices.found.update(sheet.tariffs)
                self._prices = prices
            return self._prices

    # Inside ------------------------------------------------------------------------------------------------

    def _known(self) -> SpendSummary:
        if self._sheet is None:
            self._sheet = (store.load_sheet(self._file) if self._file is not None else None) or SpendSummary()
        return self._sheet

    def _read_index(self, sessions: Iterable[SessionSummary]) -> RunIndex:
        directories = dict.fromkeys(one.cwd for one in sessions if one.cwd)
        files = index_files(self._environment, directories)
        if files != self._index[0]:
            self._index = (files, read_index(files) if files else RunIndex())
        return self._index[1]

    @property
    def _environment(self) -> Environment:
        return self._adapters.environment

    def _key(self, entries: Iterable[CachedSource], sessions: Sequence[SessionSummary]) -> bytes:
        """Changes with every source, with the prices, with the zone that days are counted in, and with what the
        sessions are to each other."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((self.prices.edition, time.tzname, time.timezone, time.altzone)).encode())
        digest.update(repr(sorted(self._index[0].items())).encode())
        stamps = [
            (one.source.agent, one.source.path, one.source.session_id, one.source.stamp, one.exact) for one in entries
        ]
        digest.update(marshal.dumps((len(sessions), stamps), 2))  # faster than `repr`; 2 knows no references
        return digest.digest()

    def _read(self, entries: Sequence[CachedSource]) -> tuple[list[SourceCalls], list[Problem]]:
        """The calls of every source; those that changed are read."""
        known_before = [] if self._file is None else store.load_calls(self._file)
        before = {(one.agent, one.path, one.session_id): one for one in known_before}
        problems: list[Problem] = []
        calls = []
        adapter = cache(self._adapters.get)  # which looks at the whole environment each time
        for entry in entries:
            problems += entry.unread
            source = entry.source
            known = before.get((source.agent, source.path, source.session_id))
            if known is None or tuple(known.stamp) != source.stamp:
                known = self._read_source(entry, known, adapter, problems)
            elif known.marks != (marks := _marks(entry)):  # the list knows more of the same rows by now
                known = replace(known, marks=marks)
            calls.append(known)
        return calls, problems

    def _read_source(
        self,
        entry: CachedSource,
        known: SourceCalls | None,
        adapter: Callable[[str], Adapter],
        problems: list[Problem],
    ) -> SourceCalls:
        source = entry.source
        marks = _marks(entry)
        kept: list[Usage] = []
        changed: list[str] | None = None
        if known is not None and len(marks) > 1:
            changed = [name for name, mark in marks.items() if known.marks.get(name) != mark]
            same = marks.keys() - set(changed)
            kept = [call for call in known.calls if call.session_id in same]
        troubles: list[Problem] = []
        found = _ask(adapter, entry, changed, troubles.append)
        problems += troubles
        stamp = source.stamp if not troubles else ()
        return SourceCalls(source.agent, source.path, source.session_id, stamp, [*kept, *(found or ())], marks)

    def _add_up(
        self,
        key: bytes,
        calls: Sequence[SourceCalls],
        sessions: Sequence[SessionSummary],
        index: RunIndex,
        problems: list[Problem],
    ) -> SpendSummary:
        runs = _by_session(index)
        by_id = {one.unified_id: one for one in sessions}
        chosen, copies = _chosen(calls, sessions)
        accounts = Accounts(self.prices, runs)
        own: dict[str, Own] = {}
        for unified in sorted(chosen, key=lambda name: _owner(by_id[name])):
            source, mine = chosen[unified]
            session = by_id[unified]
            cost = accounts.add(session, mine)
            mark = _source_mark(
                source.stamp, source.marks.get(session.session_id), runs.get(unified, ()), self.prices
            )
            own[unified] = Own(mark, cost)
        looked = {one.agent for one in sessions}
        own.update(item for item in self._known().own.items() if item[0].partition(":")[0] not in looked)
        rows = accounts.rows()
        return SpendSummary(
            key=key,
            rows=rows,
            own=own,
            copies=frozenset(copies),
            runs={name: len(some) for name, some in runs.items() if name in by_id and name not in copies},
            tags={unified_id(*name): tags for name, tags in index.tags().items()},
            strangers=tuple(run for run in index.runs if unified_id(run.agent, run.session_id) not in by_id),
            problems=(*problems, *index.problems),
            edition=self.prices.edition,
            tariffs=dict(self.prices.found),
        )


def _ask(
    adapter: Callable[[str], Adapter],
    entry: CachedSource,
    ids: Sequence[str] | None,
    report: Callable[[Problem], None],
) -> Sequence[Usage] | None:
    """What the adapter finds in a source. Trouble of any kind is reported; None where it failed altogether."""
    source = entry.source
    if not entry.summaries or (ids is not None and not ids):
        return ()
    try:
        reader = adapter(source.agent)
        if is_cut(entry.problems) and not reader.sums_at_once:
            return _some(reader, entry, ids, report)
        return list(reader.usage(source, report, ids))
    except AdapterBroken as error:
        reason = str(error)
    except Exception as error:
        reason = f"the adapter failed while reading what it cost ({type(error).__name__}: {error})"
    report(Problem(agent=source.agent, path=source.path, reason=reason))
    return None


def _some(
    adapter: Adapter, entry: CachedSource, ids: Sequence[str] | None, report: Callable[[Problem], None]
) -> Sequence[Usage]:
    """The same of a source with more sessions than can be listed, the newest first, as far as that comes."""
    if ids is None:
        ids = [one.session_id for one in sorted(entry.summaries, key=newest_first)]
    found: list[Usage] = []
    stint = Stint()
    for number, session_id in enumerate(ids):
        if stint.over:
            reason = f"there are too many sessions to add up: {number:,} of the {len(ids):,} in the list are, no more"
            report(Problem(agent=adapter.name, path=entry.source.path, reason=reason))
            break
        found += adapter.usage(entry.source, report, (session_id,))
    return found


def _by_session(index: RunIndex) -> Mapping[str, Sequence[Run]]:
    found: dict[str, list[Run]] = {}
    for run in index.runs:
        if run.session_id:
            found.setdefault(unified_id(run.agent, run.session_id), []).append(run)
    return found


def _owner(session: SessionSummary) -> tuple[bool, float, str]:
    """A call that several sessions have belongs to the one that began first, and never to a fork of it."""
    return (session.forked_from is not None, session.created_at.timestamp(), session.unified_id)


class _Listed:
    """Sessions by what a source says of them. Where a file is that of one session alone, its name in the list may be
    another than the one in the file."""

    def __init__(self, sessions: Iterable[SessionSummary]) -> None:
        self._by_id = {one.unified_id: one for one in sessions}
        self._by_path: dict[tuple[str, str], list[SessionSummary]] = {}
        for one in self._by_id.values():
            self._by_path.setdefault((one.agent, one.path), []).append(one)

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def find(self, source: Source | SourceCalls, session_id: str) -> SessionSummary | None:
        """The session that the source has under that id."""
        named = self._by_id.get(unified_id(source.agent, session_id))
        there = self._by_path.get((source.agent, source.path), ())
        return there[0] if len(there) == 1 and (named is None or named.path != source.path) else named


def _chosen(
    calls: Iterable[SourceCalls], sessions: Iterable[SessionSummary]
) -> tuple[dict[str, tuple[SourceCalls, list[Usage]]], set[str]]:
    """For each session its calls, from the one source that stands for it in the list; and the sessions that are
    another agent's reading of a file that was read already (checklist C-7)."""
    listed = _Listed(sessions)
    chosen: dict[str, tuple[SourceCalls, list[Usage]]] = {}
    copies: set[str] = set()
    first: dict[tuple[str, tuple[int, ...]], str] = {}
    for source in calls:
        owner = first.setdefault((source.path, tuple(source.stamp)), source.agent) if source.stamp else source.agent
        mine: dict[str, list[Usage]] = {}
        for call in source.calls:
            mine.setdefault(call.session_id, []).append(call)
        if source.session_id:
            mine.setdefault(source.session_id, [])
        for name in source.marks:
            mine.setdefault(name, [])
        for name, some in mine.items():
            session = listed.find(source, name)
            if session is None:
                continue
            unified = session.unified_id
            if owner != source.agent:
                copies.add(unified)
            elif unified not in chosen or session.path == scrub(source.path):
                chosen[unified] = (source, some)
    return chosen, copies


def _marks(entry: CachedSource) -> dict[str, bytes]:
    """The sessions of a source that is not named by one, also where they called no model; see `_own_mark`."""
    found = ((one.session_id, _own_mark(entry, one)) for one in entry.summaries)
    return {name: mark for name, mark in found if mark is not None}


def _own_mark(entry: CachedSource, summary: SessionSummary) -> bytes | None:
    """What tells besides the source's stamp whether a session changed: nothing where it is alone there, and no mark
    at all where the source has its name."""
    if entry.source.session_id:
        return None
    return _row_mark(summary) if len(entry.summaries) > 1 else b""


def _row_mark(summary: SessionSummary) -> bytes:
    """Changes with what a session in a database of many used."""
    facts = (summary.updated_at, summary.message_count, summary.tokens, summary.cost, summary.models)
    return hashlib.blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _mark(entry: CachedSource, summary: SessionSummary, runs: Sequence[Run], prices: Prices) -> bytes:
    return _source_mark(entry.source.stamp, _own_mark(entry, summary), runs, prices)


def _source_mark(stamp: Sequence[int], row: bytes | None, runs: Sequence[Run], prices: Prices) -> bytes:
    """Of one session: of its row where the source has many, else of the source."""
    facts = repr((row if row is not None else tuple(stamp), runs, prices.edition))
    return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=8).digest()
