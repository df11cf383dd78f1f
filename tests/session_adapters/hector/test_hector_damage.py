"""Damaged, locked, half-written and foreign databases: named, and never in the way of their neighbours."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from damage import flipped, kept, shuffled, spoil_page, truncated
from databases import crashed_writer, run_python, shared_folder, tree, unprivileged
from hector_store import Store, adapter_for, everything, get, listed, sample_adapter
from session_adapters.base import SessionMissing, SessionUnreadable, Source
from session_adapters.hector.adapter import HectorAdapter
from session_adapters.model import Problem, SessionSummary

Stored = Callable[..., Path]
COUNTS = {"data/sessions.db": 16, ".hector/hector.db": 8, "data/sessions_v0.db": 2, "data/sessions_doc.db": 1}
"""Sessions in each of the sample's databases."""
TOTAL = sum(COUNTS.values())

relaxed = examples(8)
each_database = pytest.mark.parametrize("name", COUNTS)


def survey(adapter: HectorAdapter) -> tuple[list[tuple[Source, SessionSummary]], list[Problem]]:
    """Everything that can be listed, and what was reported. The sessions are then opened, which may be refused in the
    two ways there are."""
    problems: list[Problem] = []
    found = [
        (source, summary)
        for source in adapter.sources(problems.append)
        for summary in adapter.summaries(source, problems.append)
    ]
    for source, summary in found:
        for read in (adapter.session, adapter.open):
            try:
                read(source, summary.session_id)
            except (SessionMissing, SessionUnreadable) as error:
                assert str(error)
    problems = [problem for problem in problems if problem.place != "session_stores.prod"]
    for problem in problems:
        assert problem.reason and not problem.reason.endswith(".")
        assert problem.path
    return found, problems


@pytest.fixture
def home(store: Stored) -> Path:
    return store("hector", "home")


def damaged(home: Path, name: str, content: bytes) -> None:
    path = home / name
    path.write_bytes(content)
    before = tree(home)
    found, problems = survey(sample_adapter(home))
    counts = {other: sum(source.path == str(home / other) for source, _ in found) for other in COUNTS}
    for other, count in COUNTS.items():
        assert other == name or counts[other] == count, "its neighbours are listed all the same"
    if counts[name] < COUNTS[name]:
        assert {problem.path for problem in problems} == {str(path)}
    assert tree(home) == before


@each_database
@relaxed
@given(data=st.data())
def test_truncation_at_any_byte(data: st.DataObject, name: str, home: Path, tmp_path: Path) -> None:
    damaged(home, name, truncated(data, kept(home / name, tmp_path)))


@each_database
@relaxed
@given(data=st.data())
def test_flipped_bits(data: st.DataObject, name: str, home: Path, tmp_path: Path) -> None:
    damaged(home, name, flipped(data, kept(home / name, tmp_path)))


@each_database
@relaxed
@given(data=st.data())
def test_runs_of_nul_and_pages_in_the_wrong_place(data: st.DataObject, name: str, home: Path, tmp_path: Path) -> None:
    damaged(home, name, shuffled(data, kept(home / name, tmp_path)))


_KEYS = (
    "role parts content text data file metadata event_type is_error block_id kind tool_call_id id name arguments"
    " error mimeType fileWithBytes fileWithUri"
)
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=5), st.integers(), st.just("thinking")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(_KEYS.split()), inner, max_size=4)
    ),
    max_leaves=12,
)
_MESSAGES = st.fixed_dictionaries(
    {"parts": st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(_KEYS.split(), _VALUES)))}
)


