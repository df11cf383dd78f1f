"""Tokens of a reply as Claude Code records them, made like those of every agent."""

from __future__ import annotations

from session_adapters.claude.records import ClaudeUsage
from session_adapters.model import TokenUsage

__all__ = ["Figures", "figures", "token_usage"]

Figures = tuple[int, int, int, int, int, int]
"""Tokens in the order of `TokenUsage`."""


def figures(usage: ClaudeUsage) -> Figures | None:
    """Normalised; None where all of it is zero (failed calls)."""
    fresh, output = usage.input_tokens or 0, usage.output_tokens or 0
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    if not (fresh or output or cached or written):
        return None
    details, creation = usage.output_tokens_details, usage.cache_creation
    thinking = (details.thinking_tokens or 0) if details is not None else 0
    hour = (creation.ephemeral_1h_input_tokens or 0) if creation is not None else 0
    return fresh, output, cached, written, thinking, hour if hour < written else written


def token_usage(usage: ClaudeUsage | None) -> TokenUsage | None:
    """Normalised; None where none was recorded or all of it is zero."""
    found = figures(usage) if usage is not None else None
    if found is None:
        return None
    return TokenUsage(
        input_tokens=found[0],
        output_tokens=found[1],
        cached_tokens=found[2],
        cache_write_tokens=found[3],
        thinking_tokens=found[4],
        cache_write_hour_tokens=found[5],
    )
