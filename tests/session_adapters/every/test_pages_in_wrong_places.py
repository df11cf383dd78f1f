"""Databases in which a page stands twice: an id is listed once all the same, and what is left out is said."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chances import chance
from plain_openclaw import database_of
from session_adapters.base import Adapter, Environment
from session_adapters.model import Problem, SessionSummary
from session_adapters.registry import adapter_class

PAGE = 4096
HOMES = [
    ("cursor", "home"), ("cursor", "home-spec"), ("hector", "home"), ("hermes", "home"), ("openclaw", "home"),
    ("opencode", "home"), ("opencode", "home-spec"), ("opencode", "home-sqlite-1.2"), ("opencode", "home-v2"),
]  # fmt: skip


def moved(whole: bytes, to: int, source: int) -> bytes:
    return whole[: to * PAGE] + whole[source * PAGE : (source + 1) * PAGE] + whole[(to + 1) * PAGE :]


def check(adapter: Adapter) -> list[Problem]:
    """What was reported, after a look at every source."""
    problems: list[Problem] = []
    every: list[SessionSummary] = []
    for source in adapter.sources(problems.append):
        found = adapter.summaries(source, problems.append)
        assert [id_ for id_, count in Counter(one.session_id for one in found).items() if count > 1] == []
        every += found
    related = [one.session_id for one in adapter.relate(every)]
    assert len(related) == len(set(related))
    return problems


def databases(home: Path) -> Iterator[Path]:
    for path in sorted(home.rglob("*")):
        if path.is_file() and path.stat().st_size > 3 * PAGE and path.read_bytes()[:15] == b"SQLite format 3":
            yield path


@pytest.mark.parametrize("parts", HOMES, ids="/".join)
def test_whatever_page_stands_twice(parts: tuple[str, str], store: Callable[..., Path], tmp_path: Path) -> None:
    home = store(*parts)
    adapter = adapter_class(parts[0])(Environment(home=home, proc=tmp_path / "proc"))
    draw = chance(7)
    for path in databases(home):
        whole = path.read_bytes()
        pages = len(whole) // PAGE
        for _ in range(12):
            path.write_bytes(moved(whole, draw.randrange(1, pages), draw.randrange(1, pages)))
            check(adapter)
        path.write_bytes(whole)


def windows(path: Path) -> list[tuple[str, str]]:
    """The rows of OpenClaw's windows as SQLite gives them: of what session, of what key."""
    query = "SELECT session_id, session_key FROM session_windows NOT INDEXED WHERE typeof(session_id) = 'text'"
    try:
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.Error:
        return []


def test_windows_that_openclaw_has_twice(store: Callable[..., Path], tmp_path: Path) -> None:
    """The page of a table of events in the place of that of the windows: of one session in many wrong keys."""
    home = store("openclaw", "home")
    adapter = adapter_class("openclaw")(Environment(home=home, proc=tmp_path / "proc"))
    path = database_of(home)
    whole = path.read_bytes()
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'session_windows'")
        told = {id_ for (id_,) in connection.execute("SELECT DISTINCT session_id FROM transcript_events")}
    doubled = 0
    for source in range(1, len(whole) // PAGE):
        if whole[source * PAGE] != whole[(root - 1) * PAGE]:
            continue
        path.write_bytes(moved(whole, root - 1, source))
        keys: dict[str, set[str]] = {}
        for id_, key in windows(path):
            keys.setdefault(id_, set()).add(key)
        if any(len(some) > 2 for id_, some in keys.items() if id_ in told):
            doubled += 1
            assert any("more than once" in problem.reason for problem in check(adapter))
    assert doubled > 2
