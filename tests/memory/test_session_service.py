"""Spec 001, sections 3 (Session Service), 6, 8 (LoadOptions), 11 and 14 (transactions), on SQLite and PostgreSQL."""

from __future__ import annotations

import stat
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.errors import StoreBusy, StoreError, ValidationError
from hermes_tui.memory.message import HectorMessage, NativeRole, native_role
from hermes_tui.memory.session_service import InMemorySessionService, LoadedMessages, LoadOptions, SessionService
from hermes_tui.memory.sql.database import SqlDatabase, Statements
from hermes_tui.memory.sql.service import SQLSessionService
from hermes_tui.memory.sql.sqlite import SqliteDatabase
from tmuxes import until


def said(text: str, role: NativeRole = "ROLE_USER", message_id: str = "") -> HectorMessage:
    return HectorMessage(role=role, text=text, message_id=message_id)


def talk(count: int) -> list[HectorMessage]:
    roles: tuple[NativeRole, NativeRole] = ("ROLE_USER", "ROLE_AGENT")
    return [said(f"text {number}", roles[number % 2], f"m{number:04}") for number in range(count)]


def ids(loaded: LoadedMessages) -> list[str]:
    assert loaded.problems == ()
    return [one.message_id for one in loaded.messages]


def texts(loaded: LoadedMessages) -> list[str]:
    return [one.text for one in loaded.messages]


@pytest.fixture
def service(database: SqlDatabase) -> SQLSessionService:
    return SQLSessionService(database, "assistant", database.dialect)


# 3. Core Components: Session Service -------------------------------------------------------------------------


def test_03_appended_messages_are_read_in_order(service: SQLSessionService) -> None:
    assert service.append_messages("s1", talk(3)) == ["m0000", "m0001", "m0002"]
    assert service.append_messages("s1", [said("later")])[0]
    loaded = service.get_messages_with_options("s1")
    assert texts(loaded) == ["text 0", "text 1", "text 2", "later"]
    assert [one.role for one in loaded.messages] == ["ROLE_USER", "ROLE_AGENT", "ROLE_USER", "ROLE_USER"]
    assert all(ids(loaded)), "one without an id is given one"
    assert len(set(ids(loaded))) == 4


def test_03_every_role_is_saved(service: SQLSessionService) -> None:
    """`saveMessages` does not filter: USER, AGENT, SYSTEM, TOOL, UNSPECIFIED."""
    roles: list[NativeRole] = ["ROLE_USER", "ROLE_AGENT", "ROLE_SYSTEM", "ROLE_TOOL", "ROLE_UNSPECIFIED"]
    service.append_messages("s1", [said(role, role) for role in roles])
    assert [one.role for one in service.get_messages_with_options("s1").messages] == roles


def test_03_calls_and_results_come_back_as_they_were(service: SQLSessionService) -> None:
    call = {
        "data": {"data": {"id": "c1", "name": "ls", "arguments": {"n": 3}}},
        "metadata": {"part_type": "tool_call"},
    }
    value = {"role": "ROLE_AGENT", "parts": [{"text": "Looking."}, call], "extensions": ["x"]}
    (name,) = service.append_messages("s1", [HectorMessage.of_value(value)])
    (found,) = service.get_messages_with_options("s1").messages
    assert found.text == "Looking."
    assert found.value == {**value, "messageId": name, "contextId": "s1"}


@pytest.mark.parametrize("text", ["", "ä €  🙂", "NUL \0 and \x1b[31m", "\ud83d half a pair", "x" * 1_000_000])
def test_03_any_text_comes_back(service: SQLSessionService, text: str) -> None:
    service.append_messages("s1", [said(text)])
    (found,) = service.get_messages_with_options("s1").messages
    assert found.text == text.replace("\ud83d", "\ufffd"), "half a pair cannot be written anywhere"


def test_03_nothing_of_a_session_that_is_not_there(service: SQLSessionService) -> None:
    assert texts(service.get_messages_with_options("nope")) == []
    assert service.count_messages("nope") == 0
    assert service.delete_session("nope") is False
    assert service.append_messages("nope", []) == []
    assert service.sessions() == []


