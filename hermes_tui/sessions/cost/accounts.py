"""From single calls to a sheet: each call once, priced for itself, by session, model and day.

Priority of a session's costs (spec 004 §6.4, checklist C-5): what the agent recorded; else what agent-mux recorded of
its runs; else an estimate. Never two of them for one session.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import astuple

from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.runs import Run
from hermes_tui.sessions.cost.sheet import Row
from hermes_tui.sessions.cost.tariff import price
from session_adapters.model import Cost, SessionSummary
from session_adapters.usage import Usage

__all__ = ["Accounts", "days_of", "own_cost"]

_QUARTER = 900
"""Seconds: the grain of all offsets from UTC."""


def days_of(seconds: float) -> tuple[str, str]:
    """The date of a moment in UTC, and that in the local time zone."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.date().isoformat(), moment.astimezone().date().isoformat()


_PLACES = 12
"""Far below what a token costs: a session's cost is the same in whatever order its calls are added up."""


_Money = tuple[float | None, float, int]
"""What a call cost: US dollars (None where that is not known, or stands elsewhere), the estimated part of them, and
the tokens that nobody knows the price of."""


class _Sum(Struct):
    """Calls added up: the figures of a `Row` in its order, and whether any of the money is known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    thinking_tokens: int = 0
    usd: float = 0.0
    estimated_usd: float = 0.0
    unpriced_tokens: int = 0
    known: bool = False

    def add(self, call: Usage, money: _Money) -> None:
        """One more call."""
        self.calls += call.calls
        self.input_tokens += call.input_tokens
        self.output_tokens += call.output_tokens
        self.cached_tokens += call.cached_tokens
        self.cache_write_tokens += call.cache_write_tokens
        self.thinking_tokens += call.thinking_tokens
        usd, estimated, unpriced = money
        if usd is not None:
            self.known = True
            self.usd += usd
            self.estimated_usd += estimated
        self.unpriced_tokens += unpriced

    def merge(self, other: _Sum) -> None:
        """All of another sum."""
        self.calls += other.calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cached_tokens += other.cached_tokens
        self.cache_write_tokens += other.cache_write_tokens
        self.thinking_tokens += other.thinking_tokens
        self.usd += other.usd
        self.estimated_usd += other.estimated_usd
        self.unpriced_tokens += other.unpriced_tokens
        self.known = self.known or other.known


_NOTHING: _Money = (None, 0.0, 0)


class Accounts:
    """Adds up calls; give it the sessions in the order in which they own a call that several have."""

    def __init__(self, prices: Prices, runs: Mapping[str, Sequence[Run]]) -> None:
        self._prices = prices
        self._runs = runs
        self._now = time.time()
        self._sums: dict[tuple[str, str, str, str], _Sum] = defaultdict(_Sum)
        self._seen: dict[str, set[str]] = defaultdict(set)
        """Agent → keys of the calls that were counted."""
        self._later: list[tuple[SessionSummary, list[Usage]]] = []
        self._days: dict[int, tuple[str, str]] = {}

    def add(self, session: SessionSummary, calls: Sequence[Usage]) -> Cost | None:
        """Take in a session's calls; inherited ones wait for `rows`. What its own calls cost, those that another
        session has too among them; None where none of it is known."""
        own = [call for call in calls if not call.inherited]
        if len(own) < len(calls):
            self._later.append((session, [call for call in calls if call.inherited]))
        runs = self._runs.get(session.unified_id, ())
        total = self._add(session, own, _priced(own, runs, self._prices, self._now))
        if runs and not _is_native(own):
            for run in runs:
                self._add_run(session, run, with_tokens=not own)
        return _cost(total, own, runs)

    def rows(self) -> tuple[Row, ...]:
        """Everything by session, model and day."""
        while self._later:
            session, calls = self._later.pop(0)
            runs = self._runs.get(session.unified_id, ())
            self._add(session, calls, _priced(calls, runs, self._prices, self._now))
        return tuple(Row(*key, *astuple(one)[:-1]) for key, one in self._sums.items())

    def _add(self, session: SessionSummary, calls: Sequence[Usage], money: Sequence[_Money]) -> _Sum:
        """Count the calls that nobody had before. What all of them come to, each once."""
        begun = session.created_at.timestamp()
        seen = self._seen[session.agent]
        mine: set[str] = set()
        again = _Sum()
        sums: dict[tuple[str, str, str], _Sum] = defaultdict(_Sum)
        for call, paid in zip(calls, money, strict=True):
            key = call.key
            if key:
                if key in mine:
                    continue
                mine.add(key)
                if key in seen:
                    again.add(call, paid)
                    continue
            moment = begun if call.time is None else call.time
            sums[call.model or "", *self._days_of(moment)].add(call, paid)
        seen |= mine
        for place, total in sums.items():
            self._sums[session.unified_id, *place].merge(total)
            again.merge(total)
        return again

    def _add_run(self, session: SessionSummary, run: Run, *, with_tokens: bool) -> None:
        if run.cost is None:
            return
        moment = run.time if run.time is not None else session.created_at.timestamp()
        total = self._sums[session.unified_id, run.model or session.model or "", *self._days_of(moment)]
        total.usd += run.cost.total_usd or 0.0
        if with_tokens:
            total.add(run.cost.usage(session.session_id), _NOTHING)

    def _days_of(self, moment: float) -> tuple[str, str]:
        quarter = int(moment // _QUARTER)
        days = self._days.get(quarter)
        if days is None:
            days = self._days[quarter] = days_of(moment)
        return days


def own_cost(calls: Iterable[Usage], runs: Sequence[Run], prices: Prices) -> Cost | None:
    """What the calls in a session's own record cost; None where none of it is known. A sum that lacks unpriced calls
    is a lower bound and stays one."""
    own = [call for call in calls if not call.inherited]
    seen: set[str] = set()
    total = _Sum()
    for call, paid in zip(own, _priced(own, runs, prices, time.time()), strict=True):
        if not call.key or call.key not in seen:
            seen.add(call.key)
            total.add(call, paid)
    return _cost(total, own, runs)


def _is_native(calls: Iterable[Usage]) -> bool:
    return any(call.usd is not None for call in calls)


def _tokens(call: Usage) -> int:
    return call.input_tokens + call.output_tokens + call.cached_tokens + call.cache_write_tokens


def _priced(calls: Sequence[Usage], runs: Sequence[Run], prices: Prices, now: float) -> list[_Money]:
    """What each call of a session cost, by the one source of prices that counts for it."""
    if _is_native(calls):
        return _native(calls)
    if any(run.cost is not None for run in runs):
        return [_NOTHING] * len(calls)
    priced: list[_Money] = []
    for call in calls:
        tariff = prices.of(call.model, call.provider)
        if tariff is None:
            priced.append((None, 0.0, _tokens(call)))
        else:
            usd = price(tariff, call, now)
            priced.append((usd, usd, 0))
    return priced


def _native(calls: Sequence[Usage]) -> list[_Money]:
    """Where the agent priced single calls, a model that it never priced is one that it knows no price of."""
    by_call = any(call.usd is not None and call.input_tokens + call.output_tokens for call in calls)
    known = {call.model for call in calls if call.usd is not None}
    priced: list[_Money] = []
    for call in calls:
        if call.usd is not None:
            priced.append((call.usd, call.usd if call.estimated else 0.0, 0))
        elif by_call and call.model not in known:
            priced.append((None, 0.0, _tokens(call)))
        else:
            priced.append(_NOTHING)
    return priced


def _cost(total: _Sum, calls: Sequence[Usage], runs: Sequence[Run]) -> Cost | None:
    """The cost of a session by itself: its calls, each once, come to `total`."""
    usd, known = total.usd, total.known
    if runs and not _is_native(calls):
        paid = [run.cost.total_usd or 0.0 for run in runs if run.cost is not None]
        known = known or bool(paid)
        usd += sum(paid)
    if not known:
        return None
    return Cost(
        total_usd=round(usd, _PLACES),
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        thinking_tokens=total.thinking_tokens,
        cached_tokens=total.cached_tokens,
        estimated=total.estimated_usd > 0,
    )
