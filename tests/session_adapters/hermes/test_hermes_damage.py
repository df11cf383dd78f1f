"""Damaged, locked, half-written and foreign databases: named, and never in the way of their neighbours."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from damage import flipped, kept, shuffled, spoil_page, truncated
from databases import crashed_writer, run_python, shared_folder, tree, unprivileged
from hermes_store import Store, adapter_for, everything, get
from session_adapters.base import SessionMissing, SessionUnreadable, Source
from session_adapters.hermes.adapter import HermesAdapter
from session_adapters.model import Problem, SessionSummary

Stored = Callable[..., Path]
MAIN_SESSIONS, CODER_SESSIONS = 49, 3

relaxed = examples(10)


def survey(adapter: HermesAdapter) -> tuple[list[tuple[Source, SessionSummary]], list[Problem]]:
    """Everything that can be listed, and what was reported. Some of the sessions are then opened, which may
    be refused in the two ways there are."""
    problems: list[Problem] = []
    found = [
        (source, summary)
        for source in adapter.sources(problems.append)
        for summary in adapter.summaries(source, problems.append)
    ]
    for source, summary in found[::7]:
        for read in (adapter.session, adapter.open):
            try:
                read(source, summary.session_id)
            except (SessionMissing, SessionUnreadable) as error:
                assert str(error)
    for problem in problems:
        assert problem.reason and not problem.reason.endswith(".")
        assert problem.path
    return found, problems


def of_profile(found: list[tuple[Source, SessionSummary]], profile: str | None) -> int:
    return sum(summary.profile == profile for _, summary in found)


@pytest.fixture
def home(store: Stored) -> Path:
    return store("hermes", "home")


@pytest.fixture
def main(home: Path) -> Path:
    return home / ".hermes" / "state.db"


def damaged(main: Path, content: bytes) -> None:
    main.write_bytes(content)
    before = tree(main.parent)
    found, problems = survey(adapter_for(main.parents[1]))
    assert of_profile(found, "coder") == CODER_SESSIONS, "its neighbour is listed all the same"
    if of_profile(found, None) < MAIN_SESSIONS:
        assert {problem.path for problem in problems} == {str(main)}
    assert tree(main.parent) == before


def test_a_time_that_is_no_text_either_hides_no_session(main: Path) -> None:
    with closing(sqlite3.connect(main)) as connection, connection:
        connection.execute("DROP TRIGGER messages_fts_update")
        connection.execute("DROP TRIGGER messages_fts_trigram_update")
        connection.execute(
            "UPDATE messages SET timestamp = CAST(x'eda080' AS TEXT) WHERE id = (SELECT max(id) FROM messages)"
        )
    found, problems = survey(adapter_for(main.parents[1]))
    assert of_profile(found, None) == MAIN_SESSIONS
    assert problems == []


@relaxed
@given(data=st.data())
def test_truncation_at_any_byte(data: st.DataObject, main: Path, tmp_path: Path) -> None:
    damaged(main, truncated(data, kept(main, tmp_path)))


@relaxed
@given(data=st.data())
def test_flipped_bits(data: st.DataObject, main: Path, tmp_path: Path) -> None:
    damaged(main, flipped(data, kept(main, tmp_path)))


@relaxed
@given(data=st.data())
def test_runs_of_nul_and_pages_in_the_wrong_place(data: st.DataObject, main: Path, tmp_path: Path) -> None:
    damaged(main, shuffled(data, kept(main, tmp_path)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\x00" * 8192, "it is not an SQLite database"),
        (b"{}\n" * 3000, "it is not an SQLite database"),
        (b"SQLite format 3\x00", "it is not an SQLite database"),
    ],
)
def test_what_is_no_database_is_named(content: bytes, reason: str, main: Path) -> None:
    session_id = everything(adapter_for(main.parents[1]))[0][1].session_id
    main.write_bytes(content)
    adapter = adapter_for(main.parents[1])
    found, problems = survey(adapter)
    assert [(problem.agent, problem.path, problem.reason) for problem in problems] == [("hermes", str(main), reason)]
    assert len(found) == CODER_SESSIONS
    source = next(adapter.sources(lambda problem: None))
    for read in (adapter.session, adapter.open):
        with pytest.raises(SessionUnreadable, match=reason):
            read(source, session_id)
    assert adapter.find(session_id) is None


def test_a_vanished_database_is_a_missing_session(main: Path) -> None:
    adapter = adapter_for(main.parents[1])
    source, summary = everything(adapter)[0]
    main.unlink()
    assert adapter.summaries(source, lambda problem: pytest.fail(problem.reason)) == []
    for read in (adapter.session, adapter.open):
        with pytest.raises(SessionMissing):
            read(source, summary.session_id)
    main.mkdir()
    _, problems = survey(adapter)
    assert [problem.reason for problem in problems] == ["it is not a regular file"]


def test_a_session_that_is_not_there_is_missing(main: Path) -> None:
    adapter = adapter_for(main.parents[1])
    source, _ = everything(adapter)[0]
    for session_id in ("nope", "", "'; --", "%", "a\x00b", "\ud800"):
        for read in (adapter.session, adapter.open):
            with pytest.raises((SessionMissing, SessionUnreadable)):
                read(source, session_id)
        assert adapter.find(session_id) is None


def test_a_lock_of_another_process_hides_nothing(main: Path) -> None:
    code = (
        "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA locking_mode = EXCLUSIVE'); c.execute('BEGIN EXCLUSIVE')\n"
        "c.execute(\"UPDATE sessions SET title = 'uncommitted' WHERE source = 'api_server'\")\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(main)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        found, problems = survey(adapter_for(main.parents[1]))
        process.stdin.close()
    assert not problems
    assert len(found) == MAIN_SESSIONS + CODER_SESSIONS
    assert not [summary for _, summary in found if summary.title == "uncommitted"]


@pytest.mark.parametrize("with_shm", [True, False])
def test_what_a_crashed_writer_left_in_its_log_is_read(with_shm: bool, main: Path) -> None:
    crashed_writer(
        main,
        "INSERT INTO sessions (id, source, started_at) VALUES ('crashed', 'cli', 1790000000)",
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('crashed', 'user', 'last words', 1)",
    )
    if not with_shm:
        main.with_name("state.db-shm").unlink()
    before = tree(main.parent)
    found, problems = survey(adapter_for(main.parents[1]))
    assert (len(found), problems) == (MAIN_SESSIONS + CODER_SESSIONS + 1, [])
    assert get(adapter_for(main.parents[1]), "crashed").messages[0].content == "last words"
    assert tree(main.parent) == before


def test_a_torn_log_gives_what_was_committed_before(tmp_path: Path) -> None:
    made = Store(tmp_path)
    made.connection.close()
    crashed_writer(made.path, *(f"INSERT INTO sessions (id, started_at) VALUES ('s{n}', 1)" for n in range(8)))
    log = made.path.with_name("state.db-wal")
    made.path.with_name("state.db-shm").unlink()
    whole = log.read_bytes()
    seen = []
    for length in range(0, len(whole) + 1, 1031):
        log.write_bytes(whole[:length])
        seen.append(len(everything(made.adapter)))
    log.write_bytes(whole)
    seen.append(len(everything(made.adapter)))
    assert seen == sorted(seen)
    assert set(seen) == set(range(9))


def test_one_damaged_page_of_messages_costs_only_its_rows(tmp_path: Path) -> None:
    made = Store(tmp_path)
    for number in range(200):
        made.session(f"s{number}")
        for turn in range(4):
            made.say(f"s{number}", "user" if turn % 2 == 0 else "assistant", f"{number}-{turn} " + "x" * 300)
    made.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    made.connection.close()
    spoil_page(made.path, b"100-2 xxx")
    found, problems = survey(made.adapter)
    assert len(found) == 200
    assert all(summary.partial for _, summary in found)
    assert [problem.place for problem in problems] == ["table messages"]
    source = found[0][0]
    lengths = {number: len(made.adapter.session(source, f"s{number}").messages) for number in range(200)}
    assert lengths[100] < 4
    short = [number for number, length in lengths.items() if length < 4]
    assert len(short) <= 5 and short == list(range(short[0], short[-1] + 1))
    session = made.adapter.session(source, "s100")
    assert session.warnings == 4 - len(session.messages)
    transcript = made.adapter.open(source, "s100")
    assert transcript.messages == list(session.messages)
    assert {problem.session_id for problem in transcript.problems} == {"s100"}
    assert len(transcript.problems) == session.warnings


# Schemas -----------------------------------------------------------------------------------------------------


def with_schema(home: Path, *statements: str) -> HermesAdapter:
    folder = home / ".hermes"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "state.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return adapter_for(home)


@pytest.mark.parametrize(
    ("statements", "sessions", "words"),
    [
        (["CREATE TABLE other (x)"], 0, "no table of sessions"),
        (["CREATE TABLE sessions (name)"], 0, "no table of sessions"),
        (["CREATE TABLE sessions (id)", "INSERT INTO sessions VALUES ('a')"], 1, "missing or has no columns"),
        (
            [
                "CREATE TABLE sessions (id)",
                "CREATE TABLE messages (id INTEGER PRIMARY KEY, content)",
                "INSERT INTO sessions VALUES ('a')",
            ],
            1,
            "missing or has no columns",
        ),
        (["CREATE TABLE sessions (id)", "INSERT INTO sessions VALUES (CAST(x'ff' AS TEXT))"], 0, "no readable id"),
    ],
)
def test_what_a_schema_lacks_is_said(statements: list[str], sessions: int, words: str, tmp_path: Path) -> None:
    adapter = with_schema(tmp_path / "home", *statements)
    found, problems = survey(adapter)
    assert len(found) == sessions
    assert any(words in problem.reason for problem in problems)


def test_the_fewest_columns_are_enough(tmp_path: Path) -> None:
    adapter = with_schema(
        tmp_path / "home",
        "CREATE TABLE sessions (id)",
        "CREATE TABLE messages (role, id INTEGER PRIMARY KEY, session_id)",
        "INSERT INTO sessions VALUES ('a')",
        "INSERT INTO messages (role, session_id) VALUES ('user', 'a'), ('assistant', 'a')",
    )
    ((_, summary),) = everything(adapter)
    assert (summary.turn_count, summary.message_count, summary.title) == (1, 2, "")
    assert [message.role for message in get(adapter, "a").messages] == ["user", "assistant"]


def test_a_view_in_place_of_a_table_and_a_search_index_of_version_23(tmp_path: Path) -> None:
    adapter = with_schema(
        tmp_path / "home",
        "CREATE TABLE sessions (id, started_at)",
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content)",
        "CREATE VIEW messages_fts_source AS SELECT id, content FROM messages",
        "CREATE VIRTUAL TABLE messages_fts USING fts5 (content, content = messages_fts_source, content_rowid = id)",
        "CREATE VIEW session_model_usage AS SELECT session_id, model FROM nowhere",
        "INSERT INTO sessions VALUES ('a', 1790000000)",
        "INSERT INTO messages (session_id, role, content) VALUES ('a', 'user', 'hello')",
    )
    found, _ = survey(adapter)
    assert [summary.title for _, summary in found] == ["hello"]


def test_directories_that_may_not_be_read_are_named() -> None:
    code = """
