"""What Hector's sessions are called, and what stands beside them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hector_store import V2_SCHEMA, Store, adapter_for, get, listed, sample_adapter
from session_adapters.hector import ids

Stored = Callable[..., Path]


def test_ids_are_said_as_hector_has_them(store: Stored) -> None:
    adapter = sample_adapter(store("hector", "home"))
    found = listed(adapter)
    assert {one.session_id: one.known_as for one in found.values() if one.known_as != one.session_id} == {
        "assistant/team%3Aalpha%2F42%20x": "assistant/team:alpha/42 x",
        **{
            one.replace(" ", "%20"): one
            for one in (
                "Zero Config Mode/default/chat-1",
                "Zero Config Mode/alice/multi",
                "Zero Config Mode/bob/multi",
                "Zero Config Mode/default/errors",
                "Zero Config Mode/default/summed",
                "Zero Config Mode/default/false-cp",
                "Zero Config Mode/default/blank",
            )
        },
    }
    assert len({one.known_as for one in found.values()}) == len(found)
    assert {one.session_id for one in found.values() if one.repeated} == {"math_bot/s1"}
    for one in found.values():
        session = get(adapter, one.session_id)
        assert (session.known_as, session.repeated) == (one.known_as, one.repeated)


def test_a_session_is_also_found_by_what_hector_calls_it(store: Stored) -> None:
    adapter = sample_adapter(store("hector", "home"))
    named = {one.session_id: adapter.other_names(one) for one in listed(adapter).values()}
    assert [name for name, others in named.items() if "s1" in others] == ["assistant/s1", "math_bot/s1"]
    assert [name for name, others in named.items() if "Zero Config Mode/bob/multi" in others] == [
        "Zero%20Config%20Mode/bob/multi"
    ]


def test_one_name_in_two_databases_stays_two_names(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        made = Store(tmp_path / folder)
        with closing(made.connection):
            made.session("s")
    first, second = sorted(one.known_as for one in listed(adapter_for(tmp_path / "one", tmp_path / "other")).values())
    assert first == "assistant/s"
    assert second == f"assistant/s@{ids.store_tag(str(tmp_path / 'other' / 'data' / 'sessions.db'))}"


def test_what_is_no_id_has_no_name() -> None:
    assert [ids.readable(text) for text in ("", "one", "a/b/c/d", "a b/c", "@deleted/x", "a%2Fb/c@0123abcd")] == [
        *[""] * 4,
        "@deleted/x",
        "a/b/c@0123abcd",
    ]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ('{"team": "blue", "deep": {"n": [1, 2]}}', {"team": "blue", "deep": {"n": [1, 2]}}),
        ("{}", None),
        (None, None),
        ("no JSON \x1b[31m", "no JSON \x1b[31m"),
        ("[" * 5000, "[" * 5000),
    ],
    ids=["object", "empty", "null", "text", "deep"],
)
def test_metadata_stands_beside_the_session(tmp_path: Path, metadata: str | None, expected: object) -> None:
    made = Store(tmp_path)
    with closing(made.connection):
        made.session("s")
        made.connection.execute("UPDATE sessions SET metadata = ?", (metadata,))
        made.connection.commit()
    assert get(made.adapter, "assistant/s").beside == ({"metadata": expected} if expected else {})


def states(home: Path, *statements: str) -> dict[str, object]:
    """What stands beside `a/u/s` in a database of version 2."""
    made = Store(home, ".hector/hector.db", V2_SCHEMA)
    with closing(made.connection):
        times = {"created_at": "2025-12-13 11:00:00+01:00", "updated_at": "2025-12-13 11:00:00+01:00"}
        made.insert("sessions", {"app_name": "a", "user_id": "u", "id": "s", "state_json": '{"own": 1}', **times})
        for statement in statements:
            made.connection.execute(statement)
        made.connection.commit()
    session = get(made.adapter, "a/u/s")
    assert session.raw["state"] == {"own": 1}
    return session.beside


def test_the_states_of_app_and_user_stand_beside_it(tmp_path: Path) -> None:
    found = states(
        tmp_path,
        "DROP TABLE IF EXISTS app_states",
        "DROP TABLE IF EXISTS user_states",
        "CREATE TABLE app_states (app_name TEXT PRIMARY KEY, state_json TEXT NOT NULL, updated_at TIMESTAMP)",
        "CREATE TABLE user_states (app_name TEXT, user_id TEXT, state_json TEXT, PRIMARY KEY (app_name, user_id))",
        """INSERT INTO app_states VALUES ('a', '{"version": 2}', ''), ('other', '{"version": 3}', '')""",
        "INSERT INTO user_states VALUES ('a', 'u', 'no JSON'), ('a', 'other', '{}'), ('other', 'u', '{\"x\": 1}')",
    )
    assert found == {"app state": {"version": 2}, "user state": "no JSON"}


def test_tables_of_states_that_cannot_be_read_cost_no_session(tmp_path: Path) -> None:
    found = states(
        tmp_path,
        "DROP TABLE IF EXISTS app_states",
        "DROP TABLE IF EXISTS user_states",
        "CREATE TABLE app_states (app_name TEXT PRIMARY KEY, state_json TEXT) WITHOUT ROWID",
        "CREATE TABLE user_states (name TEXT, state_json TEXT)",
    )
    assert found == {}
    with closing(sqlite3.connect(tmp_path / ".hector" / "hector.db")) as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
