"""What sessions cost: how long adding up takes, beside ccusage where that is to be had.

ccusage keeps nothing and reads everything each time; ours keeps what it read. Both are given the same home.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.measures import Row, Tool
from hermes_tui.sessions.cost.report import CostOptions
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment

__all__ = ["spending"]

_REPORT = ("cost", "report", "--json")


def spending(ours: Tool, ccusage: str | None, home: Path, runs: int) -> Iterator[Row]:
    """Processor seconds of a process of its own from nothing, with the list known, and with all known; and what a
    question takes inside the program. `ccusage`: its command, of version 20 or later."""
    report = (ours.screen[0], *_REPORT)
    variables = ours.environment(home)
    _seconds(report, variables)  # makes the bytecode
    theirs: float | None = None
    if ccusage is not None:
        elsewhere = {"HOME": str(home), "PATH": os.environ["PATH"]}
        asked = (ccusage, "session", "--offline", "--json", "--timezone", "UTC")
        theirs = _median(runs, partial(_seconds, asked, elsewhere))

    def from_nothing() -> float:
        ours.forget()
        return _seconds(report, variables)

    def with_the_list() -> float:
        ours.forget()
        _seconds(ours.listing, variables)
        return _seconds(report, variables)

    yield Row("costs from nothing, beside ccusage: CPU", "s", _median(runs, from_nothing), theirs)
    yield Row("costs, the list known: CPU", "s", _median(runs, with_the_list), theirs, "≤ 0.45")
    yield Row("costs, all known: CPU", "s", _median(runs, partial(_seconds, report, variables)), theirs)
    yield Row("costs asked again in the program", "ms", _asked_again(home, ours.scratch), None, "≤ 20")


def _median(runs: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(runs))


def _seconds(argv: Sequence[str], variables: dict[str, str]) -> float:
    """What the processor spent on a process and on those that it waited for: a busy machine changes little of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, env=variables, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _asked_again(home: Path, scratch: Path) -> float:
    manager = SessionManager(Environment(home=home), cache_dir=scratch / "asked", indexed=False)
    manager.total_cost()

    def ask() -> float:
        start = time.process_time()
        manager.costs.known_total(CostOptions(group_by="agent"))
        return (time.process_time() - start) * 1000

    return _median(9, ask)
