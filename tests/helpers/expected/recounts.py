"""What a database comes to: all of it read anew, and by what changed in it."""

from __future__ import annotations

from collections.abc import Callable

from session_adapters.base import Adapter
from session_adapters.model import Problem, SessionSummary

__all__ = ["Told", "counting", "whole"]

Told = tuple[list[SessionSummary], list[Problem]]


def whole(adapter: Adapter) -> Told:
    """All of the one source that there is."""
    problems: list[Problem] = []
    (source,) = adapter.sources(lambda problem: None)
    return list(adapter.summaries(source, problems.append, exact=True)), problems


def counting(adapter: Adapter) -> Callable[[], Told]:
    """What counts it, and again what changed."""
    (source,) = adapter.sources(lambda problem: None)
    counter = adapter.counter(source)
    assert counter is not None

    def count() -> Told:
        problems: list[Problem] = []
        (now,) = adapter.sources(lambda problem: None)
        summaries, calls = counter(now, problems.append)
        assert calls is None
        return list(summaries), problems

    return count
