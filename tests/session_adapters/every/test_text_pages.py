"""Texts of sessions in databases are read by pages: what is held does not grow with the session."""

from __future__ import annotations

import gc
import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hector_store import Store as HectorStore
from long_talks import TALKS, Talk
from sample_homes import HOMES, quiet
from session_adapters.base import Environment, SessionMissing, SessionUnreadable, Source
from session_adapters.model import Problem
from session_adapters.reading import searchable, sqlite_limits
from session_adapters.reading.searchable import Text, texts_of
from session_adapters.registry import adapter_class

PAGED = ("hector", "hermes", "opencode")


@pytest.fixture(params=PAGED)
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Talk:
    """A session, some rows of which are one page."""
    made = TALKS[request.param](tmp_path, failing={3})
    made.add(30)
    return made


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searchable, "PAGE_ROWS", 3)


def fail(problem: Problem) -> None:
    pytest.fail(problem.reason)


def source_of(talk: Talk) -> Source:
    found = talk.adapter.find(talk.session_id)
    assert found is not None
    return found


def read(talk: Talk) -> tuple[list[Text], list[Problem]]:
    problems: list[Problem] = []
    return list(talk.adapter.texts(source_of(talk), problems.append, talk.session_id)), problems


def test_a_page_has_so_many_rows_or_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searchable, "PAGE_ROWS", 3)
    monkeypatch.setattr(searchable, "PAGE_BYTES", 10)

    def cut(*sizes: int) -> list[list[int]]:
        return [list(sizes[span]) for span in searchable.pages(sizes)]

    assert cut() == [] and cut(0, 0, 0, 0) == [[0, 0, 0], [0]]
    assert cut(6, 4, 1, 50, 10, 0, 1) == [[6, 4], [1], [50], [10, 0], [1]]


@pytest.mark.usefixtures("small_pages")
def test_pages_make_up_the_session(talk: Talk) -> None:
    """Results stand on other pages than their calls."""
    whole = list(texts_of(talk.session_id, talk.whole()))
    assert read(talk) == (whole, [])
    assert sum(text.names.tools == ("bash",) for text in whole) >= 30


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("home", [name for name in HOMES if name.startswith(PAGED)])
def test_pages_make_up_every_session(home: str, store: Callable[..., Path], tmp_path: Path) -> None:
    adapter = adapter_class(home.partition("/")[0])(Environment(home=store(*home.split("/")), proc=tmp_path / "proc"))
    compared = 0
    for source in adapter.sources(quiet):
        for session_id in adapter.session_ids(source, quiet):
            try:
                session = adapter.session(source, session_id)
            except (SessionMissing, SessionUnreadable):
                continue
            problems: list[Problem] = []
            found = list(adapter.texts(source, problems.append, session_id))
            if not session.repeated:
                assert found == list(texts_of(session.session_id, session.messages))
                assert bool(problems) == bool(session.warnings)
                compared += 1
    assert compared


@pytest.mark.usefixtures("small_pages")
def test_of_too_much_the_same_is_left_out(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_limits, "SESSION_LIMIT", 115 << 10)
    session = talk.adapter.session(source_of(talk), talk.session_id)
    left = session.raw["leftOut"]
    found, (problem,) = read(talk)
    assert found == list(texts_of(talk.session_id, session.messages)) and len(found) > 9
    assert f"the first {left} of its messages are left out" in problem.reason


@pytest.mark.usefixtures("small_pages")
def test_nobody_waits_for_who_looks_at_the_texts(talk: Talk) -> None:
    """Between two texts a writer may begin its log anew, and what it adds meanwhile is not read."""
    whole = read(talk)[0]
    given: list[Text] = []
    with closing(sqlite3.connect(source_of(talk).path)) as writer:
        for number, text in enumerate(talk.adapter.texts(source_of(talk), fail, talk.session_id)):
            if number % 10 == 5:
                talk.add(1)
                assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
            given.append(text)
    assert given == whole


@pytest.mark.usefixtures("small_pages")
def test_a_session_that_goes_meanwhile_ends_there(talk: Talk) -> None:
    whole = read(talk)[0]
    texts = talk.adapter.texts(source_of(talk), fail, talk.session_id)
    given = [next(texts)]
    with closing(sqlite3.connect(source_of(talk).path)) as writer:
        for table in ("session_messages", "messages", "message", "sessions", "session"):
            if writer.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).fetchall():
                writer.execute(f"DELETE FROM {table}")
        writer.commit()
    given += texts
    assert given == whole[: len(given)] and len(given) <= 3


@pytest.mark.usefixtures("small_pages")
def test_a_row_in_the_place_of_another_is_not_taken_for_it(tmp_path: Path) -> None:
    """Without a key of numbers rows may move when the database is put in order."""
    store = HectorStore(tmp_path)
    store.connection.execute("DROP TABLE session_messages")
    store.connection.execute(
        "CREATE TABLE session_messages"
        " (session_id TEXT, message_id TEXT PRIMARY KEY, message_json TEXT, created_at TEXT)"
    )
    store.session("talk")
    for number in range(9):
        row = {"session_id": "talk", "message_id": f"m{number}", "created_at": f"2026-01-01T10:00:0{number}Z"}
        store.insert("session_messages", row | {"message_json": f'{{"parts": [{{"text": "said {number}"}}]}}'})
    source = next(iter(store.adapter.sources(quiet)))
    problems: list[Problem] = []
    texts = store.adapter.texts(source, problems.append, "assistant/talk")
    given = [next(texts)]
    store.connection.execute("DELETE FROM session_messages WHERE message_id = 'm0'")
    store.connection.execute("UPDATE session_messages SET rowid = rowid - 1")
    given += texts
    assert [(one.message_id, one.tool) for one in given] == [(f"m{number}", f"said {number}") for number in range(3)]
    assert [one.reason for one in problems] == ["6 of its records cannot be read, or not in full"]
    store.connection.close()


@pytest.mark.parametrize("agent", PAGED)
def test_what_is_held_does_not_grow_with_the_session(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searchable, "PAGE_ROWS", 100)
    talk = TALKS[agent](tmp_path, filler=200)

    def peak() -> int:
        source = source_of(talk)
        gc.collect()
        tracemalloc.start()
        try:
            for _ in talk.adapter.texts(source, fail, talk.session_id):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    talk.add(100)
    peak()  # what is made once
    short = peak()
    talk.add(900)
    grown = peak() - short
    assert short < 700_000
    assert grown < 3600 * 700, f"{grown / 3600:.0f} bytes a message"
