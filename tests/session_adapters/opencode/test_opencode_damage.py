"""Damaged, locked, half-written and foreign stores of OpenCode: named, and never in the way of their neighbours."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from damage import flipped, kept, shuffled, spoil_page, truncated
from databases import crashed_writer, listed_by_another, shared_folder, tree
from opencode_store import LAYOUTS, Store, adapter_for, everything, get
from plain_opencode import data_folder
from session_adapters.base import SessionMissing, SessionUnreadable, Source
from session_adapters.model import Message, Problem, SessionSummary
from session_adapters.opencode import tables, units
from session_adapters.opencode.adapter import OpenCodeAdapter
from session_adapters.opencode.schema import sessions_of
from session_adapters.opencode.tables import OpenCodeRows
from session_adapters.reading import sqlite_limits
from session_adapters.reading.sqlite import read_database
from support import STORES, attached_bytes

Stored = Callable[..., Path]
relaxed = examples(10)


def survey(adapter: OpenCodeAdapter) -> tuple[list[tuple[Source, SessionSummary]], list[Problem]]:
    """Everything that can be listed, and what was reported; each is then opened, which may be refused in the two
    ways there are."""
    problems: list[Problem] = []
    found = [
        (source, summary)
        for source in adapter.sources(problems.append)
        for exact in (False, True)
        for summary in adapter.summaries(source, problems.append, exact=exact)
    ]
    for source, summary in found:
        for read in (adapter.session, adapter.open):
            try:
                read(source, summary.session_id)
            except (SessionMissing, SessionUnreadable) as error:
                assert str(error)
    for problem in problems:
        assert problem.reason and not problem.reason.endswith(".")
        assert problem.path
    adapter.relate([summary for _, summary in found])
    return found, problems


@pytest.fixture
def home(store: Stored) -> Path:
    """A database and, as its neighbour, a tree of files."""
    made = store("opencode", "home")
    shutil.copytree(data_folder(STORES / "opencode" / "home-json-0.5") / "project", data_folder(made) / "project")
    return made


@pytest.fixture
def main(home: Path) -> Path:
    """The database, with its log taken in."""
    path = data_folder(home) / "opencode.db"
    path.parent.chmod(0o755)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    return path


NEIGHBOURS = 4


def damaged(main: Path, content: bytes) -> None:
    main.write_bytes(content)
    before = tree(main.parent)
    found, problems = survey(adapter_for(main.parents[3]))
    of_files = {summary.session_id for _, summary in found if not summary.path.endswith(".db")}
    assert len(of_files) == NEIGHBOURS, "its neighbour is listed all the same"
    listed = {summary.session_id for _, summary in found}
    plain = seen_by_plain_sql(main)
    if len(listed) < 8 + NEIGHBOURS and (plain is None or not plain <= listed):
        assert {problem.path for problem in problems} == {str(main)}
    assert tree(main.parent) == before


def seen_by_plain_sql(main: Path) -> set[str] | None:
    """The sessions that plain SQL reads without noticing any damage: where one page was taken for another whole one,
    rows are gone and nothing tells. None where it notices."""
    try:
        with closing(sqlite3.connect(f"file:{main}?immutable=1", uri=True)) as connection:
            connection.execute("SELECT count(*) FROM message NOT INDEXED").fetchone()
            return {key for (key,) in connection.execute("SELECT id FROM session NOT INDEXED")}
    except (sqlite3.Error, UnicodeDecodeError):  # an error that quotes damaged text cannot be decoded
        return None


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
    ],
)
def test_what_is_no_database_is_named(content: bytes, reason: str, main: Path) -> None:
    main.write_bytes(content)
    adapter = adapter_for(main.parents[3])
    _, problems = survey(adapter)
    assert {(problem.agent, problem.path, problem.reason) for problem in problems} == {
        ("opencode", str(main), reason)
    }
    source = next(adapter.sources(lambda problem: None))
    for read in (adapter.session, adapter.open):
        with pytest.raises(SessionUnreadable, match=reason):
            read(source, "ses_1")
    assert adapter.find("ses_1") is None


def test_a_database_of_something_else_is_named(main: Path) -> None:
    main.unlink()
    with closing(sqlite3.connect(main)) as connection:
        connection.execute("CREATE TABLE event (id, data)")
        connection.commit()
    _, problems = survey(adapter_for(main.parents[3]))
    assert {"no table of sessions" in problem.reason for problem in problems} == {True}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_session_that_is_not_there_is_missing(layout: str, store: Stored) -> None:
    adapter = adapter_for(store("opencode", layout))
    source, _ = everything(adapter)[0]
    for session_id in ("nope", "", "'; --", "%", "a\x00b", "\ud800", "../../auth", "ses_e02c7"):
        for read in (adapter.session, adapter.open):
            with pytest.raises((SessionMissing, SessionUnreadable)):
                read(source, session_id)
        assert adapter.find(session_id) is None


def test_a_vanished_store_is_a_missing_session(home: Path) -> None:
    adapter = adapter_for(home)
    found = everything(adapter)
    shutil.rmtree(data_folder(home))
    for source, summary in found:
        assert adapter.summaries(source, lambda problem: pytest.fail(problem.reason)) == []
        for read in (adapter.session, adapter.open):
            with pytest.raises(SessionMissing):
                read(source, summary.session_id)


# Rows that make no sense -------------------------------------------------------------------------------------


def test_one_garbled_row_costs_itself_alone(tmp_path: Path) -> None:
    made = Store(tmp_path)
    made.session("ses_1")
    made.say("ses_1", "user", "one")
    bad = made.say("ses_1", "assistant", "two")
    part = made.say("ses_1", "user", "three")
    made.say("ses_1", "user", "four")
    made.connection.execute("UPDATE message SET data = x'ff00' WHERE id = ?", (bad,))
    made.connection.execute("UPDATE part SET data = '[1]' WHERE message_id = ?", (part,))
    made.connection.close()
    transcript = made.open("ses_1")
    assert [message.content for message in transcript.messages] == ["one", "", "four"]
    assert [(problem.session_id, problem.place.split()[0]) for problem in transcript.problems] == [
        ("ses_1", "message")
    ] * 2
    assert f"message {bad}" in {problem.place for problem in transcript.problems}
    session = made.get("ses_1")
    assert (list(session.messages), session.warnings) == (transcript.messages, 2)


@pytest.mark.parametrize(
    "data",
    [
        {"type": "tool", "tool": "x"},
        {"type": "tool", "callID": "c", "state": {"status": "running", "input": "{"}},
        {"type": "tool", "state": {"status": "error", "error": {"name": "E", "data": {}}}},
        {"type": "text"},
        {"type": "reasoning", "text": None},
        {"type": "file", "url": "data:image/png;base64,QUJD", "mime": "image/png"},
        {"type": "subtask", "prompt": "p", "description": "d", "agent": "a"},
        {"type": "retry", "attempt": 1, "error": {"name": "APIError", "data": {"message": "slow down"}}},
        {"type": "hologram", "text": "from the future"},
        {},
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant", "system", "oracle", ""])
def test_any_part_in_any_message_is_shown_somehow(role: str, data: dict[str, object], tmp_path: Path) -> None:
    made = Store(tmp_path)
    made.session("ses_1")
    made.part("ses_1", made.message("ses_1", role), **data)
    made.connection.close()
    session = made.get("ses_1")
    assert session.warnings == 0 and session.messages
    assert all(isinstance(message, Message) for message in session.messages)
    assert len({message.id for message in session.messages}) == len(session.messages)


def test_pictures_are_marked_and_their_bytes_left_out(tmp_path: Path) -> None:
    made = Store(tmp_path)
    made.session("ses_1")
    asked = made.say("ses_1", "user", "look")
    made.part("ses_1", asked, type="file", mime="image/png", filename="a.png", url="data:image/png;base64,QUJDRA==")
    made.part("ses_1", asked, type="text", text="Called the Read tool", synthetic=True)
    shot = {"status": "completed", "output": "done", "attachments": [{"mime": "image/jpeg", "url": "file:///b.jpg"}]}
    made.part("ses_1", made.say("ses_1", "assistant", "ok"), type="tool", tool="shot", callID="c", state=shot)
    made.connection.close()
    messages = made.get("ses_1").messages
    assert [(message.kind, message.content) for message in messages] == [
        ("message", "look"), ("notice", "Called the Read tool"), ("message", "ok"),
    ]  # fmt: skip
    (picture,), (drawn,) = messages[0].attachments, messages[2].attachments
    assert (picture.media_type, picture.name, picture.size) == ("image/png", "a.png", 4)
    assert (drawn.media_type, drawn.name) == ("image/jpeg", "file:///b.jpg")
    assert attached_bytes(lambda: made.get("ses_1").messages) == [b"ABCD", None]


def test_an_answer_that_was_broken_off_keeps_what_was_said(tmp_path: Path) -> None:
    made = Store(tmp_path)
    made.session("ses_1")
    made.say("ses_1", "assistant", "half an", error={"name": "MessageAbortedError", "data": {"message": "stopped"}})
    made.say("ses_1", "assistant", "half a", error={"name": "APIError", "data": {"message": "overloaded"}})
    made.connection.close()
    assert [(message.kind, message.content) for message in made.get("ses_1").messages] == [
        ("message", "half an"), ("notice", "stopped"), ("message", "half a"), ("error", "overloaded"),
    ]  # fmt: skip


def test_a_huge_row_is_named_and_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Store(tmp_path)
    made.session("ses_1")
    made.say("ses_1", "user", "x" * 5000)
    made.say("ses_1", "user", "small")
    made.connection.close()
    monkeypatch.setattr(tables, "CONTENT_LIMIT", 1000)
    session = made.get("ses_1")
    assert [message.content for message in session.messages] == ["", "small"]
    assert session.warnings == 1
    assert "too large to be read (50" in made.open("ses_1").problems[0].reason
    assert units.CONTENT_LIMIT == 32 << 20


def test_text_that_is_none_and_lone_surrogates_lose_no_session(tmp_path: Path) -> None:
    made = Store(tmp_path)
    made.session("ses_1", title="a\x00b")
    made.connection.execute("UPDATE session SET directory = CAST(x'2f68fffe' AS TEXT) WHERE id = 'ses_1'")
    key = made.say("ses_1", "user", "x")
    made.connection.execute(
        "UPDATE part SET data = ? WHERE message_id = ?", ('{"type": "text", "text": "a\\ud800b"}', key)
    )
    made.session("ses_2", time_created="soon", time_updated=1e300, revert="{", model="[")
    made.connection.execute("INSERT INTO session SELECT * FROM session WHERE 0")
    made.say("ses_2", "user", "y", time={"created": 1e300})
    made.connection.close()
    found, problems = survey(made.adapter)
    assert {summary.session_id for _, summary in found} == {"ses_1", "ses_2"}
    assert problems == []
    assert made.get("ses_1").messages[0].content == "a\ufffdb"
    assert made.get("ses_1").cwd == "/h\ufffd\ufffd"


def test_one_damaged_page_of_parts_costs_only_its_rows(tmp_path: Path) -> None:
    made = Store(tmp_path)
    for number in range(100):
        made.session(f"ses_{number}")
        for turn in range(4):
            made.say(f"ses_{number}", "user" if turn % 2 == 0 else "assistant", f"{number}-{turn} " + "x" * 300)
    made.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    made.connection.close()
    spoil_page(made.path, b"50-2 xxx")
    problems: list[Problem] = []
    found = made.adapter.summaries(made.source(), problems.append, exact=True)
    assert len(found) == 100
    hurt = [summary.session_id for summary in found if summary.warnings]
    assert hurt and len(hurt) <= 5 and all(summary.partial == (summary.session_id in hurt) for summary in found)
    session = made.get("ses_50")
    assert len(session.messages) == 4 and session.warnings
    transcript = made.open("ses_50")
    assert transcript.messages == list(session.messages)
    assert all("damaged" in problem.reason for problem in transcript.problems)


# Trees of files ----------------------------------------------------------------------------------------------


@examples(20)
@given(data=st.data())
@pytest.mark.parametrize("layout", ["home-json-1.1", "home-json-0.5"])
def test_a_damaged_file_costs_itself_alone(layout: str, data: st.DataObject, store: Stored, tmp_path: Path) -> None:
    home = tmp_path / f"opencode-{layout}"
    if not home.exists():
        store("opencode", layout)
    files = sorted(path for path in data_folder(home).rglob("*.json") if "diff" not in str(path))
    path = data.draw(st.sampled_from(files), "file")
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1), "at")
    path.write_bytes(
        data.draw(
            st.sampled_from(
                [
                    whole[:at],
                    whole[:at] + bytes(50) + whole[at:],
                    whole[:at] + bytes([whole[at] ^ 1 << data.draw(st.integers(0, 7))]) + whole[at + 1 :],
                    whole + whole,
                    whole + b"\n" + whole[:at],
                    whole[:at] + b'"\\ud800"' + whole[at:],
                    b"[" * 100_000,
                ]
            ),
            "damage",
        )
    )
    before = tree(home)
    sessions = 5 if layout == "home-json-1.1" else 4
    try:
        found, problems = survey(adapter_for(home))
        assert len({summary.session_id for _, summary in found}) >= sessions - 1
        if len({summary.session_id for _, summary in found}) < sessions:
            assert {problem.path for problem in problems} == {str(path)}
        assert tree(home) == before
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("time", ["1e999", "-1e999", "NaN", "1e300", "-1", "true", '"soon"', "null", "{}"])
def test_times_that_are_none_lose_nothing_else(time: str, store: Stored) -> None:
    home = store("opencode", "home-json-1.1")
    session_id = "ses_e02c79bc3ffey6I5T3Va3wFka8"
    storage = data_folder(home) / "storage"
    whole = '{"id": "%s", "title": "odd", "time": {"created": %s}, "revert": {"messageID": "\\ud800"}}'
    (storage / "session" / "global" / f"{session_id}.json").write_text(whole % (session_id, time))
    found, problems = survey(adapter_for(home))
    assert len({summary.session_id for _, summary in found}) == (5 - bool(problems))
    assert {problem.reason for problem in problems} <= {"it is not valid JSON"}
    for path in (storage / "message" / session_id).iterdir():
        path.write_text('{"role": "user", "time": {"created": %s}}' % time)  # noqa: UP031
    survey(adapter_for(home))


def test_files_and_directories_in_the_wrong_place(store: Stored) -> None:
    home = store("opencode", "home-json-1.1")
    storage = data_folder(home) / "storage"
    (storage / "session" / "stray.json").write_text("{}")
    (storage / "session" / "global" / "ses_other.json").write_text('{"id": "ses_e02c79bc3ffey6I5T3Va3wFka8"}')
    (storage / "session" / "global" / "ses_folder.json").mkdir()
    (storage / "session" / "global" / "ses_nowhere.json").symlink_to("gone.json")
    (storage / "session" / "global" / "notes.txt").write_text("x")
    session_id = "ses_e02c79bc3ffey6I5T3Va3wFka8"
    (storage / "message" / session_id / "msg_folder.json").mkdir()
    found, problems = survey(adapter_for(home))
    assert len({summary.session_id for _, summary in found}) == 5
    assert {Path(problem.path).name: problem.reason for problem in problems} == {
        "ses_other.json": "it holds another session than its name says",
        "ses_folder.json": f"it cannot be read: not a regular file: {storage}/session/global/ses_folder.json",
    }
    session = get(adapter_for(home), session_id)
    assert (session.message_count, session.warnings) == (3, 1)


# Reading where nothing may be written ------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["cold", "crashed", "crashed without -shm"])
def test_every_state_is_read_where_nothing_may_be_written(state: str) -> None:
    with shared_folder() as folder:
        made = Store(folder)
        made.session("ses_1")
        made.say("ses_1", "user", "x")
        made.connection.close()
        when = 1_790_000_900_000
        if state != "cold":
            crashed_writer(
                made.path, f"INSERT INTO message VALUES ('m2', 'ses_1', {when}, {when}, '{{\"role\": \"user\"}}')"
            )
        if state == "crashed without -shm":
            made.path.with_name("opencode.db-shm").unlink()
        for path in (*made.path.parents[:4], made.path.parent, *made.path.parent.iterdir()):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = tree(folder)
        assert listed_by_another("opencode", folder) == [f"session ses_1 {1 if state == 'cold' else 2}"]
        assert tree(folder) == before


def test_directories_that_may_not_be_read_are_named() -> None:
    with shared_folder() as folder:
        made = Store(folder)
        made.session("ses_seen")
        secret = Store(folder, "opencode-dev.db")
        for each in (made, secret):
            each.connection.execute("PRAGMA journal_mode = DELETE")
            each.connection.close()
        secret.path.chmod(0o000)
        storage = data_folder(folder) / "storage" / "session"
        (storage / "hidden").mkdir(parents=True)
        (storage / "open").mkdir()
        (storage / "open" / "ses_file.json").write_text(json.dumps({"id": "ses_file"}))
        (storage / "hidden").chmod(0o000)
        prefix = ".local/share/opencode"
        assert listed_by_another("opencode", folder) == [
            "session ses_seen 0",
            "session ses_file 0",
            f"{prefix}/opencode-dev.db | it cannot be opened",
            f"{prefix}/storage/session/hidden | it cannot be reached: Permission denied",
        ]


def test_what_is_left_out_is_counted_once_where_a_page_is_damaged_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that were given before the damage are asked for again, and are not taken twice."""
    store = Store(tmp_path)
    store.session("s")
    for number in range(40):
        store.message("s", message_id=f"msg_{number:04}")
    for module in (tables, sqlite_limits):
        monkeypatch.setattr(module, "SESSION_LIMIT", 20 * 1200)
    asked = 0

    class Damaged:
        """Breaks off the second listing, that of one session alone."""

        def __init__(self, connection: apsw.Connection) -> None:
            self._connection = connection

        def execute(self, query: str, *given: Any) -> Iterator[Any]:
            nonlocal asked
            is_listing = "FROM message WHERE session_id IN" in query
            asked += is_listing
            for number, row in enumerate(self._connection.execute(query, *given)):
                if is_listing and asked == 2 and number == 5:
                    raise apsw.CorruptError("a page of it")
                yield row

    def listed(connection: apsw.Connection) -> tuple[int, int]:
        rows = OpenCodeRows(connection)
        (facts,) = sessions_of(connection, rows.schema, lambda lost: None, "s")
        rows.connection = Damaged(connection)  # type: ignore[assignment]
        return len(rows.units([facts], parts=False)["s"]), rows.left["s"]

    shown, left = read_database(str(store.path), listed)
    assert asked == 3 and 0 < shown < 40 and shown + left == 40
