"""Where Cursor's sessions are looked for, which of several copies counts, and what looking costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cursor_store import Chat, Editor, adapter_for, everything, get, listed, prompt, transcript
from databases import nothing_left_open, run_python
from session_adapters.base import SessionMissing
from session_adapters.cursor import document
from session_adapters.cursor.chat_store import reader
from session_adapters.cursor.editor_store import database
from session_adapters.cursor.editor_store.state import EditorState, StoredValue
from session_adapters.model import Problem
from session_adapters.reading.files import METER
from session_adapters.transcript import PAGE
from support import STORES

Stored = Callable[..., Path]
Statements = list[tuple[str, list[str]]]


# Places ------------------------------------------------------------------------------------------------------


def test_roots_follow_the_environment(tmp_path: Path) -> None:
    def seen(**variables: str) -> list[str]:
        return [str(root.path.relative_to(tmp_path)) for root in adapter_for(tmp_path, **variables).roots()]

    assert seen() == [".cursor", ".config/Cursor/User"]
    for name in (".config/cursor", "Library/Application Support/Cursor/User"):
        (tmp_path / name).mkdir(parents=True)
    assert seen() == [".config/cursor", ".cursor", ".config/Cursor/User", "Library/Application Support/Cursor/User"]
    named = {"CURSOR_DATA_DIR": str(tmp_path / "data"), "CURSOR_CONFIG_DIR": str(tmp_path / "config")}
    assert seen(**named)[:2] == ["data", "config"]
    assert seen(XDG_CONFIG_HOME=str(tmp_path / "x"))[-2:] == [
        "x/Cursor/User",
        "Library/Application Support/Cursor/User",
    ]
    (tmp_path / "roaming" / "Cursor" / "User").mkdir(parents=True)
    assert seen(APPDATA=str(tmp_path / "roaming"))[-1] == "roaming/Cursor/User"


@pytest.mark.parametrize("variable", ["CURSOR_DATA_DIR", "CURSOR_CONFIG_DIR"])
def test_a_directory_that_a_variable_names_is_read_too(variable: str, tmp_path: Path) -> None:
    Chat(tmp_path / "else", "moved").close()
    adapter = adapter_for(tmp_path, **{variable: str(tmp_path / "else" / ".cursor")})
    assert [source.session_id for source in adapter.sources(lambda problem: None)] == ["moved"]


def test_a_store_that_is_linked_twice_is_read_once(tmp_path: Path) -> None:
    made = Chat(tmp_path)
    made.say("hello", "there")
    made.close()
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "cursor").symlink_to(tmp_path / ".cursor")
    assert len(everything(made.adapter)) == 1


def test_no_home_no_sessions(tmp_path: Path) -> None:
    adapter = adapter_for(tmp_path)
    assert list(adapter.sources(lambda problem: pytest.fail(problem.reason))) == []
    assert adapter.find("x") is None


# The same conversation twice ---------------------------------------------------------------------------------

HELLO = ({"role": "user", "content": [{"type": "text", "text": "<user_query>\nhello\n</user_query>"}]},)
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "there"}]}


def test_a_chat_and_its_transcript_are_one_session(tmp_path: Path) -> None:
    made = Chat(tmp_path)
    made.say("hello", "there")
    path = transcript(tmp_path, "chat-1", *HELLO, ANSWER)
    ((source, summary),) = everything(made.adapter)
    assert (summary.raw["layout"], summary.message_count) == ("chat", 2)
    with path.open("a") as file:
        file.write(json.dumps({"type": "turn_ended", "status": "success"}) + "\n")
    assert made.source().stamp != source.stamp, "a change in either is one of the session"
    helper = path.parent / "subagents" / "chat-1.jsonl"
    helper.parent.mkdir()
    helper.write_text(path.read_text())
    assert len(everything(made.adapter)) == 2, "a helper is a session of its own, whatever its name"
    made.close()


@pytest.mark.parametrize("damage", ["rubbish", "no root", "no blob", "no facts"])
def test_the_transcript_stands_in_for_a_chat_that_cannot_be_read(damage: str, tmp_path: Path) -> None:
    made = Chat(tmp_path)
    made.say("hello", "there")
    path = transcript(tmp_path, "chat-1", *HELLO, ANSWER)
    if damage == "no root":
        made.order = []
        made.commit()
    elif damage == "no blob":
        made.connection.execute("DELETE FROM blobs")
    elif damage == "no facts":
        made.connection.execute("UPDATE meta SET value = 'zz'")
    made.close()
    if damage == "rubbish":
        made.path.write_bytes(b"rubbish" * 1000)
    problems: list[Problem] = []
    ((source, summary),) = everything(made.adapter, problems=problems)
    assert (summary.session_id, summary.raw["layout"], summary.path) == ("chat-1", "transcript", str(path))
    assert {problem.path for problem in problems} == ({str(made.path)} if damage != "no root" else set())
    session = made.adapter.session(source, "chat-1")
    assert [message.content for message in session.messages] == ["hello", "there"]
    assert made.adapter.open(source, "chat-1").messages == list(session.messages)
    assert made.adapter.resume_command(summary) is None


def test_a_conversation_of_the_editor_and_its_transcript_are_one(tmp_path: Path) -> None:
    made = Editor(tmp_path)
    made.bubble("c1", 1, "hello")
    made.bubble("c1", 2, "there")
    made.connection.close()
    path = transcript(tmp_path, "parent", *HELLO)
    helper = path.parent / "subagents" / "c1.jsonl"
    helper.parent.mkdir()
    helper.write_text(path.read_text())
    assert len(everything(made.adapter)) == 3
    found = listed(made.adapter)
    assert found.keys() == {"c1", "parent"}
    assert (found["c1"].raw["layout"], found["c1"].parent_id, found["c1"].kind) == ("composer", "parent", "subagent")
    source = made.adapter.find("c1")
    assert source is not None and source.path == str(made.path)
    by_parts = made.adapter.relate([summary for _, summary in reversed(everything(made.adapter))])
    assert {one.session_id: one.raw["layout"] for one in by_parts}["c1"] == "composer"


@pytest.mark.parametrize("before", ["sessions", "conversations", "agent-sessions"])
def test_of_several_transcripts_of_a_project_the_newest_layout_counts(before: str, tmp_path: Path) -> None:
    path = transcript(tmp_path, "t1", *HELLO, ANSWER)
    folder = path.parents[1]
    (folder / "t1.jsonl").write_text("{}\n")
    (folder / "t1.txt").write_text("user:\nold\n")
    (folder / "t2.jsonl").write_text(path.read_text())
    (folder / "t2.txt").write_text("user:\nold\n")
    (folder / "t3.txt").write_text("user:\nold\n")
    early = tmp_path / ".cursor" / before / "t4.jsonl"
    early.parent.mkdir()
    early.write_text(json.dumps({"role": "user", "content": "said early"}) + "\n")
    found = listed(adapter_for(tmp_path))
    assert {key: (Path(one.path).name, one.message_count) for key, one in found.items()} == {
        "t1": ("t1.jsonl", 2),
        "t2": ("t2.jsonl", 2),
        "t3": ("t3.txt", 1),
        "t4": ("t4.jsonl", 1),
    }
    assert found["t1"].path == str(path)


def test_the_id_is_compared_with_names_and_never_a_path(tmp_path: Path) -> None:
    made = Chat(tmp_path)
    made.say("hello", "there")
    made.close()
    Editor(tmp_path).connection.close()
    for session_id in ("nope", "", "..", "../chat-1", "chat-1/store.db", "%", "'; --", "a\x00b", "\ud800", "c1:b0"):
        assert made.adapter.find(session_id) is None
    source = made.source()
    for read in (made.adapter.session, made.adapter.open):
        with pytest.raises(SessionMissing):
            read(source, "chat-2")


def test_ids_of_helpers_may_hold_line_breaks(tmp_path: Path) -> None:
    """A helper's conversation is named after the call that started it, and that has one in the middle."""
    made = Editor(tmp_path)
    helper = "task-call_1\nfc_2"
    tool = {"name": "task_v2", "toolCallId": "call_1\nfc_2", "rawArgs": "{}", "status": "completed"}
    made.bubble("c1", 1, "delegate")
    made.bubble("c1", 2, toolFormerData=tool)
    made.composer("c1", subComposerIds=[helper])
    made.bubble(helper, 1, "count")
    made.connection.close()
    found = listed(made.adapter)
    assert (found[helper].kind, found[helper].parent_id) == ("subagent", "c1"), "only the parent names it"
    assert get(made.adapter, helper).messages[0].content == "count"
    assert get(made.adapter, "c1").messages[1].tool_calls[0].subagent_id == helper


