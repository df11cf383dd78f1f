"""An index that is being made, and one whose stores change: what is in it, and what that costs."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from claude_lines import ClaudeHome
from hermes_store import Store
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.schema import open_writer
from hermes_tui.sessions.index.service import IndexService
from hermes_tui.sessions.index.source_state import Level
from hermes_tui.sessions.index.writing import indexer as indexing
from hermes_tui.sessions.index.writing import writer
from hermes_tui.sessions.index.writing.indexer import Indexer
from hermes_tui.sessions.query.tree import Word
from indexing import build, contents, homes_sources
from searched import found
from session_adapters.base import Environment, Report, Source
from session_adapters.reading.files import METER
from session_adapters.reading.searchable import SessionTexts


def test_a_path_that_is_no_text_keeps_no_other_out(tmp_path: Path) -> None:
    """The indexer failed at it, each time, and nothing was ever indexed. Searches read such a file themselves."""
    made = ClaudeHome(tmp_path)
    plain = made.session("plain")
    other = Path(os.fsdecode(os.fsencode(made.projects) + b"/-home-\xff"), "other.jsonl")
    other.parent.mkdir()
    shutil.copy(plain, other)
    environment = Environment(home=tmp_path)
    assert {one.path for one in homes_sources(environment)} == {str(plain), str(other)}
    for _ in range(2):
        assert build(environment, tmp_path / "i.db")
        assert {path for path, *_ in contents(tmp_path / "i.db")["sources"]} == {str(plain)}
    progress = IndexService(tmp_path / "i.db", environment).progress()
    assert (progress.state, progress.sources, progress.everything, progress.left_out) == ("complete", 1, 1, 1)
    assert progress.left_out_path == f"{made.projects}/-home-\ufffd/other.jsonl"
    assert SearchIndex(tmp_path / "i.db").lacking(homes_sources(environment), 0.0) == []


@given(data=st.data())
@examples(15)
def test_however_it_came_about_it_is_the_same(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sessions are written to, cut short, replaced and deleted, the indexer is stopped halfway: in the end the index
    equals one that is made anew."""
    home = tmp_path_factory.mktemp("home")
    made = ClaudeHome(home)
    made.session("the first one", turns=3)
    environment = Environment(home=home)
    path = home / "cache" / "i.db"
    adapters = Adapters(lambda: environment)
    connection = open_writer(path)
    indexer = Indexer(connection, adapters)
    for number in range(data.draw(st.integers(1, 6))):
        files = sorted(made.projects.rglob("*.jsonl"))
        step = data.draw(st.sampled_from(("new", "say", "say", "cut", "replace", "delete", "swap", "again", "stop")))
        target = data.draw(st.sampled_from(files)) if files else None
        if step == "new" or target is None:
            made.session(f"another {number}", turns=data.draw(st.integers(1, 4)))
        elif step == "say":
            made.say(target, data.draw(st.sampled_from(("user", "assistant"))), f"said in step {number}")
        elif step == "cut":
            target.write_bytes(target.read_bytes()[: data.draw(st.integers(0, target.stat().st_size))])
        elif step == "replace":
            other = target.with_suffix(".tmp")
            other.write_bytes(target.read_bytes().replace(b"Answer", b"Reply"))
            other.replace(target)
        elif step == "delete":
            target.unlink()
        elif step == "swap":
            target.write_bytes(b"".join(reversed(target.read_bytes().splitlines(keepends=True))))
        elif step == "again":
            target.write_bytes(target.read_bytes() * 2)
        else:
            stopping = Indexer(connection, adapters, stop=lambda: True)
            assert not stopping.run()
            continue
        assert indexer.run()
    assert indexer.run()
    connection.close()
    build(environment, home / "fresh" / "i.db")
    assert contents(path) == contents(home / "fresh" / "i.db")


