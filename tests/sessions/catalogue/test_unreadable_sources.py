"""Sources that cannot be read for a while: their sessions are not gone, and they are tried again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from claude_lines import ClaudeHome
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.catalogue import unreadable
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.cost.report import CostOptions
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.schema import open_writer
from hermes_tui.sessions.index.source_state import Level
from hermes_tui.sessions.index.writing import indexer as indexing
from hermes_tui.sessions.index.writing.indexer import TRY_AGAIN, Indexer
from hermes_tui.sessions.manager import SessionManager
from indexing import build
from long_talks import TALKS, Talk
from session_adapters.base import Environment, Source
from session_adapters.claude.adapter import ClaudeAdapter

AGENTS = ("claude", "opencode", "cursor", "hector")


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """The file, with the log beside a database, holds nothing of use, and nobody can see by `stat` that it is written
    to."""
    files = [one for one in (path, path.with_name(f"{path.name}-wal")) if one.exists()]
    before = [(one, one.stat(), one.read_bytes()) for one in files]
    for one, _, whole in before:
        one.write_bytes(b"\xff" * len(whole))
    _as_before(before)
    yield
    for one, _, whole in before:
        one.write_bytes(whole)
    _as_before(before)


def _as_before(files: Iterable[tuple[Path, os.stat_result, bytes]]) -> None:
    for one, status, _ in files:
        os.utime(one, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.fixture(params=AGENTS)
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Talk:
    one = TALKS[request.param](tmp_path / "home", filler=2_000)
    one.add(200)
    return one


@pytest.fixture
def manager(talk: Talk, tmp_path: Path) -> SessionManager:
    return new_manager(talk, tmp_path)


def new_manager(talk: Talk, tmp_path: Path) -> SessionManager:
    return SessionManager(Environment(home=talk.home), cache_dir=tmp_path / "cache", indexed=False)


def stored(manager: SessionManager) -> Path:
    return Path(manager.catalogue.snapshot.sessions[0].path)


def told(snapshot: Snapshot) -> tuple[list[bool], int]:
    """Of each session whether it is gone; how many problems there are."""
    return [one.gone for one in snapshot.sessions], len(snapshot.problems)


def test_sessions_that_cannot_be_read_are_not_gone(talk: Talk, manager: SessionManager) -> None:
    catalogue = manager.catalogue
    before = catalogue.refresh()
    assert told(before) == ([False], 0)
    with damaged(stored(manager)):
        os.utime(stored(manager))
        now = catalogue.refresh()
        assert told(now) == ([False], 1)
        assert now.sessions[0].title == before.sessions[0].title
        assert told(catalogue.complete(lambda: False)) == ([False], 1)
    assert told(catalogue.refresh()) == ([False], 0)
    stored(manager).unlink()
    assert told(catalogue.refresh()) == ([True], 0)


def test_what_could_not_be_read_is_tried_again(
    talk: Talk, manager: SessionManager, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = Path(manager.catalogue.refresh().sessions[0].path)
    monkeypatch.setattr(unreadable, "FIRST_PAUSE", 3600.0)
    late = SessionManager(Environment(home=talk.home), cache_dir=tmp_path / "other", indexed=False)
    with damaged(path):
        assert told(late.catalogue.refresh()) == ([], 1)
        late.catalogue.close()
    assert told(late.catalogue.refresh()) == ([], 1), "it is too early"
    assert told(late.catalogue.refresh(again=True)) == ([False], 0), "it was asked for"
    anew = SessionManager(Environment(home=talk.home), cache_dir=tmp_path / "other", indexed=False)
    assert told(anew.catalogue.refresh()) == ([False], 0), "another process does not wait"
    monkeypatch.setattr(unreadable, "FIRST_PAUSE", 0.0)
    third = SessionManager(Environment(home=talk.home), cache_dir=tmp_path / "third", indexed=False)
    with damaged(path):
        assert told(third.catalogue.refresh()) == ([], 1)
    assert told(third.catalogue.refresh()) == ([False], 0)


@pytest.mark.parametrize("talk", ["claude", "cursor"], indirect=True)
def test_a_session_that_cannot_be_read_in_full_stays(
    talk: Talk, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = manager.catalogue
    assert catalogue.refresh().partial == 1
    monkeypatch.setattr(unreadable, "FIRST_PAUSE", 0.0)
    with damaged(stored(manager)):
        now = catalogue.complete(lambda: False)
        assert told(now) == ([False], 1) and now.partial == 1
    exact = catalogue.complete(lambda: False)
    assert told(exact) == ([False], 0) and not exact.partial


def test_what_a_first_glance_could_not_read_is_tried_again(
    talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unreadable, "FIRST_PAUSE", 0.0)
    path = Path(new_manager(talk, tmp_path).catalogue.refresh().sessions[0].path)
    catalogue = SessionManager(Environment(home=talk.home), cache_dir=tmp_path / "other", indexed=False).catalogue
    with damaged(path):
        assert told(catalogue.glance()) == ([], 1)
    assert told(catalogue.refresh()) == ([False], 0)


def test_whoever_writes_to_it_begins_the_pauses_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = unreadable.Unreadable[str]()
    for stamp, pause in enumerate((3600.0, 3600.0, 0.0)):
        monkeypatch.setattr(unreadable, "FIRST_PAUSE", pause)
        tried.failed("one", Source(agent="claude", path="/one", stamp=(stamp,)))
    assert tried.is_due("one")


def test_all_that_is_made_of_it_says_that_it_is_as_it_was(talk: Talk, manager: SessionManager) -> None:
    manager.catalogue.refresh()
    manager.costs.sheet()
    with damaged(stored(manager)):
        os.utime(stored(manager))
        (why,) = manager.catalogue.refresh().problems
        assert why.reason in [one.reason for one in manager.discover("Prompt").problems]
        assert manager.costs.sheet().problems == (why,) == manager.costs.problems
        assert manager.doctor().problem_count == 1
    manager.catalogue.refresh()
    assert not (manager.discover("Prompt").problems or manager.costs.sheet().problems)


def test_what_could_not_be_added_up_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was kept as if no call had been made, for ever: the source is as it was."""
    talk = TALKS["opencode"](tmp_path / "home")
    talk.add(3)
    manager = new_manager(talk, tmp_path)
    manager.catalogue.refresh()
    monkeypatch.setattr(unreadable, "FIRST_PAUSE", 3600.0)
    with damaged(stored(manager)):
        assert (manager.costs.known_total(CostOptions()).call_count, len(manager.costs.problems)) == (0, 1)
        manager.catalogue.close()
    assert manager.total_cost().call_count == 0, "it is too early"
    assert new_manager(talk, tmp_path).total_cost().call_count == 3, "another process does not wait"
    monkeypatch.setattr(unreadable, "FIRST_PAUSE", 0.0)
    late = SessionManager(Environment(home=talk.home), cache_dir=tmp_path / "late", indexed=False)
    late.catalogue.refresh()
    with damaged(stored(late)):
        assert late.costs.known_total(CostOptions()).call_count == 0
    assert late.total_cost().call_count == 3 and not late.costs.problems