def test_03_get_or_create_makes_a_session_once(service: SQLSessionService) -> None:
    made = service.get_or_create_session("s1", {"user": "Alice"})
    assert (made.id, made.agent_id, made.metadata) == ("s1", "assistant", {"user": "Alice"})
    assert made.created_at is not None
    assert abs(datetime.now(UTC) - made.created_at) < timedelta(minutes=1)
    assert service.get_or_create_session("s1", {"user": "Bob"}) == made
    service.append_messages("s1", talk(1))
    assert service.get_or_create_session("s1").metadata == {"user": "Alice"}
    assert service.count_messages("s1") == 1


def test_03_delete_takes_the_messages_along(service: SQLSessionService, database: SqlDatabase) -> None:
    service.append_messages("s1", talk(3))
    service.append_messages("s2", talk(2))
    assert service.delete_session("s1") is True
    assert [one.id for one in service.sessions()] == ["s2"]
    count = database.read(lambda statements: statements.run("SELECT count(*) FROM session_messages"))
    assert count == [(2,)]
    service.append_messages("s1", talk(1))
    assert service.count_messages("s1") == 1


# 8. Strategy-Managed Loading: LoadOptions --------------------------------------------------------------------


@pytest.fixture
def hundred(service: SQLSessionService) -> SQLSessionService:
    """With a session `s1` of a hundred messages, user and agent by turns."""
    service.append_messages("s1", talk(100))
    return service


def test_08_limit_is_the_last_n_oldest_first_and_zero_is_all(hundred: SQLSessionService) -> None:
    assert ids(hundred.get_messages_with_options("s1", LoadOptions(limit=3))) == ["m0097", "m0098", "m0099"]
    assert len(ids(hundred.get_messages_with_options("s1", LoadOptions(limit=0)))) == 100
    assert len(ids(hundred.get_messages_with_options("s1", LoadOptions(limit=1000)))) == 100


def test_08_from_message_id_starts_from_that_message(hundred: SQLSessionService) -> None:
    found = hundred.get_messages_with_options("s1", LoadOptions(from_message_id="m0097"))
    assert ids(found) == ["m0097", "m0098", "m0099"]
    assert ids(hundred.get_messages_with_options("s1", LoadOptions(from_message_id="nope"))) == []


def test_08_the_guides_example_of_the_last_twenty_agent_responses(hundred: SQLSessionService) -> None:
    found = hundred.get_messages_with_options("s1", LoadOptions(limit=20, roles=("ROLE_AGENT",)))
    assert ids(found) == [f"m{number:04}" for number in range(61, 100, 2)]


def test_08_all_options_hold_together(hundred: SQLSessionService) -> None:
    options = LoadOptions(limit=2, from_message_id="m0090", roles=("ROLE_USER", "ROLE_TOOL"))
    assert ids(hundred.get_messages_with_options("s1", options)) == ["m0096", "m0098"]


@examples(30)
@given(
    count=st.integers(0, 12),
    limit=st.integers(0, 14),
    start=st.integers(-1, 13),
    roles=st.sets(st.sampled_from(["ROLE_USER", "ROLE_AGENT", "ROLE_TOOL"])),
)
def test_08_in_memory_and_in_sql_is_the_same(
    database: SqlDatabase, count: int, limit: int, start: int, roles: set[NativeRole]
) -> None:
    session = str(uuid.uuid4())
    services: list[SessionService] = [SQLSessionService(database, "assistant"), InMemorySessionService("assistant")]
    options = LoadOptions(limit=limit, from_message_id="" if start < 0 else f"m{start:04}", roles=tuple(roles))
    found = []
    for service in services:
        service.append_messages(session, talk(count))
        found.append(ids(service.get_messages_with_options(session, options)))
    assert found[0] == found[1]


# 11. Database Schema -----------------------------------------------------------------------------------------


def test_11_sessions_have_the_composite_key_and_messages_their_agent(
    service: SQLSessionService, database: SqlDatabase
) -> None:
    def look(statements: Statements) -> tuple[frozenset[str], ...]:
        return (
            statements.columns("sessions"),
            statements.keys("sessions"),
            statements.columns("session_messages"),
        )

    columns, keys, messages = database.read(look)
    assert columns == {"id", "agent_id", "metadata", "created_at", "updated_at"}
    assert keys == {"id", "agent_id"}
    assert {"message_id", "session_id", "message_json", "created_at", "agent_id"} <= messages


