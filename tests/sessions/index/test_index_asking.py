"""Asking the index, by one and by many: what it costs, and what ends it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from claude_lines import ClaudeHome
from hermes_tui.sessions.index.reading import pool
from hermes_tui.sessions.index.reading.reader import Hit, SearchIndex
from hermes_tui.sessions.index.schema import IndexUnusable, open_writer
from hermes_tui.sessions.index.source_state import Level
from hermes_tui.sessions.query.tree import Word
from indexing import build, homes_sources
from searched import found
from session_adapters.base import Environment


def files_open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_is_covered_is_worked_out_once(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    path = made.session("session")
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = SearchIndex(tmp_path / "i.db")
    sources = tuple(homes_sources(environment))
    coverage = index.coverage(sources)
    assert index.coverage(sources) is coverage
    assert index.coverage(list(sources)) == coverage
    made.say(path, "user", "more")
    build(environment, tmp_path / "i.db")
    assert set(coverage.levels.values()) == {Level.ALL}
    assert not index.coverage(sources).levels
    index.close()


def test_a_search_is_a_few_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def listen(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))

    made = ClaudeHome(tmp_path)
    for number in range(30):
        made.session(f"session number{number}", turns=10)
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "cache" / "i.db")
    index = SearchIndex(tmp_path / "cache" / "i.db")
    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, listen])
    coverage = index.coverage(homes_sources(environment))
    assert asked
    asked.clear()
    hits = index.search(Word(("session",)), coverage, fields=("prose",))
    assert hits is not None
    first = [next(hits) for _ in range(20)]
    assert len(first) == 20
    matching = [sql for sql in asked if "MATCH" in sql and not sql.startswith("--")]
    assert len(matching) == 1
    assert len([sql for sql in asked if not sql.startswith("--")]) < 20
    index.close()


def test_an_answer_that_nobody_waits_for_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "STEPS_A_LOOK", 100)  # so that it is looked several times in the first page already
    made = ClaudeHome(tmp_path)
    made.session("session", turns=300)
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = SearchIndex(tmp_path / "i.db")
    coverage = index.coverage(homes_sources(environment))
    everything = len(found(index, Word(("answer",)), coverage))
    looks: list[bool] = []

    def search(stop: Callable[[], bool]) -> list[Hit]:
        hits = index.search(Word(("answer",)), coverage, stop=stop)
        assert hits is not None
        return list(hits)

    def seldom() -> bool:
        looks.append(len(looks) == 4)
        return looks[-1]

    assert search(lambda: True) == []
    assert search(seldom) == []
    assert looks == [False] * 4 + [True]
    assert len(search(lambda: False)) == everything == len(found(index, Word(("answer",)), coverage))
    assert not index.problem
    index.close()


def test_threads_share_few_files(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    made.session("session", turns=50)
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "cache" / "i.db")
    index = SearchIndex(tmp_path / "cache" / "i.db")
    sources = homes_sources(environment)
    gc.collect()
    open_before = files_open()
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(20):
                assert len(found(index, Word(("session",)), index.coverage(sources))) == 51
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert files_open() - open_before <= 4 * 3
    index.close()
    assert files_open() <= open_before


def test_a_new_index_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    ClaudeHome(tmp_path).session("session", turns=80)
    environment = Environment(home=tmp_path)
    path = tmp_path / "cache" / "i.db"
    build(environment, path)
    index = SearchIndex(path)
    coverage = index.coverage(homes_sources(environment))
    hits = index.search(Word(("session",)), coverage)
    assert hits is not None
    next(hits)
    for name in path.parent.iterdir():
        name.unlink()
    open_writer(path).close()
    with pytest.raises(IndexUnusable):
        list(hits)
    assert not index.coverage(homes_sources(environment)).levels
    index.close()


def test_many_connections_keep_little_of_a_large_index(tmp_path: Path) -> None:
    """Each would keep four megabytes of it."""
    path = tmp_path / "i.db"
    connection = open_writer(path)
    with connection:
        rows = ((one << 8, 1, "k" * 1000, one, "user", 0, None, None, None, None) for one in range(20_000))
        connection.executemany("INSERT INTO message VALUES(?,?,?,?,?,?,?,?,?,?)", rows)
    connection.close()
    gc.collect()
    before = apsw.memory_used()
    asking = pool.Pool(path)
    together = threading.Barrier(4)
    answers: list[int] = []

    def ask() -> None:
        def read(connection: apsw.Connection) -> int:
            together.wait(60)
            return int(connection.execute("SELECT sum(length(key)) FROM message").get)

        answers.append(asking.ask(read))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [20_000_000] * 4
    kept = apsw.memory_used() - before
    asking.rest()
    rested = apsw.memory_used() - before
    assert asking.ask(lambda connection: int(connection.execute("SELECT count(*) FROM message").get)) == 20_000
    asking.close()
    assert 1 << 20 < kept < 10 << 20
    assert rested < kept / 4
