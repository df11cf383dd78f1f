"""Ten thousand random and adversarial queries, typed one character at a time into a search on a home.

    python tests/benchmarks/typed.py HOME CACHE [--queries 10000] [--seed 1]

HOME is only read; the index is made in CACHE first, if it is not there. Each query is typed as fast as answers'
first snapshots come; ends with 1 if anything was raised. Prints the number of questions, and of the times to the
complete answer the median, the 95th percentile and the slowest with its query.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import threading
import time
from pathlib import Path

from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query import FILTERS
from session_adapters.base import Environment

PIECES = (
    *(
        "docker",
        "error",
        "the",
        "needlezq3",
        "can't",
        "a@b.com",
        "/usr/bin",
        "C:\\x",
        "100%",
        "#tag",
        "hello?",
        "数据库",
    ),
    *("café", "😀", "-", "--", "NOT", "AND", "OR", "(", ")", '"', '"a b"', "*", "dep*", ":", "'", "\x00", "\x1b[31m"),
    *("\ud800", "\u202e", "é\u0301", "is:live", "since:7d", "since:2026-1", "cost:>", "cost:>1", "-agent:codex"),
    *(f"{name}:" for name in FILTERS),
)


def made(dice: random.Random) -> str:
    """One query: pieces with or without blanks, or any characters."""
    if dice.random() < 0.2:
        return "".join(
            chr(dice.choice((dice.randrange(128), dice.randrange(0x3000)))) for _ in range(dice.randrange(12))
        )
    return dice.choice((" ", " ", "")).join(dice.choices(PIECES, k=dice.randrange(1, 5)))


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", action="store_true", help="wait for the complete answer at every character")
    given = parser.parse_args()
    manager = SessionManager(Environment(home=given.home), cache_dir=given.cache)
    manager.catalogue.refresh()
    manager.index.poke(follow=False)
    manager.index.wait()
    failures: list[threading.ExceptHookArgs] = []
    threading.excepthook = failures.append
    live = manager.searches.live()
    dice = random.Random(given.seed)
    times: list[tuple[float, str]] = []
    asked = 0
    for _ in range(given.queries):
        text = made(dice)
        for end in range(1, len(text) + 1):
            began = time.perf_counter()
            live.ask(text[:end])
            asked += 1
            if given.every or end == len(text):
                live.wait(120)
                times.append((time.perf_counter() - began, text[:end]))
        if failures:
            print(f"raised for {text!r}: {failures[0].exc_value!r}", file=sys.stderr)
            return 1
    live.close()
    took = sorted(one for one, _ in times)
    slowest = max(times)
    print(f"{asked} questions, {len(times)} answers awaited; nothing raised")
    print(
        f"complete answer: p50 {statistics.median(took) * 1e3:.1f} ms, p95 {took[int(len(took) * 0.95)] * 1e3:.1f} ms"
    )
    print(f"slowest {slowest[0] * 1e3:.0f} ms: {slowest[1]!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
