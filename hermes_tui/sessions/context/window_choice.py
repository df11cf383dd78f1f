"""Chooses an agent's context window: by hand, its own settings, the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from hermes_tui.config import ContextWindow
from hermes_tui.errors import ParseError, ValidationError
from hermes_tui.memory.working.strategies import STRATEGIES, StrategyName
from session_adapters.base import Memory
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.sessions.adapters import Adapters

__all__ = ["STRATEGIES", "WindowChoice", "choice_of", "parse_window", "window_for"]

_DEFAULTS: Mapping[str, StrategyName] = dict.fromkeys(("v0", "v1", "doc", "isolated"), "summary_buffer")
"""What Hector does where nobody says anything, by the generation of its tables; v2 takes everything."""


class WindowChoice(Struct, frozen=True, kw_only=True):
    """A window, and who says so."""

    strategy: StrategyName | None = None
    """None: everything since the conversation was last summarised."""
    size: int | None = None
    tokens: int | None = None
    target: float | None = None
    generation: str = ""
    """Of Hector's tables; empty for other agents."""
    source: str = ""
    """`chosen`, the file of the agent's configuration, `settings` or `default`; empty without a strategy."""
    trouble: str = ""
    """Why the agent's configuration could not be read."""


def parse_window(text: str) -> ContextWindow:
    """`buffer_window:20`, `token_window:8000`, `summary_buffer`: a strategy, and if wanted messages or tokens. Raises
    `ValidationError`."""
    name, colon, number = text.strip().partition(":")
    strategy = next((one for one in STRATEGIES if one == name), None)
    if strategy is None:
        raise ValidationError(f"unknown strategy {name!r}; known are {', '.join(STRATEGIES)}")
    if not colon:
        return ContextWindow(strategy=strategy)
    if not (number.isascii() and number.isdigit() and int(number[:12]) > 0):
        raise ValidationError(f"{text!r}: the size is a whole number, as in {name}:20")
    value = int(number[:12])
    if name == "buffer_window":
        return ContextWindow(strategy=strategy, size=value)
    return ContextWindow(strategy=strategy, tokens=value)


def window_for(
    memory: Memory | None, settings: ContextWindow | None = None, chosen: ContextWindow | None = None
) -> WindowChoice:
    """What counts: `chosen` by hand before `memory`, the agent's own configuration, before the user's `settings`."""
    generation = memory.generation if memory is not None else ""
    trouble = memory.trouble if memory is not None else ""
    if chosen is not None and chosen.strategy is not None:
        return _of(chosen, "chosen", generation, trouble)
    own = next((one for one in STRATEGIES if memory is not None and one == memory.strategy), None)
    if memory is not None and own is not None:
        return WindowChoice(
            strategy=own,
            size=memory.size,
            tokens=memory.tokens,
            target=memory.target,
            generation=generation,
            source=memory.source,
            trouble=trouble,
        )
    if settings is not None and settings.strategy is not None:
        return _of(settings, "settings", generation, trouble)
    usual = _DEFAULTS.get(generation)
    return WindowChoice(strategy=usual, generation=generation, source="default" if usual else "", trouble=trouble)


def _of(window: ContextWindow, source: str, generation: str, trouble: str) -> WindowChoice:
    return WindowChoice(
        strategy=window.strategy,
        size=window.size,
        tokens=window.tokens,
        generation=generation,
        source=source,
        trouble=trouble,
    )


def choice_of(
    adapters: Adapters,
    summary: SessionSummary,
    settings: Mapping[str, ContextWindow],
    chosen: ContextWindow | None = None,
) -> WindowChoice:
    """The window on a session; the adapter is asked what the agent itself is set to. Raises `ParseError` where that
    fails."""
    from hermes_tui.sessions.adapters import AdapterBroken

    try:
        memory = adapters.get(summary.agent).memory(summary)
    except AdapterBroken as error:
        raise ParseError(f"cannot tell what {summary.agent} sees: {error}") from error
    return window_for(memory, settings.get(summary.agent), chosen)