def test_11_both_indexes_of_the_guide_are_there(
    engine: str, service: SQLSessionService, database: SqlDatabase
) -> None:
    table = {"sqlite": ("name", "sqlite_master"), "postgres": ("indexname", "pg_indexes")}[engine]
    found = database.read(lambda statements: statements.run(f"SELECT {table[0]} FROM {table[1]}"))
    assert {("idx_sessions_agent_updated",), ("idx_session_messages_session_created",)} <= set(found)


def test_11_the_guides_rows_uuid_1_to_4(database: SqlDatabase) -> None:
    """Two agents in session s1: the query for assistant gives uuid-1 and uuid-2 only."""
    assistant, math_bot = SQLSessionService(database, "assistant"), SQLSessionService(database, "math_bot")
    assistant.append_messages("s1", [said("My password is secret123", message_id="uuid-1")])
    math_bot.append_messages("s1", [said("What is 2+2?", message_id="uuid-3")])
    assistant.append_messages("s1", [said("Noted.", "ROLE_AGENT", "uuid-2")])
    math_bot.append_messages("s1", [said("4", "ROLE_AGENT", "uuid-4")])
    assert ids(assistant.get_messages_with_options("s1")) == ["uuid-1", "uuid-2"]
    assert ids(math_bot.get_messages_with_options("s1")) == ["uuid-3", "uuid-4"]
    rows = database.read(lambda s: s.run("SELECT id, agent_id FROM sessions ORDER BY agent_id"))
    assert rows == [("s1", "assistant"), ("s1", "math_bot")]
    assert database.read(lambda s: s.run("SELECT count(*) FROM session_messages WHERE session_id='s1'")) == [(4,)]


