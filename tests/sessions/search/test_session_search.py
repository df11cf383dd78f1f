"""`session_search` in its three shapes (spec 003), over every agent's sessions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from claude_lines import ClaudeHome
from hermes_tui.errors import HermesTuiError, SessionNotFound, ValidationError
from hermes_tui.redact.redactor import Redactor
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.marks import MarkChange
from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.search.excerpt import messages_around
from hermes_tui.sessions.search.model import BrowsedSessions, DiscoveredSessions, ScrolledMessages, SearchOptions
from hermes_tui.sessions.search.session_search import session_search
from indexing import build
from session_adapters.base import Adapter, Environment, Source
from session_adapters.registry import BUILT_IN
from support import STORES
from tiny_home import START, TinyHome

KEY = "ghp_" + "Ab1" * 12


def discover(manager: SessionManager, query: str, **given: object) -> DiscoveredSessions:
    found = session_search(manager, query, **given)  # type: ignore[arg-type]
    assert isinstance(found, DiscoveredSessions)
    return found


def scroll(manager: SessionManager, session_id: str, message_id: str = "", window: int = 10) -> ScrolledMessages:
    found = session_search(manager, session_id=session_id, around_message_id=message_id, window=window)
    assert isinstance(found, ScrolledMessages)
    return found


def browse(manager: SessionManager, **given: object) -> BrowsedSessions:
    found = session_search(manager, **given)  # type: ignore[arg-type]
    assert isinstance(found, BrowsedSessions)
    return found


@pytest.fixture
def every(tmp_path: Path) -> SessionManager:
    """Sample stores of several agents in one home."""
    home = tmp_path / "home"
    for agent in ("claude", "codex", "gemini", "hermes"):
        shutil.copytree(STORES / agent / "home", home, symlinks=True, dirs_exist_ok=True)
    return SessionManager(Environment(home=home), cache_dir=tmp_path / "cache")


def test_discovery_tells_goal_match_and_resolution(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    path = home.session("Deploy the shop", turns=12)
    home.say(path, "user", "Why does docker networking fail?")
    home.session("Something else", turns=12)
    for turn in range(8):
        home.say(path, "assistant" if turn % 2 == 0 else "user", f"Later {turn}")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", agents=["claude"])
    (found,) = discover(manager, "docker networking").results
    assert found.session_id == f"claude:{path.stem}"
    assert (found.title, found.matched_role, found.match_count) == ("Deploy the shop", "user", 1)
    assert "docker networking" in found.snippet
    assert [one.content for one in found.bookend_start][:2] == ["Deploy the shop", "Answer 0 to Deploy the shop"]
    assert [one.content for one in found.bookend_end] == ["Later 5", "Later 6", "Later 7"]
    assert (found.messages_before, found.messages_after, len(found.messages)) == (5, 5, 11)
    (anchor,) = (one for one in found.messages if one.anchor)
    assert found.messages.index(anchor) == found.messages_before
    assert anchor.id == found.match_message_id
    names = set(json.loads(msgspec.json.encode(found)))
    assert names >= {"session_id", "snippet", "bookend_start", "messages", "bookend_end"}
    assert names >= {"messages_before", "messages_after", "title", "when", "match_message_id", "matched_role"}


def test_what_is_found_by_its_title_alone_is_scrolled_as_any_other(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    path = home.session("hello", turns=2)
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", agents=["claude"])
    unified = f"claude:{path.stem}"
    manager.marks.change([unified], MarkChange(name="Zeppelin"))
    (found,) = discover(manager, "Zeppelin").results
    assert (found.session_id, found.matched_role, found.match_message_id) == (unified, "session_title", None)
    page = session_search(manager, session_id=unified, around_message_id=found.match_message_id)
    assert page == scroll(manager, unified)  # as where none is named


def test_scrolling_by_the_last_message_goes_through_the_whole_session(every: SessionManager) -> None:
    """Forward by `messages[-1].id`, backward by `messages[0].id`, until fewer than `window` come."""
    every.catalogue.refresh()
    for listed in every.list(limit=None):
        whole = [one.id or f"#{at}" for at, one in enumerate(every.get(listed.agent, listed.session_id).messages)]
        if not whole or len(set(whole)) < len(whole):
            continue
        page = scroll(every, listed.unified_id, whole[0], 3)
        seen = [one.id for one in page.messages]
        while page.messages_after == 3:
            page = scroll(every, listed.unified_id, page.messages[-1].id, 3)
            assert page.messages[page.messages_before].anchor
            seen += [one.id for one in page.messages[page.messages_before + 1 :]]
        assert seen == whole, listed.unified_id
        page = scroll(every, listed.unified_id, "", 4)  # without an anchor: its end
        seen = [one.id for one in page.messages]
        while page.messages_before == 4:
            page = scroll(every, listed.unified_id, page.messages[0].id, 4)
            seen = [one.id for one in page.messages[: page.messages_before]] + seen
        assert seen == whole, listed.unified_id


def test_a_page_is_read_and_not_the_session(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    path = home.session("Long ago")
    text = path.read_text()
    first, second = text.splitlines(keepends=True)
    with path.open("a") as file:
        for number in range(3000):
            for line, name in ((first, "user"), (second, "assistant")):
                record = json.loads(line)
                record["uuid"] = f"{name}-{number}"
                record["message"] = {"role": name, "content": f"{name} {number} " + "x" * 400}
                file.write(json.dumps(record) + "\n")
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", agents=["claude"])
    transcript = manager.open("claude", path.stem)
    messages, at = messages_around(transcript, "", 10)
    assert messages[at].content.startswith("assistant 2999")
    assert not transcript.complete
    assert len(messages) < 2500
    page = scroll(manager, f"claude:{path.stem}")
    assert (page.messages_before, page.messages_after) == (10, 0)


def test_sub_agents_and_continuations_are_part_of_their_conversation(every: SessionManager) -> None:
    every.catalogue.refresh()
    listed = {one.unified_id: one for one in every.list(limit=None)}
    helpers = [one for one in listed.values() if one.kind == "subagent" and f"{one.agent}:{one.parent_id}" in listed]
    parts = [one for one in listed.values() if one.lineage_id]
    assert helpers and parts
    for query in ("test", "the", "file"):
        found = discover(every, query, limit=100).results
        roots = [one.parent_session_id or one.session_id for one in found]
        assert len(set(roots)) == len(roots)
        assert not set(roots) & {one.unified_id for one in (*helpers, *parts)}
    assert "subagent" not in {listed[one.session_id].kind for one in browse(every, limit=100).results}


def test_every_agent_is_searched_or_one(every: SessionManager) -> None:
    agents = {one.agent for one in discover(every, "the", limit=100).results}
    assert agents >= {"claude", "codex", "hermes"}
    assert {one.agent for one in discover(every, "the", limit=100, agent="codex").results} == {"codex"}
    assert {one.agent for one in browse(every, limit=100, agent="codex").results} == {"codex"}
    with pytest.raises(ValidationError, match="known are"):
        discover(every, "the", agent="nobody")


def test_what_may_not_be_seen_is_in_no_shape(every: SessionManager) -> None:
    hidden = next(one for one in browse(every, limit=100).results if one.agent == "codex")
    sees = lambda one: one.unified_id != hidden.session_id  # noqa: E731
    assert hidden.session_id not in {one.session_id for one in browse(every, limit=100, sees=sees).results}
    found = discover(every, f"id:{hidden.session_id} OR the", limit=100, sees=sees).results
    assert found and hidden.session_id not in {one.session_id for one in found}
    with pytest.raises(SessionNotFound, match="without arguments"):
        session_search(every, session_id=hidden.session_id, sees=sees)


def test_a_query_beside_a_session_is_looked_for_in_that_one(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path)
    one, other = home.session("lemon one"), home.session("lemon two")
    for indexed in (False, True):
        manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=indexed)
        if indexed:
            build(Environment(home=tmp_path), manager.index.path)
        assert {found.session_id for found in discover(manager, "lemon").results} == {
            f"claude:{one.stem}",
            f"claude:{other.stem}",
        }
        (found,) = discover(manager, "lemon", session_id=f"claude:{one.stem}").results
        assert (found.session_id, found.snippet) == (f"claude:{one.stem}", "lemon one")
        assert discover(manager, "two", session_id=f"claude:{one.stem}").total == 0
        assert found.match_message_id is not None
        page = session_search(manager, "two", session_id=one.stem, around_message_id=found.match_message_id)
        assert isinstance(page, ScrolledMessages), "a message that is named is shown, whatever else is asked"
        with pytest.raises(ValidationError, match="session_id"):
            session_search(manager, around_message_id=found.match_message_id)


def test_a_native_id_alone_names_a_session(every: SessionManager) -> None:
    one = browse(every, agent="codex").results[0]
    assert scroll(every, one.session_id.partition(":")[2]).session_id == one.session_id
    with pytest.raises(SessionNotFound):
        scroll(every, "../../etc/passwd")
    with pytest.raises(ValidationError, match="no message"):
        scroll(every, one.session_id, "no-such-message")
    with pytest.raises(ValidationError, match="whole number"):
        session_search(every, limit=-1)


def test_secrets_are_masked_before_anything_is_cut(tiny_home: TinyHome, manager: SessionManager) -> None:
    """Half a key is not known for one."""
    records = [
        {"title": "x" * 80 + f" {KEY}"[:20], "at": START.isoformat()},
        {"role": "user", "text": f"needle {KEY}", "at": START.isoformat()},
        *({"role": "assistant", "text": f"{'y' * 130} needle {'z' * number} {KEY}"} for number in range(100, 140)),
    ]
    (tiny_home.store / "s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    for query in ("needle", f"needle {KEY}"):
        shown = msgspec.json.encode(discover(manager, query, redactor=Redactor()))
        assert b"masked" in shown
        assert b"ghp_" not in shown
    assert b"ghp_" not in msgspec.json.encode(browse(manager, redactor=Redactor()))
    shown = msgspec.json.encode(session_search(manager, session_id="s", around_message_id="#3", redactor=Redactor()))
    assert b"masked" in shown and b"ghp_" not in shown
    assert KEY.encode() in msgspec.json.encode(discover(manager, "needle"))


def test_browse_gives_the_last_active_first(tiny_home: TinyHome, manager: SessionManager) -> None:
    for number in range(12):
        tiny_home.add(f"s{number:02}", at=START + timedelta(days=number))
    assert [one.session_id for one in browse(manager).results] == [
        f"tiny:s{number:02}" for number in range(11, 1, -1)
    ]
    since = (START + timedelta(days=10)).date()
    assert [one.session_id for one in browse(manager, since=since).results] == ["tiny:s11", "tiny:s10"]
    assert len(discover(manager, "answer", since=since, limit=100).results) == 2
    assert browse(manager, limit=0).results == ()


def test_browse_gives_no_count_of_what_was_read_at_its_ends(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("large", turns=200, filler=300)
    tiny_home.add("small")
    counts = {one.session_id: one.message_count for one in browse(manager).results}
    assert counts["tiny:large"] is None and counts["tiny:small"]


INSIDE = {
    "~nvoic": {"invoices", "upper"},
    '~"voices are pa"': {"invoices"},
    '~"INVOICES ARE"': {"invoices", "upper"},
    "~nvoic paid": {"invoices"},
    "-~nvoic": {"other"},
    '~"a+b"': {"other"},
    "~nvoic OR ~a+b": {"invoices", "upper", "other"},
    "~(zzz)": set[str](),
}


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("query", INSIDE)
def test_every_text_with_the_characters_is_found(
    tiny_home: TinyHome, manager: SessionManager, query: str, indexed: bool
) -> None:
    for name, text in (
        ("invoices", "all invoices are paid now"),
        ("upper", "THE INVOICES ARE DUE"),
        ("other", "voice of c = a+b (zz)"),
    ):
        head = {"title": "t", "at": START.isoformat()}
        said = {"role": "user", "text": text, "at": START.isoformat()}
        (tiny_home.store / f"{name}.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(said)}\n")
    manager.catalogue.refresh()
    if indexed:
        build(manager.environment, manager.index.path)
    found = manager.discover(query).results
    assert {one.session_id for one in found} == INSIDE[query]
    for one in found if query.startswith("~") else ():
        assert one.marks
        start, end = one.marks[0]
        assert one.snippet[start:end].lower() in query.lower()
    with closing(manager.searches.live()) as live:
        live.ask(query)
        assert {one.summary.session_id for one in live.wait(60).results} == INSIDE[query]
    manager.index.close()


def test_whole_words_inside_narrow_what_is_read(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        tiny_home.add(f"s{number}", turns=number + 1)
    manager.catalogue.refresh()
    build(manager.environment, manager.index.path)
    read: list[str] = []
    adapter = type(manager.searches.stores(parse("x"), SearchOptions()).adapter("tiny"))
    texts = adapter.texts

    def counting(self: Adapter, source: Source, *rest: Any, **options: Any) -> Any:
        read.append(source.path)
        return texts(self, source, *rest, **options)

    monkeypatch.setattr(adapter, "texts", counting)
    outcome = manager.discover('~"uestion 27"', windows=False)
    assert {one.session_id for one in outcome.results} == {"s27", "s28", "s29"}
    assert 3 <= len(set(read)) <= 4
    manager.index.close()


def test_what_the_list_alone_answers_is_not_said_to_be_unsearched(tmp_path: Path) -> None:
    ClaudeHome(tmp_path).session("Deploy the shop", turns=1)
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", agents=["claude"])
    found = discover(manager, "title:deploy")
    assert (found.total, found.coverage) == (1, "by what the list of sessions says")
    nothing = discover(manager, "title:elsewhere")
    assert (nothing.total, nothing.coverage) == (0, "no session to search")


def test_nothing_is_found_for_a_query_that_asks_for_nothing(manager: SessionManager) -> None:
    assert discover(manager, "()").results == ()


@pytest.mark.parametrize("agent", sorted(BUILT_IN))
def test_every_sample_store_answers(agent: str, store: Callable[..., Path], tmp_path: Path) -> None:
    folders = sorted(one.name for one in (STORES / agent).glob("home*") if one.is_dir())
    for folder in folders:
        manager = SessionManager(Environment(home=store(agent, folder)), cache_dir=tmp_path / folder, agents=[agent])
        try:
            found = browse(manager, limit=200).results
        except HermesTuiError as error:
            pytest.fail(f"{folder}: {error}")
        for one in found[:20]:
            if not manager.get(agent, one.session_id.partition(":")[2]).messages:
                with pytest.raises(ValidationError, match="has no messages"):
                    scroll(manager, one.session_id)
                continue
            page = scroll(manager, one.session_id, window=2)
            assert page.session_id == one.session_id
