"""Sums single calls by session, model and day; counts each call once.

Priority of a session's costs (spec 004 §6.4, checklist C-5): what the agent recorded; else what agent-mux recorded of
its runs; else an estimate. Never two of them for one session.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from datetime import UTC, date, datetime
from typing import NamedTuple

from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.rates import Charged, Tier, tier_of
from hermes_tui.sessions.cost.runs import Run
from hermes_tui.sessions.cost.summary import SpendRow
from session_adapters.growing.hashes import Hashes
from session_adapters.model import EPOCH, Cost, SessionSummary, unified_id
from session_adapters.usage import CallPack, Usage, in_packs, some_at_a_time, unpacked

__all__ = ["Accounts", "SessionAccount", "days_of", "origin_of", "own_cost"]

_QUARTER = 900
"""Seconds: the grain of all offsets from UTC."""
_Day = tuple[str, str, str]
"""Model, and day in UTC and in the local time zone."""


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


class _Way(NamedTuple):
    """How the calls of a session are priced, which they tell together."""

    native: bool = False
    """The agent recorded what some of them cost."""
    by_call: bool = False
    """It priced single calls: a model that it never priced is one that it knows no price of."""
    known: frozenset[str | None] = frozenset()
    """The models that it priced."""

    def with_(self, calls: Iterable[Usage]) -> _Way:
        """With these calls among them."""
        native, by_call, known = self
        for call in calls:
            if call.usd is not None:
                native, by_call = True, by_call or call.input_tokens + call.output_tokens > 0
                known = known if call.model in known else known | {call.model}
        return _Way(native, by_call, known)


class SessionAccount:
    """What calls of one session come to, added up as they come, each once; priced by the one source of prices that
    counts for them."""

    def __init__(
        self,
        session: SessionSummary,
        calls: Iterable[CallPack],
        runs: Sequence[Run],
        prices: Prices,
        seen: Hashes | Set[int] = frozenset(),
    ) -> None:
        """`calls` are all that will be taken in, as far as they are known; `seen` are those that count with another
        session (see `met`): they are part of what this one cost by itself, and of nothing else."""
        self._agent, self._model = session.agent, session.model
        self._begun = session.created_at.timestamp()
        self._way = _Way().with_(unpacked(calls))
        self._taken = _Way()
        """What those tell that were taken in: the others may be gone when more is to be."""
        self._runs = runs
        self._prices = prices
        self._seen = seen
        self._now = time.time()
        self._sums: dict[_Day, _Sum] = defaultdict(_Sum)
        self._whole = _Sum()
        self._is_empty = True
        self.met = Hashes()
        """What tells the calls apart that another session may have, too."""

    def goes_on(self, calls: Iterable[CallPack]) -> bool:
        """Whether these are priced as those before, and those before as with these."""
        return self._taken.with_(unpacked(calls)) == self._way

    def copy(self) -> SessionAccount:
        """Another one, which may be given what comes next."""
        other = copy(self)
        vars(other).update(_whole=copy(self._whole), _sums=self._copied(), met=self.met.copy())
        return other

    def take(self, calls: Iterable[CallPack]) -> None:
        """Take in the next."""
        for some in some_at_a_time(self._once(unpacked(calls))):
            self._is_empty = False
            new = [one for one in some if not one.key or self._name(one) not in self._seen]
            for (model, _, quarter), total in self._priced(new):
                day = days_of(self._begun if quarter is None else quarter * _QUARTER)
                self._sums[model or "", *day].merge(total)
                self._whole.merge(total)
            if len(new) < len(some):
                for _, total in self._priced(one for one in some if one.key and self._name(one) in self._seen):
                    self._whole.merge(total)

    @property
    def cost(self) -> Cost | None:
        """What all of them cost, and the session's runs; None where none of it is known. A sum that lacks unpriced
        calls is a lower bound and stays one."""
        total = self._whole
        usd, known = total.usd, total.known
        if self._runs and not self._way.native:
            paid = [run.cost.total_usd or 0.0 for run in self._runs if run.cost is not None]
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

    def rows(self, unified_id: str, origin: str = "") -> list[SpendRow]:
        """The calls that count with the session, by model and day, with its runs unless they are of an `origin`."""
        sums = self._sums if origin else self._with_runs()
        return [one.row(unified_id, *day, origin) for day, one in sums.items()]

    def _with_runs(self) -> Mapping[_Day, _Sum]:
        """With the money of the session's runs, where that counts: it belongs to no single call."""
        if not self._runs or self._way.native:
            return self._sums
        sums = self._copied()
        # The tokens of a run are those of the calls in the session's record, where it has any.
        for run in self._runs:
            if run.cost is not None:
                moment = run.time if run.time is not None else self._begun
                spent = sums[run.model or self._model or "", *days_of(moment)]
                spent.usd += run.cost.total_usd or 0.0
                if self._is_empty:
                    used = _Sum()
                    used.take((run.cost.usage(""),))
                    spent.merge(used)
        return sums

    def _copied(self) -> dict[_Day, _Sum]:
        return defaultdict(_Sum, {day: copy(one) for day, one in self._sums.items()})

    def _name(self, call: Usage) -> int:
        return hash((self._agent, call.identity))

    def _once(self, calls: Iterable[Usage]) -> Iterator[Usage]:
        """The first of those that are the same call."""
        for call in calls:
            if call.usd is not None:
                self._taken = self._taken.with_((call,))
            if call.key:
                name = self._name(call)
                if name in self.met:
                    continue
                self.met.add(name)
            yield call

    def _priced(self, calls: Iterable[Usage]) -> Iterator[tuple[_Place, _Sum]]:
        """What they come to, by place; one may come several times."""
        recorded = self._way.native or any(run.cost is not None for run in self._runs)
        places: dict[_Place, list[Usage]] = defaultdict(list)
        for call in calls:
            moment = call.time
            places[call.model, call.provider, None if moment is None else int(moment // _QUARTER)].append(call)
        for place, some in places.items():
            if not recorded:
                for total in self._estimated(some):
                    yield place, total
                continue
            total = _Sum()
            total.take(some)
            # Money of runs belongs to no single call: see `_with_runs`.
            for call in some if self._way.native else ():
                if call.usd is not None:
                    total.pay(call.usd, estimated=call.estimated)
                elif self._way.by_call and call.model not in self._way.known:
                    total.unpriced_tokens += _tokens(call)
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
    """Adds up the calls of several sessions, each once; give it those in the order in which they own a call that
    several have."""

    def __init__(self, prices: Prices, runs: Mapping[str, Sequence[Run]]) -> None:
        self._prices = prices
        self._runs = runs
        self._rows: list[SpendRow] = []
        self._seen: set[int] = set()
        self._later: list[tuple[SessionSummary, Sequence[CallPack]]] = []

    def add(self, session: SessionSummary, calls: Sequence[CallPack]) -> Cost | None:
        """Take in a session's calls; copies wait for `rows`. What its own calls cost, those that another session has
        too among them; None where none of it is known."""
        if copies := [one for one in calls if one.inherited]:
            self._later.append((session, copies))
        return self._add(session, [one for one in calls if not one.inherited]).cost

    def rows(self) -> tuple[SpendRow, ...]:
        """Everything by session, model and day."""
        while self._later:
            session, calls = self._later.pop(0)
            self._add(session, calls, origin_of(session))
        return tuple(self._rows)

    def _add(self, session: SessionSummary, calls: Sequence[CallPack], origin: str = "") -> SessionAccount:
        """Count the calls that nobody had before."""
        runs = self._runs.get(session.unified_id, ())
        account = SessionAccount(session, calls, runs, self._prices, self._seen)
        account.take(calls)
        self._seen.update(account.met)
        self._rows += account.rows(session.unified_id, origin)
        return account


def origin_of(session: SessionSummary) -> str:
    """Whose the calls are that a session has copies of."""
    return unified_id(session.agent, session.forked_from or session.parent_id or "unknown")


def own_cost(calls: Iterable[Usage], runs: Sequence[Run], prices: Prices) -> Cost | None:
    """What the calls in a session's own record cost; None where none of it is known."""
    own = [*in_packs(call for call in calls if not call.inherited)]
    account = SessionAccount(SessionSummary(agent="", session_id="", created_at=EPOCH), own, runs, prices)
    account.take(own)
    return account.cost


def _tokens(one: Usage | Charged) -> int:
    return one.input_tokens + one.output_tokens + one.cached_tokens + one.cache_write_tokens