def test_what_could_not_be_indexed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a database that was locked while it was indexed all was scanned by each search until it was written to."""
    talk = TALKS["opencode"](tmp_path / "home")
    talk.add(3)
    environment = Environment(home=talk.home)
    (source,) = talk.adapter.sources(lambda problem: None)
    connection = open_writer(tmp_path / "i.db")
    indexer, index = Indexer(connection, Adapters(lambda: environment)), SearchIndex(tmp_path / "i.db")
    with damaged(Path(source.path)):
        assert indexer.run()
    now = time.time()
    assert index.lacking([source], now) == [] and index.lacking([source], now + TRY_AGAIN) == [source]
    assert index.lacking([replace(source, stamp=(1,))], now) != [], "it was written to"
    assert indexer.run() and index.coverage([source]).level(source) == Level.NOTHING, "it is too early"
    monkeypatch.setattr(indexing, "time", lambda: now + TRY_AGAIN)
    assert indexer.run() and index.coverage([source]).level(source) == Level.ALL
    assert index.lacking([replace(source, stamp=(1,))], now) != [], "nor is it left alone later"
    index.close()
    connection.close()


def test_no_indexer_is_started_for_it_again_and_again(talk: Talk, tmp_path: Path) -> None:
    """What an indexer has of it is of another moment than what the list has."""
    manager = SessionManager(Environment(home=talk.home), cache_dir=tmp_path / "cache")
    manager.catalogue.refresh()
    path, source = manager.index.path, next(iter(manager.catalogue.entries())).source
    assert build(Environment(home=talk.home), path)
    assert manager.index.poke() is None
    with damaged(stored(manager)):
        os.utime(stored(manager))
        manager.catalogue.refresh()
        assert build(Environment(home=talk.home), path)
        assert manager.index.index.lacking([source], 0.0) == [source]
        assert manager.index.poke() is None
    manager.index.close()


def test_an_adapter_that_cannot_begin_to_count_on_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ClaudeHome(tmp_path / "home")
    home.session("still listed")

    def broken(self: ClaudeAdapter, source: Source) -> None:
        raise RuntimeError("no counter")

    monkeypatch.setattr(ClaudeAdapter, "counter", broken)
    manager = SessionManager(
        Environment(home=home.home, proc=tmp_path), cache_dir=tmp_path / "cache", agents=("claude",), indexed=False
    )
    snapshot = manager.catalogue.refresh()
    assert [one.title for one in snapshot.sessions] == ["still listed"]
    assert ["no counter" in problem.reason for problem in snapshot.problems] == [True]
