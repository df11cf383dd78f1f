"""Hector's sessions on a PostgreSQL server: as in files, read-only, and with a password that shows nowhere."""

from __future__ import annotations

import json
import logging
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from databases import run_python
from hector_store import adapter_for, everything, get, listed, sample_adapter
from postgres_server import PASSWORD, PostgresServer
from session_adapters.base import SessionMissing, SessionUnreadable, Source
from session_adapters.hector import postgres as server_module
from session_adapters.hector.adapter import HectorAdapter
from session_adapters.hector.configuration.dsn import parse_dsns
from session_adapters.hector.transcript import HectorTranscript
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.sqlite import DatabaseUnreadable
from session_adapters.registry import install_command
from session_adapters.transcript import Change
from support import STORES

SCRIPTS = STORES / "hector" / "pg"
ZONES = {"hector_v1": "Europe/Berlin", "hector_v2": "Etc/GMT-2"}
"""In which the samples were written, as the same rows in SQLite say: +02:00 in October and in December."""


@pytest.fixture(scope="module")
def databases(postgres: PostgresServer) -> dict[str, str]:
    return {name: postgres.create(name, (SCRIPTS / f"{name}.sql").read_text()) for name in ZONES}


def server_adapter(tmp_path: Path, dsn: str, zone: str = "UTC", *paths: Path) -> HectorAdapter:
    return adapter_for(tmp_path, *paths, dsn=dsn, TZ=zone)


def without_place(summary: SessionSummary) -> dict[str, Any]:
    """What a session says of itself, wherever it is; SQLite's times have nanoseconds, PostgreSQL's microseconds."""
    fields = asdict(summary)
    for name in ("path", "cwd", "created_at", "updated_at"):
        fields.pop(name)
    return fields


@pytest.mark.parametrize("name", ["hector_v1", "hector_v2"])
def test_a_server_says_the_same_as_a_file(name: str, databases: dict[str, str], tmp_path: Path, store: Any) -> None:
    home = store("hector", "home")
    of_file = {key: one for key, one in listed(sample_adapter(home)).items() if one.raw["layout"] == name[-2:]}
    adapter = server_adapter(tmp_path, databases[name], ZONES[name])
    of_server = listed(adapter)
    assert of_server.keys() == of_file.keys()
    assert len(of_server) == {"hector_v1": 16, "hector_v2": 8}[name]
    for key, summary in of_server.items():
        assert without_place(summary) == without_place(of_file[key])
        for field in ("created_at", "updated_at"):
            # The script has whole seconds where the file has more.
            apart = getattr(summary, field) - getattr(of_file[key], field)
            assert abs(apart.total_seconds()) < 1, (key, field)
        session, same = get(adapter, key), get(sample_adapter(home), key)
        for mine, theirs in zip(session.messages, same.messages, strict=True):
            assert {**asdict(mine), "timestamp": 0} == {**asdict(theirs), "timestamp": 0}
            assert (mine.timestamp is None) == (theirs.timestamp is None)


