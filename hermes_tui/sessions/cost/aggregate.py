"""Sums single calls by session, model and day; counts each call once.

Priority of a session's costs (spec 004 §6.4, checklist C-5): what the agent recorded; else what agent-mux recorded of
its runs; else an estimate. Never two of them for one session.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime

from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.rates import Charged, Tier, tier_of
from hermes_tui.sessions.cost.runs import Run
from hermes_tui.sessions.cost.summary import SpendRow
from session_adapters.model import Cost, SessionSummary, unified_id
from session_adapters.usage import Usage, some_at_a_time

__all__ = ["Accounts", "days_of", "own_cost"]

_QUARTER = 900
"""Seconds: the grain of all offsets from UTC."""


def days_of(seconds: float) -> tuple[str, str]:
    """The date of a moment in UTC, and that in the local time zone."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat(), date.fromtimestamp(seconds).isoformat()


_SPENT = SpendRow.__struct_fields__[4:-1]
"""The figures of a row."""
_PLACES = 12
"""Far below what a token costs: a session's cost is the same in whatever order its calls are added up."""


class _Sum(Charged):
    """Calls added up: the figures of a `SpendRow`, and whether any of the money is known."""

    usd: float = 0.0
    estimated_usd: float = 0.0
    unpriced_tokens: int = 0
    known: bool = False

    def pay(self, usd: float, *, estimated: bool) -> None:
        """Money that is known."""
        self.known = True
        self.usd += usd
        self.estimated_usd += usd if estimated else 0.0

    def merge(self, other: _Sum) -> None:
        """What a row tells of another sum."""
        for name in _SPENT:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.known = self.known or other.known

    def row(self, unified_id: str, model: str, day: str, local_day: str, origin: str) -> SpendRow:
        """As it is kept."""
        spent = {name: getattr(self, name) for name in _SPENT}
        return SpendRow(unified_id, model, day, local_day, **spent, origin=origin)


_Place = tuple[str | None, str | None, int | None]
"""Model, who served it, and quarter of an hour since the epoch; None: when the session began."""