# Directories -------------------------------------------------------------------------------------------------


def test_where_the_directory_of_a_chat_is_found(tmp_path: Path) -> None:
    """In `meta.json`, in the root, in a project's log that fits, in another session that fits."""
    first, second, third = (Chat(tmp_path, name, cwd=f"/home/dev/{name}") for name in ("one", "two", "three"))
    for made in (first, second, third):
        made.say("x", "y")
    first.beside(cwd="/named/here", title="Named")
    for made in (second, third):
        made.root = lambda order: b"".join(b"\n\x20" + bytes.fromhex(name) for name in order)  # type: ignore[method-assign]
        made.say("z")
    for made in (first, second, third):
        made.close()
    assert {key: one.cwd for key, one in listed(first.adapter).items()} == {
        "one": "/named/here",
        "two": None,
        "three": None,
    }
    path = transcript(tmp_path, "t", *HELLO, project="home-dev-three")
    log = path.parents[2] / "worker.log"
    log.write_text("[info] started\n[info] worker start workspacePath=/home/dev/two pid=1\n")
    found = listed(first.adapter)
    assert (found["two"].cwd, found["t"].cwd) == ("/home/dev/two", "/home/dev/two")
    editor_ = Editor(tmp_path)
    editor_.bubble("c", 1, "x", workspaceProjectDir="/home/dev/three")
    editor_.connection.close()
    log.write_text("no directory\n")
    found = listed(first.adapter)
    assert (found["three"].cwd, found["t"].cwd) == ("/home/dev/three", "/home/dev/three")