@pytest.mark.parametrize("page", [1, 7, 200])
def test_pages_put_together_are_the_whole(
    page: int, databases: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_adapters.hector.adapter.HectorTranscript", partial(HectorTranscript, page=page))
    for dsn in databases.values():
        adapter = server_adapter(tmp_path, dsn)
        for source, summary in everything(adapter):
            session = adapter.session(source, summary.session_id)
            for field in SessionSummary.__struct_fields__:
                assert getattr(session, field) == getattr(summary, field)
            if page == 1 and len(session.messages) > 60:
                continue  # every page is a connection of its own
            transcript = adapter.open(source, summary.session_id)
            while transcript.earlier():
                pass
            assert transcript.complete
            assert transcript.messages == list(session.messages)


def test_bare_wall_time_is_this_machines(databases: dict[str, str], tmp_path: Path) -> None:
    """The server keeps no zone; 10:07 is what the writer's clock showed."""
    times = {}
    for zone in ("UTC", "Europe/Berlin", "America/New_York"):
        summary = listed(server_adapter(tmp_path, databases["hector_v1"], zone))["assistant/s1"]
        times[zone] = summary.created_at.strftime("%H:%M")
    assert times == {"UTC": "10:07", "Europe/Berlin": "08:07", "America/New_York": "14:07"}
    process = adapter_for(tmp_path, dsn=databases["hector_v1"])
    old = os.environ.get("TZ")
    try:
        os.environ["TZ"] = "Asia/Tokyo"
        time.tzset()
        assert listed(process)["assistant/s1"].created_at.strftime("%H:%M") == "01:07"
    finally:
        os.environ["TZ"] = old or "UTC"
        time.tzset()


# Read-only, and in nobody's way ------------------------------------------------------------------------------


def test_reading_is_one_read_only_transaction_with_limits(databases: dict[str, str]) -> None:
    (dsn,) = parse_dsns(databases["hector_v1"], lambda place, reason: pytest.fail(reason))

    def write(reader: Any) -> None:
        reader.run("CREATE TEMP TABLE x (n int)")

    def settings(reader: Any) -> list[str]:
        names = ("transaction_read_only", "transaction_isolation", "statement_timeout", "lock_timeout")
        return [next(reader.run(f"SELECT current_setting('{name}')"))[0].decode() for name in names]

    assert server_module.read_server(dsn, None, settings) == ["on", "repeatable read", "15s", "1s"]
    with pytest.raises(DatabaseUnreadable, match="error 25006"):
        server_module.read_server(dsn, None, lambda reader: list(reader.run("CREATE TABLE x (n int)")))
    with pytest.raises(DatabaseUnreadable):
        server_module.read_server(dsn, None, write)


def test_what_takes_too_long_is_broken_off(databases: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "STATEMENT_TIMEOUT", 100)
    (dsn,) = parse_dsns(databases["hector_v1"], lambda place, reason: pytest.fail(reason))
    with pytest.raises(DatabaseUnreadable, match="reading it took too long"):
        server_module.read_server(dsn, None, lambda reader: list(reader.run("SELECT pg_sleep(20)")))


def test_a_locked_table_is_named_and_keeps_nobody_waiting(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problems: list[Problem]
) -> None:
    monkeypatch.setattr(server_module, "LOCK_TIMEOUT", 100)
    adapter = server_adapter(tmp_path, postgres.create("locked", (SCRIPTS / "hector_v1.sql").read_text()))
    with postgres.connect("locked") as connection:
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE")
        assert list(adapter.sources(problems.append)) == []
        connection.execute("ROLLBACK")
    assert [problem.reason for problem in problems] == ["its tables are locked"]


def test_no_connection_is_left_open(postgres: PostgresServer, databases: dict[str, str], tmp_path: Path) -> None:
    adapter = server_adapter(tmp_path, databases["hector_v2"])
    kept = [adapter.open(source, one.session_id) for source, one in everything(adapter)]
    for transcript in kept:
        transcript.refresh()
    with postgres.connect("postgres") as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader'"
        deadline = time.monotonic() + 180  # the server takes a moment to notice
        while (left := connection.execute(query).fetchone()) != (0,) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert left == (0,)


# Following ---------------------------------------------------------------------------------------------------


def test_a_conversation_follows_its_writer(postgres: PostgresServer, tmp_path: Path) -> None:
    adapter = server_adapter(tmp_path, postgres.create("growing", (SCRIPTS / "hector_v2.sql").read_text()))
    session_id = "Zero%20Config%20Mode/bob/multi"
    (source,) = adapter.sources(lambda problem: pytest.fail(problem.reason))
    transcript = adapter.open(source, session_id)
    assert transcript.is_remote
    assert transcript.refresh() == Change()
    insert = (
        "INSERT INTO session_events (id, app_name, user_id, session_id, author, role, content_json, sequence_num,"
        " created_at) VALUES (%s, 'Zero Config Mode', 'bob', 'multi', %s, %s, %s, %s, now())"
    )
    touch = "UPDATE sessions SET updated_at = now() WHERE id = 'multi' AND user_id = 'bob'"
    with postgres.connect("growing") as writer:
        for number in range(2, 12):
            author, role = ("assistant", "agent") if number % 2 == 0 else ("user", "user")
            text = json.dumps([{"kind": "text", "text": f"text {number}"}])
            with writer.transaction():  # as Hector does
                writer.execute(insert, (f"e{number}", author, role, text, number))
                writer.execute(touch)
            (now,) = adapter.sources(lambda problem: pytest.fail(problem.reason))
            assert now.stamp != source.stamp
            source = now
            assert transcript.refresh() == Change(first=number - 1)
            assert transcript.messages == list(adapter.session(source, session_id).messages)
        writer.execute("DELETE FROM session_events WHERE user_id = 'bob' AND id = 'e5'")
        writer.execute(touch)
        assert transcript.refresh() == Change(first=0, rewritten=True)
        writer.execute("DELETE FROM session_events WHERE user_id = 'bob'")
        writer.execute("DELETE FROM sessions WHERE user_id = 'bob'")
        assert transcript.refresh() == Change(gone=True)
    for read in (adapter.session, adapter.open):
        with pytest.raises(SessionMissing):
            read(source, session_id)


def test_a_server_that_goes_away_hides_no_file(tmp_path: Path, store: Any, problems: list[Problem]) -> None:
    home = store("hector", "home")
    dead = f"postgresql://reader:{PASSWORD}@127.0.0.1:1/hector_v1"
    adapter = adapter_for(home, dsn=dead)
    assert len(everything(adapter, problems.append)) == 24
    assert [(problem.path, problem.reason) for problem in problems if "config" not in problem.path] == [
        ("postgresql:reader@127.0.0.1:1/hector_v1", "nothing answers there")
    ]


# Schemas and rights ------------------------------------------------------------------------------------------


def test_the_guides_tables_and_columns_of_other_types(postgres: PostgresServer, tmp_path: Path) -> None:
    dsn = postgres.create(
        "guide",
        "CREATE TABLE sessions (id text, agent_id text, metadata jsonb, created_at timestamptz,"
        " updated_at timestamptz, PRIMARY KEY (id, agent_id));"
        "CREATE TABLE session_messages (message_id uuid PRIMARY KEY, session_id text, message_json jsonb,"
        " created_at timestamptz);"
        "INSERT INTO sessions VALUES ('g', 'a', '{}', '2025-10-22 10:00:00+02', '2025-10-22 10:00:00+02'),"
        " ('old', 'a', NULL, '-infinity', '0044-03-15 00:00:00+00 BC');"
        "INSERT INTO session_messages SELECT ('00000000-0000-0000-0000-00000000000' || (9 - n))::uuid, 'g',"
        " jsonb_build_object('role', CASE n % 2 WHEN 1 THEN 'USER' ELSE 'AGENT' END, 'parts',"
        " jsonb_build_array(jsonb_build_object('text', 'text ' || n))), '2025-10-22 10:00:00+02'"
        " FROM generate_series(1, 4) n;",
    )
    adapter = server_adapter(tmp_path, dsn)
    found = listed(adapter)
    assert found["a/old"].message_count == 0
    session = get(adapter, "a/g")
    assert [message.content for message in session.messages] == ["text 1", "text 2", "text 3", "text 4"]
    assert [message.role for message in session.messages] == ["user", "assistant"] * 2
    assert session.raw["layout"] == "doc"
    assert session.created_at.isoformat() == "2025-10-22T08:00:00+00:00"


def test_a_schema_is_chosen_by_the_address(postgres: PostgresServer, tmp_path: Path) -> None:
    script = (SCRIPTS / "hector_v2.sql").read_text()
    dsn = postgres.create(
        "schemas",
        "CREATE SCHEMA team; SET search_path = team;" + script + "GRANT USAGE ON SCHEMA team TO reader;"
        "GRANT SELECT ON ALL TABLES IN SCHEMA team TO reader",
    )
    adapter = server_adapter(tmp_path, f"{dsn}?options=-csearch_path%3Dteam {dsn}")
    problems: list[Problem] = []
    found = everything(adapter, problems.append)
    assert len(found) == 8
    assert {source.path for source, _ in found} == {found[0][0].path}
    assert found[0][0].path.endswith("/schemas?search_path=team")
    (problem,) = problems
    assert "none of Hector's tables" in problem.reason


def test_text_without_an_encoding_loses_no_row(postgres: PostgresServer, tmp_path: Path) -> None:
    with postgres.connect("postgres") as connection:
        connection.execute("DROP DATABASE IF EXISTS bytes")
        connection.execute("CREATE DATABASE bytes TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    with postgres.connect("bytes") as connection:
        connection.execute((SCRIPTS / "hector_v1.sql").read_text().encode())
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        connection.execute(
            'UPDATE session_messages SET message_json = E\'{"parts":[{"text":"a\\xff\\xc3(b"}]}\' WHERE id = 1'
        )
    session = get(server_adapter(tmp_path, postgres.dsn("bytes")), "assistant/s1")
    assert [message.content for message in session.messages][:2] == ["a\ufffd\ufffd(b", "Noted, Alice."]


@pytest.mark.parametrize(
    "wish", ["assistant/%00", "assistant/nope", "nope/s1", "assistant/s1/x", "assistant/' OR 1=1"]
)
def test_a_session_that_is_not_there(wish: str, databases: dict[str, str], tmp_path: Path) -> None:
    adapter = server_adapter(tmp_path, databases["hector_v1"])
    (source,) = adapter.sources(lambda problem: pytest.fail(problem.reason))
    assert adapter.find(wish) is None
    for read in (adapter.session, adapter.open):
        with pytest.raises((SessionMissing, SessionUnreadable)):
            read(source, wish)


# Passwords ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("127.0.0.1", "127.0.0.1"), ""),
        ((f":{PASSWORD}", f":wrong-{PASSWORD}"), "the server refuses the user or the password"),
        (("reader", "nobody"), "the server refuses the user or the password"),
        (("hector_v1", "absent"), "the server has no such database or user"),
        (("127.0.0.1", "no-such-host.invalid"), "its host is not known"),
        (("hector_v1", "hector_v1?sslmode=require"), "no secure connection could be made"),
        (("hector_v1", "postgres"), "none of Hector's tables"),
        (("hector_v1", "forbidden"), "this user may not read its tables"),
        (("@", "@@"), "it is no address"),
        ((":s3cret", ":s3c#ret"), "it is no address"),
        ((":s3cret", ":s3c/ret"), "it is no address"),
        ((":s3cret", ":s3c?ret"), "it is no address"),
        (("postgresql://", "mysql://"), "it is no address"),
    ],
)
def test_a_password_is_shown_nowhere(
    change: tuple[str, str],
    reason: str,
    postgres: PostgresServer,
    databases: dict[str, str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    postgres.create("forbidden", (SCRIPTS / "hector_v1.sql").read_text())
    with postgres.connect("forbidden") as connection:
        connection.execute("REVOKE SELECT ON ALL TABLES IN SCHEMA public FROM reader")
    adapter = server_adapter(tmp_path, databases["hector_v1"].replace(*change))
    problems: list[Problem] = []
    found = everything(adapter, problems.append)
    said: list[object] = [adapter.roots(), found, problems, caplog.text]
    for source, summary in found[:3]:
        said += [adapter.session(source, summary.session_id), vars(adapter.open(source, summary.session_id))]
    said += [adapter.find("assistant/s1")]
    source = Source(agent="hector", path="postgresql:x@y:1/z", stamp=(1,), layout="PostgreSQL")
    for read in (adapter.session, adapter.open):
        with pytest.raises(SessionUnreadable) as raised:
            read(source, "assistant/s1")
        said += [raised.value, raised.value.__cause__, raised.value.__context__]
    assert "s3c" not in repr(said) and "Pa55w0rd" not in repr(said) and "Pa55w0rd" not in str(said)
    if reason:
        assert found == []
        assert any(reason in problem.reason for problem in problems), problems
    else:
        assert (len(found), problems) == (16, [])


def test_what_the_server_says_is_never_passed_on(databases: dict[str, str], tmp_path: Path) -> None:
    wrong = databases["hector_v1"].replace(PASSWORD, "Wr0ng-one")
    adapter = server_adapter(tmp_path, databases["hector_v1"])
    (source,) = adapter.sources(lambda problem: pytest.fail(problem.reason))
    with pytest.raises(SessionUnreadable) as raised:
        server_adapter(tmp_path, wrong).session(source, "assistant/s1")
    error: BaseException | None = raised.value
    while error is not None:
        assert "Wr0ng" not in repr(error)
        assert not type(error).__module__.startswith("psycopg") or error.__traceback__ is not None
        error = error.__cause__


@given(
    st.text(st.sampled_from("ab:@/?#[]%&= 1,"), max_size=12),
    st.sampled_from(["", "?sslmode=require", "?connect_timeout=3", "/db"]),
)
def test_no_half_of_a_password_becomes_a_host(noise: str, end: str) -> None:
    """Whatever characters a password has, it is either understood as one or the whole address is refused."""
    troubles: list[tuple[str, str]] = []
    secret = f"KEEP{noise}SECRET"
    for dsn in parse_dsns(f"postgresql://user:{secret}@host:5432{end}", lambda *words: troubles.append(words)):
        assert "KEEP" not in repr(dsn) and "SECRET" not in repr(dsn)
    assert "KEEP" not in repr(troubles) and "SECRET" not in repr(troubles)


def test_addresses_are_told_apart_and_taken_once() -> None:
    troubles: list[tuple[str, str]] = []
    value = (
        "postgres://a/db postgres://a/db\n postgresql://u:p@a:5433,b/db?user=x  postgresql://u:q@a:5433,b/db"
        " postgresql:///db?host=/run/pg postgresql://[::1]:77/db nonsense"
    )
    found = list(parse_dsns(value, lambda *words: troubles.append(words)))
    assert [dsn.label for dsn in found] == [
        "postgresql:a:5432/db",
        "postgresql:u@a:5433,b:5432/db",
        "postgresql:u@a:5433,b:5432/db#4",
        "postgresql:%2Frun%2Fpg:5432/db",
        "postgresql:[::1]:77/db",
    ]
    assert [place for place, _ in troubles] == ["entry 7"]


def test_psycopg_is_imported_only_for_an_address(store: Any) -> None:
    code = """
import sys
from pathlib import Path
from session_adapters.base import Environment
from session_adapters.hector.adapter import HectorAdapter
def count(**variables):
    adapter = HectorAdapter(Environment(home=Path(sys.argv[1]), variables=variables))
    problems = []
    found = [one for source in adapter.sources(problems.append) for one in adapter.summaries(source, problems.append)]
    return len(found), [problem.reason for problem in problems if "config" not in problem.path]
print(count(), "psycopg" in sys.modules)
sys.modules["psycopg"] = None  # as if it were not installed
print(count(HERMES_TUI_HECTOR_DSN="postgresql://u:p@127.0.0.1:1/db"))
"""
    why = f"reading PostgreSQL needs psycopg, which is not installed: {install_command('postgres')}"
    assert run_python(code, store("hector", "home")).stdout.splitlines() == ["(24, []) False", str((24, [why]))]
