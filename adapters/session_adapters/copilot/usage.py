"""Tokens that `session.shutdown` reports.

All there is before 1.0.9x, beside the output tokens of each reply.

Without `accountingSnapshot` the figures are the run's own and are added up; with it they go on from the run before
(FACTS.md, «Fields»). Replies of those versions carry their output, which is taken off, so that it counts once.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from session_adapters.copilot.records import Metric, Shutdown, normalised
from session_adapters.model import TokenUsage

__all__ = ["RUN_ENDED", "RunTotals", "main_total"]

RUN_ENDED = "(tokens of the run that ended here, beside what its replies tell)"
"""Content of the notice that carries them."""


def main_total(shutdown: Shutdown) -> tuple[TokenUsage, bool]:
    """What the session itself spent, over all models, and whether helpers are left out of it."""
    main = (shutdown.agent_metrics or {}).get("main")
    if main is not None and main.model_metrics is not None:
        return _sum(main.model_metrics), True
    return _sum(shutdown.model_metrics or {}), False


def _sum(metrics: Mapping[str, Metric]) -> TokenUsage:
    total = TokenUsage()
    for metric in metrics.values():
        if metric.usage is not None:
            total += normalised(metric.usage)
    return total


class RunTotals:
    """What the shutdowns in a run of lines add. Where the lines begin in the middle of a file, the first one's figure
    may be too large."""

    def __init__(self) -> None:
        self.own = 0
        """Output of the session's replies since the last shutdown."""
        self.helpers = 0
        """The helpers' output since then."""
        self.previous: TokenUsage | None = None
        """Of the last shutdown whose figures go on."""

    def end(self, shutdown: Shutdown) -> TokenUsage:
        """What the run that ends here adds."""
        total, alone = main_total(shutdown)
        known = TokenUsage(output_tokens=self.own if alone else self.own + self.helpers)
        self.own = self.helpers = 0
        if shutdown.accounting_snapshot is not None:
            known += self.previous or TokenUsage()
            self.previous = total
        return _minus(total, known)


def _minus(total: TokenUsage, known: TokenUsage) -> TokenUsage:
    output = max(0, total.output_tokens - known.output_tokens)
    return replace(
        total,
        input_tokens=max(0, total.input_tokens - known.input_tokens),
        output_tokens=output,
        cached_tokens=max(0, total.cached_tokens - known.cached_tokens),
        cache_write_tokens=max(0, total.cache_write_tokens - known.cache_write_tokens),
        thinking_tokens=min(output, max(0, total.thinking_tokens - known.thinking_tokens)),
    )
