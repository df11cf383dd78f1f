"""Homes with ten or fifty thousand sessions of one agent: the demo's, copied under other ids.

Every id in a file's name or text gets a digit or two of the copy's number, so that no copy is taken for a fork or a
second place of the same session. Rows of databases are copied by the same rule.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from benchmarks.costs import a_line
from benchmarks.measures import Row, Tool, idle, start_and_keys
from benchmarks.terminal import Terminal
from benchmarks.typed import keystrokes
from hermes_tui.demo import STATIC_NOW
from hermes_tui.demo.home import environment_of, prepare, write_home
from hermes_tui.sessions.manager import SessionManager

__all__ = ["AGENTS", "crowded", "home_of_many", "listings"]

AGENTS: dict[str, str] = {
    "claude": ".claude",
    "codex": ".codex",
    "copilot": ".copilot",
    "cursor": ".cursor",
    "gemini": ".gemini",
    "hector": ".hector",
    "hermes": ".hermes",
    "omp": ".omp",
    "openclaw": ".openclaw",
    "opencode": ".local/share/opencode",
    "pi": ".pi",
}
"""Agent → its store below a demo home."""

_UUID = re.compile(rb"(?<![0-9a-f-])[0-9a-f]{4}(?=[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)")
_SHORT = re.compile(rb"(?<=-)[0-9a-f]{4}(?=[0-9a-f]{4}\.jsonl\b)")
"""What Gemini puts of an id into a file's name."""
_TAGGED = re.compile(rb"\b((?:msg|prt|ses|req|toolu|call|agent|entry)[_-][A-Za-z0-9_]{2,}?)[A-Za-z0-9]{4}\b")
_DATED = re.compile(rb"\b((?:cron_[0-9a-f]+_)?20\d{6}_\d{6}(?:_[0-9a-f]+)?)(?![0-9a-f_])")
_OWN = ("id", "session_id", "session_key", "title")
"""Columns that must differ from copy to copy."""
_TAKEN = 10**6
"""Between the integer keys of two copies."""


def home_of_many(folder: Path, agent: str, wanted: int = 10_000) -> Path:
    """A home in which `agent` has at least `wanted` sessions; made once."""
    home = folder / f"many-{agent}"
    if (home / ".made").is_file():
        return home
    print(f"making {wanted:,} sessions of {agent} …", file=sys.stderr)
    shutil.rmtree(home, ignore_errors=True)
    prepare(home)
    write_home(home, STATIC_NOW)
    there = len(SessionManager(environment_of(home), cache_dir=home / "cache").list(agent, limit=wanted))
    copies = math.ceil(wanted / there)
    store = home / AGENTS[agent]
    files = [path for path in sorted(store.rglob("*")) if path.is_file()]
    for path in files:
        if path.suffix in (".db", ".sqlite") and not _named(store, path):
            _copy_rows(path, copies)
        elif _named(store, path):
            _copy_file(store, path, copies)
    for other in set(AGENTS.values()) - {AGENTS[agent]}:
        shutil.rmtree(home / other, ignore_errors=True)
    (home / ".made").touch()
    return home


def listings(ours: Tool, folder: Path) -> Iterator[Row]:
    """For each agent: seconds for the list of ten thousand sessions as JSON, with no cache, and once more with it."""
    for agent in AGENTS:
        home = home_of_many(folder, agent)
        command = (ours.screen[0], "--home", str(home), "sessions", "list", agent, "--json", "--limit", "1000000")
        ours.forget()
        for when in ("cold", "warm"):
            start = time.perf_counter()
            done = subprocess.run(command, env=ours.environment(home), capture_output=True, check=True)
            passed = time.perf_counter() - start
            count = len(json.loads(done.stdout))
            yield Row(f"{agent}: {count:,} sessions as JSON, {when}", "s", passed)