def test_where_the_directory_of_a_conversation_of_the_editor_is_found(tmp_path: Path) -> None:
    made = Editor(tmp_path)
    for key in ("named", "headers", "bubble", "remote", "stored", "nowhere"):
        made.bubble(key, 1, key, **({"workspaceUris": ["file:///with%20blank"]} if key == "bubble" else {}))
    made.composer("named", workspaceIdentifier={"uri": {"fsPath": "/named"}})
    uri = "vscode-remote://ssh-remote%2Bbox/home/far"
    made.composer("remote", workspaceIdentifier={"uri": {"external": uri}})
    entry = {"composerId": "headers", "workspaceIdentifier": {"uri": {"fsPath": "/listed"}}}
    made.put("composer.composerHeaders", {"allComposers": [entry, 7, {}]}, "ItemTable")
    made.workspace("w1", "file:///stored", composer__composerData={"allComposers": [{"composerId": "stored"}]})
    made.workspace("w2", "file:///c%3A/win", composer__composerData=[1])
    made.connection.close()
    assert {key: one.cwd for key, one in listed(made.adapter).items()} == {
        "named": "/named",
        "headers": "/listed",
        "bubble": "/with blank",
        "remote": "/home/far",
        "stored": "/stored",
        "nowhere": None,
    }
    assert get(made.adapter, "stored").cwd == "/stored"
    assert get(made.adapter, "bubble").cwd == "/with blank"


def test_a_workspace_of_several_directories_has_none(tmp_path: Path) -> None:
    made = Editor(tmp_path)
    chatdata = {"tabs": [{"tabId": "t", "bubbles": [{"type": "user", "text": "x"}]}, {"tabId": "empty"}, 3]}
    path = made.workspace("w", "file:///x", workbench__panel__aichat__view__aichat__chatdata=chatdata)
    path.with_name("workspace.json").write_text('{"workspace": "file:///x/all.code-workspace"}')
    made.connection.close()
    assert {key: one.cwd for key, one in listed(made.adapter).items()} == {"t": None}
    assert get(made.adapter, "t").messages[0].id == "@0"


# What is no session ------------------------------------------------------------------------------------------


