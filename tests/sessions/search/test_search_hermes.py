"""Hermes' sessions found as the real Hermes finds them, wherever its own query is valid."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_store import Store
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.service import index_file
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.search.engine import Hunt
from hermes_tui.sessions.search.grouping import FoundPart
from hermes_tui.sessions.search.model import Match, SearchOptions, SourceMatch
from indexing import build
from oracle.hermes import Oracle
from session_adapters.base import Environment
from session_adapters.hermes.adapter import HermesAdapter
from session_adapters.model import SessionSummary
from support import STORES

SAMPLE = STORES / "hermes" / "home"
VALID = (
    *("docker", "nginx", "Kubernetes", "deploy", "keybinding", "terminal", "the", "a", "zzz", "image_url", "P2.2"),
    *("docker nginx", "docker OR keybinding", "docker NOT nginx", '"docker scheduler"', "depl*", "chat-send"),
    *("user_id", "café", "cafe", "terminal OR docker OR path", '"docker" proxy', "function", "arguments"),
)
"""What its sanitiser leaves as it is meant. Left out, because it means something else there: brackets (dropped),
`a NOT b c` (not (b and c)), several Chinese words (below), and whatever it answers with nothing because SQLite
refuses it."""
DENSE = (
    "大别山",
    "大别山项目",
    "版本升级后",
    "日本語のテキスト",
    "한국어",
    "메시지",
    "부탁합니다",
    "怎么样",
    "大别",
    "桂林",
    "日志",
)
"""Runs without blanks: the real one asks its trigrams for three characters and more, and reads every row for fewer.
Exceptions: of fewer it also finds what was rewound, and of several words any one will do; ours means all of them."""
EVERYDAY = ("can't", "user@example.com", "100%", "src/main.py", "isn't it?", "CPU in", "in src/main.py, isn't")
"""Texts in a message of the sample; half of them the real one answers with nothing."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hermes") / "home"
    shutil.copytree(SAMPLE, folder)
    shutil.rmtree(folder / ".hermes" / "profiles")
    return folder


@pytest.fixture(scope="module")
def real(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    theirs = tmp_path_factory.mktemp("real") / "hermes"
    theirs.mkdir()
    shutil.copy(home / ".hermes" / "state.db", theirs / "state.db")
    with Oracle(theirs) as oracle:
        oracle.open()
        yield oracle
        oracle.close_store()


def found(home: Path, text: str, *, rewound: bool = False) -> set[str]:
    """Row ids of all messages that we find."""
    manager = SessionManager(Environment(home=home), cache_dir=home.parent / "cache")
    query = parse(text)
    hunt = Hunt(manager.searches.stores(query, SearchOptions()), query, None, rewound=rewound)
    return {match.message_id for one in hunt.run() for match in one.matches if match.message_id}


@pytest.mark.parametrize("text", VALID)
def test_what_the_real_one_finds_is_found(home: Path, real: Oracle, text: str) -> None:
    """And nothing more, but in what it does not index: thinking, and the text behind the escapes of a call's JSON."""
    theirs = {str(row["id"]) for row in real.db("search_messages", text, limit=10_000)}
    ours = found(home, text)
    assert theirs <= ours
    with closing(sqlite3.connect(home / ".hermes" / "state.db")) as connection:
        more = connection.execute(
            "SELECT id FROM messages WHERE coalesce(tool_calls, reasoning, reasoning_content, reasoning_details,"
            " codex_reasoning_items, codex_message_items, '') <> ''"
        ).fetchall()
    assert ours - theirs <= {str(id_) for (id_,) in more}


@pytest.mark.parametrize("text", DENSE)
def test_runs_without_blanks_are_found_as_the_real_one_finds_them(home: Path, real: Oracle, text: str) -> None:
    theirs = {str(row["id"]) for row in real.db("search_messages", text, limit=10_000)}
    assert theirs
    with closing(sqlite3.connect(home / ".hermes" / "state.db")) as connection:
        rewound = {
            str(id_) for (id_,) in connection.execute("SELECT id FROM messages WHERE active=0 AND compacted=0")
        }
    assert found(home, text) == theirs - rewound


@pytest.mark.parametrize("tables", ["both", "words alone", "none"])
@pytest.mark.parametrize(
    ("expression", "runs"),
    [("", ["大别山"]), ("", ["桂林"]), ('"deploy"', []), ('"terminal"', ["大别山"]), ("", ["桂林", "怎么样"])],
)
def test_every_kind_of_index_is_asked(
    home: Path, tmp_path: Path, tables: str, expression: str, runs: list[str]
) -> None:
    """By their own answers; what they should be is worked out by reading every row."""
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    path = copy / ".hermes" / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT id, content, coalesce(tool_name, '') FROM messages WHERE active = 1 OR compacted = 1"
        ).fetchall()
        for name in {"both": (), "words alone": ("_trigram",), "none": ("", "_trigram")}[tables]:
            for (trigger,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type='trigger' AND sql LIKE ?", (f"%messages_fts{name}%",)
            ).fetchall():
                connection.execute(f"DROP TRIGGER {trigger}")
            connection.execute(f"DROP TABLE messages_fts{name}")
        connection.commit()
    word = expression.strip('"')
    wanted = {
        str(id_)
        for id_, content, tool in rows
        if all(run in (content or "") for run in runs)
        and (not word or word in re.findall("[a-z0-9]+", f"{content} {tool}".lower()))
    }
    adapter = HermesAdapter(Environment(home=copy))
    (source,) = [one for one in adapter.sources(lambda problem: None) if one.path == str(path)]

    def ids(*, thorough: bool) -> set[str] | None:
        answer = adapter.full_text(source, expression, runs, thorough=thorough)
        return None if answer is None else {one.message_id for one in answer if one.visibility != "rewound"}

    known = tables == "both" and all(len(run) >= 3 for run in runs)
    unknown = expression and tables == "none"
    assert ids(thorough=True) == (None if unknown else wanted)
    assert ids(thorough=False) == (None if unknown or (runs and not known) else wanted)