@relaxed
@given(
    rows=st.lists(st.one_of(st.binary(max_size=40), _VALUES.map(json.dumps), _MESSAGES.map(json.dumps)), max_size=6)
)
def test_any_message_at_all(rows: list[bytes | str], tmp_path: Path) -> None:
    """Every row becomes messages or is named; none takes another with it."""
    made = Store(Path(tempfile.mkdtemp(dir=tmp_path)))
    with closing(made.connection):
        made.session("s")
        for value in rows:
            made.say("s", "AGENT", message_json=value)
        made.say("s", "USER", "still here")
        summary = listed(made.adapter)["assistant/s"]
        session = made.get("s")
        transcript = made.open("s", page=1)
        while transcript.earlier():
            pass
        assert transcript.messages == list(session.messages)
        assert session.messages[-1].content == "still here"
        assert summary.message_count == len(session.messages)
        seen = {message.id.partition(".")[0] for message in session.messages}
        assert len(seen) + session.warnings == len(rows) + 1
        assert len(transcript.problems) == session.warnings


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\x00" * 8192, "it is not an SQLite database"),
        (b"{}\n" * 3000, "it is not an SQLite database"),
        (b"SQLite format 3\x00", "it is not an SQLite database"),
    ],
)
def test_what_is_no_database_is_named(content: bytes, reason: str, home: Path) -> None:
    path = home / "data" / "sessions.db"
    path.write_bytes(content)
    adapter = sample_adapter(home)
    found, problems = survey(adapter)
    assert [(problem.agent, problem.path, problem.reason) for problem in problems] == [("hector", str(path), reason)]
    assert len(found) == TOTAL - COUNTS["data/sessions.db"]
    source = next(adapter.sources(lambda problem: None))
    for read in (adapter.session, adapter.open):
        with pytest.raises(SessionUnreadable, match=reason):
            read(source, "assistant/s1")
    assert adapter.find("assistant/s1") is None


def test_a_vanished_database_is_a_missing_session(home: Path) -> None:
    adapter = sample_adapter(home)
    source, summary = everything(adapter)[0]
    path = Path(source.path)
    path.unlink()
    assert adapter.summaries(source, lambda problem: pytest.fail(problem.reason)) == []
    for read in (adapter.session, adapter.open):
        with pytest.raises(SessionMissing):
            read(source, summary.session_id)
    path.mkdir()
    _, problems = survey(adapter)
    assert [problem.reason for problem in problems] == ["it is not a regular file"]


def test_a_session_that_is_not_there_is_missing(home: Path) -> None:
    adapter = sample_adapter(home)
    source, _ = everything(adapter)[0]
    for session_id in (
        "nope",
        "",
        "a/b",
        "a/b/c",
        "a/b/c/d",
        "'; --/x",
        "%/%",
        "a/\x00b",
        "a/\ud800",
        "../../etc/passwd",
    ):
        for read in (adapter.session, adapter.open):
            with pytest.raises((SessionMissing, SessionUnreadable)):
                read(source, session_id)
        assert adapter.find(session_id) is None