def crowded(ours: Tool, folder: Path, seconds: float, runs: int) -> Iterator[Row]:
    """What fifty thousand sessions in as many files cost: a start, keys, a short list, a program left alone."""
    home = home_of_many(folder / "crowd", "claude", 49_800)  # some are copied at once, and no list has over 50,000
    yield from start_and_keys(ours, None, home, runs)
    yield from keystrokes(ours, home)
    subprocess.run([*ours.screen, "cost", "report"], env=ours.environment(home), check=True, capture_output=True)
    command = [*ours.screen, "sessions", "list", "--limit", "3"]
    times: list[float] = []
    for _ in range(runs):
        before = os.times()
        subprocess.run(command, env=ours.environment(home), check=True, capture_output=True)
        times.append(sum(os.times()[2:4]) - sum(before[2:4]))
    yield Row("list of three, warm: processor", "s", statistics.median(times), aim="≤ 0.35")
    yield from a_line(home, ours.scratch)
    with Terminal(ours.screen, ours.environment(home)) as terminal:
        terminal.until(lambda lines: any("sessions" in line for line in lines))
        terminal.wait(20.0)
        yield Row("the first 20 s of the program: processor", "s", terminal.processor_seconds(), aim="≤ 1.5")
        written, used, memory = idle(terminal, seconds)
    yield Row(f"idle {seconds / 60:g} min: bytes per second", "B/s", written, aim="0")
    yield Row(f"idle {seconds / 60:g} min: processor", "%", used, aim="≤ 0.3")
    yield Row("resident memory then", "MB", memory, aim="≤ 110")


def _changed(copy: int) -> Callable[[bytes], bytes]:
    mark = f"{copy:04x}".encode()

    def change(text: bytes) -> bytes:
        text = _UUID.sub(mark, text)
        text = _SHORT.sub(mark, text)
        text = _DATED.sub(lambda found: found[1] + mark, text)
        return _TAGGED.sub(lambda found: found[1] + mark, text)

    return change


def _named(store: Path, path: Path) -> bool:
    """Whether the file's name, or its folder's, has an id in it: then it belongs to one session."""
    name = str(path.relative_to(store)).encode()
    return _changed(1)(name) != name


def _copy_file(store: Path, path: Path, copies: int) -> None:
    name, text = str(path.relative_to(store)).encode(), path.read_bytes()
    for copy in range(1, copies):
        change = _changed(copy)
        target = store / change(name).decode()
        target.parent.mkdir(parents=True, exist_ok=True)
        # A database's pages have checksums of nothing: ids of the same length may be changed where they stand.
        target.write_bytes(change(text))
        shutil.copystat(path, target)


def _copy_rows(path: Path, copies: int) -> None:
    database = apsw.Connection(str(path))
    with database:
        for table, columns, key in list(_tables(database)):
            rows = list(database.execute(f'SELECT * FROM "{table}"'))
            names, marks = ", ".join(f'"{name}"' for name in columns), ",".join("?" * len(columns))
            statement = f'INSERT OR IGNORE INTO "{table}" ({names}) VALUES ({marks})'
            for copy in range(1, copies):
                database.executemany(statement, [_row(row, columns, key, copy) for row in rows])
    database.close()


def _tables(database: apsw.Connection) -> Iterator[tuple[str, list[str], str | None]]:
    """Ordinary tables, with their columns and the one that is their integer key."""
    shadows = [
        name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'")
    ]
    for (table,) in database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    ):
        if table.startswith("sqlite_") or any(table.startswith(name) for name in shadows):
            continue
        info = list(database.execute(f'PRAGMA table_info("{table}")'))
        keys = [row[1] for row in info if row[5]]
        whole = keys[0] if len(keys) == 1 and str(info[0][2]).upper() == "INTEGER" else None
        yield table, [row[1] for row in info], whole


def _row(row: tuple[Any, ...], columns: list[str], key: str | None, copy: int) -> tuple[Any, ...]:
    change = _changed(copy)

    def value(name: str, found: Any) -> Any:
        if isinstance(found, int) and name == key:
            return found + copy * _TAKEN
        if isinstance(found, str):
            new = change(found.encode()).decode()
            return f"{new}-{copy}" if new == found and name in _OWN else new
        return change(found) if isinstance(found, bytes) else found

    return tuple(value(name, found) for name, found in zip(columns, row, strict=True))
