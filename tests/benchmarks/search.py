"""Searching: how soon everything can be found, what a line costs that is added, how long an answer takes."""

from __future__ import annotations

import gc
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

import apsw
from msgspec.structs import replace

from benchmarks.measures import Row, Tool
from claude_lines import ClaudeHome
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.schema import KINDS, open_writer
from hermes_tui.sessions.index.writing.indexer import Indexer
from hermes_tui.sessions.index.writing.worker import LITTER
from hermes_tui.sessions.query.tree import All, MessageFilter, Tree, Word
from session_adapters.base import Environment, Source

__all__ = ["searching"]

_TICK = os.sysconf("SC_CLK_TCK")
_LOOK = 0.02
"""Seconds between two looks at how far an indexer is."""
_TIMES = 5
"""How often each question is asked."""


def searching(ours: Tool, theirs: Tool | None, home: Path, large: Path, runs: int) -> Iterator[Row]:
    """From no index at all to answers."""
    # The first run makes the indexer's bytecode, which an installed program has, and is not measured.
    cold = [_cold(ours, home) for _ in range(runs + 1)][1:]
    rival = [_their_cold(theirs, home) for _ in range(runs)] if theirs is not None else []

    def middle(rows: Sequence[Sequence[float]], column: int) -> float | None:
        return statistics.median(row[column] for row in rows) if rows else None

    yield Row("cold: what was said can be found", "ms", middle(cold, 0), middle(rival, 0))
    yield Row("cold: processor until then", "ms", middle(cold, 1), middle(rival, 1), "≤ 6,000")
    yield Row("cold: everything can be found", "ms", middle(cold, 2))
    yield Row("cold: processor until then", "ms", middle(cold, 3))
    yield Row("index, complete", "MB", middle(cold, 4), middle(rival, 2))
    yield Row("the indexer's largest memory", "MB", middle(cold, 5), middle(rival, 3))
    line, nothing = _appended(ours, home)
    yield Row("a line that is added: until it can be found", "ms", line, aim="< 1")
    yield Row("nothing changed: a look at every store", "ms", nothing)
    _cold(ours, large)
    path = _index_of(ours)
    for name, p50, p95 in _latencies(path, large):
        yield Row(f"{name}: p50", "ms", p50)
        yield Row(f"{name}: p95", "ms", p95, aim="≤ 2")
    yield Row("coverage of all sources, for the first time", "ms", _first_coverage(path, large))


def _environment(home: Path) -> Environment:
    return Environment(home=home)


def _cold(tool: Tool, home: Path) -> tuple[float, ...]:
    """Milliseconds and processor milliseconds until prose is there and until everything is, megabytes of the index
    and of memory."""
    tool.forget()
    path = _index_of(tool)
    command = [sys.executable, "-m", "hermes_tui.sessions.index.writing.worker", str(path)]
    began = time.perf_counter()
    process = subprocess.Popen(command, env=tool.environment(home))
    index = SearchIndex(path)
    prose = spent = 0.0
    while process.poll() is None:
        figures = index.figures()
        if figures is not None and 0 < figures.sources <= figures.prose + figures.failed:
            prose, spent = (time.perf_counter() - began) * 1000, _processor(process.pid)
            break
        time.sleep(_LOOK)
    index.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    whole = (time.perf_counter() - began) * 1000
    processor = (usage.ru_utime + usage.ru_stime) * 1000
    return prose, spent, whole, processor, _megabytes(path.parent), usage.ru_maxrss / 1024


def _index_of(tool: Tool) -> Path:
    return tool.scratch / "index" / "i.db"


