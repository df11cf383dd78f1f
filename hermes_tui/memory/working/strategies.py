"""Strategies by their names in Hector's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from hermes_tui.memory.working.buffer_window import WINDOW, BufferWindow
from hermes_tui.memory.working.habits import HABITS
from hermes_tui.memory.working.strategy import PlainStrategy, WorkingMemoryStrategy
from hermes_tui.memory.working.summary_buffer import BUDGET, TARGET, THRESHOLD, Summarizer, SummaryBuffer
from hermes_tui.memory.working.token_window import TokenWindow

__all__ = ["STRATEGIES", "StrategyName", "StrategySettings", "strategy_of"]

StrategyName = Literal["summary_buffer", "buffer_window", "token_window"]
STRATEGIES: tuple[StrategyName, ...] = ("summary_buffer", "buffer_window", "token_window")
_MORE: Mapping[str, WorkingMemoryStrategy] = MappingProxyType({})


class StrategySettings(Struct, frozen=True, kw_only=True):
    """`memory.working` of an agent; where a number is missing, Hector's own."""

    strategy: str = "summary_buffer"
    """Empty for the whole conversation."""
    window_size: int | None = None
    """Messages of `buffer_window`."""
    max_messages: int | None = None
    """Messages beyond which `summary_buffer` summarises."""
    budget: int | None = None
    """Tokens of `summary_buffer` and `token_window`."""
    threshold: float | None = None
    target: float | None = None


def strategy_of(
    settings: StrategySettings,
    summarize: Summarizer | None = None,
    generation: str = "isolated",
    more: Mapping[str, WorkingMemoryStrategy] = _MORE,
) -> WorkingMemoryStrategy:
    """The strategy of these settings, on tables of this generation. `more` are strategies of the caller's own, by
    name. Raises `ValueError`, one clause, for a name that nobody knows."""
    if settings.strategy in more:
        return more[settings.strategy]
    if settings.strategy == "summary_buffer":
        return SummaryBuffer(
            summarize=summarize,
            budget=settings.budget or BUDGET,
            threshold=settings.threshold or THRESHOLD,
            target=settings.target or TARGET,
            max_messages=settings.max_messages or 0,
            habits=HABITS[generation],
        )
    if settings.strategy == "buffer_window":
        return BufferWindow(WINDOW if settings.window_size is None else settings.window_size)
    if settings.strategy == "token_window":
        return TokenWindow(settings.budget or BUDGET)
    if not settings.strategy:
        return PlainStrategy()
    known = ", ".join((*STRATEGIES, *more))
    raise ValueError(f"there is no strategy {settings.strategy!r}; known are {known}")