import sys
from pathlib import Path
from session_adapters.base import Environment
from session_adapters.hermes.adapter import HermesAdapter
problems = []
adapter = HermesAdapter(Environment(home=Path(sys.argv[1])))
for source in adapter.sources(problems.append):
    for summary in adapter.summaries(source, problems.append):
        print("session", summary.session_id)
for problem in problems:
    print(Path(problem.path).relative_to(sys.argv[1]), "|", problem.reason)
"""
    with shared_folder() as folder:
        made = Store(folder)
        made.session("seen")
        hidden = Store(folder, "profiles/coder")
        secret = Store(folder, "profiles/secret")
        for each in (made, hidden, secret):
            each.connection.execute("PRAGMA journal_mode = DELETE")
            each.connection.close()
        (folder / ".hermes" / "sessions").mkdir(mode=0o000)
        hidden.path.parent.chmod(0o000)
        secret.path.chmod(0o000)
        assert run_python(code, folder, user=unprivileged()).stdout.splitlines() == [
            "session seen",
            ".hermes/sessions | it cannot be listed: Permission denied",
            ".hermes/profiles/coder/state.db | the database cannot be reached: Permission denied",
            ".hermes/profiles/coder/sessions | it cannot be listed: Permission denied",
            ".hermes/profiles/coder/memories | it cannot be reached: Permission denied",
            ".hermes/profiles/secret/state.db | it cannot be opened",
        ]
