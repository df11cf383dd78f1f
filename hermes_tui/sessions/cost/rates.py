"""What a model costs in plain numbers: by date, request size, token kind.

US dollars per million tokens. A request pays one tier for all of its tokens, chosen by its whole input; that is why
a tier is found for each call by itself. Calls of one tier may be priced together: within it a price is a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import attrgetter

from msgspec import Struct

from session_adapters.usage import Usage

__all__ = ["Charged", "Rate", "Tariff", "Tier", "price", "tier_of"]

_MILLION = 1_000_000
_DAY = 86_400


class Tier(Struct, frozen=True, array_like=True):
    """Prices of requests with more input than `above` tokens."""

    above: int
    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_hour: float
    thinking: float
    """Of the part of the output that is reasoning."""
    request: float = 0.0
    """Dollars per call, whatever its size."""


class Rate(Struct, frozen=True, array_like=True):
    """The prices of one time: from `since` (seconds since the epoch) on, and where `hours` is set between these two
    seconds of the day in UTC, which may lie around midnight."""

    tiers: tuple[Tier, ...]
    """By `above`; the first one's is -1."""
    since: float = -inf
    hours: tuple[float, float] | None = None

    def holds(self, moment: float) -> bool:
        """Whether these prices were asked at `moment`, seconds since the epoch."""
        if moment < self.since:
            return False
        if self.hours is None:
            return True
        start, end = self.hours
        second = moment % _DAY
        return start <= second < end if start <= end else second >= start or second < end


Tariff = tuple[Rate, ...]
"""All prices of a model; of those that hold the last one counts, and the first where none does."""


def tier_of(tariff: Tariff, usage: Usage, now: float) -> Tier:
    """The prices that were asked for `usage`; one without a time is taken as of `now`. Where it stands for several
    calls, each is taken to be of average size."""
    rate = tariff[0]
    if len(tariff) > 1:
        moment = now if usage.time is None else usage.time
        rate = next((one for one in reversed(tariff) if one.holds(moment)), rate)
    tier = rate.tiers[0]
    if len(rate.tiers) > 1:
        asked = (usage.input_tokens + usage.cached_tokens + usage.cache_write_tokens) / usage.calls
        tier = next(one for one in reversed(rate.tiers) if asked > one.above)
    return tier


_FIGURES = attrgetter(
    "calls",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "thinking_tokens",
    "cache_write_hour_tokens",
)


class Charged(Struct):
    """What calls used, added up."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    thinking_tokens: int = 0
    charged_hour: int = 0
    """Written to a cache for an hour: no more than what each call wrote to it."""
    charged_thinking: int = 0
    """No more than what each call wrote."""

    def take(self, calls: Sequence[Usage]) -> None:
        """Calls instead of what was here."""
        columns = zip(*map(_FIGURES, calls), strict=True)
        figures = [sum(column) for column in columns]
        self.calls, self.input_tokens, self.output_tokens, self.cached_tokens = figures[:4]
        self.cache_write_tokens, self.thinking_tokens, self.charged_hour = figures[4:]
        self.charged_thinking = self.thinking_tokens
        if self.thinking_tokens:
            self.charged_thinking = sum(min(one.thinking_tokens, one.output_tokens) for one in calls)
        if self.charged_hour:
            self.charged_hour = sum(min(one.cache_write_hour_tokens, one.cache_write_tokens) for one in calls)

    def price(self, tier: Tier) -> float:
        """Dollars, if all of it was of one tier."""
        millions = (
            self.input_tokens * tier.input
            + self.cached_tokens * tier.cache_read
            + (self.cache_write_tokens - self.charged_hour) * tier.cache_write
            + self.charged_hour * tier.cache_write_hour
            + (self.output_tokens - self.charged_thinking) * tier.output
            + self.charged_thinking * tier.thinking
        )
        return millions / _MILLION + tier.request * self.calls


def price(tariff: Tariff, usage: Usage, now: float) -> float:
    """Dollars for `usage`; see `tier_of` for `now`."""
    charged = Charged()
    charged.take((usage,))
    return charged.price(tier_of(tariff, usage, now))