@pytest.mark.parametrize("by_session", [True, False])
@pytest.mark.parametrize("most", [1, 3, 1000])
@pytest.mark.parametrize(("expression", "runs"), [('"docker"', []), ('"the"', []), ("", ["大别山"]), ("", ["桂林"])])
def test_of_some_sessions_every_row_is_told(
    home: Path, tmp_path: Path, expression: str, runs: list[str], most: int, *, by_session: bool
) -> None:
    """Whether their rows are looked up by their ids or there is no index of those; also of one whose id is no text.
    What they are is read off the rows with SQL."""
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    path = copy / ".hermes" / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (CAST(? AS TEXT), 'user', ?, 1e9)",
            (b"bro\xffken", "the docker of 大别山 in 桂林"),
        )
        if not by_session:
            connection.execute("DROP INDEX idx_messages_session")
        connection.commit()
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        known = "id IN (SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?)"
        rows = connection.execute(
            f"SELECT id, session_id FROM messages WHERE {'instr(content, ?)' if runs else known} ORDER BY id DESC",
            (*runs, expression)[:1],
        ).fetchall()
    sessions = sorted({session for _, session in rows})
    assert "bro\ufffdken" in sessions
    adapter = HermesAdapter(Environment(home=copy))
    (source,) = [one for one in adapter.sources(lambda problem: None) if one.path == str(path)]
    for chosen in (sessions[:most], sessions[-most:], ["bro\ufffdken"], ["nobody"]):
        answer = adapter.full_text(source, expression, runs, session_ids=chosen)
        assert answer is not None
        assert [(int(one.message_id), one.session_id) for one in answer] == [row for row in rows if row[1] in chosen]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("word", ["function", "docker", "terminal"])
def test_a_filter_leaves_all_places_of_the_sessions_it_leaves(
    home: Path, real: Oracle, tmp_path: Path, word: str, *, indexed: bool
) -> None:
    """Those that the real one names, each session counted by itself. Words such as `function` are in no text that is
    shown."""
    environment = Environment(home=home)
    manager = SessionManager(environment, cache_dir=tmp_path / "cache")
    manager.catalogue.refresh()
    if indexed:
        build(environment, index_file(environment, tmp_path / "cache"))
    theirs: dict[str, set[str]] = {}
    for row in real.db("search_messages", word, limit=10_000):
        theirs.setdefault(row["session_id"], set()).add(str(row["id"]))
    sources = {one.session_id: one.source for one in manager.catalogue.snapshot.sessions}
    for name in {sources[session] for session in theirs}:
        query = parse(f"source:{name} {word}")
        index = SearchIndex(index_file(environment, tmp_path / "cache")) if indexed else None
        parts: dict[str, FoundPart] = {}
        for one in Hunt(manager.searches.stores(query, SearchOptions()), query, index).run():
            parts.setdefault(one.summary.session_id, FoundPart(one.summary)).add(one)
        assert {sources[one] for one in parts} == {name}
        for session, ids in theirs.items():
            if sources[session] == name:
                assert ids <= {match.message_id for match in parts[session].places}
                assert parts[session].total >= len(ids)


@pytest.mark.parametrize("text", EVERYDAY)
def test_everyday_text_finds_what_it_should(home: Path, text: str) -> None:
    with closing(sqlite3.connect(home / ".hermes" / "state.db")) as connection:
        rows = connection.execute("SELECT id FROM messages WHERE instr(content, ?)", (text,)).fetchall()
    assert rows
    assert {str(id_) for (id_,) in rows} <= found(home, text)


