"""`session_search` beside that of the real hermes-agent 0.19.0, on the sample store of Hermes."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chances import chance
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.search.model import BrowsedSessions, DiscoveredSessions, QuotedMessage, ScrolledMessages
from hermes_tui.sessions.search.session_search import session_search
from indexing import build
from oracle.hermes import Oracle
from session_adapters.base import Environment
from support import STORES

HIDDEN = ("subagent", "tool")
"""Sources that the real one leaves out."""
MOST = 10
"""Results that it gives at most."""
OPERATORS = {"and", "or", "not", "near"}
"""Alone they are words here, and nothing there."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hermes")
    shutil.copytree(STORES / "hermes" / "home", folder / "home")
    shutil.rmtree(folder / "home" / ".hermes" / "profiles")
    (folder / "real").mkdir()
    shutil.copy(folder / "home" / ".hermes" / "state.db", folder / "real" / "state.db")
    return folder


@pytest.fixture(scope="module")
def real(place: Path) -> Iterator[Oracle]:
    with Oracle(place / "real") as oracle:
        oracle.open()
        yield oracle
        oracle.close_store()


@pytest.fixture(scope="module")
def ours(place: Path) -> Iterator[SessionManager]:
    manager = SessionManager(Environment(home=place / "home"), cache_dir=place / "cache", agents=["hermes"])
    build(manager.environment, manager.index.path)
    yield manager
    manager.index.close()


def rows(place: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(place / "real" / "state.db")) as connection:
        return connection.execute(statement).fetchall()


def root(parents: Mapping[str, str | None], session: str) -> str:
    """The first of all parents: the real one takes branches and helpers for parts of the conversation, too."""
    seen: set[str] = set()
    while (parent := parents.get(session)) and session not in seen:
        seen.add(session)
        session = parent
    return session


def queries(place: Path) -> list[str]:
    """A hundred: words of what was said, and pairs of words of one message."""
    said = "SELECT content FROM messages WHERE role IN ('user', 'assistant') AND content IS NOT NULL ORDER BY id"
    texts = [re.findall(r"[A-Za-z]{3,14}", text) for (text,) in rows(place, said)]
    dice = chance(19)
    words = sorted({word.lower() for text in texts for word in text})
    pairs = [text for text in texts if len(plain(text)) > 2]
    found = dice.sample(words, 70)
    while len(found) < 100:
        found.append(" ".join(dice.sample(plain(dice.choice(pairs)), 2)))
    return found


def plain(words: list[str]) -> list[str]:
    """Without operators, each once."""
    return sorted({word for word in words if word.lower() not in OPERATORS})


def says(place: Path, message: str, query: str) -> bool:
    """Whether the words are in what was said, or in a call's name and arguments: not in the rest of its JSON."""
    [(content, made)] = rows(place, f"SELECT content, tool_calls FROM messages WHERE id = {int(message)}")
    calls = [call["function"] for call in json.loads(made or "[]")]
    text = " ".join([content or "", *(f"{call['name']} {call['arguments']}" for call in calls)])
    return not content.startswith("\0") and all(word.lower() in text.lower() for word in query.split())


def test_a_hundred_queries_find_the_same_sessions_in_the_same_order(
    place: Path, real: Oracle, ours: SessionManager
) -> None:
    """Sessions of helpers and of the source `tool` are left out, as the real one does. What differs then goes by two
    rules: words of the JSON of pictures and calls, which nobody said, are not found, and `not` alone is a word. Of
    the three first, what differs does so by those words, and by the ids in the JSON of calls, which are words there.
    """
    parents = dict(rows(place, "SELECT id, parent_session_id FROM sessions"))
    hidden = {session for session, source in rows(place, "SELECT id, source FROM sessions") if source in HIDDEN}
    same, first = 0, 0
    for query in queries(place):
        found = real.search_tool(query=query, limit=MOST)["results"]
        theirs = {root(parents, one["session_id"]): str(one["match_message_id"]) for one in found}
        answer = session_search(ours, f"{query} role:user,assistant -is:subagent", limit=100)
        assert isinstance(answer, DiscoveredSessions) and answer.ranked == answer.total
        sessions = [one.session_id.partition(":")[2] for one in answer.results]
        mine = list(dict.fromkeys(root(parents, one) for one in sessions if one not in hidden))
        first += list(theirs)[:3] == mine[:3]
        assert len(found) == MOST or query in OPERATORS or set(mine) <= theirs.keys(), query
        less = theirs.keys() - set(mine)
        assert not any(says(place, theirs[one], query) for one in less), query
        same += not less and query not in OPERATORS
    assert same >= 90, same
    assert first >= 80, first


def test_answers_have_its_names(place: Path, real: Oracle, ours: SessionManager) -> None:
    theirs = real.search_tool(query="docker", limit=1)["results"][0]
    found = session_search(ours, "docker", limit=1)
    assert isinstance(found, DiscoveredSessions)
    assert set(theirs) <= set(found.results[0].__struct_fields__)
    for message in (*theirs["bookend_start"], *theirs["messages"], *theirs["bookend_end"]):
        assert set(message) - {"tool_call_id"} <= set(QuotedMessage.__struct_fields__)
    session, message = theirs["session_id"], theirs["match_message_id"]
    page = real.search_tool(session_id=session, around_message_id=message, window=3)
    mine = session_search(ours, session_id=session, around_message_id=message, window=3)
    assert isinstance(mine, ScrolledMessages)
    assert set(page) - {"success", "mode", "session_meta"} <= set(mine.__struct_fields__)
    assert [str(one["id"]) for one in page["messages"]] == [one.id for one in mine.messages]
    assert (page["messages_before"], page["messages_after"]) == (mine.messages_before, mine.messages_after)
    listed = real.search_tool()["results"]
    browsed = session_search(ours)
    assert isinstance(browsed, BrowsedSessions)
    assert set(listed[0]) <= set(browsed.results[0].__struct_fields__)