def test_11_a_message_is_json_with_role_and_parts(service: SQLSessionService, database: SqlDatabase) -> None:
    from json import loads

    service.append_messages("s1", [said("hi", message_id="uuid-1"), said("Summary: x", "ROLE_UNSPECIFIED", "uuid-2")])
    query = "SELECT message_json FROM session_messages ORDER BY sequence_num"
    (first,), (second,) = database.read(lambda statements: statements.run(query))
    assert loads(first) == {"messageId": "uuid-1", "contextId": "s1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    assert "role" not in loads(second), "the zero value is left out, as protobuf does"


@pytest.mark.parametrize("role", ["ROLE_USER", "USER", "user", 1])
def test_11_a_role_is_known_by_name_and_number(role: object) -> None:
    assert native_role(role) == "ROLE_USER"
    assert native_role("ROLE_UNSPECIFIED") == native_role(0) == native_role(None) == "ROLE_UNSPECIFIED"


# 14. Error Handling: transactions ----------------------------------------------------------------------------


def test_14_all_messages_are_saved_or_none(service: SQLSessionService) -> None:
    service.append_messages("s1", talk(2))
    before = service.get_or_create_session("s1")
    with pytest.raises(StoreError):
        service.append_messages("s1", [said("new"), said("also new"), said("taken", message_id="m0001")])
    assert ids(service.get_messages_with_options("s1")) == ["m0000", "m0001"]
    assert service.get_or_create_session("s1").updated_at == before.updated_at
    with pytest.raises(StoreError):
        service.append_messages("s2", [said("a", message_id="x"), said("b", message_id="x")])
    assert [one.id for one in service.sessions()] == ["s1"], "the session of a failed append is not made"


def test_14_an_error_in_the_middle_rolls_everything_back(database: SqlDatabase) -> None:
    service = SQLSessionService(database, "assistant")

    def work(statements: Statements) -> None:
        statements.run("DELETE FROM sessions")
        raise KeyError("panic")

    service.append_messages("s1", talk(2))
    with pytest.raises(KeyError):
        database.write(work)
    assert service.count_messages("s1") == 2
    service.append_messages("s1", [said("goes on")])


def test_14_the_time_of_a_session_is_that_of_its_last_append(
    service: SQLSessionService, database: SqlDatabase
) -> None:
    service.append_messages("s1", talk(1))
    service.append_messages("s2", talk(1))
    service.append_messages("s1", [said("last")])
    assert [one.id for one in service.sessions()] == ["s1", "s2"]
    last = "(SELECT max(created_at) FROM session_messages m WHERE m.session_id = sessions.id)"
    assert database.read(lambda s: s.run(f"SELECT updated_at = {last} FROM sessions")) == [(True,)] * 2


# 6. Session Persistence --------------------------------------------------------------------------------------


def test_06_sessions_survive_a_restart(make_database: Callable[..., SqlDatabase]) -> None:
    first = make_database()
    SQLSessionService(first, "assistant").append_messages("s1", [said("My name is Alice"), said("Hi", "ROLE_AGENT")])
    first.close()
    again = SQLSessionService(make_database(), "assistant")
    again.append_messages("s1", [said("What is my name?"), said("Your name is Alice", "ROLE_AGENT")])
    assert again.count_messages("s1") == 4, "the guide's end-to-end count: two of the user, two of the agent"
    with pytest.raises(StoreError, match="closed"):
        SQLSessionService(first, "assistant")


def test_06_the_file_is_made_on_first_use_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    database = SqliteDatabase()
    assert list(tmp_path.glob("data")) == []
    SQLSessionService(database, "assistant").append_messages("s1", talk(1))
    path = tmp_path / "data" / "sessions.db"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    database.close()


def test_06_a_place_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be opened"):
        SQLSessionService(SqliteDatabase(tmp_path / "file" / "sessions.db"), "assistant")


def test_06_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    apsw.Connection(str(path)).execute("CREATE TABLE sessions (id TEXT); CREATE TABLE session_messages (x)")
    with pytest.raises(StoreError, match="not Hector's"):
        SQLSessionService(SqliteDatabase(path), "assistant")
    (tmp_path / "text.db").write_text("no database, but long enough to be looked at" * 30)
    with pytest.raises(StoreError, match="not a database"):
        SQLSessionService(SqliteDatabase(tmp_path / "text.db"), "assistant")


def test_06_an_agent_is_needed_and_the_dialect_must_be_the_databases(database: SqlDatabase) -> None:
    with pytest.raises(ValidationError):
        SQLSessionService(database, "")
    with pytest.raises(ValidationError, match="dialect"):
        SQLSessionService(database, "assistant", "sqlite" if database.dialect == "postgres" else "postgres")


def test_16_a_locked_database_is_waited_for_and_then_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.memory.sql.sqlite.BUSY_SECONDS", 0.05)
    path = tmp_path / "sessions.db"
    service = SQLSessionService(SqliteDatabase(path), "assistant")
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="locked"):
        SQLSessionService(SqliteDatabase(path), "assistant").append_messages("s1", talk(1))
    assert service.count_messages("s1") == 0, "who reads is not kept waiting"
    other.execute("ROLLBACK")
    service.append_messages("s1", talk(1))


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_16_the_files_settings_hold_for_every_connection(database: SqlDatabase) -> None:
    """WAL, as the guide advises; a sync for each checkpoint and not for each turn; foreign keys."""
    settings = {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1}
    for name, value in settings.items():
        assert database.read(lambda statements, name=name: statements.run(f"PRAGMA {name}")) == [(value,)]  # type: ignore[misc]


def test_11_a_message_needs_its_session(service: SQLSessionService, database: SqlDatabase) -> None:
    service.append_messages("s1", talk(1))
    with pytest.raises(StoreError):
        database.write(lambda statements: statements.run("UPDATE session_messages SET agent_id = 'other'"))
    database.write(lambda statements: statements.run("DELETE FROM sessions"))
    assert service.count_messages("s1") == 0, "the messages go with it"


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_13_a_connection_is_replaced_after_its_lifetime(make_database: Callable[..., SqlDatabase]) -> None:
    database = make_database(max_conns=1, max_idle=1, lifetime=0.05)

    def process() -> object:
        return database.read(lambda statements: statements.run("SELECT pg_backend_pid()"))

    first = process()
    until(lambda: process() != first)
    lasting = make_database(max_conns=1, max_idle=1)
    assert len({str(lasting.read(lambda s: s.run("SELECT pg_backend_pid()"))) for _ in range(20)}) == 1


def test_13_no_more_connections_than_the_pool_may_have(make_database: Callable[..., SqlDatabase]) -> None:
    """Sixteen threads, three connections: each gets its turn."""
    from concurrent.futures import ThreadPoolExecutor

    database = make_database(max_conns=3, max_idle=1)
    service = SQLSessionService(database, "assistant")
    service.append_messages("s1", talk(50))
    with ThreadPoolExecutor(16) as pool:
        found: Sequence[int] = list(pool.map(lambda _: service.count_messages("s1"), range(64)))
    assert found == [50] * 64