def test_goal_and_resolution_are_those_of_the_whole_conversation(tmp_path: Path) -> None:
    """What was found is in the middle of it: it began before, and ended after."""
    store = Store(tmp_path / "home")
    said = {
        "first": ("find the leak", "looking", "any news?"),
        "middle": ("the heron valve drips", "closed"),
        "last": ("is it dry?", "bone dry"),
    }
    before = None
    for name, texts in said.items():
        end = None if name == "last" else "compression"
        store.session(name, title="Leak", parent_session_id=before, end_reason=end, ended_at=1_780_000_200)
        for number, text in enumerate(texts):
            store.say(name, "assistant" if number % 2 else "user", text, timestamp=1_780_000_100 + number)
        before = name
    store.connection.close()
    manager = SessionManager(Environment(home=tmp_path / "home"), cache_dir=tmp_path / "cache")
    (found,) = manager.discover("heron").results
    assert found.session_id == "middle" and found.parts == ("middle",)
    assert [line.text for line in found.start] == ["find the leak", "looking", "any news?"]
    assert found.window is not None
    assert [line.text for line in found.window.lines] == ["the heron valve drips", "closed"]
    assert [line.text for line in found.end] == ["is it dry?", "bone dry"]


def test_rewound_messages_stay_out_unless_asked_for(home: Path) -> None:
    with closing(sqlite3.connect(home / ".hermes" / "state.db")) as connection:
        rows = connection.execute(
            "SELECT id, content FROM messages WHERE active = 0 AND compacted = 0 AND length(content) > 20"
        ).fetchall()
    assert rows
    for id_, content in rows:
        quoted = '"' + content.replace('"', " ") + '"'
        assert str(id_) not in found(home, quoted)
        assert str(id_) in found(home, quoted, rewound=True)


@pytest.mark.parametrize("indexed", [True, False])
def test_what_was_taken_back_is_shown_nowhere(tmp_path: Path, *, indexed: bool) -> None:
    store = Store(tmp_path / "home")
    store.session("s1", title="Leak")
    texts = ["a heron at the weir", "I see", "no, a kingfisher at the weir", "I see", "what now?", "nothing more"]
    for number, text in enumerate(texts):
        role, active = ("assistant" if number % 2 else "user"), int(number not in (0, 1, 5))
        store.say("s1", role, text, timestamp=1_780_000_100 + number, active=active, compacted=0)
    store.connection.close()
    manager = SessionManager(Environment(home=tmp_path / "home"), cache_dir=tmp_path / "cache")
    if indexed:
        build(manager.environment, manager.index.path)
    assert not manager.discover("heron").results
    assert manager.discover("weir").coverage.indexed == int(indexed)
    for rewound, places in ((False, 1), (True, 2)):
        (found,) = manager.discover("weir", rewound=rewound).results
        assert found.match_count == places
        assert [line.text for line in found.start] == ["no, a kingfisher at the weir", "I see", "what now?"]
        assert [line.text for line in found.end] == ["no, a kingfisher at the weir", "I see", "what now?"]
    (found,) = manager.discover("heron", rewound=True).results
    assert "heron" in found.snippet
    with closing(manager.searches.live()) as live:
        live.ask("heron ")
        assert not live.wait(60).results
        live.ask("kingfisher ")
        assert [one.total for one in live.wait(60).results] == [1]


@pytest.mark.parametrize("indexed", [True, False])
def test_there_is_something_to_see_of_every_result(home: Path, tmp_path: Path, *, indexed: bool) -> None:
    """Their index names messages, not what of a message the words are in: that may be what it called."""
    environment = Environment(home=home)
    manager = SessionManager(environment, cache_dir=tmp_path / "cache")
    manager.catalogue.refresh()
    if indexed:
        build(environment, index_file(environment, tmp_path / "cache"))
    live = manager.searches.live()
    try:
        for word in ("docker", "terminal", "keybinding"):
            live.ask(f"{word} ")
            answer = live.wait(60.0)
            assert answer.results
            for one in answer.results:
                for seen in (live.glimpse(one.summary.unified_id), live.preview(one.summary.unified_id)):
                    assert seen is not None
                    assert seen.marks, (word, one.summary.title, one.match)
    finally:
        live.close()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_message_is_no_second_place_where_its_field_is_guessed(order: tuple[int, int]) -> None:
    guess, sure = Match("7", "prose", "assistant", guessed=True), Match("7", "tool", "assistant")
    part = FoundPart(SessionSummary(agent="hermes", session_id="s"))
    for number in order:
        part.add(SourceMatch(part.summary, ((guess, sure)[number],), 1))
    assert part.places == (sure,)
    assert part.total == 1
