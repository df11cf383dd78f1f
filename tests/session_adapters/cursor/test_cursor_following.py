"""A Cursor conversation that is open while its writer goes on."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cursor_store import Chat, Editor, adapter_for, get, prompt, transcript
from databases import tree
from session_adapters.base import Adapter, SessionMissing
from session_adapters.cursor.chat_store.reader import ChatShelf
from session_adapters.cursor.document import CursorDocumentStore
from session_adapters.cursor.editor_store import composers
from session_adapters.cursor.editor_store.database import EditorShelf
from session_adapters.cursor.facts import CursorTranscript
from session_adapters.model import Problem
from session_adapters.transcript import Change, Transcript, first_difference
from support import STORES

Stored = Callable[..., Path]


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    made = Chat(tmp_path)
    with closing(made.connection):
        yield made


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    made = Editor(tmp_path)
    with closing(made.connection):
        yield made


def follow(adapter: Adapter, transcript: Transcript) -> Change:
    """Refresh; afterwards the transcript says what the store says."""
    before = list(transcript.messages)
    change = transcript.refresh()
    source = adapter.find(transcript.session_id)
    assert source is not None
    whole = list(adapter.session(source, transcript.session_id).messages)
    if transcript.complete:
        assert transcript.messages == whole
    else:
        # A result whose call is not loaded is linked once it is.
        assert [one.id for one in transcript.messages] == [one.id for one in whole][-len(transcript.messages) :]
    if not change.rewritten:
        assert change.first == first_difference(before, transcript.messages)
    assert transcript.refresh() == Change(), "our own reading is no change"
    return change


def call(key: str) -> dict[str, object]:
    part = {"type": "tool-call", "toolCallId": key, "toolName": "Shell", "args": {"command": "ls"}}
    return {"role": "assistant", "content": [part]}


def answer(key: str, text: str) -> dict[str, object]:
    part = {"type": "tool-result", "toolCallId": key, "toolName": "Shell", "result": text}
    return {"role": "tool", "content": [part]}


# The CLI's chats ---------------------------------------------------------------------------------------------


def test_an_open_chat_follows_its_writer(chat: Chat) -> None:
    opened = chat.adapter.open(chat.source(), "chat-1")
    assert (opened.messages, opened.complete) == ([], True)
    chat.add(prompt("hello"))
    assert follow(chat.adapter, opened) == Change(first=0)
    chat.add(call("c\n1"))
    assert follow(chat.adapter, opened) == Change(first=1)
    assert opened.messages[1].tool_calls[0].output is None
    chat.add(answer("c\n1", "files"))
    assert follow(chat.adapter, opened) == Change(first=1), "the call has its result"
    assert opened.messages[1].tool_calls[0].output == "files"
    chat.blob(b'{"role": "assistant", "content": "superseded"}')
    assert follow(chat.adapter, opened) == Change()
    chat.add(prompt("again", 3), prompt("again", 3))
    assert follow(chat.adapter, opened) == Change(first=3)
    assert [message.content for message in opened.messages[3:]] == ["again", "again"]
    assert len({message.id for message in opened.messages}) == 5
    chat.order = chat.order[:3]
    chat.commit()
    assert follow(chat.adapter, opened) == Change(first=0, rewritten=True)
    assert len(opened.messages) == 3
    kept = list(opened.messages)
    chat.connection.close()
    for path in chat.path.parent.iterdir():
        path.unlink()
    assert opened.refresh() == Change(gone=True)
    assert opened.messages == kept


@pytest.mark.parametrize("page", [1, 3])
def test_results_find_their_calls_when_the_page_before_is_loaded(page: int, chat: Chat) -> None:
    for number in range(6):
        chat.add(prompt(str(number), number), call(f"c{number}"), answer(f"c{number}", f"r{number}"))
    opened = CursorTranscript("cursor", ChatShelf(str(chat.path)), "chat-1", page=page)
    chat.add(prompt("more", 30))
    assert follow(chat.adapter, opened).first == page
    while opened.earlier():
        pass
    assert opened.complete
    assert opened.messages == list(get(chat.adapter, "chat-1").messages)
    assert [one.tool_calls[0].output for one in opened.messages if one.tool_calls] == [f"r{n}" for n in range(6)]


def test_a_conversation_of_which_the_beginning_went_is_read_anew(chat: Chat) -> None:
    chat.say("1", "2", "3", "4")
    opened = CursorTranscript("cursor", ChatShelf(str(chat.path)), "chat-1", page=2)
    chat.order = [chat.blob(b'{"role": "user", "content": "summed up"}')]
    chat.commit()
    assert follow(chat.adapter, opened) == Change(first=0, rewritten=True)
    assert [message.content for message in opened.messages] == ["summed up"]
    assert opened.earlier() == 0


def test_damage_that_is_mended_is_no_longer_reported(chat: Chat) -> None:
    chat.say("one", "two")
    name = chat.order[1]
    (whole,) = chat.connection.execute("SELECT data FROM blobs WHERE id = ?", (name,)).fetchone()
    chat.connection.execute("DELETE FROM blobs WHERE id = ?", (name,))
    opened = chat.adapter.open(chat.source(), "chat-1")
    assert [(one.place, one.reason) for one in opened.problems] == [(f"blob {name}", "it is not in the database")]
    chat.connection.execute("INSERT INTO blobs VALUES (?, ?)", (name, whole))
    chat.say("three")
    opened = chat.adapter.open(chat.source(), "chat-1")
    assert opened.problems == []
    assert [message.content for message in opened.messages] == ["one", "two", "three"]


def test_a_replaced_or_damaged_database_is_noticed(chat: Chat, tmp_path: Path) -> None:
    chat.say("old")
    opened = chat.adapter.open(chat.source(), "chat-1")
    other = Chat(tmp_path / "other")
    other.say("new")
    for made in (chat, other):
        made.connection.close()
    other.path.replace(chat.path)
    assert opened.refresh() == Change(first=0, rewritten=True)
    assert [message.content for message in opened.messages] == ["new"]
    chat.path.write_bytes(b"rubbish" * 1000)
    for _ in range(2):
        assert opened.refresh() == Change()
        assert ["not an SQLite database" in problem.reason for problem in opened.problems] == [True]
    chat.path.unlink()
    assert opened.refresh() == Change(gone=True)


# The editor --------------------------------------------------------------------------------------------------


def test_bubbles_that_are_written_again_are_followed(editor: Editor) -> None:
    editor.bubble("c1", 1, "hello")
    editor.bubble("c2", 1, "other")
    opened = editor.adapter.open(editor.source(), "c1")
    editor.bubble("c1", 2, "Let")
    assert follow(editor.adapter, opened) == Change(first=1)
    tool = {"name": "shell", "toolCallId": "t", "status": "completed", "rawArgs": "{}", "result": '"abc"'}
    for text, values in (("Let me", {}), ("Let he", {}), ("", {"toolFormerData": tool})):
        editor.put("bubbleId:c1:b1", {"type": 2, "text": text, **values})
        assert follow(editor.adapter, opened) == Change(first=1)
        assert opened.messages[1].content == text
    editor.put("bubbleId:c1:b1", {"type": 2, "text": "", "toolFormerData": tool | {"status": "cancelled"}})
    assert opened.refresh() == Change(), "the same length, and nothing that is shown is different"
    editor.bubble("c2", 2, "not for us")
    assert follow(editor.adapter, opened) == Change()
    editor.headers["c1"].append({"bubbleId": "late", "type": 1})
    editor.composer("c1")
    assert follow(editor.adapter, opened) == Change(), "it is named and not yet there"
    editor.put("bubbleId:c1:late", {"type": 1, "text": "now"})
    assert follow(editor.adapter, opened) == Change(first=2)
    editor.headers["c1"] = editor.headers["c1"][:1]
    editor.composer("c1")
    assert follow(editor.adapter, opened) == Change(first=0, rewritten=True)
    editor.put("composerData:c1", None)
    assert opened.refresh() == Change(gone=True)
    with pytest.raises(SessionMissing):
        editor.adapter.open(editor.source(), "c1")


def test_an_old_bubble_that_grew_is_read_again(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composers, "NEWEST", 2)
    for number in range(10):
        editor.bubble("c1", 1 + number % 2, f"text {number}")
    opened = CursorTranscript("cursor", EditorShelf(str(editor.path), str(editor.user)), "c1", page=4)
    editor.bubble("c1", 1, "more")
    assert follow(editor.adapter, opened) == Change(first=4)
    editor.put("bubbleId:c1:b7", {"type": 2, "text": "a longer text 7"})
    assert follow(editor.adapter, opened) == Change(first=1)
    editor.put("bubbleId:c1:b0", {"type": 1, "text": "not loaded"})
    assert follow(editor.adapter, opened) == Change()
    while opened.earlier():
        pass
    assert opened.messages == list(get(editor.adapter, "c1").messages)
    assert opened.messages[0].content == "not loaded"


# The document ------------------------------------------------------------------------------------------------


def test_rows_of_the_document_are_followed(store: Stored) -> None:
    home = store("cursor", "home-spec")
    path = home / ".cursor" / "sessions" / "sessions.db"
    adapter = adapter_for(home)
    opened = CursorTranscript("cursor", CursorDocumentStore(str(path)), "1", page=2)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        insert = "INSERT INTO messages (session_id, role, content, created_at) VALUES (?, 'user', ?, 1785000009000)"
        connection.execute(insert, (1, "more"))
        assert follow(adapter, opened) == Change(first=2)
        connection.execute("UPDATE messages SET content = 'much more' WHERE content = 'more'")
        assert follow(adapter, opened) == Change(first=2)
        connection.execute(insert, (2, "not for us"))
        assert follow(adapter, opened) == Change()
        while opened.earlier():
            pass
        assert opened.messages == list(get(adapter, "1").messages)
        connection.execute("DELETE FROM sessions WHERE id = 1")
        assert opened.refresh() == Change(gone=True)


# Transcripts -------------------------------------------------------------------------------------------------


def test_a_transcript_is_followed_line_by_line(tmp_path: Path) -> None:
    (sample,) = (STORES / "cursor" / "home").rglob("af5570ee*.jsonl")
    path = transcript(tmp_path, "t1")
    lines = sample.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0])
    adapter = adapter_for(tmp_path)
    source = adapter.find("t1")
    assert source is not None
    opened = adapter.open(source, "t1")
    for line in lines[1:]:
        for part in (line[: len(line) // 2], line[len(line) // 2 :]):
            with path.open("ab") as file:
                file.write(part)
            opened.refresh()
            assert opened.messages == list(get(adapter, "t1").messages)
    assert [message.content for message in opened.messages] == [
        "transcript only chat about apples", "Delegating.", "Three.", "stop here", "Stopping", "User aborted request",
    ]  # fmt: skip
    path.unlink()
    assert opened.refresh() == Change(gone=True)


def test_a_transcript_in_plain_text_is_followed(tmp_path: Path) -> None:
    (sample,) = (STORES / "cursor" / "home").rglob("*.txt")
    path = tmp_path / ".cursor" / "projects" / "p" / "agent-transcripts" / "t.txt"
    path.parent.mkdir(parents=True)
    adapter = adapter_for(tmp_path)
    whole = sample.read_text().splitlines(keepends=True)
    path.write_text(whole[0])
    source = adapter.find("t")
    assert source is not None
    opened = adapter.open(source, "t")
    for number in range(2, len(whole) + 1):
        path.write_text("".join(whole[:number]))
        opened.refresh()
        assert opened.messages == list(get(adapter, "t").messages)
    assert len(opened.messages) == 4


# Beside a writer ---------------------------------------------------------------------------------------------

WRITER = """
import hashlib, json, sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], timeout=1.0, isolation_level=None)
order, busy = b"", []
for number in range(200):
    data = json.dumps({"role": "user", "content": str(number)}).encode()
    name = hashlib.sha256(data).digest()
    order += b"\\n\\x20" + name
    root = hashlib.sha256(order).hexdigest()
    facts = json.dumps({"latestRootBlobId": root, "createdAt": 1790000000000}).encode().hex()
    c.execute("BEGIN IMMEDIATE")
    c.execute("INSERT INTO blobs VALUES (?, ?)", (name.hex(), data))
    c.execute("INSERT INTO blobs VALUES (?, ?)", (root, order))
    c.execute("INSERT OR REPLACE INTO meta VALUES ('0', ?)", (facts,))
    c.execute("COMMIT")
    if number % 10 == 9:
        busy.append(c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
    time.sleep(0.002)
print(json.dumps(busy))
"""


def test_beside_a_real_writer_nothing_is_lost_and_nobody_waits(chat: Chat) -> None:
    chat.connection.close()
    opened = chat.adapter.open(chat.source(), "chat-1")
    source = chat.source()
    problems: list[Problem] = []
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(chat.path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        while writer.poll() is None:
            before = len(opened.messages)
            change = opened.refresh()
            assert not change.rewritten and len(opened.messages) >= before
            chat.adapter.summaries(source, problems.append)
        assert writer.stdout is not None
        assert json.loads(writer.stdout.read()) == [0] * 20
    opened.refresh()
    assert [message.content for message in opened.messages] == [str(number) for number in range(200)]
    assert [problem for problem in problems if "faster than it can be read" not in problem.reason] == []


EDITING = """
import json, sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], timeout=1.0, isolation_level=None)
headers, busy = [], []
for number in range(100):
    headers.append({"bubbleId": f"b{number}", "type": 1})
    c.execute("BEGIN IMMEDIATE")
    c.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (f"bubbleId:c1:b{number}", json.dumps({"type": 1, "text": str(number)})))
    c.execute("INSERT INTO cursorDiskKV VALUES ('composerData:c1', ?)", (json.dumps({"fullConversationHeadersOnly": headers}),))
    c.execute("COMMIT")
    if number % 10 == 9:
        busy.append(c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
    time.sleep(0.002)
print(json.dumps(busy))
"""  # noqa: E501


def test_beside_the_editor_nobody_waits(editor: Editor) -> None:
    """A reader that held its locks has made Cursor crash."""
    editor.composer("c1", conversation=[{"bubbleId": "x", "type": 1, "text": "first"}])
    editor.connection.close()
    opened = editor.adapter.open(editor.source(), "c1")
    source = editor.source()
    problems: list[Problem] = []
    with subprocess.Popen(
        [sys.executable, "-c", EDITING, str(editor.path)], stdout=subprocess.PIPE, text=True
    ) as one:
        while one.poll() is None:
            opened.refresh()
            editor.adapter.summaries(source, problems.append)
        assert one.stdout is not None
        assert json.loads(one.stdout.read()) == [0] * 10
    opened.refresh()
    assert [message.content for message in opened.messages] == [str(number) for number in range(100)]
    assert [problem for problem in problems if "faster than it can be read" not in problem.reason] == []


def test_following_leaves_no_trace(store: Stored) -> None:
    home = store("cursor", "home")
    before = tree(home)
    adapter = adapter_for(home)
    for source in adapter.sources(lambda problem: None):
        for summary in adapter.summaries(source, lambda problem: None):
            opened = adapter.open(source, summary.session_id)
            for _ in range(3):
                opened.refresh()
    assert tree(home) == before
