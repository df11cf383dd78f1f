"""A search that keeps up with somebody who types."""

from __future__ import annotations

import gc
import json
import random
import threading
import weakref
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from chances import TIMES, chance
from claude_lines import ClaudeHome
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform import paths
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query.query import Query, parse
from hermes_tui.sessions.search.engine import Hunt
from hermes_tui.sessions.search.incremental.search import LiveSearch, LiveSnapshot
from hermes_tui.sessions.search.model import SearchOptions, SourceMatch
from hermes_tui.sessions.search.stores import CatalogueStores
from hermes_tui.sessions.search.titles import Titles
from indexing import build
from pi_lines import answered, asked, write_pi
from session_adapters.base import Environment
from tiny_home import START, TinyHome
from typed_queries import made

_LONG = 60.0
"""Seconds: more than any of this takes."""
TYPED = (
    *('docker OR "a b" -net*', "agent:tiny is:live since:7d", "can't 100% C:\\x #tag hello?", "(a OR (b -c)) NOT d"),
    *("cost:>1 tokens:<5k tool:bash file:a role:user", '"""((--NOT AND OR)) *** :::', "漢字 😀 é\u0301 \x00\x1b"),
)


@pytest.fixture
def live(tiny_home: TinyHome, manager: SessionManager) -> Iterator[LiveSearch]:
    for number in range(40):
        tiny_home.add(f"s-{number:02}", at=START + timedelta(days=number), turns=3, title=f"title {number}")
    manager.catalogue.refresh()
    search = manager.searches.live()
    yield search
    search.close()


def names(snapshot: LiveSnapshot) -> list[str]:
    return [one.summary.session_id for one in snapshot.results]


def test_the_answer_is_that_of_the_discovery(live: LiveSearch, manager: SessionManager) -> None:
    live.ask('"question 2"')
    answer = live.wait(_LONG)
    assert answer.done
    assert answer.query.text == '"question 2"'
    assert set(names(answer)) == {one.session_id for one in manager.search('"question 2"', limit=None)}
    assert answer.total == 40
    assert answer.ranked
    live.ask("quest")  # half a word
    assert live.wait(_LONG).total == 40


def test_a_question_supersedes_the_one_before(live: LiveSearch) -> None:
    for end in range(1, len("title 17") + 1):
        live.ask("title 17"[:end])
    answer = live.wait(_LONG)
    assert answer.query.text == "title 17"
    assert names(answer) == ["s-17"]


def test_key_by_key_it_is_as_if_asked_at_once(live: LiveSearch, manager: SessionManager) -> None:
    """Though a longer query is looked for only among what a complete answer found."""
    dice = chance(11)
    typed = [
        "question 2 title 1",
        '"question 2" title',
        "agent:tiny ques",
        "nothing of it",
        "title -3",
        "title 1 OR 2",
    ]
    for text in [*typed, *(made(dice) for _ in range(10 * TIMES))]:
        for end in range(1, len(text[:40]) + 1):
            live.ask(text[:end])
            answer = live.wait(_LONG)
            fresh = manager.searches.live()
            fresh.ask(text[:end])
            alone = fresh.wait(_LONG)
            fresh.close()
            assert names(answer) == names(alone), text[:end]
            assert [one.total for one in answer.results] == [one.total for one in alone.results], text[:end]
            assert (answer.total, answer.more, answer.ranked) == (alone.total, alone.more, alone.ranked), text[:end]
            assert answer.done and not answer.failure


def test_what_came_since_a_complete_answer_is_found(
    live: LiveSearch, manager: SessionManager, tiny_home: TinyHome
) -> None:
    live.ask("zebra")
    assert live.wait(_LONG).total == 0
    tiny_home.add("s-new", at=START + timedelta(days=90), turns=1, title="zebra crossing")
    manager.catalogue.refresh()
    live.ask("zebra c")
    live.ask("zebra cr")
    assert names(live.wait(_LONG)) == ["s-new"]