@pytest.mark.parametrize("commits", range(1, 12))
def test_half_built(commits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is covered is complete; and going on from there gives what a run in one go gives."""
    monkeypatch.setattr(writer, "FIRST_BATCH", 200)
    monkeypatch.setattr(writer, "BATCH", 200)
    made = ClaudeHome(tmp_path)
    for number in range(5):
        made.session(f"session number{number}", turns=2)
    environment = Environment(home=tmp_path)
    path = tmp_path / "cache" / "i.db"
    build(environment, path, commits=commits)
    index = SearchIndex(path)
    sources = homes_sources(environment)
    coverage = index.coverage(sources)
    covered = {source.session_id for source in sources if coverage.level(source) >= Level.PROSE}
    hits = found(index, Word(("session",)), coverage)
    assert {hit.session_id for hit in hits} == covered
    assert len(hits) == 3 * len(covered)
    index.close()
    assert build(environment, path)
    build(environment, tmp_path / "fresh" / "i.db")
    assert contents(path) == contents(tmp_path / "fresh" / "i.db")


def test_what_was_written_to_since_is_not_covered(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path)
    first, second = made.session("one"), made.session("two")
    environment = Environment(home=tmp_path)
    build(environment, tmp_path / "i.db")
    index = SearchIndex(tmp_path / "i.db")
    made.say(first, "user", "later")
    sources = {source.path: source for source in homes_sources(environment)}
    coverage = index.coverage(sources.values())
    assert coverage.level(sources[str(first)]) == Level.NOTHING
    assert coverage.level(sources[str(second)]) == Level.ALL
    assert {hit.path for hit in found(index, Word(("answer",)), coverage)} == {str(second)}
    index.close()


def test_a_line_that_is_added_costs_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ClaudeHome(tmp_path)
    path = made.session("a long one", turns=400)
    environment = Environment(home=tmp_path)
    connection = open_writer(tmp_path / "cache" / "i.db")
    indexer = Indexer(connection, Adapters(lambda: environment))
    indexer.run()
    made.say(path, "user", "now it is known to grow")
    indexer.run()
    made.say(path, "user", "one more")
    METER.reset()
    before = connection.total_changes()
    indexer.run()
    assert METER.bytes < 2000
    # The message, its source, the report, the count of commits, and the shadow tables of two FTS5 tables.
    assert connection.total_changes() - before < 30
    connection.close()


def codex_lines(number: int) -> bytes:
    """A turn of Codex, as it writes one."""
    asked, said = f"Question {number}", f"Answer {number}"
    payloads = (
        ("event_msg", {"type": "task_started", "turn_id": f"turn-{number}"}),
        ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": asked}]}),
        ("event_msg", {"type": "user_message", "message": asked}),
        ("event_msg", {"type": "agent_message", "message": said}),
        (
            "response_item",
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]},
        ),
    )
    moment = f"2026-03-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
    records = ({"timestamp": moment, "type": kind, "payload": payload} for kind, payload in payloads)
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_of_a_session_that_grows_nothing_but_the_ids_are_kept(agent: str, tmp_path: Path) -> None:
    """An indexer stays for as long as agents write; whatever it had put in stayed with it."""
    environment = Environment(home=tmp_path)
    numbers = iter(range(100_000))
    if agent == "claude":
        made = ClaudeHome(tmp_path)
        path = made.session("a long one")
    else:
        session = "019f0000-0000-7000-8000-000000000001"
        path = tmp_path / f".codex/sessions/2026/03/01/rollout-2026-03-01T00-00-00-{session}.jsonl"
        path.parent.mkdir(parents=True)
        meta = {"id": session, "timestamp": "2026-03-01T00:00:00.000Z", "cwd": "/w", "cli_version": "0.130.0"}
        record = {"timestamp": "2026-03-01T00:00:00.000Z", "type": "session_meta", "payload": meta}
        path.write_text(json.dumps(record) + "\n")

    def grow(turns: int) -> None:
        for number in islice(numbers, turns):
            if agent == "claude":
                made.say(path, "user", f"Question {number}")
                made.say(path, "assistant", f"Answer {number}")
            else:
                with path.open("ab") as file:
                    file.write(codex_lines(number))
            if number % 10 == 9:
                assert indexer.run(homes_sources(environment))

    def kept() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    connection = open_writer(tmp_path / "cache" / "i.db")
    indexer = Indexer(connection, Adapters(lambda: environment))
    assert indexer.run()
    tracemalloc.start()
    try:
        grow(100)
        before = kept()
        grow(300)
        grown = kept() - before
    finally:
        tracemalloc.stop()
        connection.close()
    found = contents(tmp_path / "cache" / "i.db")["messages"]
    assert sum(found.values()) == 2 * 400 + (2 if agent == "claude" else 0)
    assert grown < 600 * 400, f"{grown / 600:.0f} bytes a message"


def test_of_a_database_only_what_is_new_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by an indexer that was just started; and the index equals one that is made anew."""
    monkeypatch.setattr(indexing, "REST_SHARE", 0)
    store = Store(tmp_path)
    for session in ("a", "b"):
        store.session(session)
        for number in range(60):
            store.say(session, "user", f"{session} said number{number}")
    environment = Environment(home=tmp_path)
    path = tmp_path / "cache" / "i.db"
    assert build(environment, path)

    def changes() -> int:
        connection = open_writer(path)
        before = connection.total_changes()
        assert Indexer(connection, Adapters(lambda: environment)).run()
        done = connection.total_changes() - before
        connection.close()
        build(environment, tmp_path / "fresh" / "i.db")
        assert contents(path) == contents(tmp_path / "fresh" / "i.db")
        shutil.rmtree(tmp_path / "fresh")
        return done

    store.say("b", "assistant", "one more")
    assert changes() < 40
    store.connection.execute("UPDATE messages SET active = 0 WHERE id IN (3, 4)")
    assert changes() < 40
    store.connection.execute("DELETE FROM messages WHERE session_id = 'a'")
    store.connection.execute("DELETE FROM sessions WHERE id = 'a'")
    changes()
    index = SearchIndex(path)
    coverage = index.coverage(homes_sources(environment))
    assert {hit.session_id for hit in found(index, Word(("said",)), coverage)} == {"b"}
    index.close()
    store.connection.close()


def test_an_adapter_that_fails_costs_its_own_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ClaudeHome(tmp_path)
    good, bad = made.session("good"), made.session("bad")
    environment = Environment(home=tmp_path)
    adapters = Adapters(lambda: environment)
    adapter = adapters.get("claude")
    whole = adapter.texts

    def failing(source, report, session_id=None):  # type: ignore[no-untyped-def]
        if source.path == str(bad):
            raise RuntimeError("a mistake")
        return whole(source, report, session_id)

    monkeypatch.setattr(adapter, "texts", failing)
    connection = open_writer(tmp_path / "i.db")
    assert Indexer(connection, adapters).run()
    connection.close()
    index = SearchIndex(tmp_path / "i.db")
    coverage = index.coverage(homes_sources(environment))
    assert {path for _, path, _ in coverage.levels} == {str(good)}
    figures = index.figures()
    assert figures is not None
    assert (figures.sources, figures.everything, figures.failed) == (2, 1, 1)
    index.close()
    assert indexing.WARM_SOURCES >= 8


def test_what_takes_long_to_read_again_is_left_alone_for_a_while(
    store: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database has no lines that are appended; one that is written to all the time is not read all the time."""
    environment = Environment(home=store("hermes", "home"))
    adapters = Adapters(lambda: environment)
    adapter = adapters.get("hermes")
    asked: list[str] = []
    whole = adapter.new_texts

    def counting(source: Source, report: Report, marks: Mapping[str, str]) -> Iterator[SessionTexts] | None:
        asked.append(source.path)
        return whole(source, report, marks)

    monkeypatch.setattr(adapter, "new_texts", counting)
    monkeypatch.setattr(indexing, "time", iter(range(0, 10_000, 10)).__next__)
    monkeypatch.setattr(indexing, "process_time", iter(range(0, 10_000, 10)).__next__)
    path = max((Path(one.path) for one in homes_sources(environment)), key=lambda path: path.stat().st_size)
    connection = open_writer(tmp_path / "i.db")
    Indexer(connection, adapters).run()
    before = asked.count(str(path))
    for minutes in range(5):
        os.utime(path, (minutes, minutes + 1_000_000_000))
        Indexer(connection, adapters).run()  # another process knows it, too
    assert asked.count(str(path)) - before == 1
    connection.close()


@pytest.mark.parametrize("agent", ["claude", "hermes"])
def test_it_is_worth_to_be_kept_where_something_is_written_to(agent: str, tmp_path: Path) -> None:
    """Whatever the source is; not where it only found what nobody goes on with."""
    environment = Environment(home=tmp_path)
    adapters = Adapters(lambda: environment)
    connection = open_writer(tmp_path / "cache" / "i.db")
    if agent == "claude":
        made = ClaudeHome(tmp_path)
        path = made.session("one")
    else:
        store = Store(tmp_path)
        store.session("a")
        store.say("a", "user", "said first")
    indexer = Indexer(connection, adapters)
    assert indexer.run()
    assert not indexer.patience
    assert indexer.run()
    assert not indexer.patience
    if agent == "claude":
        made.say(path, "user", "more")
    else:
        store.say("a", "user", "said later")
        store.connection.close()
    assert indexer.run()
    assert indexer.patience >= 60
    connection.close()


@pytest.mark.parametrize("cheap", [True, False])
def test_what_is_left_alone_for_a_while_is_not_covered(
    cheap: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a search looks into it itself; what is looked through sooner than that takes is not left alone."""
    store = Store(tmp_path)
    store.session("a")
    store.say("a", "user", "said first")
    environment = Environment(home=tmp_path)
    path = tmp_path / "cache" / "i.db"
    assert build(environment, path)

    def covered() -> bool:
        index = SearchIndex(path)
        try:
            (source,) = homes_sources(environment)
            return index.coverage([source]).level(source) == Level.ALL
        finally:
            index.close()

    monkeypatch.setattr(indexing, "CHEAP", 60.0 if cheap else 0.0)
    monkeypatch.setattr(indexing, "REST_SHARE", 100_000)
    for number in range(2):
        store.say("a", "user", f"said later {number}")
        assert build(environment, path)
        assert covered() == (cheap or number == 0)
    monkeypatch.setattr(indexing, "LONGEST_REST", 0)
    assert build(environment, path)
    assert covered()
    store.connection.close()