def test_drafts_and_chats_in_which_nothing_was_said_are_not_listed(tmp_path: Path) -> None:
    Chat(tmp_path, "empty").close()
    Chat(tmp_path, "named", name="Named by hand").close()
    made = Editor(tmp_path)
    made.composer("draft")
    made.composer("inline", conversation=[])
    made.connection.close()
    transcript(tmp_path, "silent")
    assert listed(made.adapter).keys() == {"named"}


# Cost of reading ---------------------------------------------------------------------------------------------


def test_finding_opens_nothing(store: Stored, statements: Statements) -> None:
    adapter = adapter_for(store("cursor", "home"))
    METER.reset()
    assert len(list(adapter.sources(lambda problem: None))) == 11
    assert (METER.opened, statements) == (0, [])


def test_a_long_chat_is_listed_by_its_ends(tmp_path: Path, statements: Statements) -> None:
    made = Chat(tmp_path)
    made.add(
        *({**prompt(f"q{n}", n % 60)} if n % 2 == 0 else {"role": "assistant", "content": "a"} for n in range(400))
    )
    made.add({"role": "assistant", "content": "x" * (reader.ROW_LIMIT + 1)})
    made.close()
    statements.clear()
    ((source, summary),) = everything(made.adapter, exact=False)
    assert (summary.message_count, summary.partial, summary.preview) == (401, True, "q0")
    assert len(statements) <= 8
    ran = len(statements)
    (exact,) = made.adapter.summaries(source, lambda problem: pytest.fail(problem.reason), exact=True)
    assert (exact.message_count, exact.partial, exact.turn_count) == (401, False, 200)
    assert len(statements) - ran <= 10
    steps = [step for _, plan in statements for step in plan if "blobs" in step or "meta" in step]
    assert steps and all(step.startswith("SEARCH") for step in steps), "no blob is looked at that is not named"


def test_a_large_row_keeps_a_quick_look_partial_and_is_no_problem(tmp_path: Path) -> None:
    made = Chat(tmp_path)
    made.add(prompt("hello"), {"role": "assistant", "content": "x" * (reader.ROW_LIMIT + 1)})
    made.close()
    problems: list[Problem] = []
    ((_, quick),) = everything(made.adapter, exact=False, problems=problems)
    assert (quick.partial, quick.warnings, quick.message_count, problems) == (True, 0, 2, [])
    ((_, exact),) = everything(made.adapter, problems=problems)
    assert (exact.partial, exact.message_count, problems) == (False, 2, [])


def test_a_long_transcript_is_listed_by_its_ends(tmp_path: Path) -> None:
    path = transcript(tmp_path, "long", *HELLO, *([ANSWER] * 20_000))
    size = path.stat().st_size
    METER.reset()
    adapter = adapter_for(tmp_path)
    ((source, summary),) = everything(adapter, exact=False)
    assert (summary.partial, summary.preview, summary.size) == (True, "hello", size)
    assert METER.bytes <= 48 << 10 < size // 20, "the ends, and the rest of the lines that they cut"
    assert METER.scanned <= size, "the others are passed over once"
    (exact,) = adapter.summaries(source, lambda problem: None, exact=True)
    assert (exact.message_count, exact.partial) == (20_001, False)
    METER.reset()
    assert len(adapter.open(source, "long").messages) > 1000
    assert METER.bytes <= 2 * PAGE + 500, "its last page, looked through once for its beginning, and marks"


def crowd(made: Editor, number: int, bubbles: int = 6) -> None:
    made.connection.execute("BEGIN")
    for index in range(number):
        for turn in range(bubbles):
            made.bubble(f"c{index:03}", 1 + turn % 2, f"{index}-{turn}")
        made.put(f"checkpointId:c{index:03}:x", {"files": []})
    made.connection.execute("COMMIT")


