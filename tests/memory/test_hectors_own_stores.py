"""Stores that Hector wrote: read by the service as they are, and made ours by `migrate_store`; and our stores, read
by the explorer's adapter. Spec 001, sections 7, 11 and 16 (Multi-agent isolation broken)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import compress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from damage import flipped, kept, truncated
from hector_store import V1, adapter_for, listed, rows
from hermes_tui.errors import StoreError
from hermes_tui.memory.message import HectorMessage, NativeRole
from hermes_tui.memory.service import MemoryService
from hermes_tui.memory.session_service import LoadOptions
from hermes_tui.memory.sql.database import SqlDatabase, Statements
from hermes_tui.memory.sql.postgres import PostgresDatabase
from hermes_tui.memory.sql.service import SQLSessionService, migrate_store
from hermes_tui.memory.sql.sqlite import SqliteDatabase
from hermes_tui.memory.working.strategies import STRATEGIES, StrategyName, StrategySettings, strategy_of
from hermes_tui.memory.working.summary_buffer import SummaryBuffer
from hermes_tui.sessions.context.view import context_view
from hermes_tui.sessions.context.window_choice import WindowChoice
from postgres_server import PostgresServer
from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.hector.adapter import HectorAdapter
from session_adapters.hector.configuration.dsn import parse_dsns
from session_adapters.model import Problem
from support import STORES

Stored = Callable[..., Path]
SHARED = ("s1",)
"""Sessions of the sample that two agents have."""


@pytest.fixture
def data(store: Stored) -> Path:
    return store("hector", "home") / "data"


def opened(path: Path) -> SqliteDatabase:
    return SqliteDatabase(path, read_only=True)


# Hector's stores, as they are --------------------------------------------------------------------------------


@pytest.mark.parametrize("one", V1["sessions"], ids=lambda one: str(one["key"]))
def test_07_every_sample_session_is_read_by_its_own_agent(data: Path, one: dict[str, object]) -> None:
    service = SQLSessionService(opened(data / "sessions.db"), str(one["agent_id"]))
    session = str(one["id"])
    said = rows(
        data / "sessions.db",
        "SELECT message_json, role FROM session_messages WHERE session_id = ? ORDER BY sequence_num, id",
        session,
    )
    found = service.get_messages_with_options(session)
    if session in SHARED:
        assert (list(found.messages), found.problems) == ([], ()), "nothing says whose they are"
        return
    assert len(found.messages) + len(found.problems) == len(said) == service.count_messages(session)
    assert len(found.problems) == (4 if session == "broken" else 0)
    if session not in ("broken", "unicode"):
        assert [message.role for message in found.messages] == [row["role"] for row in said]
    limited = service.get_messages_with_options(session, LoadOptions(limit=3))
    assert list(limited.messages) == list(found.messages)[-3:]
    assert SQLSessionService(opened(data / "sessions.db"), "nobody").count_messages(session) == 0


def test_16_order_is_that_of_the_numbers_and_damage_hides_no_neighbour(data: Path) -> None:
    service = SQLSessionService(opened(data / "sessions.db"), "assistant")
    assert [one.text for one in service.get_messages_with_options("race").messages] == V1["race_order_texts"]
    broken = service.get_messages_with_options("broken")
    assert [problem.partition(":")[0] for problem in broken.problems] == [
        f"message row-{number}" for number in (240, 241, 245, 246)
    ]
    assert {one.id for one in service.sessions()} == {
        one["id"] for one in V1["sessions"] if one["agent_id"] == "assistant"
    }
    (metadata,) = [one.metadata for one in service.sessions() if one.id == "badmeta"]
    assert metadata == {"unreadable": "{oops"}


def test_11_the_guides_own_table_is_read_in_the_order_of_its_rows(data: Path) -> None:
    found = SQLSessionService(opened(data / "sessions_doc.db"), "assistant").get_messages_with_options("doc-1")
    assert found.messages[0].text[:10] == "documented"
    assert [one.role for one in found.messages].index("ROLE_UNSPECIFIED") == 2


def test_11_the_first_cut_has_agents_perhaps(data: Path) -> None:
    service = SQLSessionService(opened(data / "sessions_v0.db"), "assistant")
    assert [one.id for one in service.sessions()] == ["legacy-1"]
    assert len(service.get_messages_with_options("legacy-1").messages) == 2
    assert service.count_messages("legacy-2") == 0, "it has no agent"


@pytest.mark.parametrize("name", ["sessions.db", "sessions_v0.db", "sessions_doc.db"])
def test_11_hectors_store_is_written_only_when_it_is_asked_for(data: Path, name: str) -> None:
    path = data / name
    before = path.read_bytes(), sorted(data.iterdir())
    service = SQLSessionService(opened(path), "assistant")
    for session in service.sessions():
        service.get_messages_with_options(session.id)
        service.count_messages(session.id)
    with pytest.raises(StoreError, match="reading alone"):
        service.append_messages("s9", [HectorMessage(role="ROLE_USER", text="x")])
    assert (path.read_bytes(), sorted(data.iterdir())) == before
    with pytest.raises(StoreError, match="migrate_store"):
        SQLSessionService(SqliteDatabase(path), "assistant")


def test_11_hector_2_is_not_this_services(store: Stored) -> None:
    path = store("hector", "home") / ".hector" / "hector.db"
    with pytest.raises(StoreError, match="Hector 2"):
        SQLSessionService(opened(path), "assistant")


# Made ours ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sessions", "messages", "unattributed"),
    [("sessions.db", 15, 422, 6 + 2), ("sessions_v0.db", 1, 3, 1), ("sessions_doc.db", 1, 4, 0)],
)
def test_11_a_migrated_store_keeps_every_message(
    data: Path, name: str, sessions: int, messages: int, unattributed: int
) -> None:
    path = data / name
    before = rows(path, "SELECT message_json, created_at FROM session_messages ORDER BY rowid")
    agents = {str(row["agent_id"]) for row in rows(path, "SELECT agent_id FROM sessions") if row["agent_id"]}
    old = {
        (agent, one.id): SQLSessionService(opened(path), agent).get_messages_with_options(one.id)
        for agent in agents
        for one in SQLSessionService(opened(path), agent).sessions()
    }
    database = SqliteDatabase(path)
    made = migrate_store(database)
    assert (made.sessions, made.messages, made.unattributed) == (sessions, messages, unattributed)
    assert migrate_store(database).generation == "current", "the second time there is nothing to do"
    after = rows(path, "SELECT message_json, created_at FROM session_messages ORDER BY rowid")
    assert sorted(map(repr, after)) == sorted(map(repr, before))
    for (agent, session), loaded in old.items():
        found = SQLSessionService(database, agent).get_messages_with_options(session)
        assert [one.value for one in found.messages] == [one.value for one in loaded.messages]
        assert len(found.problems) == len(loaded.problems)
    database.close()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_11_the_samples_on_a_server_become_ours(make_database: Callable[..., SqlDatabase]) -> None:
    script = (STORES / "hector" / "pg" / "hector_v1.sql").read_text()
    database = make_database(script)
    made = migrate_store(database)
    assert (made.generation, made.sessions, made.messages, made.unattributed) == ("v1", 15, 422, 8)
    found = SQLSessionService(database, "researcher").load_from_checkpoint(
        "long-haul", lambda one: "conversation summary" in one.text
    )
    assert found is not None
    assert len(found.messages) == 25


def test_11_a_migration_that_fails_changes_nothing(data: Path) -> None:
    path = data / "sessions.db"
    database = SqliteDatabase(path)
    database.write(lambda s: s.run("ALTER TABLE session_messages RENAME COLUMN created_at TO made_at"))
    before = rows(path, "SELECT sql FROM sqlite_master ORDER BY name")
    with pytest.raises(StoreError):
        migrate_store(database)
    assert rows(path, "SELECT sql FROM sqlite_master ORDER BY name") == before
    database.close()


# Ours, read by the explorer ----------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a store of ours: two agents with a session `s1`, and one with another."""
    database = SqliteDatabase(tmp_path / "home" / "data" / "sessions.db")
    for agent, session, count in (("assistant", "s1", 4), ("math_bot", "s1", 2), ("coder", "long", 300)):
        roles: tuple[NativeRole, NativeRole] = ("ROLE_USER", "ROLE_AGENT")
        SQLSessionService(database, agent).append_messages(
            session,
            [
                HectorMessage(role=roles[number % 2], text=f"{agent} {number}", message_id=f"uuid-{agent}-{number}")
                for number in range(count)
            ],
        )
    database.close()
    return tmp_path / "home"


