"""The cost of one session and of each of its messages, of what is already read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from hermes_tui.sessions.cost.aggregate import own_cost
from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.rates import price
from hermes_tui.sessions.cost.runs import Run
from session_adapters.model import Cost, Message, Session
from session_adapters.usage import Usage, usage_of

__all__ = ["with_costs"]


def with_costs(
    session: Session, calls: Callable[[], Iterable[Usage]], runs: Sequence[Run], prices: Prices
) -> Session:
    """`session` with a cost where it has none of its own: recorded by agent-mux, or else estimated of its `calls` and
    for each message (which then says so)."""
    if session.cost is not None:
        return session
    cost = own_cost(calls(), runs, prices)
    if cost is None or not cost.estimated:
        return replace(session, cost=cost)
    now = time.time()
    messages: list[Message] = []
    for message in session.messages:
        tokens = message.token_usage
        priced = message
        if message.cost is None and tokens is not None:
            usage = usage_of(message)
            tariff = prices.of(usage.model or session.model)
            if tariff is not None:
                priced = replace(message, cost=Cost.of(tokens, price(tariff, usage, now), estimated=True))
        messages.append(priced)
    return replace(session, cost=cost, messages=tuple(messages))
