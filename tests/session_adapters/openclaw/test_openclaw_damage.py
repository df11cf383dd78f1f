"""Damaged OpenClaw stores: nothing raises but what the contract names, neighbours are listed, and it is said."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from damage import LINE_DAMAGE, flipped, kept, shuffled, truncated
from databases import crashed_writer, tree
from openclaw_store import Database, adapter_for, event, folder_of, get, header, lines, listed, place, reply
from plain_openclaw import HOMES, database_of
from session_adapters.base import SessionMissing, SessionUnreadable, Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.openclaw.adapter import OpenClawAdapter
from session_adapters.reading.lines import LINE_LIMIT

Stored = Callable[..., Path]
NEIGHBOUR = "agent:other:main"

relaxed = examples(10)
TARGETS = {
    "files": ("home-files-2026.3", "5763f9e2-b429-411c-9227-ce155c0e99a7.jsonl"),
    "index": ("home-files-2026.3", "sessions.json"),
    "clawdbot": ("home-clawdbot", "0bf64ef7-73ec-48d0-8252-f615d75b1e24.jsonl"),
    "document": ("home-spec", "f7f35634-f0e3-4d97-ae81-d66d346c6e2b.json"),
}


def compare(adapter: OpenClawAdapter, source: Source, exact: SessionSummary, *, whole: bool) -> None:
    """A session and its pages say the same, if they can be read at all; as the list, if that could be read whole."""
    try:
        session = adapter.session(source, exact.session_id)
        transcript = adapter.open(source, exact.session_id)
    except (SessionMissing, SessionUnreadable) as error:
        assert "\n" not in str(error)
        return
    while transcript.earlier():
        pass
    assert transcript.messages == list(session.messages)
    assert len(session.messages) == session.message_count
    assert session.message_count == exact.message_count or not whole
    for branch in transcript.branches:
        transcript.switch(branch.leaf_id)


def survey(adapter: OpenClawAdapter, read: str | None = None) -> tuple[list[SessionSummary], list[Problem]]:
    """Everything that is listed, and what was reported. Some sessions are read too, of files only those with `read`
    in their path."""
    problems: list[Problem] = []
    found: list[SessionSummary] = []
    for source in adapter.sources(problems.append):
        here = adapter.summaries(source, problems.append)
        found += here
        if source.layout == "index" or (read is not None and read not in source.path):
            continue
        exact = {one.session_id: one for one in adapter.summaries(source, problems.append, exact=True)}
        for summary in here[:: 1 + len(here) // 4]:
            whole = source.layout != "database" or source.path not in {problem.path for problem in problems}
            compare(adapter, source, exact.get(summary.session_id, summary), whole=whole)
    for problem in problems:
        assert problem.agent == "openclaw" and problem.path
        assert problem.reason and not problem.reason.endswith(".") and "\n" not in problem.reason
    related = list(adapter.relate(found))
    assert len({one.session_id for one in related}) == len(related)
    return related, problems


# Databases ---------------------------------------------------------------------------------------------------


@pytest.fixture
def main(store: Stored) -> Path:
    """The database of the sample home, beside that of another agent."""
    home = store("openclaw", "home")
    other = Database(home, home / ".openclaw" / "agents" / "other" / "agent" / "openclaw-agent.sqlite")
    other.key(NEIGHBOUR, "n")
    other.write("n", header("n"), event("a", None, "the neighbour"))
    other.connection.close()
    return database_of(home)


def damaged(main: Path, content: bytes) -> None:
    main.write_bytes(content)
    home = main.parents[4]
    before = tree(home)
    found, problems = survey(adapter_for(home))
    assert NEIGHBOUR in {one.session_id for one in found}
    assert all(problem.path == str(main) for problem in problems)
    if len(found) < 9:
        assert problems
    assert tree(home) == before


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
        (b"{}\n", "not an SQLite database"),
    ],
    ids=["empty", "nothing", "text"],
)
def test_what_is_no_database_is_named(content: bytes, reason: str, main: Path) -> None:
    main.write_bytes(content)
    adapter = adapter_for(main.parents[4])
    found, problems = survey(adapter)
    assert [one.session_id for one in found] == [NEIGHBOUR]
    assert {problem.path for problem in problems} == {str(main)} and reason in problems[0].reason
    source = next(source for source in adapter.sources(lambda problem: None) if source.path == str(main))
    for read in (adapter.session, adapter.open):
        with pytest.raises(SessionUnreadable, match=reason):
            read(source, "agent:main:main")


def test_a_vanished_database_is_a_missing_session(main: Path) -> None:
    adapter = adapter_for(main.parents[4])
    source = next(source for source in adapter.sources(lambda problem: None) if source.path == str(main))
    main.unlink()
    assert adapter.summaries(source, lambda problem: pytest.fail(problem.reason)) == []
    for read in (adapter.session, adapter.open):
        with pytest.raises(SessionMissing):
            read(source, "agent:main:main")


@pytest.fixture
def failing() -> Iterator[Callable[[str, int, apsw.Error], None]]:
    """Have statements with some words end with an error after so many rows."""
    hooks: list[Callable[[apsw.Connection], None]] = []

    def fail(words: str, rows: int, error: apsw.Error) -> None:
        def hook(connection: apsw.Connection) -> None:
            given: dict[int, int] = {}

            def row(cursor: apsw.Cursor, values: tuple[object, ...]) -> tuple[object, ...]:
                if id(cursor) in given:
                    given[id(cursor)] += 1
                    if given[id(cursor)] > rows:
                        raise error
                return values

            def statement(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
                if words in sql:
                    given[id(cursor)] = 0
                    cursor.row_trace = row  # the connection's own is that of the limits
                return True

            connection.exec_trace = statement

        hooks.append(hook)
        apsw.connection_hooks.append(hook)

    yield fail
    for hook in hooks:
        apsw.connection_hooks.remove(hook)


@pytest.mark.parametrize("table", ["session_nodes", "session_windows"])
def test_rows_before_a_damaged_page_are_kept_and_a_lock_is_no_damage(
    table: str, failing: Callable[[str, int, apsw.Error], None], tmp_path: Path
) -> None:
    made = Database(tmp_path)
    for number in range(3):
        made.key(f"k{number}", f"s{number}")
        made.write(f"s{number}", header(f"s{number}"), event(f"e{number}", None))
    made.connection.close()
    failing(f"FROM {table} ORDER", 2, apsw.CorruptError("disk image is malformed"))
    found, problems = survey(made.adapter)
    names = {"k0", "k1", "k2"} if table == "session_windows" else {"s0", "k1", "k2"}
    assert {one.session_id for one in found} == names
    assert {problem.place for problem in problems} == {f"table {table}"}
    failing(f"FROM {table} ORDER", 1, apsw.BusyError("database is locked"))
    found, problems = survey(made.adapter)
    assert found == [] and {problem.reason for problem in problems} == {"another process has it locked"}


def test_one_damaged_page_costs_only_its_events(tmp_path: Path) -> None:
    made = Database(tmp_path)
    for number in range(40):
        made.key(f"k{number}", f"s{number}")
        made.write(f"s{number}", header(f"s{number}"))
        for at in range(10):
            before = f"e{number}-{at - 1}" if at else None
            made.write(f"s{number}", event(f"e{number}-{at}", before, f"{number}-{at} " + "x" * 300))
    made.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    made.connection.close()
    content = bytearray(made.path.read_bytes())
    page = content.index(b"20-5 xxx") // 4096 * 4096
    content[page : page + 8] = b"\xff" * 8
    made.path.write_bytes(content)
    found, problems = survey(made.adapter)
    assert len(found) == 40
    lengths = {one.session_id: get(made.adapter, one.session_id).message_count for one in found}
    short = [key for key, length in lengths.items() if length < 10]
    assert "k20" in short and len(short) <= 2
    assert {problem.place.partition(",")[0] for problem in problems} == {f"session {key}" for key in short}
    source = made.adapter.find("k20")
    assert source is not None
    transcript = made.adapter.open(source, "k20")
    assert {problem.place.split()[0] for problem in transcript.problems} == {"event"}
    assert len(transcript.problems) == get(made.adapter, "k20").warnings


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "7", '{"type":7}', '{"type":"message"}', '{"type":"message","id":"z","message":[]}', "\\",
     '{"type":"message","id":"z","parentId":"z","timestamp":{},"message":{"role":"user","content":{"a":1}}}',
     '{"type":"leaf","id":"z","targetId":"z"}', '{"type":"leaf"}', '{"type":"reset","id":"z"}', "[" * 5000,
     '{"type":"message","id":"z","message":{"role":"user","content":"\\ud800"}}',
     '{"type":"message","id":"z","message":{"role":"toolResult","details":{"exitCode":"x","durationMs":1e400}}}'],
)  # fmt: skip
def test_odd_events_hide_no_others(text: str, tmp_path: Path) -> None:
    made = Database(tmp_path)
    made.key("k", "s")
    made.write("s", header("s"), event("a", None), reply("b", "a"))
    made.insert("transcript_events", session_id="s", seq=3, event_json=text, created_at=1)
    made.write("s", event("c", "b"))
    found, _ = survey(made.adapter)
    assert [one.session_id for one in found] == ["k"]
    assert [message.id for message in get(made.adapter, "k").messages][-3:] == ["a", "b", "c"]


def test_schemas_that_lack_something(tmp_path: Path) -> None:
    path = database_of(tmp_path)
    path.parent.mkdir(parents=True)
    one = json.dumps(event("a", None, "hello"))
    for statements, sessions, words in (
        (["CREATE TABLE other (x)"], 0, "table transcript_events"),
        (["CREATE TABLE session_nodes (x)", "CREATE TABLE transcript_events (x)"], 0, "table session_nodes"),
        (
            [
                "CREATE TABLE transcript_events (session_id, seq, event_json)",
                f"INSERT INTO transcript_events VALUES ('s', 0, '{one}')",
            ],
            1,
            "",
        ),
        (
            [
                "CREATE TABLE session_nodes (current_session_id, session_key)",
                "CREATE TABLE transcript_events (event_json, seq, session_id)",
                "INSERT INTO session_nodes VALUES ('s', 'k'), (7, NULL), (x'ff', x'fe')",
                f"INSERT INTO transcript_events VALUES ('{one}', 0, 's')",
            ],
            3,
            "",
        ),
    ):
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        found, problems = survey(adapter_for(tmp_path))
        assert len(found) == sessions, statements
        assert any(words == problem.place for problem in problems) or not words
        if sessions:
            assert "hello" in {one.title for one in found}


def test_a_lost_window_and_a_lost_node_lose_no_conversation(tmp_path: Path) -> None:
    made = Database(tmp_path)
    made.key("k", "s")
    made.write("s", header("s"), event("a", None, "whole"))
    made.write("t", header("t"), event("b", None, "without a window"))
    made.window("u", "lost key", 5)
    made.write("u", header("u"), event("c", None, "without a node"))
    assert {key: one.title for key, one in listed(made.adapter).items()} == {
        "k": "whole", "t": "without a window", "u": "without a node",
    }  # fmt: skip
    for key in ("k", "t", "u"):
        assert get(made.adapter, key).message_count == 1


def test_a_crashed_writers_log_without_shm(main: Path) -> None:
    crashed_writer(main, "UPDATE session_nodes SET label = 'last words' WHERE label = 'Fruit plan'")
    main.with_name(main.name + "-shm").unlink()
    home = main.parents[4]
    before = tree(home)
    found, problems = survey(adapter_for(home))
    assert "last words" in {one.title for one in found} and not problems
    assert tree(home) == before


# Files -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("openclaw-damage")


@pytest.mark.parametrize("name", list(TARGETS))
@examples(15)
@given(damage=LINE_DAMAGE)
def test_damaged_files(name: str, copies: Path, damage: Callable[[bytes], bytes]) -> None:
    sample, file = TARGETS[name]
    home = copies / name
    if not home.exists():
        shutil.copytree(HOMES / sample, home, copy_function=shutil.copyfile)
    original = next((HOMES / sample).rglob(file))
    path = home / original.relative_to(HOMES / sample)
    path.chmod(0o644)
    path.write_bytes(damage(original.read_bytes()))
    undamaged = {one.path for one in listed(adapter_for(HOMES / sample), problems=[]).values()}
    wanted = {str(home / Path(one).relative_to(HOMES / sample)) for one in undamaged}
    found, problems = survey(adapter_for(home), file)
    assert wanted - {str(path)} <= {one.path for one in found}, "its neighbours"
    if str(path) in wanted and str(path) not in {one.path for one in found} and path.stat().st_size:
        assert str(path) in {problem.path for problem in problems}


def test_cycles_missing_parents_and_ids_twice(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    place(folder, "cycle.jsonl", header("cycle"), event("a", "c"), reply("b", "a"), event("c", "b"))
    place(folder, "lost.jsonl", header("lost"), event("a", "nowhere"), reply("b", "a"))
    place(
        folder, "twice.jsonl", header("twice"), event("a", None), event("a", None), reply("b", "a"), reply("b", "a")
    )
    found, problems = survey(adapter_for(tmp_path))
    assert {one.session_id: one.message_count for one in found} == {"cycle": 3, "lost": 2, "twice": 2}
    assert not problems
    twice = get(adapter_for(tmp_path), "twice")
    assert twice.tokens is not None and twice.tokens.output_tokens == 10, "a line that stands there twice counts once"


def test_a_line_too_long_is_named(tmp_path: Path) -> None:
    talk = lines(header("s"), event("a", None)), lines(reply("b", "a"))
    path = folder_of(tmp_path) / "s.jsonl"
    path.write_bytes(talk[0] + b'{"type":"message","x":"' + b"y" * (LINE_LIMIT + (2 << 20)) + b'"}\n' + talk[1])
    found, problems = survey(adapter_for(tmp_path))
    assert [one.message_count for one in found] == [2]
    assert {problem.path for problem in problems} == {str(path)}