def test_07_the_explorer_sees_each_agents_own_messages(home: Path) -> None:
    adapter = adapter_for(home)
    found = listed(adapter)
    assert found.keys() == {"assistant/s1", "math_bot/s1", "coder/long"}
    assert {name: one.message_count for name, one in found.items()} == {
        "assistant/s1": 4,
        "math_bot/s1": 2,
        "coder/long": 300,
    }
    assert [one.raw.get("sharedWith") for one in found.values()] == [None] * 3
    for name, one in found.items():
        source = adapter.find(name)
        assert source is not None
        session = adapter.session(source, name)
        agent = name.partition("/")[0]
        assert [message.content for message in session.messages] == [
            f"{agent} {number}" for number in range(one.message_count)
        ]
        assert one.raw["layout"] == "isolated"
    assert adapter.find("nobody/s1") is None


def test_law_3_a_look_of_this_process_drops_none_of_its_locks(home: Path) -> None:
    path = home / "data" / "sessions.db"
    other = f"import apsw; apsw.Connection({str(path)!r}).execute('BEGIN IMMEDIATE')"
    database = SqliteDatabase(path)

    def look_and_try(statements: Statements) -> str:
        statements.run("DELETE FROM sessions WHERE agent_id = 'coder'")
        assert listed(adapter_for(home)).keys() == {"assistant/s1", "math_bot/s1", "coder/long"}
        ran = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True, check=False)
        return ran.stderr

    assert "BusyError" in database.write(look_and_try)
    assert listed(adapter_for(home)).keys() == {"assistant/s1", "math_bot/s1"}
    database.close()


