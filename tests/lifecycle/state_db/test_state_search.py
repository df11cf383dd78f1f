"""Search against the real Hermes: the same words find the same messages, and where they do not, it is known why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.lifecycle.state_db.connection.failures import QueryRefused
from hermes_tui.lifecycle.state_db.database import SessionDB
from hermes_tui.lifecycle.state_db.fts_query import sanitize_query
from oracle.hermes import Oracle
from support import STORES

many = examples(50)

WORDS = (
    *("docker", "nginx", "Kubernetes", "deploy", "proxy", "can't", "user@example.com", "100%", "src/main.py", "café"),
    *("isn't", "keybinding", "terminal", "path", "the", "a", "zzz", "image_url", "P2.2", "chat-send", "snake_case"),
)
CHINESE = ("大别山项目", "大别山", "日志", "部署失败", "请帮我看看", "版本", "北京")
words = st.sampled_from(WORDS) | st.sampled_from(WORDS).map(lambda word: word[:3] + "*")
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(lambda found: f'"{" ".join(found)}"')
operators = st.sampled_from(("AND", "OR", "NOT", "and", "or", "not", "NEAR"))
odd = st.text(alphabet="abc \"'*+-:(){}^.,/@#%&|<>=~\\[]?!;_\0\u0301ß", max_size=12)
queries = st.lists(words | words | phrases | operators | odd | st.sampled_from(CHINESE), min_size=1, max_size=5).map(
    " ".join
)


@pytest.fixture(scope="module")
def stores(hermes: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionDB]:
    """The sample home, once in the hands of the real Hermes, once in ours."""
    folder = tmp_path_factory.mktemp("search")
    source = STORES / "hermes" / "home" / ".hermes" / "state.db"
    (folder / "theirs").mkdir()
    for name in ("theirs/state.db", "ours.db"):
        (folder / name).write_bytes(source.read_bytes())
    hermes.home_is(folder / "theirs")
    hermes.open()
    with SessionDB(folder / "ours.db") as ours:
        yield ours
    hermes.close_store()


@many
@given(queries | odd | st.text(max_size=20))
@example('"a" AND b.c "d e')
@example("x" * 2047 + " AND more")
def test_a_search_is_cleaned_as_hermes_cleans_it(hermes: Oracle, query: str) -> None:
    query = query.replace("\0", "")  # Hermes itself marks places with it
    assert sanitize_query(query) == hermes.ask("sanitize", {"query": query})


options = st.fixed_dictionaries(
    {},
    optional={
        "source_filter": st.lists(st.sampled_from(("cli", "telegram", "cron", "subagent"))),
        "exclude_sources": st.lists(st.sampled_from(("cli", "tool"))),
        "role_filter": st.lists(st.sampled_from(("user", "assistant", "tool"))),
        "sort": st.sampled_from(("newest", " OLDEST", "odd")),
        "include_inactive": st.booleans(),
    },
)


@many
@given(queries, options)
@example("can't", {})
@example("100%", {})
@example("大别山", {})
@example("日志", {"include_inactive": True})
@example("docker OR nginx", {"sort": "newest"})
@example("docker 大别山项目 AND AND", {})
def test_the_same_messages_are_found(hermes: Oracle, stores: SessionDB, query: str, more: dict[str, Any]) -> None:
    query = query.replace("\0", "")
    theirs = hermes.db("search_messages", query, limit=1000, **more)
    ours = stores.search_messages(query, limit=1000, **more)
    cleaned = sanitize_query(query)
    if is_scanned(stores, cleaned):
        if not set(cleaned) & set('*"'):  # these Hermes takes literally
            assert ids(ours) <= ids(theirs)
        if cleaned.isalpha():
            assert all(is_rewound(stores, id_) for id_ in ids(theirs) - ids(ours))
    elif not cleaned:
        assert ours == theirs == []
    elif theirs or not is_refused(stores, cleaned):
        assert by_id(ours) == by_id(theirs)
        assert measures(stores, cleaned, ours, more) == measures(stores, cleaned, theirs, more)
    assert ours[3:5] == stores.search_messages(query, limit=2, offset=3, **more)


def is_scanned(stores: SessionDB, cleaned: str) -> bool:
    """Whether Hermes looks into every message: a word of it is in Chinese, and shorter than three letters or in a
    query that its index of three letters each takes for a mistake."""
    tokens = cleaned.strip('"').split()
    words = [token for token in tokens if token.upper() not in ("AND", "OR", "NOT")]
    chinese = [sum("\u3000" <= letter <= "\u9fff" for letter in word) for word in words]
    if any(0 < number < 3 for number in chinese):
        return True
    quoted = ('"' + token.replace('"', '""') + '"' if token in words else token for token in tokens)
    return any(chinese) and is_refused(stores, " ".join(quoted), "messages_fts_trigram")


def is_refused(stores: SessionDB, cleaned: str, table: str = "messages_fts") -> bool:
    """Whether FTS5 takes it for a mistake."""
    try:
        stores.rows(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (cleaned,))
    except QueryRefused:
        return True
    return False


def is_rewound(stores: SessionDB, id_: int) -> bool:
    return bool(stores.value("SELECT active = 0 AND compacted = 0 FROM messages WHERE id = ?", (id_,)))


def ids(hits: list[dict[str, Any]]) -> set[int]:
    return {hit["id"] for hit in hits}


def by_id(hits: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {hit["id"]: hit for hit in hits}


def measures(stores: SessionDB, cleaned: str, hits: list[dict[str, Any]], more: dict[str, Any]) -> list[float]:
    """What the hits are ordered by: equal ones may stand in any order."""
    if str(more.get("sort")).strip().lower() in ("newest", "oldest"):
        return [hit["timestamp"] for hit in hits]
    if any("\u3000" <= letter <= "\u9fff" for letter in cleaned):
        return []
    query = "SELECT rowid, rank FROM messages_fts WHERE messages_fts MATCH ?"
    ranks = {row["rowid"]: row["rank"] for row in stores.rows(query, (cleaned,))}
    return [round(ranks[hit["id"]], 9) for hit in hits]
