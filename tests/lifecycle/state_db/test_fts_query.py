"""Everyday words are found, also those that FTS5 takes for mistakes and that Hermes' own search therefore misses."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.lifecycle.state_db.database import SessionDB
from hermes_tui.lifecycle.state_db.fts_query import parse_words, quote_words, sanitize_query

TEXTS = {
    1: "can't reproduce: user@example.com sees 100% CPU in src/main.py, isn't it?",
    2: "hello, world; TODO: fix the chat-send button #123",
    3: "the CPU is idle, and the world is fine",
    4: "C:\\temp a=b x & y",
    5: "北京的天气",
    6: "上海的天气 reproduce",
    7: "北京和上海",
}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionDB]:
    """A store of version 6 with these texts, by id."""
    with SessionDB(tmp_path_factory.mktemp("words") / "state.db") as db:
        db.create_session("a", "cli")
        for id_, text in TEXTS.items():
            assert db.append_message("a", "user", text, timestamp=float(id_)) == id_
        yield db


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("can't", {1}),
        ("user@example.com", {1}),
        ("src/main.py", {1}),
        ("100%", {1}),
        ("isn't it?", {1}),
        ("hello, world", {2}),
        ("TODO: fix", {2}),
        ("chat-send", {2}),
        ("chat-", {2}),
        ("#123", {2}),
        ("C:\\temp", {4}),
        ("a=b", {4}),
        ("x & y", {4}),
        ("can't AND CPU", {1}),
        ("CPU NOT can't", {3}),
        ("can't OR world", {1, 2, 3}),
        ("can't OR idle, NOT nothing", {1, 3}),
        ('can\'t "sees 100"', {1}),
        ("can't repro*", {1}),
        ("world AND AND fine", {3}),
        ("NOT", set()),
        (";", set()),
        ("", set()),
        ("?!", set()),
        ("北京", {5, 7}),
        ("天气", {5, 6}),
        ("北京 上海", {7}),
        ("北京 OR 上海", {5, 6, 7}),
        ("北京 NOT 上海", {5}),
        ("上海 reproduce", {6}),
        ("reproduce OR 北京 NOT 上海", {1, 5, 6}),
    ],
)
def test_words_are_found(db: SessionDB, query: str, found: set[int]) -> None:
    assert {hit["id"] for hit in db.search_messages(query)} == found


def test_a_hit_looks_as_documented(db: SessionDB) -> None:
    (hit,) = db.search_messages('"world is"')
    assert hit == {
        "id": 3,
        "session_id": "a",
        "role": "user",
        "timestamp": 3.0,
        "tool_name": None,
        "source": "cli",
        "model": None,
        "session_started": hit["session_started"],
        "snippet": "the CPU is idle, and the >>>world is<<< fine",
        "context": [{"role": "user", "content": TEXTS[number]} for number in (2, 3, 4)],
    }


def test_pages_and_orders(db: SessionDB) -> None:
    newest = [hit["id"] for hit in db.search_messages("the OR CPU OR fix", sort="newest")]
    assert newest == [3, 2, 1]
    assert [hit["id"] for hit in db.search_messages("the OR CPU OR fix", sort="oldest")] == newest[::-1]
    assert [hit["id"] for hit in db.search_messages("the OR CPU OR fix", sort="newest", limit=1, offset=1)] == [2]
    assert [hit["id"] for hit in db.search_messages("北京 OR 上海", sort="oldest")] == [5, 6, 7]
    assert db.search_messages("CPU", source_filter=[]) == []
    assert db.search_messages("CPU", exclude_sources=["cli"]) == []
    assert len(db.search_messages("CPU", role_filter=[])) == 2


@given(st.text(max_size=30) | st.text(alphabet="ab\"'*()-+:^{} NOTANDR北京", max_size=30))
def test_no_search_is_a_mistake(query: str) -> None:
    """Whatever is typed, FTS5 takes the words that are left of it."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(content)")
    quoted = quote_words(parse_words(query))
    if quoted:
        connection.execute("SELECT count(*) FROM t WHERE t MATCH ?", (quoted,)).fetchone()
    else:
        assert not any(word.strip("*").isalnum() for word in query.split() if word not in ("AND", "OR", "NOT"))
    connection.close()
    assert "\0" not in sanitize_query(query)


def test_what_was_taken_back_is_hidden(store_of_hermes: Path) -> None:
    """Also from a search in Chinese, where Hermes itself shows it."""
    with SessionDB(store_of_hermes) as db:
        db.create_session("a", "cli")
        ids = [db.append_message("a", "user", text) for text in ("hello 北京", "hello again 北京")]
        db.rewind_to_message("a", ids[1])
        for query in ("hello", "北京"):
            assert [hit["id"] for hit in db.search_messages(query)] == ids[:1]
            assert {hit["id"] for hit in db.search_messages(query, include_inactive=True)} == set(ids)
        assert db.message_count("a") == 2
        assert [row["id"] for row in db.get_messages("a")] == ids[:1]


@pytest.fixture
def store_of_hermes(tmp_path: Path) -> Path:
    """A store with the columns of version 17, in which messages may be taken back."""
    path = tmp_path / "state.db"
    with SessionDB(path):
        pass
    connection = sqlite3.connect(path)
    connection.executescript(
        "ALTER TABLE messages ADD COLUMN active INTEGER NOT NULL DEFAULT 1;"
        "ALTER TABLE messages ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0;"
        "UPDATE schema_version SET version = 17;"
    )
    connection.close()
    return path