def test_07_so_it_does_on_a_server(server: PostgresServer, tmp_path: Path) -> None:
    server.create("ours")
    (dsn,) = parse_dsns(server.dsn("ours", "owner"), lambda place, reason: None)
    database = PostgresDatabase(dsn)
    for agent in ("assistant", "math_bot"):
        SQLSessionService(database, agent).append_messages(
            "s1", [HectorMessage(role="ROLE_USER", text=f"of {agent} {number}") for number in range(3)]
        )
    database.close()
    adapter = adapter_for(tmp_path, dsn=server.dsn("ours", "owner"))
    for name in ("assistant/s1", "math_bot/s1"):
        source = adapter.find(name)
        assert source is not None
        said = [message.content for message in adapter.session(source, name).messages]
        assert said == [f"of {name.partition('/')[0]} {number}" for number in range(3)]


@pytest.mark.parametrize("strategy", [*STRATEGIES, ""])
def test_08_the_explorer_shows_what_the_service_would_load(tmp_path: Path, strategy: StrategyName) -> None:
    """Summaries that keep messages, and a summary among those that the next one keeps."""
    home = tmp_path / "home"
    database = SqliteDatabase(home / "data" / "sessions.db")
    sessions = SQLSessionService(database, "assistant")
    writer = MemoryService(sessions, SummaryBuffer(summarize=lambda messages: f"of {len(messages)}", max_messages=20))
    settings = StrategySettings(strategy=strategy, window_size=7, budget=60)
    choice = WindowChoice(strategy=strategy or None, size=7, tokens=60, generation="isolated", source="chosen")
    adapter = adapter_for(home)
    for turn in range(26):
        writer.add_batch_to_history(
            "s1",
            [
                HectorMessage(role="ROLE_USER", text=f"question {turn}"),
                HectorMessage(role="ROLE_AGENT", text=f"answer {turn}"),
            ],
        )
        loaded = strategy_of(settings if strategy else StrategySettings()).load_state("s1", sessions)
        source = adapter.find("assistant/s1")
        assert source is not None
        messages = adapter.session(source, "assistant/s1").messages
        view = context_view("hector", messages, choice)
        shown = [message.content for message in compress(messages, view.seen)]
        assert sorted(shown) == sorted(one.text for one in loaded.messages), turn
    database.close()


def test_07_what_is_nobodys_is_shown_by_the_explorer(data: Path) -> None:
    path = data / "sessions.db"
    database = SqliteDatabase(path)
    migrate_store(database)
    database.close()
    found = listed(adapter_for(data.parent))
    assert found["@none/s1"].message_count == 6
    assert found["@none/orphan-1"].message_count == 2
    assert found["assistant/s1"].message_count == found["math_bot/s1"].message_count == 0


@examples(20)
@given(st.data(), st.sampled_from([flipped, truncated]))
def test_11_our_store_passes_the_damage_tests(
    home: Path, data: st.DataObject, harm: Callable[[st.DataObject, bytes], bytes]
) -> None:
    path = home / "data" / "sessions.db"
    whole = kept(path, home.parent)
    path.write_bytes(harm(data, whole))
    problems: list[Problem] = []
    adapter: HectorAdapter = adapter_for(home)
    for source in adapter.sources(problems.append):
        for summary in adapter.summaries(source, problems.append):
            try:
                adapter.session(source, summary.session_id)
            except (SessionMissing, SessionUnreadable) as error:
                assert str(error)
    assert all(one.reason and not one.reason.endswith(".") for one in problems)