def test_a_quick_list_of_the_editor_asks_for_a_few_bubbles_by_their_keys(
    tmp_path: Path, statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else were read would be reported: it is no JSON."""
    made = Editor(tmp_path)
    crowd(made, 120)
    for index in range(120):
        made.put(f"bubbleId:c{index:03}:b1", "{not JSON")
        made.put(f"bubbleId:c{index:03}:b2", "{not JSON")
    made.connection.close()
    monkeypatch.setattr(database, "FULL_SIZE", 0)
    statements.clear()
    problems: list[Problem] = []
    found = {summary.session_id: summary for _, summary in everything(made.adapter, exact=False, problems=problems)}
    assert (len(found), problems) == (120, [])
    summary = found["c007"]
    assert (summary.partial, summary.message_count, summary.turn_count, summary.preview) == (True, 6, 3, "7-0")
    assert summary.updated_at.second == 5
    assert len([sql for sql, _ in statements if "pragma_table_info" not in sql]) <= 120 + 10
    steps = [step for sql, plan in statements for step in plan if "cursorDiskKV" in step or "ItemTable" in step]
    assert steps and all(step.startswith("SEARCH") for step in steps)
    assert not [sql for sql, _ in statements if "LIKE" in sql or "length(CAST" in sql]
    exact = everything(made.adapter, problems=problems)
    assert {summary.warnings for _, summary in exact} == {2}
    assert (problems[0].place, problems[0].reason) == ("bubbleId:c000:b1", "it is not valid JSON")
    assert (len(problems), problems[-1].reason) == (11, "230 more damaged places")


def test_one_conversation_is_read_without_the_others(
    tmp_path: Path, statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Editor(tmp_path)
    crowd(made, 50)
    made.composer("c010", workspaceIdentifier={"uri": {"fsPath": "/x"}})
    made.connection.close()
    source = made.source()
    statements.clear()
    asked: list[str] = []
    disk = EditorState.disk

    def recorded(self: EditorState, keys: Sequence[str], *more: Any) -> dict[str, StoredValue]:
        asked.extend(keys)
        return disk(self, keys, *more)

    monkeypatch.setattr(EditorState, "disk", recorded)
    assert made.adapter.session(source, "c010").message_count == 6
    made.adapter.open(source, "c010").refresh()
    steps = [step for _, plan in statements for step in plan if "cursorDiskKV" in step or "ItemTable" in step]
    assert steps and all(step.startswith("SEARCH") for step in steps)
    assert asked and {key.split(":")[1] for key in asked} == {"c010"}


def test_the_document_is_listed_by_its_ends(
    store: Stored, statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "FULL_SIZE", 0)
    adapter = adapter_for(store("cursor", "home-spec"))
    found = listed(adapter, exact=False)
    assert {key: (one.message_count, one.preview) for key, one in found.items()} == {
        "1": (4, "list the pears"),
        "2": (2, "untitled chat about apples"),
        "42": (1, "hello from the wal"),
    }
    steps = [step for _, plan in statements for step in plan if step.split()[1] == "messages"]
    assert steps and all(step.startswith("SEARCH") for step in steps)


def test_no_database_is_opened_as_a_plain_file(store: Stored) -> None:
    """Closing such a file would drop this process's locks on it (law 3). Audited in a fresh interpreter."""
    code = """
import sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, arguments: opened.append((event, str(arguments[0]))) if event in
                 ("open", "sqlite3.connect") else None)
from session_adapters.base import Environment
from session_adapters.cursor.adapter import CursorAdapter
adapter = CursorAdapter(Environment(home=Path(sys.argv[1])))
for source in adapter.sources(lambda problem: None):
    for summary in adapter.summaries(source, lambda problem: None):
        adapter.session(adapter.find(summary.session_id), summary.session_id)
        adapter.open(source, summary.session_id).refresh()
adapter.live()
assert [name for _, name in opened if name.endswith("meta.json")]
print([event for event in opened if event[0] != "open" or event[1].endswith((".db", ".vscdb", "-wal", "-shm"))])
"""
    assert run_python(code, store("cursor", "home")).stdout == "[]\n"


def test_descriptors_stay_the_same_over_200_conversations(store: Stored) -> None:
    adapter = adapter_for(store("cursor", "home"))
    found = everything(adapter)
    with nothing_left_open():
        for number in range(200):
            source, summary = found[number % len(found)]
            adapter.open(source, summary.session_id).refresh()


def test_a_summary_does_not_depend_on_what_lies_elsewhere(store: Stored) -> None:
    """The sample as a whole says of each chat what it says alone."""
    home = store("cursor", "home")
    whole = listed(adapter_for(home))
    for source, summary in everything(adapter_for(home)):
        if source.layout == "chat":
            assert replace(whole[summary.session_id], cwd=None) == replace(summary, cwd=None)
    assert (STORES / "cursor").is_dir()
