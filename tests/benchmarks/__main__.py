"""`make bench`: measures speed and memory and prints one table. Not part of the tests: figures are for people.

    PYTHONPATH=tests python -m benchmarks [--corpus DIR] [--fast-resume PATH] [--size M] [--large L]
                                          [--runs 5] [--idle 300] [--ccusage PATH]
                                          [--only start,list,search,typing,costs,agents,big,idle]

The corpora need the folder `shared` beside the checkout (or HERMES_TUI_SHARED). fast-resume is put beside ours when
its command `fr` is found: `python3 -m venv V && V/bin/pip install fast-resume==2.14.0`, `--fast-resume V/bin/fr`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpora import Corpora
from benchmarks.costs import spending
from benchmarks.keystrokes import keystrokes
from benchmarks.many import listings
from benchmarks.measures import Row, Tool, big_file, listing, start_and_keys, waiting
from benchmarks.search import searching


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Measure speed and memory; print one table.")
    parser.add_argument("--corpus", type=Path, help="where to make and keep the corpora (2.3 GB)")
    parser.add_argument("--fast-resume", default=shutil.which("fr"), help="the command fr, to be put beside ours")
    parser.add_argument("--ccusage", default=shutil.which("ccusage"), help="ccusage 20 or later, for the costs")
    parser.add_argument("--size", default="M", help="corpus for screens and idling")
    parser.add_argument("--large", default="L", help="corpus for the listing")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--idle", type=float, default=300.0, help="seconds to be left alone")
    parser.add_argument("--only", default="", help="start, list, search, typing, costs, agents, big or idle")
    return parser.parse_args()


def _tools(scratch: Path, fast_resume: str | None) -> tuple[Tool, Tool | None]:
    ours = str(Path(sys.executable).with_name("hermes-tui"))
    every = ("sessions", "list", "--json", "--limit", "1000000")
    mine = Tool("hermes-tui", (ours,), (ours, *every), scratch / "ours")
    if not fast_resume:
        return mine, None
    return mine, Tool("fast-resume", (fast_resume,), (fast_resume, "--json", "--all"), scratch / "theirs")


def _measured(given: argparse.Namespace, corpora: Corpora, scratch: Path) -> Iterator[Row]:
    ours, theirs = _tools(scratch, given.fast_resume)
    every = ("start", "list", "search", "typing", "costs", "agents", "big", "idle")
    wanted = given.only.split(",") if given.only else every
    for tool in (ours, theirs):
        if tool is not None:
            tool.forget()
    if "start" in wanted:
        yield from start_and_keys(ours, theirs, corpora.sized(given.size), given.runs)
    if "idle" in wanted:
        yield from waiting(ours, theirs, corpora.sized(given.size), given.idle)
    if "list" in wanted:
        yield from listing(ours, theirs, corpora.sized(given.large), given.runs)
    if "search" in wanted:
        yield from searching(ours, theirs, corpora.sized(given.size), corpora.sized(given.large), given.runs)
    if "typing" in wanted:
        yield from keystrokes(ours, corpora.sized(given.size))
    if "costs" in wanted:
        yield from spending(ours, given.ccusage, corpora.sized(given.size), given.runs)
    if "agents" in wanted:
        yield from listings(ours, corpora.folder)
    if "big" in wanted:
        ours.forget()
        yield from big_file(ours, corpora.big(), given.runs)


def _shown(row: Row) -> str:
    def figure(value: float | None) -> str:
        return "–" if value is None else f"{value:,.{0 if value >= 100 else 2}f}"

    ratio = f"{row.ours / row.theirs:.2f}" if row.ours is not None and row.theirs else "–"
    return f"{row.measure:42} {row.unit:>4} {figure(row.ours):>10} {figure(row.theirs):>12} {ratio:>7} {row.aim:>8}"


def main() -> None:
    """Measure and print."""
    given = _arguments()
    corpora = Corpora(given.corpus)
    print(f"screens and idling on {given.size}, listing on {given.large}; medians of {given.runs}")
    print(f"{'measure':42} {'':>4} {'hermes-tui':>10} {'fast-resume':>12} {'ratio':>7} {'aim':>8}")
    with tempfile.TemporaryDirectory(prefix="hermes-tui-bench-scratch-") as scratch:
        for row in _measured(given, corpora, Path(scratch)):
            print(_shown(row), flush=True)


if __name__ == "__main__":
    main()