class _Till:
    """Prices the calls of one session by the one source of prices that counts for it."""

    def __init__(self, calls: Iterable[Usage], runs: Sequence[Run], prices: Prices, now: float) -> None:
        self._prices = prices
        self._now = now
        self._native = is_native = _is_native(calls)
        self._recorded = is_native or any(run.cost is not None for run in runs)
        # Where the agent priced single calls, a model that it never priced is one that it knows no price of.
        self._by_call = False
        self._known: set[str | None] = set()
        for call in calls if is_native else ():
            if call.usd is not None:
                self._by_call = self._by_call or call.input_tokens + call.output_tokens > 0
                self._known.add(call.model)

    def sums(self, calls: Iterable[Usage]) -> Iterator[tuple[_Place, _Sum]]:
        """What they come to, by place; one may come several times."""
        places: dict[_Place, list[Usage]] = defaultdict(list)
        for call in calls:
            moment = call.time
            places[call.model, call.provider, None if moment is None else int(moment // _QUARTER)].append(call)
        for place, some in places.items():
            if self._recorded:
                total = _Sum()
                total.take(some)
                # Money of runs belongs to no single call: it is added by `Accounts`.
                for call in some if self._native else ():
                    if call.usd is not None:
                        total.pay(call.usd, estimated=call.estimated)
                    elif self._by_call and call.model not in self._known:
                        total.unpriced_tokens += _tokens(call)
                yield place, total
            else:
                for total in self._estimated(some):
                    yield place, total

    def _estimated(self, calls: Sequence[Usage]) -> Iterator[_Sum]:
        """By tier; the calls are all of one model."""
        tariff = self._prices.of(calls[0].model, calls[0].provider)
        tiers: dict[Tier | None, list[Usage]] = {}
        if tariff is None or len(tariff) == len(tariff[0].tiers) == 1:
            tiers[tariff and tariff[0].tiers[0]] = list(calls)
        else:
            for call in calls:
                tiers.setdefault(tier_of(tariff, call, self._now), []).append(call)
        for tier, some in tiers.items():
            total = _Sum()
            total.take(some)
            if tier is None:
                total.unpriced_tokens = _tokens(total)
            else:
                total.pay(total.price(tier), estimated=True)
            yield total


class Accounts:
    """Adds up calls; give it the sessions in the order in which they own a call that several have."""

    def __init__(self, prices: Prices, runs: Mapping[str, Sequence[Run]]) -> None:
        self._prices = prices
        self._runs = runs
        self._now = time.time()
        self._sums: dict[tuple[str, str, str, str, str], _Sum] = defaultdict(_Sum)
        self._seen: dict[str, set[int]] = defaultdict(set)
        """Agent → hashes of what tells the calls apart that were counted."""
        self._later: list[tuple[SessionSummary, Iterable[Usage]]] = []
        self._days: dict[int, tuple[str, str]] = {}

    def add(self, session: SessionSummary, calls: Iterable[Usage]) -> Cost | None:
        """Take in a session's calls, which are gone through several times; inherited ones wait for `rows`. What its
        own calls cost, those that another session has too among them; None where none of it is known."""
        own = calls
        if any(call.inherited for call in calls):
            own = _Only(calls, inherited=False)
            self._later.append((session, _Only(calls, inherited=True)))
        runs = self._runs.get(session.unified_id, ())
        total = self._add(session, own, runs)
        if runs and not _is_native(own):
            # The tokens of a run are those of the calls in the session's record, where it has any.
            is_empty = not any(True for _ in own)
            for run in runs:
                if run.cost is None:
                    continue
                moment = run.time if run.time is not None else session.created_at.timestamp()
                spent = self._sums[session.unified_id, run.model or session.model or "", *self._days_of(moment), ""]
                spent.usd += run.cost.total_usd or 0.0
                if is_empty:
                    used = _Sum()
                    used.take((run.cost.usage(session.session_id),))
                    spent.merge(used)
        return _cost(total, own, runs)

    def rows(self) -> tuple[SpendRow, ...]:
        """Everything by session, model and day."""
        while self._later:
            session, calls = self._later.pop(0)
            origin = unified_id(session.agent, session.forked_from or session.parent_id or "unknown")
            self._add(session, calls, self._runs.get(session.unified_id, ()), origin)
        return tuple(one.row(*key) for key, one in self._sums.items())

    def _add(self, session: SessionSummary, calls: Iterable[Usage], runs: Sequence[Run], origin: str = "") -> _Sum:
        """Count the calls that nobody had before. What all of them come to, each once."""
        till = _Till(calls, runs, self._prices, self._now)
        seen = self._seen[session.agent]
        begun = session.created_at.timestamp()
        whole = _Sum()
        met: set[int] = set()
        for some in some_at_a_time(_once(calls, met)):
            new = [one for one in some if not one.key or hash(one.identity) not in seen]
            for (model, _, quarter), total in till.sums(new):
                days = self._days_of(begun if quarter is None else quarter * _QUARTER)
                self._sums[session.unified_id, model or "", *days, origin].merge(total)
                whole.merge(total)
            if len(new) < len(some):
                # Counted with another session, though they are part of what this one cost by itself.
                for _, total in till.sums(one for one in some if one.key and hash(one.identity) in seen):
                    whole.merge(total)
        seen.update(met)
        return whole

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
    till = _Till(own, runs, prices, time.time())
    total = _Sum()
    for some in some_at_a_time(_once(own, set())):
        for _, one in till.sums(some):
            total.merge(one)
    return _cost(total, own, runs)


class _Only:
    """The inherited calls among some, or the others, each time that they are gone through: they may be thousands."""

    def __init__(self, calls: Iterable[Usage], *, inherited: bool) -> None:
        self._calls = calls
        self._inherited = inherited

    def __iter__(self) -> Iterator[Usage]:
        return (call for call in self._calls if call.inherited is self._inherited)


def _once(calls: Iterable[Usage], met: set[int]) -> Iterator[Usage]:
    """The first of those that are the same call. `met` takes the hashes of what tells them apart."""
    for call in calls:
        if call.key:
            name = hash(call.identity)
            if name in met:
                continue
            met.add(name)
        yield call


def _is_native(calls: Iterable[Usage]) -> bool:
    return any(call.usd is not None for call in calls)


def _tokens(one: Usage | Charged) -> int:
    return one.input_tokens + one.output_tokens + one.cached_tokens + one.cache_write_tokens


def _cost(total: _Sum, calls: Iterable[Usage], runs: Sequence[Run]) -> Cost | None:
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
