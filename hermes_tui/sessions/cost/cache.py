"""The costs of all sessions, updated as sessions change, kept between runs.

Any thread may call any method. One adds up at a time, and who asks for what was added up before waits for none.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from hermes_tui.config import Price
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.catalogue.unreadable import Unreadable
from hermes_tui.sessions.cost.call_reader import CallsQuestion, ask_helper, read_calls
from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.runs import Run, RunIndex, index_files, read_index
from hermes_tui.sessions.cost.session_books import SessionBooks, SheetBasis
from hermes_tui.sessions.cost.session_sources import SourcesNow, WatchedSources, counted_at, sources_of
from hermes_tui.sessions.cost.summary import SpendPrices, SpendSummary
from hermes_tui.sessions.index.source_state import Key, key_of
from session_adapters.model import Cost, SessionSummary

__all__ = ["NOT_TWICE", "CostCache"]

_QUICK = 32 << 20
"""Bytes, at most, that a face reads itself; a process of its own takes half a second before it reads any."""
_ENCODER = msgspec.msgpack.Encoder()
_SUMMARY = msgspec.msgpack.Decoder(SpendSummary)
_PRICES = msgspec.msgpack.Decoder(SpendPrices)
NOT_TWICE = 20_000
"""Rows of a sheet that is let go of before there is the next: who asks for it meanwhile waits."""
S = TypeVar("S", bound=SpendPrices)


class _There(NamedTuple):
    snapshot: Snapshot
    sessions: tuple[SessionSummary, ...] = ()
    """Those that are there."""
    directories: Collection[str] = ()
    """Where they were held."""


class CostCache:
    """Has what sessions used read, prices it, and remembers what that comes to."""

    def __init__(self, catalogue: Catalogue, adapters: Adapters, own_prices: Mapping[str, Price]) -> None:
        self._catalogue = catalogue
        self._adapters = adapters
        self._own_prices = own_prices
        self._work = threading.RLock()  # whoever holds it asks for `last` and `prices`, which take it, too
        """Held while something is added up."""
        self._sheet: SpendSummary | None = None
        self._prices: Prices | None = None
        self._sources = WatchedSources()
        self._there = _There(Snapshot())
        """As last listed."""
        self._books = SessionBooks()
        self._unreadable = Unreadable[Key]()
        """What could not be added up."""
        self._index = RunIndex()

    def refresh(self) -> SpendSummary:
        """The sheet of the sessions as last listed; reads only what changed, as long as the catalogue may."""
        with self._work:
            sources, sessions, runs = self._look()
            sheet = self._current(sources, sessions, runs)
            if sheet is None:
                sheet = self._sheet = self._added_up(self._all_read(sources), sessions, runs)
            return sheet

    def some(self, sessions: Sequence[SessionSummary]) -> Mapping[str, Cost | None]:
        """What each of these sessions cost, by unified id: no others are read, but those in the same files. Of very
        many those that there is no time for are missing (`read_calls`). Of the sheet only these costs change."""
        with self._work:
            entries, listed = self._listed()
            runs = self._read_index(listed).by_session()
            found = {one.unified_id: one for one in sessions}
            wanted = sources_of(entries, sessions)
            counted = read_calls(wanted, self._adapters, self._catalogue.seconds)
            self._catalogue.update(zip(wanted, counted, strict=True))
            before = {id(one): old for one, old in zip(counted, wanted, strict=True)}
            there = counted_at(counted, listed)[0]
            costs = {
                name: self._books.book(found[name], at, runs.get(name, ()), self.prices).cost
                for name, at in there.items()
                if name in found and at[0].counts(at[1])
            }
            # What was read only now is known from here on, and what the sheet says of it is of calls before these.
            stale = {name for name, (entry, own) in there.items() if not before[id(entry)].counts(own)}
            sheet = self.last()
            if sheet.edition in ("", self.prices.edition):  # none was made yet, or one with these prices
                told = replace(
                    sheet,
                    own={**{name: cost for name, cost in sheet.own.items() if name not in stale}, **costs},
                    made_of={**sheet.made_of, **{name: there[name][0].reading for name in costs}},
                    runs={**sheet.runs, **{name: len(runs.get(name, ())) for name in costs}},
                    edition=self.prices.edition,
                    tariffs=dict(self.prices.found),  # so that the next run needs no list of prices
                )
                if told != sheet:
                    self._sheet = self._kept(told)
                    return costs
            if any(one is not old for one, old in zip(counted, wanted, strict=True)):  # read anew: kept, too
                sums = self._catalogue.sums
                self._catalogue.keep(lambda: sums)
            return costs

    def current(self) -> SpendSummary | None:
        """The sheet, if nothing has changed since it was made."""
        return self._current(*self._look())

    def _current(
        self, sources: SourcesNow, sessions: Sequence[SessionSummary], runs: RunIndex
    ) -> SpendSummary | None:
        sheet = self.last()
        again = any(one.call_problems and self._is_due(one) for one in sources.troubled)
        return sheet if not again and sheet.key == self._key(sources, sessions, runs) else None

    def last(self) -> SpendSummary:
        """The sheet as it was last made, by this process or an earlier one."""
        if (made := self._sheet) is not None:
            return made
        with self._work:
            if self._sheet is None:
                self._sheet = self._decoded(_SUMMARY)
            return self._sheet

    def look_ahead(self) -> None:
        """Have another process read what `refresh` would, and look up the prices, where that takes long: to import
        their list takes 15 MB that a face would keep for weeks."""
        sources, prices = self._look()[0], self.prices
        entries: Sequence[CachedSource] = sources.entries
        if self.last().key and self.last().edition == prices.edition:
            entries = [one for one in sources.uncounted if self._is_due(one)]
            unread = (one for entry in entries for one in entry.summaries if not entry.counts(one.session_id))
            if sum(one.size for one in unread) <= _QUICK:
                return
        answer = ask_helper(CallsQuestion(self._adapters.environment, entries, self._own_prices))
        if answer is not None:
            prices.found.update(answer.tariffs)
            told = zip(entries, answer.entries, strict=True)
            self._catalogue.update([(old, old.counted_as(new)) for old, new in told])

    def known(self, sessions: Sequence[SessionSummary]) -> Mapping[str, Cost | None]:
        """What each of `sessions` cost, by unified id, where that was added up before and nothing has changed since;
        the others are missing. Reads no session: a list must not wait for that."""
        with self._work:
            sheet = self.last()
            if sheet.edition != self.prices.edition:
                return {}
            runs = self._read_index(sessions).by_session()
            kept = {one.unified_id for one in sessions if one.unified_id in sheet.own}
            entries, listed = self._listed()
            there = counted_at(sources_of(entries, sessions), listed)[0] if kept else {}
            return {
                name: sheet.own[name]
                for name, (entry, own) in there.items()
                if name in kept
                and entry.counts(own)
                and entry.reading == sheet.made_of.get(name)
                and len(runs.get(name, ())) == sheet.runs.get(name, 0)
            }

    def tags(self, sessions: Sequence[SessionSummary]) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """(agent, session id) → tags that agent-mux's run index has for it."""
        return self._read_index(sessions).tags()

    def runs(self, session: SessionSummary) -> Sequence[Run]:
        """The runs that agent-mux recorded of a session."""
        return self._read_index((session,)).by_session().get(session.unified_id, ())

    @property
    def prices(self) -> Prices:
        """The prices in force."""
        if (made := self._prices) is not None:
            return made
        with self._work:
            if self._prices is None:  # another thread may have made them meanwhile
                prices = Prices(self._own_prices)
                known = self._decoded(_PRICES) if self._sheet is None else self._sheet
                if known.edition == prices.edition:
                    prices.found.update(known.tariffs)
                self._prices = prices
            return self._prices

    # Inside ------------------------------------------------------------------------------------------------

    def _is_due(self, entry: CachedSource) -> bool:
        """False for what could not be added up, until it is time to try again."""
        return not entry.call_problems or self._unreadable.is_due(key_of(entry.source), entry.source)

    def _listed(self) -> tuple[list[CachedSource], tuple[SessionSummary, ...]]:
        entries, snapshot = self._catalogue.entries(), self._catalogue.snapshot
        there = self._there
        if there.snapshot is not snapshot:
            sessions = tuple(one for one in snapshot.sessions if not one.gone)
            there = self._there = _There(snapshot, sessions, _directories(sessions))
        return entries, there.sessions

    def _read_index(self, sessions: Sequence[SessionSummary]) -> RunIndex:
        there = self._there
        directories = there.directories if there.sessions is sessions else _directories(sessions)
        files = index_files(self._adapters.environment, directories)
        runs = self._index  # that of another thread may be there at any moment
        if files != runs.files:
            self._index = runs = read_index(files)
        return runs

    def _decoded(self, decoder: msgspec.msgpack.Decoder[S]) -> S:
        """What was kept of the sheet, as far as the decoder takes it; empty where there is none."""
        try:
            return decoder.decode(self._catalogue.sums)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            # Damaged, or of another version: all is added up again.
            return decoder.type()

    def _look(self) -> tuple[SourcesNow, tuple[SessionSummary, ...], RunIndex]:
        entries, sessions = self._listed()
        return self._sources.look(tuple(entries)), sessions, self._read_index(sessions)

    def _all_read(self, sources: SourcesNow) -> SourcesNow:
        """With the calls of all that is to be read, as far as there is time for it."""
        counted = read_calls(sources.uncounted, self._adapters, self._catalogue.seconds, self._is_due)
        changed = [(old, new) for old, new in zip(sources.uncounted, counted, strict=True) if old is not new]
        for _, new in changed:
            if new.call_problems:
                self._unreadable.failed(key_of(new.source), new.source)
        if changed:
            self._catalogue.update(changed)
            read = {id(old): new for old, new in changed}
            sources = self._sources.look(tuple(read.get(id(one), one) for one in sources.entries))
        self._unreadable.keep({key_of(one.source) for one in sources.troubled if one.call_problems})
        return sources

    def _key(self, sources: SourcesNow, sessions: Sequence[SessionSummary], runs: RunIndex) -> bytes:
        """Changes with every source and whether its calls are there, with the prices, with the zone that days are
        counted in, and with the number of sessions."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((len(sessions), self.prices.edition, time.tzname, time.timezone, time.altzone)).encode())
        digest.update(repr((sorted(runs.files.items()), sources.digest)).encode())
        return digest.digest()

    def _added_up(self, sources: SourcesNow, sessions: tuple[SessionSummary, ...], runs: RunIndex) -> SpendSummary:
        before = self.last()
        listed = SheetBasis(sources.entries, sessions, runs, self.prices)
        sheet = self._books.go_on(listed, before)
        if sheet is None:
            if len(before.rows) > NOT_TWICE:
                self._sheet = None  # two such are too much
                before = replace(before, rows=())
            sheet = self._books.add_up(listed, before)
        left = sum(not one.call_problems for one in sources.uncounted)
        problems = [one for entry in sources.troubled for one in (*entry.unread, *entry.call_problems)]
        told = replace(
            sheet,
            key=b"" if left else self._key(sources, sessions, runs),
            left=left,
            problems=(*problems, *runs.problems),
            edition=self.prices.edition,
            tariffs=dict(self.prices.found),
        )
        sheet = self._kept(told)
        self._books.remember(listed, sheet)
        return sheet

    def _kept(self, sheet: SpendSummary) -> SpendSummary:
        """Written down, unless a sum is too large for MessagePack. With what was wrong with that."""

        def encoded() -> bytes:
            try:
                return _ENCODER.encode(sheet)
            except OverflowError:
                return b""

        problem = self._catalogue.keep(encoded)
        return sheet if problem is None else replace(sheet, problems=(*sheet.problems, problem))


def _directories(sessions: Sequence[SessionSummary]) -> Collection[str]:
    return dict.fromkeys(one.cwd for one in sessions if one.cwd)
