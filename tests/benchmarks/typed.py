"""Ten thousand random and adversarial queries, typed one character at a time into a search on a home.

The home is only read; the index is made in the cache first, if it is not there. Each character supersedes the
question before it; of the last one the complete answer is awaited.
"""

from __future__ import annotations

import random
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measures import Row
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from typed_queries import made

__all__ = ["typed"]

_LONGEST = 120.0
"""Seconds for one answer."""


def typed(home: Path, cache: Path, queries: int = 10_000, seed: int = 1, *, every: bool = False) -> Iterator[Row]:
    """Type them. With `every` the complete answer is awaited at every character, not only at the last one. Raises
    `AssertionError` with the query at which something was raised."""
    manager = SessionManager(Environment(home=home), cache_dir=cache)
    manager.catalogue.refresh()
    manager.index.poke(follow=False)
    manager.index.wait()
    failures: list[threading.ExceptHookArgs] = []
    hook, threading.excepthook = threading.excepthook, failures.append
    live = manager.searches.live()
    dice = random.Random(seed)
    times: list[tuple[float, str]] = []
    asked = 0
    try:
        for number in range(queries):
            text = made(dice)
            for end in range(1, len(text) + 1):
                began = time.perf_counter()
                live.ask(text[:end])
                asked += 1
                if every or end == len(text):
                    assert live.wait(_LONGEST).done, f"no end of {text[:end]!r}"
                    times.append((time.perf_counter() - began, text[:end]))
            assert not failures, f"raised for {text!r}: {failures[0].exc_value!r}"
            if number % 500 == 499:
                print(f"{number + 1:,} queries, slowest so far {max(times)!r}", file=sys.stderr)
    finally:
        live.close()
        threading.excepthook = hook
    took = sorted(one * 1000 for one, _ in times)
    slowest = max(times)
    yield Row("queries typed, nothing raised", "", float(queries))
    yield Row("questions, one a character", "", float(asked))
    yield Row("the complete answer: p50", "ms", statistics.median(took))
    yield Row("the complete answer: p95", "ms", took[int(len(took) * 0.95)])
    yield Row(f"the slowest: {slowest[1]!a}", "ms", slowest[0] * 1000, aim="≤ 100")
