"""Damaged, locked, half-written and foreign stores of Cursor: named, and never in the way of their neighbours."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from cursor_store import (
    CHAT,
    EDITOR,
    IN_WAL,
    SPOKEN,
    Chat,
    Editor,
    adapter_for,
    everything,
    field,
    get,
    listed,
    prompt,
    transcript,
)
from damage import flipped, kept, shuffled, truncated
from databases import crashed_writer, tree
from session_adapters.base import Environment, SessionMissing, SessionUnreadable, Source
from session_adapters.cursor import facts, tracking
from session_adapters.cursor.adapter import CursorAdapter
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading import decoding
from session_adapters.reading.copying import copies
from session_adapters.reading.decoding import take_apart

Stored = Callable[..., Path]
relaxed = examples(10)
SESSIONS = 12
"""In the sample, each once."""


def survey(adapter: CursorAdapter) -> tuple[list[tuple[Source, SessionSummary]], list[Problem]]:
    """Everything that can be listed, and what was reported; each is then opened, which may be refused in the two
    ways there are."""
    problems: list[Problem] = []
    found = [pair for exact in (False, True) for pair in everything(adapter, exact=exact, problems=problems)]
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
    return store("cursor", "home")


def the(home: Path, pattern: str) -> Path:
    """The one database of this name, with its log taken in."""
    (path,) = home.glob(pattern)
    if path.suffix in (".db", ".vscdb"):
        path.parent.chmod(0o755)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode = DELETE")
    return path


DATABASES = {
    f".cursor/chats/*/{CHAT}/store.db": {CHAT},
    f".cursor/chats/*/{IN_WAL}/store.db": {IN_WAL},
    ".config/Cursor/User/globalStorage/state.vscdb": {
        EDITOR,
        "563e9bed-4510-4358-acc6-d8f2c74c7ccf",
        "b4ff00ae-3f13-47de-a274-ea181e34b3f1",
        "ec3fbf4d-c20e-4164-a8f9-18d8f6cdb2f8",
    },
}
"""Databases of the sample, and the sessions that are in them."""


def silently_gone(path: Path) -> set[str]:
    """The editor's conversations that plain SQL does not find either, without an error: a page was taken for another
    whole one."""
    if path.suffix != ".vscdb":
        return set()
    try:
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
            query = "SELECT key FROM cursorDiskKV WHERE key > 'composerData:' AND key < 'composerData;'"
            keys = {key for (key,) in connection.execute(query)}
    except (sqlite3.Error, UnicodeDecodeError):  # an error that quotes damaged text cannot be decoded
        return set()
    return {one for one in next(reversed(DATABASES.values())) if f"composerData:{one}" not in keys}


def damaged(home: Path, path: Path, content: bytes, inside: set[str]) -> None:
    path.write_bytes(content)
    before = tree(home)
    found, problems = survey(adapter_for(home))
    ids = {summary.session_id for _, summary in found}
    assert len(ids - inside) == SESSIONS - len(inside), "its neighbours are listed all the same"
    if inside - ids - silently_gone(path):
        assert str(path) in {problem.path for problem in problems}
    assert {Path(problem.path).name for problem in problems} <= {path.name, "state.vscdb"}
    assert tree(home) == before


@pytest.mark.parametrize("how", [truncated, flipped, shuffled])
@pytest.mark.parametrize("pattern", DATABASES)
@relaxed
@given(data=st.data())
def test_a_damaged_database(
    pattern: str, how: Callable[[st.DataObject, bytes], bytes], data: st.DataObject, home: Path, tmp_path: Path
) -> None:
    path = the(home, pattern) if not (tmp_path / "undamaged").exists() else next(home.glob(pattern))
    damaged(home, path, how(data, kept(path, tmp_path)), DATABASES[pattern])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\x00" * 8192, "it is not an SQLite database"),
        (b"{}\n" * 3000, "it is not an SQLite database"),
    ],
)
@pytest.mark.parametrize("pattern", DATABASES)
def test_what_is_no_database_is_named(pattern: str, content: bytes, reason: str, home: Path) -> None:
    path = the(home, pattern)
    path.write_bytes(content)
    found, problems = survey(adapter_for(home))
    named = {problem.reason for problem in problems if problem.path == str(path)}
    assert named == {reason}
    assert len({summary.session_id for _, summary in found}) >= SESSIONS - 4


def test_a_title_that_is_lost_is_said_of_its_transcript(home: Path) -> None:
    path = the(home, ".cursor/ai-tracking/*.db")
    path.write_bytes(b"\0" * 8192)
    found, problems = survey(adapter_for(home))
    assert len({summary.session_id for _, summary in found}) == SESSIONS
    said = [problem for problem in problems if problem.place == "ai-code-tracking.db"]
    assert SPOKEN in {problem.session_id or Path(problem.path).stem for problem in said}
    assert {problem.reason for problem in said} == {
        "its title and model there cannot be read: it is not an SQLite database"
    }
    path.unlink()
    assert not [problem for problem in survey(adapter_for(home))[1] if problem.place == "ai-code-tracking.db"]


def test_databases_of_something_else_are_named(tmp_path: Path) -> None:
    for made in (Chat(tmp_path), Editor(tmp_path)):
        made.connection.close()
        made.path.unlink()
        with closing(sqlite3.connect(made.path)) as connection:
            connection.execute("CREATE TABLE event (id, data)")
            connection.commit()
    path = tmp_path / ".cursor" / "sessions" / "sessions.db"
    path.parent.mkdir()
    shutil.copyfile(made.path, path)
    _, problems = survey(adapter_for(tmp_path))
    assert {problem.reason for problem in problems} == {
        "it has no tables of blobs and of facts: it is not a chat of Cursor's",
        "it has no table of keys and values: it is not the editor's",
        "it has no table of sessions",
    }
    for source in adapter_for(tmp_path).sources(lambda problem: None):
        for read in (adapter_for(tmp_path).session, adapter_for(tmp_path).open):
            with pytest.raises(SessionUnreadable, match="it has no table"):
                read(source, source.session_id or "1")


def test_a_vanished_store_is_a_missing_session(home: Path) -> None:
    adapter = adapter_for(home)
    found = everything(adapter)
    shutil.rmtree(home / ".cursor")
    shutil.rmtree(home / ".config")
    for source, summary in found:
        assert adapter.summaries(source, lambda problem: pytest.fail(problem.reason)) == []
        for read in (adapter.session, adapter.open):
            with pytest.raises(SessionMissing):
                read(source, summary.session_id)


# Single records ----------------------------------------------------------------------------------------------


def test_one_garbled_message_costs_itself_alone(tmp_path: Path) -> None:
    made = Chat(tmp_path)
    made.add(prompt("one"), b'{"role": "user", "content', b"\xff\xff\xff", b"", prompt("two"), b'{"a": "\\ud800"}')
    lone = json.dumps({"role": "user", "content": "a\ud800b"}).encode()
    made.add(lone, lone[:-1] + b', "more": NaN}')
    gone = made.order[4]
    made.connection.execute("DELETE FROM blobs WHERE id = ?", (gone,))
    made.close()
    session = get(made.adapter, "chat-1")
    assert [message.content for message in session.messages] == ["one", "", "a\ufffdb", "a\ufffdb"]
    opened = made.adapter.open(made.source(), "chat-1")
    assert opened.messages == list(session.messages)
    assert [(problem.session_id, problem.reason) for problem in opened.problems] == [
        ("chat-1", "it is not in the database"),
        ("chat-1", "the message is damaged"),
        ("chat-1", "the message is damaged"),
        ("chat-1", "the message is damaged"),
    ]
    assert f"blob {gone}" == opened.problems[0].place
    assert session.warnings == 4
    problems: list[Problem] = []
    ((_, summary),) = everything(made.adapter, problems=problems)
    assert (summary.warnings, summary.message_count, len(problems)) == (4, 4, 4)


def test_a_damaged_root_keeps_what_is_before_the_damage(tmp_path: Path) -> None:
    made = Chat(tmp_path)
    made.say("one", "two", "three")
    made.root = lambda order: b"".join(field(1, bytes.fromhex(name)) for name in order)[:-5]  # type: ignore[method-assign]
    made.commit()
    made.close()
    session = get(made.adapter, "chat-1")
    assert [message.content for message in session.messages] == ["one", "two"]
    assert session.warnings == 1
    (problem,) = made.adapter.open(made.source(), "chat-1").problems
    assert problem.reason == "a part of the conversation's root is damaged"


@pytest.mark.parametrize("value", [b"", b"zz", b"abc", b"7b7d", b"{}", b"null", b"[]", b"\x00" * 50, b"ff" * 50])
def test_facts_that_make_no_sense(value: bytes, tmp_path: Path) -> None:
    made = Chat(tmp_path)
    made.say("one")
    made.connection.execute("UPDATE meta SET value = ?", (value,))
    made.close()
    neighbour = Chat(tmp_path, "chat-2")
    neighbour.say("hello")
    neighbour.close()
    found, problems = survey(made.adapter)
    assert "chat-2" in {summary.session_id for _, summary in found}
    assert {problem.path for problem in problems} <= {str(made.path)}
    if value not in (b"7b7d", b"{}"):
        assert problems


def test_a_root_that_names_itself_ends(tmp_path: Path) -> None:
    made = Chat(tmp_path)
    made.say("one")
    name = "ab" * 32
    made.connection.execute("INSERT INTO blobs VALUES (?, ?)", (name, field(1, bytes.fromhex(name)) * 3))
    facts_ = json.dumps({"latestRootBlobId": name, "name": "circle"}).encode().hex()
    made.connection.execute("UPDATE meta SET value = ?", (facts_,))
    made.close()
    session = get(made.adapter, "chat-1")
    assert (len(session.messages), {message.kind for message in session.messages}) == (3, {"notice"})


def test_huge_rows_are_named_and_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Chat(tmp_path)
    made.add(prompt("small"), prompt("x" * 5000))
    made.close()
    editor = Editor(tmp_path)
    editor.bubble("c1", 1, "small")
    editor.bubble("c1", 2, "x" * facts.CONTENT_LIMIT)
    editor.composer("c2", conversation=[{"type": 1, "text": "x" * facts.CONTENT_LIMIT}])
    editor.connection.close()
    monkeypatch.setattr("session_adapters.cursor.chat_store.reader.CONTENT_LIMIT", 1000)
    adapter = made.adapter
    for session_id, size in (("chat-1", "5"), ("c1", "33")):
        source = adapter.find(session_id)
        assert source is not None
        opened = adapter.open(source, session_id)
        assert [message.content for message in opened.messages] == ["small"]
        assert f"too large to be read ({size}" in opened.problems[0].reason
    _, problems = survey(adapter)
    assert any(one.place == "composerData:c2" and "too large" in one.reason for one in problems)
    assert facts.CONTENT_LIMIT == 32 << 20


@pytest.mark.parametrize("value", ["null", "[]", "5", '"x"', "{", "", "\x00", '{"name": 5}', '{"conversation": {}}'])
def test_conversations_that_make_no_sense(value: str, tmp_path: Path) -> None:
    made = Editor(tmp_path)
    made.bubble("good", 1, "hello")
    made.put("composerData:bad", value)
    made.put("composerData:", "{}")
    made.put("composer.composerHeaders", value, "ItemTable")
    made.put("workbench.panel.aichat.view.aichat.chatdata", value, "ItemTable")
    made.connection.close()
    found, problems = survey(made.adapter)
    assert {summary.session_id for _, summary in found} == {"good"}
    assert {problem.path for problem in problems} <= {str(made.path)}
    assert bool(problems) == (value not in ('{"name": 5}', '{"conversation": {}}', ""))


def test_parents_in_a_circle_or_nowhere_end(tmp_path: Path) -> None:
    made = Editor(tmp_path)
    for key, parent in (("a", "b"), ("b", "a"), ("c", "c"), ("d", "gone")):
        made.bubble(key, 1, key)
        made.composer(key, subagentInfo={"parentComposerId": parent}, subComposerIds=[key, parent, 7])
    made.connection.close()
    assert {key: (one.kind, one.parent_id) for key, one in listed(made.adapter).items()} == {
        key: ("subagent", parent) for key, parent in (("a", "b"), ("b", "a"), ("c", "c"), ("d", "gone"))
    }


# Files -------------------------------------------------------------------------------------------------------


@examples(25)
@given(data=st.data())
def test_a_damaged_file_costs_itself_alone(data: st.DataObject, store: Stored, tmp_path: Path) -> None:
    home = tmp_path / "cursor-home"
    if not home.exists():
        store("cursor", "home")
    files = sorted(path for path in home.rglob("*") if path.suffix in (".jsonl", ".json", ".txt", ".log"))
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
                    whole.replace(b"\n", b""),
                    whole + b"\n" + whole[:at],
                    whole[:at] + b'"\\ud800"' + whole[at:],
                    b"[" * 100_000,
                    b"",
                ]
            ),
            "damage",
        )
    )
    before = tree(home)
    try:
        found, problems = survey(adapter_for(home))
        ids = {summary.session_id for _, summary in found}
        assert len(ids) >= SESSIONS - 1
        assert {problem.path for problem in problems if "state.vscdb" not in problem.path} <= {
            str(path),
            str(path.with_name("store.db")),
        }
        assert tree(home) == before
    finally:
        path.write_bytes(whole)


def test_damaged_lines_are_named_by_their_place(tmp_path: Path) -> None:
    path = transcript(tmp_path, "t", {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"})
    first, second = path.read_bytes().splitlines()
    lines = [first, first[:20], b"\x00" * 9, second + second, first[:10] + second, b"not JSON", second, second[:-4]]
    path.write_bytes(b"\n".join(lines))
    problems: list[Problem] = []
    ((source, summary),) = everything(adapter_for(tmp_path), problems=problems)
    session = get(adapter_for(tmp_path), "t")
    assert [message.content for message in session.messages] == ["one", "two", "two", "two", "two"]
    assert (session.warnings, summary.warnings, summary.message_count) == (3, 3, 5)
    offsets = [len(b"\n".join(lines[:number])) + (number > 0) for number in (1, 4, 5)]
    assert [problem.place for problem in problems] == [f"byte {offset}" for offset in offsets]
    opened = adapter_for(tmp_path).open(source, "t")
    assert [problem.place for problem in opened.problems] == [f"byte {offset}" for offset in offsets]


def test_many_damaged_lines_are_summed_up(tmp_path: Path) -> None:
    path = transcript(tmp_path, "t", {"role": "user", "content": "one"})
    path.write_bytes(path.read_bytes() + b"{torn\n" * 50)
    problems: list[Problem] = []
    everything(adapter_for(tmp_path), problems=problems)
    assert [problem.reason for problem in problems][-1] == "40 more damaged places"
    assert len(problems) == 11


def test_files_and_directories_in_the_wrong_place(home: Path) -> None:
    (home / ".cursor" / "chats" / "file").write_text("x")
    (home / ".cursor" / "chats" / "d" / "c").mkdir(parents=True)
    (home / ".cursor" / "chats" / "d" / "c" / "store.db").mkdir()
    folder = home / ".cursor" / "projects" / "home-dev-api" / "agent-transcripts"
    (folder / "x.jsonl").mkdir()
    (folder / "y.txt").symlink_to("gone.txt")
    (folder / "z" / "subagents").mkdir(parents=True)
    (folder / "z" / "subagents" / "note.md").write_text("x")
    found, problems = survey(adapter_for(home))
    assert len({summary.session_id for _, summary in found}) == SESSIONS
    assert {Path(one.path).name: one.reason.partition(":")[0] for one in problems} == {
        "store.db": "it is not a regular file",
        "x.jsonl": "not a regular file",
        "state.vscdb": "it is not valid JSON",
    }


# Names that name more than there is -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["chat", "editor"])
def test_a_long_message_is_repeated_once(kind: str, tmp_path: Path) -> None:
    """A name takes 32 bytes, the message that it names may take 32 MB: gigabytes came of a few thousand names."""
    long = "x" * 100_000
    store: Chat | Editor
    if kind == "chat":
        store = Chat(tmp_path)
        store.add(prompt("again"), {"role": "assistant", "content": long})
        store.order *= 5000
        store.commit()
        name = store.session_id
    else:
        store = Editor(tmp_path)
        store.bubble("c", 1, "again")
        store.bubble("c", 2, long)
        store.headers["c"] *= 5000
        name = store.composer("c")
    session = get(store.adapter, name)
    assert [len(one.content) for one in session.messages].count(len(long)) == 1
    assert 2 < sum(one.content == "again" for one in session.messages) < 1002
    (source,) = {source.path: source for source, _ in everything(store.adapter)}.values()
    reasons = [one.reason for one in store.adapter.open(source, name).problems]
    assert "of 9,998 repeated messages 1,000 are shown" in reasons
    assert any("it is repeated, and shown once (100" in reason for reason in reasons)


@pytest.mark.timeout(30)
def test_names_of_nothing_are_counted_up_to_a_limit(tmp_path: Path) -> None:
    chat = Chat(tmp_path)
    chat.say("first")
    chat.order += [number.to_bytes(32, "big").hex() for number in range(30_000)]
    chat.commit()
    problems: list[Problem] = []
    ((_, summary),) = everything(chat.adapter, problems=problems)
    assert [one.content for one in get(chat.adapter, summary.session_id).messages] == ["first"]
    assert problems[-1].reason == "29,990 more damaged places"
    chat.order.clear()
    chat.connection.execute("UPDATE blobs SET data = ?", (b"\x10\x01" * 5_000_000,))
    problems.clear()
    everything(chat.adapter, problems=problems)
    assert [one.reason for one in problems] == ["a part of the conversation's root is damaged"]


def test_a_table_with_other_columns_is_named(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    editor.bubble("c", 1, "hello")
    editor.connection.execute("ALTER TABLE cursorDiskKV RENAME COLUMN value TO worth")
    problems: list[Problem] = []
    assert everything(editor.adapter, problems=problems) == []
    assert [one.place for one in problems] == ["table cursorDiskKV"]


# What is said of transcripts elsewhere -----------------------------------------------------------------------


def test_a_crashed_database_of_titles_is_copied_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for every transcript. Where it has grown to hundreds of megabytes, it is said that it was left."""
    path = the(home, ".cursor/ai-tracking/*.db")
    made: list[str] = []
    copy_file = copies.copy_file

    def counted(source: str, target: str, of: str) -> None:
        if of == str(path):
            made.append(source)
        copy_file(source, target, of)

    monkeypatch.setattr(copies, "copy_file", counted)
    crashed_writer(path, "UPDATE conversation_summaries SET title = 'late'")
    assert listed(adapter_for(home))[SPOKEN].title == "late"
    assert made == []
    path.with_name(path.name + "-shm").unlink()
    before = tree(home)
    for _ in range(2):
        assert listed(adapter_for(home))[SPOKEN].title == "late"
    assert made == [str(path), f"{path}-wal"]
    assert tree(home) == before
    monkeypatch.setattr(tracking, "COPY_LIMIT", path.stat().st_size)
    path.touch()
    found, problems = survey(adapter_for(home))
    assert len({summary.session_id for _, summary in found}) == SESSIONS
    said = {problem.reason for problem in problems if problem.place == "ai-code-tracking.db"}
    assert len(said) == 1
    assert said.pop().startswith(
        "its title and model there cannot be read: after a crash only a copy of it could be read safely"
    )
    assert made == [str(path), f"{path}-wal"]


def test_very_many_damaged_prompts_in_a_transcript_are_not_all_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list looks for prompts between the ends; each of 350,000 damaged ones took three attempts, in all 8 s."""
    path = tmp_path / ".cursor/projects/shop/agent-transcripts/a/a.jsonl"
    path.parent.mkdir(parents=True)
    whole = b'{"role": "user", "message": {"content": [{"type": "text", "text": "hello"}]}}\n'
    path.write_bytes(whole + (whole[:-3].ljust(300, b"x") + b"\n") * 60_000 + whole)
    adapter = CursorAdapter(Environment(home=tmp_path))
    (source,) = adapter.sources(print)
    tried: list[str] = []

    def counted(text: str) -> tuple[list[object], bool]:
        tried.append(text)
        return take_apart(text)

    monkeypatch.setattr(decoding, "take_apart", counted)
    problems: list[Problem] = []
    (summary,) = adapter.summaries(source, problems.append)
    assert 10_000 < len(tried) < 20_000
    assert summary.partial and summary.title == "hello" and problems