def _their_cold(tool: Tool, home: Path) -> tuple[float, ...]:
    """The same of a listing that makes an index first: what was said alone."""
    tool.forget()
    began = time.perf_counter()
    process = subprocess.Popen(tool.listing, env=tool.environment(home), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    taken = (time.perf_counter() - began) * 1000
    return taken, (usage.ru_utime + usage.ru_stime) * 1000, _megabytes(tool.scratch), usage.ru_maxrss / 1024


def _processor(pid: int) -> float:
    """Processor milliseconds of a running process and of those that it started, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    spent = sum(int(field) for field in fields[11:15]) * 1000 / _TICK  # with those that have ended
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(FileNotFoundError):  # it has just ended
            spent += _processor(int(child))
    return spent


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _appended(tool: Tool, home: Path) -> tuple[float, float]:
    """Medians of all that an indexer does from being told of a session with one more line until that is committed,
    and of what it takes to look at every store for nothing. Between two lines there is such a look, which leaves the
    processor's caches to other things, as the seconds between two lines do."""
    tool.forget()
    copy = tool.scratch / "home"
    shutil.copytree(home, copy, copy_function=os.link, ignore=shutil.ignore_patterns(".cache", ".hermes"))
    made = ClaudeHome(copy / "own")
    path = made.session("one that grows", turns=200)
    grown = copy / ".claude" / "projects" / "grown" / path.name
    grown.parent.mkdir()
    path.replace(grown)
    adapters = Adapters(lambda: _environment(copy), ("claude",))
    connection = open_writer(tool.scratch / "index" / "i.db")
    indexer = Indexer(connection, adapters)
    indexer.run()
    looks: list[float] = []
    lines: list[float] = []
    with _collector_of_indexer():
        for number in range(60):
            made.say(grown, "user", f"line {number} with a few words of prose in it")
            told = [one for one in adapters.get("claude").sources(lambda problem: None) if one.path == str(grown)]
            lines.append(_timed(partial(indexer.run, told)))
            looks.append(_timed(indexer.run))
    connection.close()
    return statistics.median(lines[2:]), statistics.median(looks)


@contextmanager
def _collector_of_indexer() -> Iterator[None]:
    """Garbage is collected as in the indexer's process; see `worker.main`."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(LITTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def _latencies(path: Path, home: Path) -> Iterator[tuple[str, float, float]]:
    """The twenty newest answers, of prose and tool text together, for words of every frequency."""
    adapters = Adapters(lambda: _environment(home))
    sources = [one for name in adapters.names for one in adapters.get(name).sources(lambda problem: None)]
    index = SearchIndex(path)
    coverage = index.coverage(sources)
    for name, trees in _questions(path):
        taken: list[float] = []
        for tree in trees * _TIMES:
            began = time.perf_counter()
            hits = index.search(tree, coverage)
            assert hits is not None
            list(islice(hits, 20))
            taken.append((time.perf_counter() - began) * 1000)
        taken.sort()
        yield name, taken[len(taken) // 2], taken[min(len(taken) - 1, len(taken) * 95 // 100)]
    yield "coverage of all sources, one of them changed", *_coverage(index, sources)
    index.close()


def _coverage(index: SearchIndex, sources: Sequence[Source]) -> tuple[float, float]:
    """After one session was written to, each time another."""
    taken: list[float] = []
    for number in range(40):
        changed = replace(sources[number], stamp=())
        now = (changed, *sources[:number], *sources[number + 1 :])
        taken.append(_timed(partial(index.coverage, now)))
    taken.sort()
    return taken[20], taken[38]


def _first_coverage(path: Path, home: Path) -> float:
    """In a process that has asked nothing yet."""
    adapters = Adapters(lambda: _environment(home))
    sources = [one for name in adapters.names for one in adapters.get(name).sources(lambda problem: None)]
    taken: list[float] = []
    for _ in range(5):
        index = SearchIndex(path)
        taken.append(_timed(partial(index.coverage, sources)))
        index.close()
    return statistics.median(taken)


def _questions(path: Path) -> list[tuple[str, list[Tree]]]:
    connection = apsw.Connection(os.fspath(path))
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, prose, row)")
    found: list[tuple[str, int]] = list(connection.execute("SELECT term, doc FROM temp.words WHERE length(term) > 4"))
    total = int(connection.execute("SELECT count(*) FROM message").get)
    connection.close()
    about = {kind: [MessageFilter(kind, name) for name in _names(path, kind)] for kind in ("tool", "file")}
    chosen = random.Random(7)

    def some(least: float, most: float, count: int = 30) -> list[str]:
        fitting = [word for word, docs in found if least <= docs <= most and word.isascii()]
        return chosen.sample(sorted(fitting), min(count, len(fitting)))

    common = [word for word, _ in sorted(found, key=lambda pair: -pair[1])[:20]]
    mid = some(total * 0.002, total * 0.02)
    pairs = list(zip(mid, reversed(mid), strict=True))
    words = some(20, total)
    return [
        ("rare word", [Word((word,)) for word in some(1, 3)]),
        ("word in 0.2-2 %", [Word((word,)) for word in mid]),
        ("common word", [Word((word,)) for word in common]),
        ("two words", [All((Word((one,)), Word((other,)))) for one, other in pairs]),
        (
            "common and other word",
            [All((Word((one,)), Word((other,)))) for one, other in zip(common, mid, strict=False)],
        ),
        ("phrase of common words", [Word(pair) for pair in pairwise(common)]),
        ("beginning of 2", [Word((word[:2],), prefix=True) for word in words]),
        ("beginning of 3", [Word((word[:3],), prefix=True) for word in words]),
        ("beginning of 5", [Word((word[:5],), prefix=True) for word in words]),
        ("tool or file", [*about["tool"], *about["file"]]),
        ("tool and word", [All((tool, Word((word,)))) for tool, word in zip(about["tool"], common, strict=False)]),
    ]


def _names(path: Path, kind: str) -> list[str]:
    """Names of tools, or ends of paths."""
    connection = apsw.Connection(os.fspath(path))
    found = [text for (text,) in connection.execute("SELECT text FROM name WHERE kind = ?", (KINDS.index(kind),))]
    connection.close()
    ends = sorted({text.rpartition("/")[2] for text in found} - {""})
    return random.Random(7).sample(ends, min(15, len(ends)))
