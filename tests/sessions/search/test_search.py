"""Search in three shapes, as an API: discovery, scroll and browse (checklist S-1 to S-10, spec 003)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from claude_lines import ClaudeHome
from hermes_tui.errors import SessionNotFound, ValidationError
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.search.model import BrowsedSessions, DiscoveredSessions, SearchCoverage, SearchOptions
from hermes_tui.sessions.search.session_search import session_search
from indexing import build
from session_adapters.base import Adapter, Environment, Source
from session_adapters.model import SessionSummary
from tiny_home import START, TinyHome


def write(home: TinyHome, session_id: str, *said: str, at: datetime = START, usd: float = 0.0, **head: Any) -> None:
    """A session in which user and assistant say that in turns, a minute apart."""
    records: list[dict[str, Any]] = [{"title": head.pop("title", "A title"), "at": at.isoformat(), **head}]
    for number, text in enumerate(said):
        role = "assistant" if number % 2 else "user"
        moment = (at + timedelta(minutes=number)).isoformat()
        records.append({"role": role, "text": text, "at": moment, "model": "m-1", "usd": usd or None})
    path = home.store / f"{session_id}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture
def filled(tiny_home: TinyHome, manager: SessionManager) -> SessionManager:
    write(tiny_home, "deploy", "please deploy it", "no", "why?", "the Docker build fails", *["more"] * 9, "fixed it")
    write(tiny_home, "short", "docker docker docker", "yes", at=START + timedelta(days=1), usd=2.0)
    write(tiny_home, "title", "hello", "hi", at=START + timedelta(days=2), title="On docker", usd=1.0)
    write(tiny_home, "other", "what about podman?", "no", at=START + timedelta(days=3), tags=["bug"])
    return manager


def ids(found: Any) -> list[str]:
    return [one.session_id for one in found]


def test_content_and_titles_are_found_without_regard_to_case(filled: SessionManager) -> None:
    """S-4, S-10."""
    assert set(ids(filled.search("DOCKER"))) == {"deploy", "short", "title"}
    assert ids(filled.search("podman OR zzz")) == ["other"]
    assert ids(filled.search("nothing said so")) == []


def test_relevance_is_from_0_to_1_and_the_best_is_1(filled: SessionManager) -> None:
    """S-5."""
    found = filled.search("docker")
    scores = [one.relevance_score for one in found]
    assert scores[0] == 1.0
    assert all(score is not None and 0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    assert all(isinstance(one, SessionSummary) for one in found)
    often, once = (next(one for one in found if one.session_id == name) for name in ("short", "deploy"))
    assert (often.relevance_score or 0) > (once.relevance_score or 0)


def test_the_other_orders(filled: SessionManager) -> None:
    assert ids(filled.search("docker", sort="date")) == ["title", "short", "deploy"]
    assert ids(filled.search("docker", sort="cost")) == ["short", "title", "deploy"]


def test_a_conversation_costs_what_all_its_parts_do(tiny_home: TinyHome, filled: SessionManager) -> None:
    write(tiny_home, "going-on", "and then", "this", usd=3.0, parent="title")
    assert ids(filled.search("docker", sort="cost")) == ["title", "short", "deploy"]


def test_what_was_asked_goes_before_what_was_said_and_that_before_what_tools_wrote(
    tmp_path: Path,
) -> None:
    home = ClaudeHome(tmp_path / "home")
    by_tool, by_reply, by_prompt = (home.session(name) for name in ("One", "Two", "Three"))
    home.say(by_prompt, "user", "a heron at the weir")
    home.say(by_reply, "assistant", "a heron at the weir")
    record = json.loads(by_tool.read_text().splitlines()[0])
    result = {"type": "tool_result", "tool_use_id": "t", "content": "a heron at the weir"}
    record["message"] = {"role": "user", "content": [result]}
    record["uuid"] = "00000000-0000-4000-8000-000000000000"
    with by_tool.open("a") as file:
        file.write(json.dumps(record) + "\n")
    manager = SessionManager(Environment(home=home.home), cache_dir=tmp_path / "cache")
    found = manager.discover("heron weir").results
    assert [one.session_id for one in found] == [by_prompt.stem, by_reply.stem, by_tool.stem]
    assert [one.match_field for one in found] == ["prose", "prose", "tool"]
    scores = [one.relevance_score or 0.0 for one in found]
    assert scores[0] == scores[1] == 1.0 > scores[2] > 0.0


def test_options_narrow_before_the_cut(tiny_home: TinyHome, manager: SessionManager) -> None:
    """S-6: a hit in the oldest of many is found with a limit of one."""
    write(tiny_home, "oldest", "needle here", at=START - timedelta(days=400), tags=["keep"], model="x")
    for number in range(120):
        write(tiny_home, f"new-{number}", "needle here", "needle", at=START + timedelta(hours=number))
    assert ids(manager.search("needle", limit=1, until=START - timedelta(days=1))) == ["oldest"]
    assert ids(manager.search("needle", limit=1, tags=("keep",))) == ["oldest"]
    assert ids(manager.search("needle tag:keep", limit=1)) == ["oldest"]
    assert len(manager.search("needle", since=START)) == 50
    assert len(manager.search("needle", since=START, limit=None)) == 120
    outcome = manager.discover("needle", limit=3)
    assert (outcome.total, outcome.complete, str(outcome.coverage)) == (121, True, "all scanned")
    assert ids(manager.search("needle", role="assistant", limit=None, sort="date"))[0] == "new-119"
    assert "oldest" not in ids(manager.search("needle", role="assistant", limit=None))


def test_unknown_agents_and_empty_queries_find_nothing(filled: SessionManager) -> None:
    """S-1, S-9."""
    assert filled.search("docker", agent="nobody") == ()
    for empty in ("", "   ", "AND", "-", "cost:>"):
        assert filled.search(empty) == ()
    assert filled.browse("nobody") == []
    with pytest.raises(ValidationError, match="limit must be"):
        filled.search("docker", limit=-1)
    with pytest.raises(ValidationError, match="sort must be one of"):
        filled.search("docker", sort="size")
    with pytest.raises(ValidationError, match="unknown option"):
        filled.search("docker", colour="red")


@pytest.mark.parametrize("text", ["foo-bar", '"unclosed', "AND", "*", "(", "can't", "C:\\x", "100%", "a NEAR/2 b"])
def test_punctuation_is_no_syntax(filled: SessionManager, text: str) -> None:
    """S-7."""
    filled.search(text)


@pytest.mark.parametrize(
    "text", ["can't", "a@b.com", "/usr/bin", "C:\\x", "100%", "#tag", "hello?", "c++", "[x]", "a=b", "😀", "漢字"]
)
def test_everyday_text_is_found(tiny_home: TinyHome, manager: SessionManager, text: str) -> None:
    write(tiny_home, "has", f"I said {text} and meant it")
    write(tiny_home, "not", "nothing of the kind")
    assert ids(manager.search(text)) == ["has"]


def test_a_result_shows_goal_match_and_resolution(filled: SessionManager) -> None:
    found = next(one for one in filled.search("docker build") if one.session_id == "deploy")
    assert [one.text for one in found.start] == ["please deploy it", "no", "why?"]
    assert [one.text for one in found.end] == ["more", "more", "fixed it"]
    window = found.window
    assert window is not None
    assert [one.text for one in window.lines] == [
        *("please deploy it", "no", "why?", "the Docker build fails"),
        *["more"] * 5,
    ]
    assert [one.anchor for one in window.lines].index(True) == 3
    assert (window.before, window.after, window.at_start, window.at_end) == (3, 5, True, False)
    assert [found.snippet[start:end] for start, end in found.marks] == ["Docker", "build"]
    assert (found.match_field, found.match_role, found.match_count) == ("prose", "assistant", 1)
    assert found.match_time == START + timedelta(minutes=3)


@pytest.mark.parametrize("sort", ["relevance", "date"])
@pytest.mark.parametrize(
    "text", ["docker", "more", "docker OR podman", "agent:tiny", "-docker", "title:docker", "zzz"]
)
def test_without_windows_all_else_is_the_same(filled: SessionManager, text: str, sort: str) -> None:
    whole, brief = (filled.discover(text, sort=sort, windows=windows) for windows in (True, False))
    assert not any(one.start or one.end or one.window for one in brief.results)
    bare = [msgspec.structs.replace(one, start=(), end=(), window=None) for one in whole.results]
    assert list(brief.results) == bare
    assert msgspec.structs.replace(brief, results=()) == msgspec.structs.replace(whole, results=())


def test_without_windows_what_was_compared_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ClaudeHome(tmp_path)
    for number in range(3):
        made.say(made.session(f"needle {number}", turns=2), "user", "once more the needle")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", agents=("claude",))
    build(Environment(home=tmp_path), manager.index.path)
    read: list[str] = []
    adapter = type(manager.searches.stores(parse("needle"), SearchOptions()).adapter("claude"))
    texts = adapter.texts

    def counting(self: Adapter, source: Source, *rest: Any, **options: Any) -> Any:
        read.append(source.path)
        return texts(self, source, *rest, **options)

    monkeypatch.setattr(adapter, "texts", counting)
    found = manager.discover("needle", windows=False)
    assert found.coverage.indexed == 3
    assert ["needle" in one.snippet for one in found.results] == [True] * 3
    assert sorted(read) == sorted(set(read))
    manager.index.close()


def test_how_a_fork_began_or_ended_is_not_how_its_origin_did(tiny_home: TinyHome, manager: SessionManager) -> None:
    """One conversation of the answer (S-2), with the goal and the resolution of the session that is shown."""
    write(tiny_home, "origin", "the clock is wrong", "I see", "and now?", "wound up")
    write(tiny_home, "fork", "do it otherwise", "replaced", at=START + timedelta(days=1), parent="origin")
    (found,) = manager.search("clock")
    assert found.session_id == "origin"
    assert [one.text for one in found.start] == ["the clock is wrong", "I see", "and now?"]
    assert [one.text for one in found.end] == ["I see", "and now?", "wound up"]
    (found,) = manager.search("replaced")
    assert found.session_id == "fork"
    assert [one.text for one in found.start] == ["do it otherwise", "replaced"]


def test_colours_of_a_terminal_are_no_part_of_a_snippet(tiny_home: TinyHome, manager: SessionManager) -> None:
    write(
        tiny_home, "run", "[ 51%] \x1b[32mPASSED\x1b[0m  tests/test_heron.py \x1b[1;31mFAILED\x1b[m  the heron\x1b[0m"
    )
    (found,) = manager.search("heron")
    assert found.snippet == "[ 51%] PASSED tests/test_heron.py FAILED the heron"
    assert [found.snippet[start:end] for start, end in found.marks] == ["heron", "heron"]


def test_a_long_text_gives_a_short_snippet(tiny_home: TinyHome, manager: SessionManager) -> None:
    write(tiny_home, "long", "word " * 500 + "\n\n\tthe  needle\x1b[31m is\nhere " + "word " * 500)
    found = manager.search("needle")[0]
    assert len(found.snippet) < 300
    assert [found.snippet[start:end] for start, end in found.marks] == ["needle"]
    assert found.snippet.startswith("… ")
    assert "\n" not in found.snippet
    assert "the needle" in found.snippet


def test_scroll_says_where_a_session_ends(filled: SessionManager) -> None:
    messages = filled.get("tiny", "deploy").messages
    ended = {0: (True, False), 6: (False, False), len(messages) - 1: (False, True)}
    for at, ends in ended.items():
        window = filled.scroll("tiny", "deploy", f"#{at}", window=2)
        assert (window.at_start, window.at_end) == ends
        assert [one.message_id for one in window.lines] == [
            f"#{n}" for n in range(max(0, at - 2), min(len(messages), at + 3))
        ]
    whole = filled.scroll("tiny", "deploy", "#6", window=100)
    assert whole.at_start
    assert whole.at_end
    assert len(whole.lines) == len(messages)
    with pytest.raises(ValidationError, match="has no message 'x'"):
        filled.scroll("tiny", "deploy", "x")
    with pytest.raises(SessionNotFound):
        filled.scroll("tiny", "absent", "x")


def test_browse_gives_the_last_active_conversations(tiny_home: TinyHome, filled: SessionManager) -> None:
    assert ids(filled.browse()) == ["other", "title", "short", "deploy"]
    assert ids(filled.browse("tiny", limit=2)) == ["other", "title"]
    assert filled.browse()[0].updated_at == datetime(2026, 3, 4, 12, 1, tzinfo=UTC)


def test_helpers_are_listed_and_not_browsed(store: Callable[..., Path], tmp_path: Path) -> None:
    manager = SessionManager(Environment(home=store("claude", "home")), cache_dir=tmp_path / "cache")
    assert "subagent" in {one.kind for one in manager.list(limit=None)}
    browsed = manager.browse(limit=None)
    assert browsed and "subagent" not in {one.kind for one in browsed}


WAYS = " ".join(f"(tool:{name} OR well)" for name in "abcdefgh")
"""Too many for an index to be asked one after the other."""


@pytest.mark.parametrize("text", ["😀", "-😀", "😀 agent:tiny", "😀 OR 🚀", "$$ cash", WAYS, f"-({WAYS})"])
def test_what_an_index_cannot_be_asked_is_found_with_one(
    tiny_home: TinyHome, manager: SessionManager, text: str
) -> None:
    write(tiny_home, "smile", "well done 😀", "thanks")
    write(tiny_home, "frown", "oh no 😞", "sorry 🚀")
    write(tiny_home, "money", "cash is $$ here", "and cash there")
    by_reading = set(ids(manager.discover(text).results))
    assert by_reading
    build(manager.environment, manager.index.path)
    assert manager.discover("well").coverage.indexed == 3
    outcome = manager.discover(text)
    assert set(ids(outcome.results)) == by_reading
    if WAYS in text:
        assert str(outcome.coverage) == "all scanned"
    with closing(manager.searches.live()) as live:
        live.ask(f"{text} ")
        assert {one.summary.session_id for one in live.wait(60).results} == by_reading


@pytest.mark.parametrize(
    ("coverage", "said"),
    [
        (SearchCoverage(), "no session to search"),
        (SearchCoverage(sources=50, indexed=50), "indexed 100 %"),
        (SearchCoverage(sources=50, indexed=47, scanned=3), "indexed 94 %, rest scanned"),
        (SearchCoverage(sources=50, indexed=40, scanned=5), "indexed 80 %, 90 % searched"),
        (SearchCoverage(sources=1000, indexed=999), "indexed 99 %, 99 % searched"),
        (SearchCoverage(sources=50, scanned=50), "all scanned"),
        (SearchCoverage(sources=50, scanned=50, unread=2), "scanned, 2 could not be read in full"),
        (SearchCoverage(sources=50, scanned=50, waiting=7), "scanned, 7 files not read yet"),
        (SearchCoverage(unread=1), "no session to search, 1 could not be read in full"),
        (SearchCoverage(sources=50, scanned=5), "10 % searched"),
        (SearchCoverage(sources=5, indexed=5, unpriced=1_200), "indexed 100 %, 1,200 costs not added up yet"),
    ],
)
def test_how_complete_an_answer_is(coverage: SearchCoverage, said: str) -> None:
    assert str(coverage) == said


def test_a_query_of_filters_alone_lists(filled: SessionManager) -> None:
    assert ids(filled.search("tag:bug")) == ["other"]
    assert set(ids(filled.search("-tag:bug"))) == {"deploy", "short", "title"}
    assert set(ids(filled.search("-docker"))) == {"other"}
    assert ids(filled.search("cost:>1")) == ["title", "short"]


def test_completion_knows_the_sessions(filled: SessionManager) -> None:
    filled.catalogue.refresh()
    desk = filled.searches
    assert [one.insert for one in desk.complete("tag:", 4)] == ["bug"]
    assert [one.insert for one in desk.complete("model:m", 7)] == ["m-1"]
    assert [one.insert for one in desk.complete("agent:t", 7)] == ["tiny"]


def test_completion_knows_where_a_session_was_held_and_the_tools_of_the_index(
    store: Callable[..., Path], tmp_path: Path
) -> None:
    home = store("hermes", "home")
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache")
    manager.catalogue.refresh()
    sources = {one.source for one in manager.list(limit=None)} - {None}
    assert sources and {one.insert for one in manager.searches.complete("source:", 7)} == sources
    assert manager.searches.complete("tool:", 5) == []  # there is no index yet
    build(manager.environment, manager.index.path)
    with closing(sqlite3.connect(home / ".hermes" / "state.db")) as connection:
        called = {name for (name,) in connection.execute("SELECT tool_name FROM messages WHERE tool_name <> ''")}
    found = [one.insert for one in manager.searches.complete("tool:", 5)]
    assert called and {name.lower() for name in called} <= set(found)
    begun = min(called).lower()[:3]
    begins = [one for one in found if one.startswith(begun)]
    assert [one.insert for one in manager.searches.complete(f"x -tool:{begun}", 11)][: len(begins)] == begins


def test_nothing_of_a_store_is_touched(tiny_home: TinyHome, filled: SessionManager, tmp_path: Path) -> None:
    from tiny_home import tree_hash

    before = tree_hash(tiny_home.home)
    filled.search("docker")
    filled.search("-docker")
    filled.browse()
    assert tree_hash(tiny_home.home) == before


def test_since_is_when_a_session_began_in_every_shape(filled: SessionManager) -> None:
    """A browse and a discovery that go by different times would list a session and not find it."""
    for day, there in ((1, {"short", "title", "other"}), (3, {"other"})):
        since = START + timedelta(days=day)
        browsed = session_search(filled, since=since)
        assert isinstance(browsed, BrowsedSessions)
        assert {one.session_id.partition(":")[2] for one in browsed.results} == there
        found = session_search(filled, "docker OR podman", since=since)
        assert isinstance(found, DiscoveredSessions)
        assert {one.session_id.partition(":")[2] for one in found.results} == there
    later = START + timedelta(minutes=5)  # `deploy` was begun before it, and went on after it
    listed = session_search(filled, since=later, limit=50)
    assert isinstance(listed, BrowsedSessions)
    assert not [one for one in listed.results if one.session_id.endswith("deploy")]
