"""`make bench`: measures speed and memory and prints one table. Not part of the tests: figures are for people.

    PYTHONPATH=tests:tests/helpers python -m benchmarks [--corpus DIR] [--fast-resume PATH] [--size M] [--large L]
                                          [--runs 5] [--idle 300] [--ccusage PATH]
                                          [--only start,list,search,typing,queries,costs,agents,big,long,idle,
                                          attention,recall,lines,crowd] [--queries 10000] [--into docs/performance.md]

The corpora are written by `tests/corpus/make_corpus.py`. fast-resume is put beside ours when
its command `fr` is found: `python3 -m venv V && V/bin/pip install fast-resume==2.14.0`, `--fast-resume V/bin/fr`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.attention import attending
from benchmarks.corpora import Corpora
from benchmarks.costs import a_line, spending
from benchmarks.many import crowded, listings
from benchmarks.measures import Row, Tool, big_file, listing, long_sessions, start_and_keys, waiting
from benchmarks.recall import recalling
from benchmarks.search import searching
from benchmarks.table import figure, markdown, put
from benchmarks.typed import keystrokes, typed

_EVERY = (
    "start",
    "list",
    "search",
    "typing",
    "queries",
    "costs",
    "agents",
    "big",
    "long",
    "idle",
    "attention",
    "recall",
    "lines",
)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Measure speed and memory; print one table.")
    parser.add_argument("--corpus", type=Path, help="where to make and keep the corpora (2.3 GB)")
    parser.add_argument("--fast-resume", default=shutil.which("fr"), help="the command fr, to be put beside ours")
    parser.add_argument("--ccusage", default=shutil.which("ccusage"), help="ccusage 20 or later, for the costs")
    parser.add_argument("--size", default="M", help="corpus for screens and idling")
    parser.add_argument("--large", default="L", help="corpus for the listing")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--idle", type=float, default=300.0, help="seconds to be left alone")
    parser.add_argument(
        "--only",
        default="",
        help=f"{', '.join(_EVERY)}; alone: crowd",
    )
    parser.add_argument("--queries", type=int, default=10_000, help="how many are typed")
    parser.add_argument("--into", type=Path, help="a Markdown document whose table of figures is to be written anew")
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
    wanted = given.only.split(",") if given.only else _EVERY
    for tool in (ours, theirs):
        if tool is not None:
            tool.forget()
    if "start" in wanted:
        yield from start_and_keys(ours, theirs, corpora.sized(given.size), given.runs)
    if "idle" in wanted:
        yield from waiting(ours, theirs, corpora.sized(given.size), given.idle)
    if "attention" in wanted:
        yield from attending(ours, corpora.sized(given.size), given.idle, given.runs)
    if "list" in wanted:
        yield from listing(ours, theirs, corpora.sized(given.large), given.runs)
    if "search" in wanted:
        yield from searching(ours, theirs, corpora.sized(given.size), corpora.sized(given.large), given.runs)
    if "typing" in wanted:
        yield from keystrokes(ours, corpora.sized(given.size))
    if "queries" in wanted:
        yield from typed(corpora.sized(given.size), scratch / "typed", given.queries)
    if "costs" in wanted:
        yield from spending(ours, given.ccusage, corpora.sized(given.size), given.runs)
    if "lines" in wanted:
        yield from a_line(corpora.sized(given.size), scratch)
    if "agents" in wanted:
        yield from listings(ours, corpora.folder)
    if "crowd" in wanted:
        ours.forget()
        yield from crowded(ours, corpora.folder, given.idle, given.runs)
    if "recall" in wanted:
        yield from recalling(ours, corpora.sized(given.large))
    if "big" in wanted:
        ours.forget()
        yield from big_file(ours, corpora.big(), given.runs)
    if "long" in wanted:
        yield from long_sessions(ours, corpora)


def _shown(row: Row) -> str:
    ratio = f"{row.ours / row.theirs:.2f}" if row.ours is not None and row.theirs else "–"
    return f"{row.measure:42} {row.unit:>4} {figure(row.ours):>10} {figure(row.theirs):>12} {ratio:>7} {row.aim:>8}"


def main() -> None:
    """Measure and print."""
    given = _arguments()
    corpora = Corpora(given.corpus)
    print(f"screens and idling on {given.size}, listing on {given.large}; medians of {given.runs}")
    print(f"{'measure':42} {'':>4} {'hermes-tui':>10} {'fast-resume':>12} {'ratio':>7} {'aim':>8}")
    with tempfile.TemporaryDirectory(prefix="hermes-tui-bench-scratch-") as scratch:
        rows: list[Row] = []
        for row in _measured(given, corpora, Path(scratch)):
            rows.append(row)
            print(_shown(row), flush=True)
    if given.into is not None:
        put(given.into, markdown(rows, given.size, given.large, given.runs))


if __name__ == "__main__":
    main()
