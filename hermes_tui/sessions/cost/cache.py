"""The costs of all sessions, updated as sessions change, kept between runs.

Any thread may call any method. One adds up at a time, and who asks for what was added up before waits for none.
"""

from __future__ import annotations

import hashlib
import marshal
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from hermes_tui.config import Price
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.catalogue.unreadable import Unreadable
from hermes_tui.sessions.cost.aggregate import Accounts
from hermes_tui.sessions.cost.call_reader import CallsQuestion, ask_helper, read_calls
from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.runs import Run, RunIndex, index_files, read_index
from hermes_tui.sessions.cost.session_book import SessionBook, book_of
from hermes_tui.sessions.cost.session_sources import CountedAt, counted_at, sources_of
from hermes_tui.sessions.cost.shared_calls import SharedCalls
from hermes_tui.sessions.cost.summary import SpendPrices, SpendRow, SpendSummary
from hermes_tui.sessions.index.source_state import Key, key_of
from session_adapters.model import Cost, SessionSummary, unified_id
from session_adapters.usage import CallPack, Packed

__all__ = ["NOT_TWICE", "CostCache"]

_QUICK = 32 << 20
"""Bytes, at most, that a face reads itself; a process of its own takes half a second before it reads any."""
_ENCODER = msgspec.msgpack.Encoder()
_SUMMARY = msgspec.msgpack.Decoder(SpendSummary)
_PRICES = msgspec.msgpack.Decoder(SpendPrices)
NOT_TWICE = 20_000
"""Rows of a sheet that is let go of before there is the next: who asks for it meanwhile waits."""
_NO_CALLS: tuple[object, Mapping[str, Sequence[CallPack]]] = (None, {})
S = TypeVar("S", bound=SpendPrices)


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
        self._books: dict[str, SessionBook] = {}
        self._unreadable = Unreadable[Key]()
        """What could not be added up."""
        self._split = _NO_CALLS
        """Calls as an entry has them, and by session, while they are added up."""
        self._index = RunIndex()
        self._shared = SharedCalls()

    def refresh(self) -> SpendSummary:
        """The sheet of the sessions as last listed; reads only what changed, as long as the catalogue may."""
        with self._work:
            entries, sessions = self._listed()
            runs = self._read_index(sessions)
            key = self._key(entries, sessions, runs)
            sheet = self._current(entries, key)
            if sheet is None:
                counted = read_calls(entries, self._adapters, self._catalogue.seconds, self._is_due)
                changed = [(old, new) for old, new in zip(entries, counted, strict=True) if old is not new]
                for _, new in changed:
                    if new.call_problems:
                        self._unreadable.failed(key_of(new.source), new.source)
                self._unreadable.keep({key_of(one.source) for one in counted if one.call_problems})
                self._catalogue.update(changed)
                key = self._key(counted, sessions, runs) if changed else key
                before = self.last()
                if len(before.rows) > NOT_TWICE:
                    self._sheet = None  # two such are too much
                    before = replace(before, rows=())
                sheet = self._sheet = self._kept(self._add_up(counted, sessions, runs, key, before))
                self._split = _NO_CALLS
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
                name: self._book(found[name], *at, runs.get(name, ())).cost
                for name, at in there.items()
                if name in found and at[0].counts(at[1])
            }
            self._split = _NO_CALLS
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
                self._catalogue.keep(self._catalogue.sums)
            return costs

    def current(self) -> SpendSummary | None:
        """The sheet, if nothing has changed since it was made."""
        entries, sessions = self._listed()
        return self._current(entries, self._key(entries, sessions, self._read_index(sessions)))

    def _current(self, entries: Sequence[CachedSource], key: bytes) -> SpendSummary | None:
        sheet = self.last()
        again = any(one.call_problems and self._is_due(one) for one in entries)
        return sheet if not again and sheet.key == key else None

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
        entries, prices = self._catalogue.entries(), self.prices
        if self.last().key and self.last().edition == prices.edition:
            entries = [one for one in entries if not one.is_counted and self._is_due(one)]
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

    def _listed(self) -> tuple[list[CachedSource], list[SessionSummary]]:
        entries = self._catalogue.entries()
        return entries, [one for one in self._catalogue.snapshot.sessions if not one.gone]

    def _read_index(self, sessions: Iterable[SessionSummary]) -> RunIndex:
        directories = dict.fromkeys(one.cwd for one in sessions if one.cwd)
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

    def _key(self, entries: Iterable[CachedSource], sessions: Sequence[SessionSummary], runs: RunIndex) -> bytes:
        """Changes with every source and whether its calls are there, with the prices, with the zone that days are
        counted in, and with what the sessions are to each other."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((len(sessions), self.prices.edition, time.tzname, time.timezone, time.altzone)).encode())
        digest.update(repr(sorted(runs.files.items())).encode())
        for one in entries:
            counted = one.calls is not None and not one.uncounted
            stamp = (*key_of(one.source), one.source.stamp, one.exact, counted, bool(one.stale))
            digest.update(marshal.dumps(stamp, 2))  # faster than `repr`; 2 knows no references
        return digest.digest()

    def _kept(self, sheet: SpendSummary) -> SpendSummary:
        """Written down, unless a sum is too large for MessagePack. With what was wrong with that."""
        try:
            problem = self._catalogue.keep(_ENCODER.encode(sheet))
        except OverflowError:
            problem = self._catalogue.keep(b"")
        return sheet if problem is None else replace(sheet, problems=(*sheet.problems, problem))

    def _add_up(
        self,
        entries: Sequence[CachedSource],
        sessions: Sequence[SessionSummary],
        index: RunIndex,
        key: bytes,
        before: SpendSummary,
    ) -> SpendSummary:
        runs = index.by_session()
        by_id = {one.unified_id: one for one in sessions}
        chosen, copies = counted_at(entries, sessions)
        told = {name: one for name, one in chosen.items() if one[0].calls or name in runs}
        self._books = {name: self._book(by_id[name], *one, runs.get(name, ())) for name, one in told.items()}
        own = {name: book.cost for name, book in self._books.items()}
        made_of = {name: entry.reading for name, (entry, at) in chosen.items() if entry.counts(at)}
        if before.edition == self.prices.edition:
            looked = {one.agent for one in sessions}
            others = [name for name in before.own if name.partition(":")[0] not in looked]
            own.update((name, before.own[name]) for name in others)
            made_of.update((name, before.made_of[name]) for name in others if name in before.made_of)
        problems = [one for entry in entries for one in (*entry.unread, *entry.call_problems)]
        left = sum(not (entry.is_counted or entry.call_problems) for entry in entries)
        return SpendSummary(
            key=b"" if left else key,
            left=left,
            rows=self._rows(sorted((by_id[name] for name in self._books), key=_owner), chosen, runs),
            own={**dict.fromkeys(chosen), **own},
            made_of=made_of,
            copies=frozenset(copies),
            runs={name: len(some) for name, some in runs.items() if name not in copies},
            tags={unified_id(*name): tags for name, tags in index.tags().items()},
            strangers=tuple(run for run in index.runs if unified_id(run.agent, run.session_id) not in by_id),
            problems=(*problems, *index.problems),
            edition=self.prices.edition,
            tariffs=dict(self.prices.found),
        )

    def _book(self, session: SessionSummary, entry: CachedSource, name: str, runs: Sequence[Run]) -> SessionBook:
        """What the calls that the entry has under a name come to."""
        before = self._books.get(session.unified_id)
        return book_of(session, self._packs(entry, name), runs, self.prices, before)

    def _packs(self, entry: CachedSource, name: str) -> Packed:
        """The calls that the entry has under a name."""
        if self._split[0] is not entry.calls:
            by_name: dict[str, list[CallPack]] = defaultdict(list)
            for pack in entry.calls or ():
                by_name[pack.session_id].append(pack)
            self._split = (entry.calls, by_name)
        return tuple(self._split[1].get(name, ()))

    def _rows(
        self, sessions: Sequence[SessionSummary], chosen: Mapping[str, CountedAt], runs: Mapping[str, Sequence[Run]]
    ) -> tuple[SpendRow, ...]:
        """What each of `sessions` spent; they are in the order in which they own a call that several have."""
        shared = self._shared.among(self._books)
        calls = {name: self._packs(*chosen[name]) for name in chosen if name in shared}
        accounts = Accounts(self.prices, runs)
        for session in sessions:
            if session.unified_id in shared:
                accounts.add(session, calls[session.unified_id])
        rows: dict[str, Sequence[SpendRow]] = defaultdict(tuple)
        rows.update((name, book.rows) for name, book in self._books.items() if name not in shared)
        for row in accounts.rows():
            rows[row.unified_id] = (*rows[row.unified_id], row)
        return tuple(row for session in sessions for row in rows[session.unified_id])


def _owner(session: SessionSummary) -> tuple[bool, float, str]:
    """A call that several sessions have belongs to the one that began first, and never to a fork of it."""
    return (session.forked_from is not None, session.created_at.timestamp(), session.unified_id)
