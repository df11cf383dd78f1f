"""The same is found first, and as much of it, with our index, with Hermes' own and with none."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hermes_store import Store
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.scan import MOST_MATCHES
from hermes_tui.sessions.search.discovery import discover
from hermes_tui.sessions.search.model import SearchOptions
from indexing import build
from session_adapters.base import Environment

WORDS = ("30", "terminal", "function")
MANY = tuple(f"{word}{rest}" for word in WORDS for rest in ("", " -cron"))
"""Most find more conversations than are compared for a small limit, some of these by Hermes' own index alone."""


def first(manager: SessionManager, text: str, limit: int | None, *, indexed: bool = True) -> list[str]:
    """What is named first, with our index or without."""
    query, options = parse(text), SearchOptions(limit=limit, use_index=indexed, windows=False)
    stores = manager.searches.stores(query, options, refresh=False)
    answer = discover(stores, query, options, manager.index.index, "")
    assert answer.coverage.indexed == (answer.coverage.sources if indexed else 0)
    return [one.unified_id for one in answer.results]


def manager_with_index(home: Path, cache: Path) -> SessionManager:
    """A manager with an index of the whole home."""
    manager = SessionManager(Environment(home=home), cache_dir=cache)
    manager.catalogue.refresh()
    build(manager.environment, manager.index.path)
    return manager


def test_no_index_says_which_conversations_come_first(store: Callable[..., Path], tmp_path: Path) -> None:
    """More are found than are compared. Neither our index nor Hermes' own chooses; the latter adds, at the end, those
    that it alone finds."""
    home = store("hermes", "home")
    shutil.rmtree(home / ".hermes" / "profiles")
    shutil.copytree(home, bare := tmp_path / "bare")
    with closing(sqlite3.connect(bare / ".hermes" / "state.db")) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type='trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.executescript("DROP TABLE messages_fts; DROP TABLE messages_fts_trigram")
    theirs = manager_with_index(home, tmp_path / "theirs")
    without = manager_with_index(bare, tmp_path / "without")
    added = 0
    for text in MANY:
        read = set(first(without, text, None))
        for limit in (1, 3, 12):
            named = first(theirs, text, limit)
            assert first(theirs, text, limit, indexed=False) == named, (text, limit)
            known = [one for one in named if one in read]
            for used in (True, False):
                assert first(without, text, limit, indexed=used)[: len(known)] == known, (text, limit, used)
            assert known == named[: len(known)], (text, limit)
            added += len(named) - len(known)
    assert added
    theirs.index.close()
    without.index.close()


def test_what_was_asked_long_ago_counts_with_and_without_an_index(tmp_path: Path) -> None:
    """A session in which so much is found that not all of its places are kept."""
    store = Store(tmp_path / "home")
    store.session("long", title="Birds")
    store.say("long", "user", "heron", timestamp=1_780_000_100)
    call = json.dumps([{"id": "c", "function": {"name": "bash", "arguments": '{"command": "heron"}'}}])
    for number in range(250):
        store.say("long", "assistant", "", tool_calls=call, timestamp=1_780_000_101 + number)
    for name in range(6):
        store.session(f"short-{name}")
        for _ in range(2):
            store.say(f"short-{name}", "assistant", f"heron {'and so on ' * 500}", timestamp=1_780_001_000)
    store.connection.close()
    manager = manager_with_index(tmp_path / "home", tmp_path / "cache")
    assert first(manager, "heron", 1) == ["hermes:long"]
    assert first(manager, "heron", 1, indexed=False) == ["hermes:long"]
    manager.index.close()


def test_as_many_places_are_counted_with_and_without_an_index(tmp_path: Path) -> None:
    """Also where Hermes' own index has more of them, in no text that is shown, than are kept."""
    store = Store(tmp_path / "home")
    store.session("s", title="Birds")
    store.say("s", "user", "Which function?")
    call = json.dumps([{"id": "c", "function": {"name": "bash", "arguments": "{}"}}])
    for _ in range(250):
        store.say("s", "assistant", "", tool_calls=call)
    store.connection.executescript(
        "CREATE VIRTUAL TABLE messages_fts USING fts5(content);"
        "INSERT INTO messages_fts(rowid, content) SELECT id, content || coalesce(tool_calls, '') FROM messages"
    )
    store.connection.close()
    manager = manager_with_index(tmp_path / "home", tmp_path / "cache")
    for used in (True, False):
        (found,) = manager.discover("function", use_index=used).results
        assert found.match_count == 1 + MOST_MATCHES, used
    manager.index.close()
