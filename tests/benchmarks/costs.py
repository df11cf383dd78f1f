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
from hermes_tui.attention.monitor import Monitor
from hermes_tui.clock import Clock
from hermes_tui.sessions.cost.report import CostOptions
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.mark_store import MarkStore
from hermes_tui.tui.widgets.session_list.rows import Forest
from session_adapters.base import Environment

__all__ = ["a_line", "spending"]

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


def a_line(home: Path, scratch: Path) -> Iterator[Row]:
    """Processor milliseconds in a program that stays, until a line of one session is in its list, its costs and its
    layout, and what needs a person is known. The session is left as it was."""
    manager = SessionManager(Environment(home=home), cache_dir=scratch / "line", indexed=False)
    manager.catalogue.refresh()
    manager.costs.book()
    monitor = Monitor(manager, MarkStore(scratch / "marks.db"))
    snapshot = manager.catalogue.complete(lambda: False)
    monitor.look(snapshot)
    forest = Forest(manager.costs.shown(snapshot.sessions)).prepare()
    path = next(Path(one.path) for one in snapshot.sessions if one.agent == "claude" and one.kind == "session")
    before, status, line = path.read_bytes(), path.stat(), path.read_bytes().splitlines(keepends=True)[-1]
    shown: list[float] = []
    judged: list[float] = []
    try:
        for _ in range(40):
            with path.open("ab") as file:
                file.write(line)
            start = time.process_time()
            manager.catalogue.refresh(("claude",), written=(str(path),))
            manager.costs.book()
            snapshot = manager.catalogue.snapshot
            forest = Forest(manager.costs.shown(snapshot.sessions), forest).prepare()
            forest.rows(Clock())
            between = time.process_time()
            monitor.look(snapshot)
            shown.append((between - start) * 1000)
            judged.append((time.process_time() - between) * 1000)
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    sessions = f"in one of {len(snapshot.sessions):,} sessions"
    yield Row(f"a line {sessions}, in list and costs: CPU", "ms", statistics.median(shown), None, "≤ 3")
    yield Row(f"a line {sessions}, who is needed: CPU", "ms", statistics.median(judged))


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
