"""What a model costs, as plain numbers: dated, by size of the request, and for every kind of token.

US dollars per million tokens. A request pays one tier for all of its tokens, chosen by its whole input; that is why
each call is priced for itself and never a sum of calls.
"""

from __future__ import annotations

from math import inf

from msgspec import Struct

from session_adapters.usage import Usage

__all__ = ["Rate", "Tariff", "Tier", "price"]

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


def price(tariff: Tariff, usage: Usage, now: float) -> float:
    """Dollars for `usage`; one without a time is taken as of `now`. Where it stands for several calls, each is taken
    to be of average size."""
    rate = tariff[0]
    if len(tariff) > 1:
        moment = now if usage.time is None else usage.time
        rate = next((one for one in reversed(tariff) if one.holds(moment)), rate)
    cached, written = usage.cached_tokens, usage.cache_write_tokens
    tier = rate.tiers[0]
    if len(rate.tiers) > 1:
        asked = (usage.input_tokens + cached + written) / usage.calls
        tier = next(one for one in reversed(rate.tiers) if asked > one.above)
    for_an_hour = min(usage.cache_write_hour_tokens, written)
    thinking = min(usage.thinking_tokens, usage.output_tokens)
    millions = (
        usage.input_tokens * tier.input
        + cached * tier.cache_read
        + (written - for_an_hour) * tier.cache_write
        + for_an_hour * tier.cache_write_hour
        + (usage.output_tokens - thinking) * tier.output
        + thinking * tier.thinking
    )
    return millions / _MILLION + tier.request * usage.calls