def test_a_lock_of_another_process_hides_nothing(home: Path) -> None:
    code = (
        "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA locking_mode = EXCLUSIVE'); c.execute('BEGIN EXCLUSIVE')\n"
        "c.execute(\"UPDATE session_messages SET message_json = '{}'\")\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(home / "data" / "sessions.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        found, problems = survey(sample_adapter(home))
        process.stdin.close()
    assert not problems
    assert len(found) == TOTAL
    titles = {summary.title for _, summary in found}
    assert "My name is Alice and the staging password is hunter2" in titles, "not what is uncommitted"


@pytest.mark.parametrize("with_shm", [True, False])
def test_what_a_crashed_writer_left_in_its_log_is_read(with_shm: bool, home: Path) -> None:
    path = home / "data" / "sessions.db"
    crashed_writer(
        path,
        "INSERT INTO sessions VALUES ('crashed', 'assistant', '{}', '2025-11-30 10:00:00+01:00', '')",
        "INSERT INTO session_messages (session_id, message_id, role, message_json, sequence_num, created_at) VALUES"
        " ('crashed', '', 'ROLE_USER', '{\"parts\":[{\"text\":\"last words\"}]}', 1, '2025-11-30 10:00:00+01:00')",
    )
    if not with_shm:
        path.with_name("sessions.db-shm").unlink()
    before = tree(home)
    found, problems = survey(sample_adapter(home))
    assert (len(found), problems) == (TOTAL + 1, [])
    assert get(sample_adapter(home), "assistant/crashed").messages[0].content == "last words"
    assert tree(home) == before


def test_half_a_transaction_of_a_crashed_writer_is_not_shown(home: Path) -> None:
    """Hector kept a rollback journal at first: a hot one holds what was there before."""
    path = home / "data" / "sessions.db"
    crashed_writer(
        path,
        "PRAGMA cache_size = 1",
        "PRAGMA cache_spill = 1",
        "BEGIN IMMEDIATE",
        'UPDATE session_messages SET message_json = \'{"parts":[{"text":"half"}]}\'',
        mode="DELETE",
    )
    assert path.with_name("sessions.db-journal").stat().st_size > 0
    before = tree(home)
    found, problems = survey(sample_adapter(home))
    assert (len(found), problems) == (TOTAL, [])
    assert not any(summary.title == "half" for _, summary in found)
    assert tree(home) == before


def test_it_reads_as_well_where_it_may_not_write(store: Stored) -> None:
    code = """
import sys
from pathlib import Path
from session_adapters.base import Environment
from session_adapters.hector.adapter import HectorAdapter
adapter = HectorAdapter(Environment(home=Path(sys.argv[1])))
count = 0
for source in adapter.sources(lambda problem: None):
    for summary in adapter.summaries(source, lambda problem: print(problem)):
        count += len(adapter.session(source, summary.session_id).messages)
        assert adapter.open(source, summary.session_id).refresh() == (None, False, False)
print(count)
"""
    home = store("hector", "home")
    (home / "config.yaml").unlink()
    expected = run_python(code, home).stdout
    assert int(expected) > 400
    crashed_writer(home / ".hector" / "hector.db", "UPDATE sessions SET state_json = '{}'")
    with shared_folder() as folder:
        for path in sorted(home.rglob("*")):
            target = folder / path.relative_to(home)
            if path.is_dir():
                target.mkdir()
            else:
                target.write_bytes(path.read_bytes())
                target.chmod(0o444)
        for path in (folder, *folder.rglob("*")):
            if path.is_dir():
                path.chmod(0o555)
        before = tree(folder)
        assert run_python(code, folder, user=unprivileged(), adapter="hector").stdout == expected
        assert tree(folder) == before


def test_one_damaged_page_costs_only_its_rows(tmp_path: Path) -> None:
    made = Store(tmp_path)
    for number in range(200):
        made.session(f"s{number}")
        for turn in range(4):
            made.say(f"s{number}", "USER" if turn % 2 == 0 else "AGENT", f"{number}-{turn} " + "x" * 300)
    made.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    made.connection.close()
    spoil_page(made.path, b"100-2 xxx")
    found, problems = survey(made.adapter)
    assert len(found) == 200
    assert {problem.place for problem in problems} == {"table session_messages"}
    source = found[0][0]
    lengths = {number: len(made.adapter.session(source, f"assistant/s{number}").messages) for number in range(200)}
    assert lengths[100] < 4
    short = [number for number, length in lengths.items() if length < 4]
    assert len(short) <= 5 and short == list(range(short[0], short[-1] + 1))
    for number in short:
        session = made.adapter.session(source, f"assistant/s{number}")
        assert session.warnings == 4 - len(session.messages)
        transcript = made.adapter.open(source, f"assistant/s{number}")
        assert transcript.messages == list(session.messages)
        assert {problem.session_id for problem in transcript.problems} == {f"assistant/s{number}"}
        damaged_rows = [problem for problem in transcript.problems if problem.place.startswith("message row-")]
        assert len(damaged_rows) == session.warnings
    counts = {summary.session_id: summary.message_count for _, summary in found}
    assert counts == {f"assistant/s{number}": length for number, length in lengths.items()}


# Schemas -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statements", "sessions", "words"),
    [
        (["CREATE TABLE other (x)"], 0, "none of Hector's tables"),
        (["CREATE TABLE sessions (id, agent_id)"], 0, "none of Hector's tables"),
        (["CREATE TABLE session_messages (session_id, text)"], 0, "none of Hector's tables"),
        (["CREATE TABLE session_messages (session_id, message_id, message_json)"], 0, "none of Hector's tables"),
        (["CREATE TABLE session_events (id, session_id, sequence_num)"], 0, "none of Hector's tables"),
        (
            ["CREATE VIEW session_messages AS SELECT 1 AS session_id, 2 AS message_json"],
            0,
            "is a view",
        ),
        (
            [
                "CREATE TABLE sessions (id, agent_id)",
                "CREATE TABLE session_messages (id, session_id, message_json, sequence_num)",
                "INSERT INTO sessions VALUES (CAST(x'ff' AS TEXT), 'a'), ('', 'a'), ('fine', 'a')",
            ],
            1,
            "no readable id",
        ),
    ],
)
def test_what_a_schema_lacks_is_said(statements: list[str], sessions: int, words: str, tmp_path: Path) -> None:
    adapter = with_schema(tmp_path / "home", *statements)
    found, problems = survey(adapter)
    assert len(found) == sessions
    assert any(words in problem.reason for problem in problems)


