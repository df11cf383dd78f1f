"""What the calls of all sessions come to, gone on with where a few of them grew."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from msgspec.structs import replace

from hermes_tui.changes import differences
from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.cost.aggregate import Accounts
from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.runs import Run, RunIndex
from hermes_tui.sessions.cost.session_book import SessionBook, book_of
from hermes_tui.sessions.cost.session_sources import CountedAt, counted_at
from hermes_tui.sessions.cost.shared_calls import SharedCalls
from hermes_tui.sessions.cost.summary import SpendRow, SpendSummary
from session_adapters.model import SessionSummary, unified_id
from session_adapters.text import scrub
from session_adapters.usage import CallPack, Packed

__all__ = ["SessionBooks", "SheetBasis"]

_NO_CALLS: tuple[object, Mapping[str, Sequence[CallPack]]] = (None, {})


class SheetBasis(NamedTuple):
    """What a sheet of costs is made of, as it was listed at one moment."""

    entries: tuple[CachedSource, ...]
    sessions: tuple[SessionSummary, ...]
    """Those that are there."""
    runs: RunIndex
    prices: Prices


class _Made(NamedTuple):
    listed: SheetBasis
    zone: tuple[str, str]
    sheet: SpendSummary


class SessionBooks:
    """Kept while sessions grow. For one thread at a time."""

    def __init__(self) -> None:
        self._books: dict[str, SessionBook] = {}
        self._split = _NO_CALLS
        """Calls as an entry has them, and by session, while they are added up."""
        self._shared = SharedCalls()
        self._made: _Made | None = None
        """What was last added up of all."""

    def go_on(self, listed: SheetBasis, before: SpendSummary) -> SpendSummary | None:
        """The sheet of a moment ago with what the sessions that grew came to since. None where more than that is
        different, or that sheet is not the one to `remember`: all is to be added up."""
        made, self._made = self._made, None  # it holds a sheet, and two are too much
        if made is None or made.sheet is not before or made.zone != time.tzname:
            return None
        return self._gone_on(made.listed, listed, before)

    def remember(self, listed: SheetBasis, sheet: SpendSummary) -> None:
        """Have the next `go_on` start from this one."""
        self._made, self._split = _Made(listed, time.tzname, sheet), _NO_CALLS

    def book(self, session: SessionSummary, at: CountedAt, runs: Sequence[Run], prices: Prices) -> SessionBook:
        """What the calls that a source has of a session come to."""
        return book_of(session, self._packs(*at), runs, prices, self._books.get(session.unified_id))

    # All of them -------------------------------------------------------------------------------------------

    def add_up(self, listed: SheetBasis, before: SpendSummary) -> SpendSummary:
        """What all of them come to; of agents that are not listed now what they did `before`."""
        entries, sessions, index, prices = listed
        runs = index.by_session()
        by_id = {one.unified_id: one for one in sessions}
        chosen, copies = counted_at(entries, sessions)
        told = {name: at for name, at in chosen.items() if at[0].calls or name in runs}
        self._books = {name: self.book(by_id[name], at, runs.get(name, ()), prices) for name, at in told.items()}
        own = {name: book.cost for name, book in self._books.items()}
        made_of = {name: entry.reading for name, (entry, at) in chosen.items() if entry.counts(at)}
        if before.edition == prices.edition:
            looked = {one.agent for one in sessions}
            others = [name for name in before.own if name.partition(":")[0] not in looked]
            own.update((name, before.own[name]) for name in others)
            made_of.update((name, before.made_of[name]) for name in others if name in before.made_of)
        owners = sorted((by_id[name] for name in self._books), key=_owner)
        return SpendSummary(
            rows=self._rows(owners, chosen, runs, prices),
            own={**dict.fromkeys(chosen), **own},
            made_of=made_of,
            copies=frozenset(copies),
            runs={name: len(some) for name, some in runs.items() if name not in copies},
            tags={unified_id(*name): tags for name, tags in index.tags().items()},
            strangers=tuple(run for run in index.runs if unified_id(run.agent, run.session_id) not in by_id),
        )

    def _packs(self, entry: CachedSource, name: str) -> Packed:
        """The calls that the entry has under a name."""
        if self._split[0] is not entry.calls:
            by_name: dict[str, list[CallPack]] = defaultdict(list)
            for pack in entry.calls or ():
                by_name[pack.session_id].append(pack)
            self._split = (entry.calls, by_name)
        return tuple(self._split[1].get(name, ()))

    def _rows(
        self,
        sessions: Sequence[SessionSummary],
        chosen: Mapping[str, CountedAt],
        runs: Mapping[str, Sequence[Run]],
        prices: Prices,
    ) -> tuple[SpendRow, ...]:
        """What each of `sessions` spent; they are in the order in which they own a call that several have."""
        shared = self._shared.among(self._books)
        calls = {name: self._packs(*chosen[name]) for name in chosen if name in shared}
        accounts = Accounts(prices, runs)
        for session in sessions:
            if session.unified_id in shared:
                accounts.add(session, calls[session.unified_id])
        rows: dict[str, Sequence[SpendRow]] = defaultdict(tuple)
        rows.update((name, book.rows) for name, book in self._books.items() if name not in shared)
        for row in accounts.rows():
            rows[row.unified_id] = (*rows[row.unified_id], row)
        return tuple(row for session in sessions for row in rows[session.unified_id])

    # Those that grew ---------------------------------------------------------------------------------------

    def _gone_on(self, before: SheetBasis, now: SheetBasis, sheet: SpendSummary) -> SpendSummary | None:
        """The sheet with what the sessions that grew come to by now. None where more than that is different: which
        sessions there are, which source stands for one, or who has a call that several have."""
        if now.runs is not before.runs or now.prices is not before.prices or sheet.edition != now.prices.edition:
            return None
        grown = _grown(before, now)
        if grown is None:
            return None
        own, made_of, rows, runs = dict(sheet.own), dict(sheet.made_of), sheet.rows, now.runs.by_session()
        books, changed = dict(self._books), list[str]()
        for session, (entry, name) in grown:
            unified = session.unified_id
            if unified not in books or not entry.counts(name):
                return None
            book = self.book(session, (entry, name), runs.get(unified, ()), now.prices)
            made_of[unified] = entry.reading
            if book is not books[unified]:
                changed.append(unified)
                books[unified] = book
        # Where there were no rows nobody knows where they stand; of calls that several have one counts.
        if not all(self._books[name].rows for name in changed) or not self._shared.stay_apart(books, changed):
            return None
        for name in changed:
            own[name], rows = books[name].cost, _put(rows, name, books[name].rows)
        self._books = books
        return replace(sheet, own=own, made_of=made_of, rows=rows)


def _grown(before: SheetBasis, now: SheetBasis) -> Sequence[tuple[SessionSummary, CountedAt]] | None:
    """The sessions of the sources that are others now, each with what stands for it; None where it takes a look at
    all of them to tell."""
    gone, new = differences(before.entries, now.entries)
    was, sessions = differences(before.sessions, now.sessions)
    if sorted(map(_place, was)) != sorted(map(_place, sessions)):
        return None
    old = {(one.source.agent, one.source.path): one for one in gone}
    paths = {path for _, path in old}
    others = [one for one in now.entries if one.source.path in paths]
    if len(gone) != len(new) or len(others) != len(new) or not all(map(_is_alone, (*gone, *new))):
        return None
    by_id = {one.unified_id: one for one in sessions}
    if missing := [name for one in new for name in _ids(one) if name not in by_id]:
        wanted = frozenset(missing)
        by_id |= {one.unified_id: one for one in now.sessions if one.unified_id in wanted}
    found = []
    for entry in new:
        known = old.get((entry.source.agent, entry.source.path))
        if known is None or list(known.names) != list(entry.names):
            return None
        for name, unified in zip(entry.names, _ids(entry), strict=True):
            session = by_id.get(unified)
            if session is None or session.path != scrub(entry.source.path):
                return None
            found.append((session, (entry, name)))
    return found


def _is_alone(entry: CachedSource) -> bool:
    """Whether its calls are those of the sessions that it is known to have, all of them."""
    return not (entry.callers or entry.call_problems)


def _ids(entry: CachedSource) -> Sequence[str]:
    return [unified_id(entry.source.agent, name) for name in entry.names]


def _place(session: SessionSummary) -> tuple[object, ...]:
    """What tells which source stands for it, and whose a call is that it shares with another."""
    return (session.path, str(session.parent_id), str(session.forked_from), *_owner(session))


def _owner(session: SessionSummary) -> tuple[bool, float, str]:
    """A call that several sessions have belongs to the one that began first, and never to a fork of it."""
    return (session.forked_from is not None, session.created_at.timestamp(), session.unified_id)


def _put(rows: tuple[SpendRow, ...], name: str, new: Iterable[SpendRow]) -> tuple[SpendRow, ...]:
    """The rows of one session replaced, where they stand."""
    start = next(at for at, row in enumerate(rows) if row.unified_id == name)
    old = sum(1 for _ in takewhile(lambda row: row.unified_id == name, islice(rows, start, None)))
    return (*rows[:start], *new, *rows[start + old :])