def test_nothing_is_read_for_a_query_longer_than_one_that_found_nothing(
    live: LiveSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.ask("zebra")
    answer = live.wait(_LONG)
    assert answer.done and not answer.total

    def unexpected(*args: object, **options: object) -> Iterator[SourceMatch]:
        raise AssertionError("a store is read")

    monkeypatch.setattr("hermes_tui.sessions.search.engine.scan", unexpected)
    live.ask("zebra crossing")
    longer = live.wait(_LONG)
    assert longer.done and not longer.total and not longer.failure
    assert longer.coverage == answer.coverage
    live.ask("question")
    assert live.wait(_LONG).failure


def test_snapshots_are_of_one_question_and_only_grow(live: LiveSearch) -> None:
    seen: list[LiveSnapshot] = []
    live.changed = lambda: seen.append(live.snapshot)
    for text in ("question", "answer", "title 3", "", "question 1"):
        live.ask(text)
        live.wait(_LONG)
    by_text: dict[str, list[LiveSnapshot]] = {}
    for one in seen:
        by_text.setdefault(one.query.text, []).append(one)
    assert list(by_text) == ["question", "answer", "title 3", "", "question 1"]
    for text, snapshots in by_text.items():
        assert [one.total for one in snapshots] == sorted(one.total for one in snapshots)
        assert [one.done for one in snapshots] == [False] * (len(snapshots) - 1) + [True], text
        for one in snapshots[:-1]:
            times = [result.summary.updated_at for result in one.results]
            assert times == sorted(times, reverse=True)


def test_an_answer_is_let_go_of_with_all_it_found(live: LiveSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Python's search for garbage in circles: there is one with each key."""
    hunts: list[weakref.ref[Hunt]] = []
    run = Hunt.run

    def noted(self: Hunt) -> Iterator[SourceMatch]:
        hunts.append(weakref.ref(self))
        return run(self)

    monkeypatch.setattr(Hunt, "run", noted)
    gc.disable()
    try:
        for text in ("title", "question", "answer"):
            live.ask(text)
            assert live.wait(_LONG).done
        live.close()
        assert [one() for one in hunts] == [None] * 3
    finally:
        gc.enable()


def test_many_threads_may_ask_and_look(live: LiveSearch) -> None:
    wrong: list[str] = []

    def ask(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(30):
            live.ask(dice.choice(("question", "title 1", "answer 2", "-question", "zzz", "")))
            snapshot = live.snapshot
            if len(snapshot.results) > snapshot.total:
                wrong.append(snapshot.query.text)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    live.ask("title 39")
    assert names(live.wait(_LONG)) == ["s-39"]


def test_a_preview_shows_goal_match_and_resolution(live: LiveSearch) -> None:
    live.ask('"answer 1"')
    answer = live.wait(_LONG)
    shown = live.preview(answer.results[0].summary.unified_id)
    assert shown is not None
    assert [shown.snippet[start:end] for start, end in shown.marks] == ["answer 1"]
    assert [one.text for one in shown.start] == ["question 0", "answer 0", "question 1"]
    assert live.preview("tiny:absent") is None


def test_a_session_that_goes_away_ends_nothing(live: LiveSearch, tiny_home: TinyHome) -> None:
    for path in sorted(tiny_home.store.glob("*.jsonl"))[:20]:
        path.unlink()
    live.ask("question")
    answer = live.wait(_LONG)
    assert answer.done
    assert answer.total == 20


def test_closing_ends_the_thread(manager: SessionManager) -> None:
    search = manager.searches.live()
    search.ask("anything")
    search.close()
    search.ask("more")
    assert not [one for one in threading.enumerate() if one.name == "live search"]


def test_typing_whatever_one_character_at_a_time(
    tmp_path: Path, tiny_home: TinyHome, manager: SessionManager
) -> None:
    """A few queries here; `tests/benchmarks/typed.py` types ten thousand."""
    tiny_home.add("one", title="docker a b c")
    (tiny_home.store / "odd.jsonl").write_text(
        json.dumps({"title": "t", "at": START.isoformat()})
        + "\n"
        + json.dumps({"role": "user", "text": "can't 漢字 😀 \x00\x1b[31m \u202e é", "at": START.isoformat()})
    )
    manager.catalogue.refresh()
    search = manager.searches.live()
    failed: list[object] = []
    hook, threading.excepthook = threading.excepthook, failed.append
    try:
        for text in TYPED:
            for end in range(1, len(text) + 1):
                search.ask(text[:end])
                assert search.wait(_LONG).query.text == text[:end]
    finally:
        threading.excepthook = hook
        search.close()
    assert not failed


def test_few_are_ranked_by_what_the_index_knows(tmp_path: Path) -> None:
    """Without a look at the texts: a title before a prompt, a prompt before a reply, though they are older; many, and
    what a filter alone finds, stay newest first."""
    made = ClaudeHome(tmp_path)
    made.session("a kiwi in the title")
    made.say(made.session("asked"), "user", "where is the kiwi")
    made.say(made.session("answered"), "assistant", "the kiwi is here")
    for number in range(110):
        made.session(f"pear {number}")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache")
    manager.catalogue.refresh()
    build(Environment(home=tmp_path), manager.index.path)
    live = manager.searches.live()
    try:
        live.ask("kiwi")
        answer = live.wait(_LONG)
        assert answer.ranked and not answer.coverage.scanned
        assert [one.summary.title for one in answer.results] == ["a kiwi in the title", "asked", "answered"]
        for query in ("pear", "agent:claude since:2020-01-01"):
            live.ask(query)
            answer = live.wait(_LONG)
            times = [one.summary.updated_at for one in answer.results]
            assert not answer.ranked and times == sorted(times, reverse=True)
    finally:
        live.close()
        manager.index.close()


QUERIES = 25 * TIMES


@pytest.mark.timeout(60 + QUERIES * 5)
def test_whatever_is_typed_is_answered_as_by_reading(store: Callable[..., Path], tmp_path: Path) -> None:
    """Character by character, with a complete index; nothing is raised, and of each query the whole answer is that
    of the sessions themselves. `make queries` types ten thousand."""
    home = store("claude", "home")
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path)
    manager.catalogue.refresh()
    build(Environment(home=home), manager.index.path)
    dice = chance(5)
    live = manager.searches.live()
    try:
        for _ in range(QUERIES):
            text = made(dice)
            for end in range(1, len(text) + 1):
                live.ask(text[:end])
            assert live.wait(_LONG).done, text
            for query in (parse(text), parse(text, typing=True)):
                answers = []
                for index in (manager.index.index, None):
                    stores = manager.searches.stores(query, SearchOptions(), refresh=False)
                    hunt = Hunt(stores, query, index)
                    answers.append({one.summary.unified_id for one in hunt.run()})
                    assert hunt.complete and not hunt.problems
                assert answers[0] == answers[1], text
    finally:
        live.close()
        manager.index.close()


def test_what_is_seen_is_of_the_session_that_is_named(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below a fork stands its own line, and beside it its own goal and match, whichever part of the conversation
    fits best by then: also while more is found."""
    tiny_home.add("original", title="heron", turns=2)
    tiny_home.add("fork", title="heron", turns=9, at=START + timedelta(days=1), parent="original")
    reading, go_on = threading.Event(), threading.Event()
    run = Hunt.run

    def held(hunt: Hunt) -> Iterator[SourceMatch]:
        """After the first part of the conversation a while passes."""
        found = run(hunt)
        yield next(found)
        reading.set()
        assert go_on.wait(_LONG)
        yield from found

    monkeypatch.setattr("hermes_tui.sessions.search.incremental.answer.SNAPSHOT_PAUSE", 0.0)
    monkeypatch.setattr(Hunt, "run", held)
    manager.catalogue.refresh()
    live = manager.searches.live()
    try:
        live.ask("question")
        assert reading.wait(_LONG)
        (first,) = live.snapshot.results
        looks = (live.preview, live.glimpse)
        for look in looks:
            shown = look(first.summary.unified_id)
            assert shown is not None and shown.session_id == first.summary.session_id
            assert [shown.snippet[start:end] for start, end in shown.marks] == ["question"]
        go_on.set()
        answer = live.wait(_LONG)
        assert len(answer.results) == answer.total == 1 and answer.results[0].total > first.total
        for session_id, turns in (("original", 2), ("fork", 9)):
            for look in looks:
                shown = look(f"tiny:{session_id}")
                assert shown is not None and shown.session_id == session_id
                assert shown.message_count == 2 * turns
    finally:
        go_on.set()
        live.close()


def test_an_unexpected_error_is_said_and_the_next_question_works(
    live: LiveSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found before it stays; the log says where, and nothing of what was read."""
    run = Hunt.run

    def broken(hunt: Hunt) -> Iterator[SourceMatch]:
        found = run(hunt)
        yield next(found)
        raise RuntimeError("a secret that was read")

    monkeypatch.setattr(Hunt, "run", broken)
    live.ask("question")
    answer = live.wait(_LONG)
    assert answer.done and answer.query.text == "question" and len(answer.results) == 1
    assert [one.reason for one in answer.problems] == [answer.failure]
    assert "RuntimeError" in answer.failure and "secret" not in answer.failure
    said = paths.log_file().read_text()
    assert str(paths.log_file()) in answer.failure
    assert "RuntimeError" in said and "test_search_live.py" in said and "secret" not in said
    assert live.preview(answer.results[0].summary.unified_id) is not None
    monkeypatch.setattr(Hunt, "run", run)
    live.ask("question 0")
    answer = live.wait(_LONG)
    assert answer.done and answer.total == 40 and not answer.problems and not answer.failure


def test_an_error_before_anything_is_found_is_said_of_the_question_that_met_it(
    live: LiveSearch, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(query: Query, *_: object, **options: object) -> CatalogueStores:
        raise HermesTuiError("the prices cannot be read")

    live.ask("question 0")
    assert live.wait(_LONG).total == 40
    monkeypatch.setattr(manager.searches, "stores", broken)
    live.ask("question 1 cost:>0")
    answer = live.wait(_LONG)
    assert answer.done and answer.query.text == "question 1 cost:>0" and not answer.results
    assert answer.failure == "the prices cannot be read"
    monkeypatch.undo()
    live.ask("question 0")
    assert live.wait(_LONG).total == 40


def test_the_first_question_finds_everything_ready(live: LiveSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has gone to the box will type: what is needed for the first answer is made meanwhile."""
    ready, made = threading.Event(), 0
    get_ready, take_apart = CatalogueStores.get_ready, Titles.__init__

    def told(stores: CatalogueStores, index: SearchIndex | None) -> None:
        get_ready(stores, index)
        ready.set()

    def counted(*given: object) -> None:
        nonlocal made
        made += 1
        take_apart(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(CatalogueStores, "get_ready", told)
    monkeypatch.setattr(Titles, "__init__", counted)
    live.ask("")
    assert ready.wait(_LONG) and made == 1
    live.ask("title 17")
    assert names(live.wait(_LONG)) == ["s-17"] and made == 1


def test_two_letters_are_looked_for_in_tool_text_where_there_is_room(tmp_path: Path) -> None:
    """They begin so many words that a third is waited for, once what was said fills the answer."""
    made = ClaudeHome(tmp_path)
    for number in range(4):
        made.session(f"a wonder, number {number}")
    path = made.session("look")
    block = {"type": "tool_result", "tool_use_id": "t", "content": "the workbench"}
    with path.open("a") as file:
        file.write(json.dumps({"type": "user", "uuid": "u", "message": {"role": "user", "content": [block]}}) + "\n")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache")
    build(manager.environment, manager.index.path)
    manager.catalogue.refresh()

    def found(text: str, most: int) -> tuple[bool, int]:
        query = parse(text, typing=True)
        stores = manager.searches.stores(query, SearchOptions(), refresh=False)
        hunt = Hunt(stores, query, manager.index.index, most=most)
        sessions = {one.summary.session_id for one in hunt.run()}
        return path.stem in sessions, len(sessions)

    assert not found("wo", 3)[0]
    assert found("wo", 10) == (True, 5)
    assert found("wor", 1) == (True, 1)
    manager.index.close()


def test_a_session_that_the_list_gave_another_id_is_found_behind_a_filter(tmp_path: Path) -> None:
    """Two files of one id: the index knows both by the id in them."""
    for name, moment in (("one", "2026-01-02T00:00:00.000Z"), ("two", "2026-01-03T00:00:00.000Z")):
        write_pi(
            tmp_path,
            name,
            asked(1, None, "question"),
            answered(2, 1),
            folder=f"--{name}--",
            id="twice",
            timestamp=moment,
        )
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache")
    manager.catalogue.refresh()
    manager.index.poke(follow=False)
    assert manager.index.wait(60)
    live = manager.searches.live()
    for query in ("answer", "answer since:1999-01-01", "answer turns:<9"):
        live.ask(query)
        answer = live.wait(60)
        assert len(answer.results) == 2, query
    live.close()
    manager.index.close()