def with_schema(home: Path, *statements: str) -> HectorAdapter:
    (home / "data").mkdir(parents=True)
    with closing(sqlite3.connect(home / "data" / "sessions.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return adapter_for(home)


def test_the_fewest_columns_are_enough(tmp_path: Path) -> None:
    adapter = with_schema(
        tmp_path / "home",
        "CREATE TABLE sessions (id)",
        "CREATE TABLE session_messages (message_json, created_at, message_id, session_id)",
        "INSERT INTO sessions VALUES ('a')",
        "INSERT INTO session_messages (message_json, session_id) VALUES"
        ' (\'{"role":"USER","parts":[{"text":"q"}]}\', \'a\'), (\'{"role":"AGENT","parts":[{"text":"r"}]}\', \'a\')',
    )
    summary = listed(adapter)["@none/a"]
    assert (summary.turn_count, summary.message_count, summary.title) == (1, 2, "q")
    assert [message.id for message in get(adapter, "@none/a").messages] == ["row-1", "row-2"]


@pytest.mark.parametrize("spoil", ["DROP TABLE sessions", "ALTER TABLE sessions RENAME COLUMN id TO other"])
def test_without_a_table_of_sessions_its_messages_are_orphans(spoil: str, tmp_path: Path) -> None:
    made = Store(tmp_path)
    made.say("left", "USER", "behind")
    made.connection.execute(spoil)
    made.connection.close()
    found, problems = survey(made.adapter)
    assert [one.session_id for _, one in found] == ["@deleted/left"]
    assert [problem.place for problem in problems] == ["table sessions"]
    assert get(made.adapter, "@deleted/left").title == "behind"


def test_directories_that_may_not_be_read_are_named() -> None:
    code = """
import os, sys
from pathlib import Path
from session_adapters.base import Environment
from session_adapters.hector.adapter import HectorAdapter
home = Path(sys.argv[1])
variables = {"HERMES_TUI_HECTOR_PATH": ":".join(str(home / name) for name in ("closed", "secret.db", "mine.yaml"))}
problems = []
adapter = HectorAdapter(Environment(home=home, variables=variables))
adapter.roots()
for source in adapter.sources(problems.append):
    for summary in adapter.summaries(source, problems.append):
        print("session", summary.session_id)
for problem in problems:
    print(Path(problem.path).relative_to(home), "|", problem.reason)
"""
    with shared_folder() as folder:
        seen = Store(folder, mode="DELETE")
        seen.session("seen")
        hidden = Store(folder / "closed", mode="DELETE")
        secret = Store(folder, "secret.db", mode="DELETE")
        for each in (seen, hidden, secret):
            each.connection.close()
        (folder / "mine.yaml").write_text("databases: {}")
        (folder / "mine.yaml").chmod(0o000)
        secret.path.chmod(0o000)
        (folder / "closed").chmod(0o000)
        assert run_python(code, folder, user=unprivileged(), adapter="hector").stdout.splitlines() == [
            "session assistant/seen",
            "closed/data/sessions.db | the database cannot be reached: Permission denied",
            "closed/.hector/hector.db | the database cannot be reached: Permission denied",
            "secret.db | it cannot be opened",
            "mine.yaml | databases that it may name are not looked for: Permission denied",
        ]
