"""Costs by session, model and day: all that a report needs.

Small enough to be kept and read at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hermes_tui.sessions.cost.rates import Rate
from hermes_tui.sessions.cost.runs import Run
from session_adapters.model import Cost, Problem

__all__ = ["SpendPrices", "SpendRow", "SpendSummary"]


class SpendRow(Struct, frozen=True, array_like=True, gc=False):
    """What one session spent on one model on one day. Money in US dollars."""

    unified_id: str
    model: str
    """Empty where none is known."""
    day: str
    """ISO date in UTC."""
    local_day: str
    """ISO date in the local time zone."""
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    thinking_tokens: int
    usd: float = 0.0
    """All of it: recorded and estimated."""
    estimated_usd: float = 0.0
    """The estimated part."""
    unpriced_tokens: int = 0
    """Tokens of calls that nobody knows the price of."""
    origin: str = ""
    """Unified id of the session that spent it, where that is not there any more and only the fork `unified_id` still
    has a copy of its calls; empty where it spent it itself."""


class SpendPrices(Struct, frozen=True, kw_only=True):
    """The part of it that tells prices."""

    edition: str = ""
    """Of the prices."""
    tariffs: Mapping[str, tuple[Rate, ...] | None] = {}
    """What was found out about prices (`Prices.found`)."""


class SpendSummary(SpendPrices, frozen=True, kw_only=True):
    """The whole of it, at one moment."""

    key: bytes = b""
    """Changes with anything that the sheet is made of."""
    rows: tuple[SpendRow, ...] = ()
    own: Mapping[str, Cost | None] = {}
    """Unified id → what the calls in a session's own record cost, those that another session has too among them."""
    made_of: Mapping[str, int] = {}
    """Unified id → `CachedSource.reading`, as it was when its `own` was added up; missing where not all was."""
    copies: frozenset[str] = frozenset()
    """Unified ids of sessions that an earlier agent reads from the same file: not counted again."""
    runs: Mapping[str, int] = {}
    """Unified id → how many runs of agent-mux it had."""
    tags: Mapping[str, tuple[str, ...]] = {}
    """Unified id → tags from the run index."""
    strangers: tuple[Run, ...] = ()
    """Runs of sessions that no store has."""
    problems: tuple[Problem, ...] = ()
    left: int = 0
    """Files that there was no time to add up: their sessions have no calls here."""
