"""Queries that are typed: into the real program, and ten thousand odd ones into a search.

The home is only read; the index is made in the cache first, if it is not there. Each character supersedes the
question before it; of the last one the complete answer is awaited.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measures import Row, Tool
from benchmarks.terminal import Terminal
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from typed_queries import made

__all__ = ["keystrokes", "typed"]

_QUERIES = ("docker network", "needlezq3", "agent:claude error", '"the user', "flaky test", "-docker since:7d")
_SILENCE = 0.6
"""Seconds without a byte after which an answer counts as final."""
_PREVIEW = 0.12
"""Seconds for which the cursor rests on a row before it is looked at: what is painted later is the preview."""
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


def keystrokes(tool: Tool, home: Path) -> Iterator[Row]:
    """Type each query one key at a time, each after the answer to the one before, with the index complete."""
    command = [sys.executable, "-m", "hermes_tui", "index", "rebuild"]
    subprocess.run(command, env=tool.environment(home), check=True, capture_output=True)
    first: list[float] = []
    final: list[float] = []
    painted: list[int] = []
    with Terminal(tool.screen, tool.environment(home), 80, 24) as terminal:
        # Where there is room for one pane there is no preview: what is written is the answer.
        terminal.until(lambda lines: any("sessions" in line for line in lines))
        terminal.silence(4.0)
        for query in _QUERIES:
            terminal.send(b"/")
            terminal.silence(_SILENCE)
            for key in query:
                answer = _typed(terminal, key)
                first.append(answer[0])
                final.append(answer[1])
                painted.append(answer[2])
            terminal.send(b"\x1b")
            terminal.silence(_SILENCE)
    for name, taken in (("something new on the screen", first), ("the rows of the answer", final)):
        taken.sort()
        yield Row(f"a key of a search, {name}: p50", "ms", taken[len(taken) // 2])
        yield Row(f"a key of a search, {name}: p95", "ms", taken[len(taken) * 95 // 100], aim="≤ 35")
    painted.sort()
    yield Row("a key of a search, written to the terminal: p50", "kB", painted[len(painted) // 2] / 1000)


def _typed(terminal: Terminal, key: str) -> tuple[float, float, int]:
    """Milliseconds to the first bytes and to the last before the first pause, and how many came by then."""
    began, before, moments = terminal.press(key.encode())
    start = moments[0] if moments else began
    last = start
    for moment in moments:
        if moment - last > _PREVIEW:
            break
        last = moment
    return (start - began) * 1000, (last - began) * 1000, terminal.received - before
