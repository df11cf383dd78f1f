"""Prices of models: the user's own, else by date from `genai-prices`.

That package takes a fifth of a second to import and 25 MB, so it is asked once for each model; what it said is kept
as plain numbers (`tariff`), also between runs of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_tui.config import Price
from hermes_tui.sessions.cost.rates import Rate, Tariff, Tier

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

__all__ = ["Prices", "listed_models", "tariff_of"]

_LOCAL = frozenset(("llama.cpp", "llamacpp", "lm-studio", "lmstudio", "local", "ollama", "vllm"))
"""Providers that are the user's own machine: what runs there has no list price."""
_PARTS = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "output_reasoning")


class Prices:
    """Finds what a model costs. `known` is what an earlier run found out (`Prices.found`)."""

    def __init__(self, own: Mapping[str, Price], known: Mapping[str, Tariff | None] | None = None) -> None:
        self._own: dict[str, Tariff] = {}
        for name, price in own.items():
            # What the user gives no price of its own costs as much as other input.
            read = price.input if price.cache_read is None else price.cache_read
            write = price.input if price.cache_write is None else price.cache_write
            self._own[name] = (Rate((Tier(-1, price.input, price.output, read, write, write, price.output),)),)
        self.found: dict[str, Tariff | None] = dict(known or {})
        """Model (with its provider, where one is known) → its prices; None where the package has none."""
        self.edition = repr((edition_of_list(), sorted(self._own.items())))
        """Changes whenever a price may."""
        self._asked: dict[tuple[str | None, str | None], Tariff | None] = {}

    def of(self, model: str | None, provider: str | None = None) -> Tariff | None:
        """The prices of a model; None where nobody knows any."""
        try:
            return self._asked[model, provider]
        except KeyError:
            tariff = self._own.get(model or "")
            if tariff is None and model:
                key = f"{provider or ''}\n{model}"
                if key not in self.found:
                    # By the provider, where the list knows it; then by the name alone, and by a name of the form
                    # `provider/model`.
                    listed = map(tariff_of, listed_models(model, provider))
                    self.found[key] = next((one for one in listed if one is not None), None)
                tariff = self.found[key]
            self._asked[model, provider] = tariff
            return tariff


def edition_of_list() -> str:
    """Changes with the price list that is installed, which is not imported for that."""
    found = find_spec("genai_prices")
    if found is None or found.origin is None:
        return ""
    status = Path(found.origin).with_name("data.py").stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def listed_models(model: str, provider: str | None) -> Iterator[ModelInfo]:
    """What the list has under that name, the most fitting first; nothing for what runs on the user's machine."""
    from genai_prices.data_snapshot import get_snapshot

    if provider is not None and provider.lower() in _LOCAL:
        return
    snapshot = get_snapshot()
    before, slash, after = model.partition("/")
    ways: list[tuple[str | None, str]] = [(None, model)]
    if provider:
        ways.insert(0, (provider, model))
    if slash and before.lower() in _LOCAL:
        return
    if slash:
        ways += [(before, after), ("openrouter", model)]
    for by, name in ways:
        try:
            found = snapshot.find_provider_model(name, None, by, None)[1]
        except LookupError:
            continue
        yield found


def tariff_of(model: ModelInfo) -> Tariff | None:
    """The list's prices of a model as plain numbers; None where it has none for input or output."""
    prices = model.prices
    rates: list[Rate | None] = []
    if isinstance(prices, list):
        for one in prices:
            since = -inf
            hours: tuple[float, float] | None = None
            constraint: Any = one.constraint
            if hasattr(constraint, "start_date"):
                since = datetime.combine(constraint.start_date, datetime.min.time(), UTC).timestamp()
            elif constraint is not None:
                hours = (_second(constraint.start_time), _second(constraint.end_time))
            rates.append(_rate_of(one.prices, since, hours))
    else:
        rates.append(_rate_of(prices))
    return None if not rates or any(rate is None for rate in rates) else tuple(rate for rate in rates if rate)


def _second(time: Any) -> float:
    """Seconds after midnight in UTC."""
    moment = datetime.combine(datetime(1970, 1, 2, tzinfo=UTC), time)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return moment.timestamp() % 86_400


def _rate_of(prices: ModelPrice, since: float = -inf, hours: tuple[float, float] | None = None) -> Rate | None:
    """None where the list has no price for input or output. A kind of token without a price of its own has that of
    the kind it belongs to."""
    stored = {name: getattr(prices, f"{name}_mtok") for name in _PARTS}
    if stored["input"] is None or stored["output"] is None:
        return None
    requests: Any = prices.requests_kcount
    starts = sorted({tier.start for value in stored.values() for tier in getattr(value, "tiers", ())})
    tiers = [_tier(stored, start, float(requests or 0) / 1000) for start in (-1, *starts)]
    return Rate(tuple(tiers), since, hours)


def _tier(stored: Mapping[str, Any], above: int, request: float) -> Tier:
    at = {name: _at(value, above) for name, value in stored.items()}
    fresh, output = at["input"] or 0.0, at["output"] or 0.0
    write = at["cache_write"] if at["cache_write"] is not None else fresh
    return Tier(
        above,
        fresh,
        output,
        at["cache_read"] if at["cache_read"] is not None else fresh,
        write,
        at["cache_write_1h"] if at["cache_write_1h"] is not None else write,
        at["output_reasoning"] if at["output_reasoning"] is not None else output,
        request,
    )


def _at(value: Any, above: int) -> float | None:
    """The price that holds for requests of more than `above` tokens of input."""
    if value is None:
        return None
    tiers = getattr(value, "tiers", None)
    if tiers is None:
        return float(value)
    found = value.base
    for tier in tiers:
        if tier.start <= above:
            found = tier.price
    return float(found)
