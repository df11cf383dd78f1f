"""An OpenCode conversation that is open while its writer goes on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from databases import tree
from opencode_store import Store, adapter_for, get
from plain_opencode import data_folder
from session_adapters.base import SessionMissing
from session_adapters.model import Problem
from session_adapters.opencode.database import OpenCodeDatabase
from session_adapters.opencode.transcript import OpenCodeTranscript
from session_adapters.opencode.trees import TreeShelf
from session_adapters.transcript import Change, Transcript, first_difference

Stored = Callable[..., Path]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "own", sample="home-v2")
    with closing(made.connection):
        yield made


def follow(own: Store, transcript: Transcript) -> Change:
    """Refresh; afterwards the transcript says what the database says."""
    before = list(transcript.messages)
    change = transcript.refresh()
    whole = list(own.get(transcript.session_id).messages)
    assert transcript.messages == whole[len(whole) - len(transcript.messages) :]
    if not change.rewritten:
        assert change.first == first_difference(before, transcript.messages)
    assert transcript.refresh() == Change(), "our own reading is no change"
    return change


def test_an_open_conversation_follows_its_writer(own: Store) -> None:
    own.session("ses_1")
    own.session("ses_2")
    transcript = own.open("ses_1")
    assert (transcript.messages, transcript.complete) == ([], True)
    own.say("ses_1", "user", "hello")
    assert follow(own, transcript) == Change(first=0)
    answer = own.message("ses_1", "assistant", modelID="m")
    own.part("ses_1", answer, type="step-start")
    assert follow(own, transcript) == Change(first=1)
    text = own.part("ses_1", answer, type="text", text="Let")
    assert follow(own, transcript) == Change(first=1)
    own.connection.execute("UPDATE part SET data = json_set(data, '$.text', 'Let me see') WHERE id = ?", (text,))
    assert follow(own, transcript) == Change(first=1)
    assert transcript.messages[1].content == "Let me see"
    state = {"status": "running", "input": {"command": "ls"}, "time": {"start": 5}}
    call = own.part("ses_1", answer, type="tool", tool="bash", callID="c", state=state)
    assert follow(own, transcript) == Change(first=1)
    assert transcript.messages[1].tool_calls[0].output is None
    state |= {"status": "completed", "output": "files", "time": {"start": 5, "end": 25}}
    own.connection.execute(
        "UPDATE part SET data = json_set(data, '$.state', json(?)) WHERE id = ?", (json.dumps(state), call)
    )
    assert follow(own, transcript) == Change(first=1)
    done = transcript.messages[1].tool_calls[0]
    assert (done.output, done.duration_ms) == ("files", 20)
    own.say("ses_2", "user", "not for us")
    assert follow(own, transcript) == Change()
    undone = own.say("ses_1", "user", "more")
    own.say("ses_1", "assistant", "yes")
    assert follow(own, transcript) == Change(first=2)
    own.connection.execute("UPDATE session SET revert = ? WHERE id = 'ses_1'", (json.dumps({"messageID": undone}),))
    assert follow(own, transcript) == Change(first=2)
    assert [message.visibility for message in transcript.messages] == ["live", "live", "rewound", "rewound"]
    own.connection.execute("UPDATE session SET revert = NULL WHERE id = 'ses_1'")
    own.connection.execute("DELETE FROM message WHERE session_id = 'ses_1' AND id >= ?", (undone,))
    assert follow(own, transcript) == Change(first=0, rewritten=True)
    assert len(transcript.messages) == 2
    kept = list(transcript.messages)
    own.connection.execute("DELETE FROM session WHERE id = 'ses_1'")
    assert transcript.refresh() == Change(gone=True)
    assert transcript.messages == kept
    with pytest.raises(SessionMissing):
        own.open("ses_1")


def test_rows_of_the_second_generation_are_followed_where_they_are_changed_in_place(own: Store) -> None:
    own.session("ses_1", table="session_v2")
    own.entry("ses_1", "user", 1, text="hello")
    transcript = own.open("ses_1")
    answer = own.entry("ses_1", "assistant", 5, content=[{"type": "text", "text": "a"}], model={"id": "m"})
    assert follow(own, transcript) == Change(first=1)
    longer = json.dumps({"content": [{"type": "text", "text": "a and b"}], "model": {"id": "m"}})
    own.connection.execute("UPDATE session_message SET data = ? WHERE id = ?", (longer, answer))
    assert follow(own, transcript) == Change(first=1)
    assert transcript.messages[1].content == "a and b"


def test_a_session_of_both_interfaces_is_one_conversation(own: Store) -> None:
    own.session("ses_1")
    own.say("ses_1", "user", "typed")
    own.say("ses_1", "assistant", "answered")
    transcript = own.open("ses_1")
    own.entry("ses_1", "user", 1, text="sent")
    assert follow(own, transcript) == Change(first=2)
    own.say("ses_1", "user", "typed again")
    assert follow(own, transcript) == Change(first=3)
    assert [message.content for message in transcript.messages] == ["typed", "answered", "sent", "typed again"]


def test_only_the_loaded_part_is_followed_and_paging_goes_on(own: Store) -> None:
    own.session("ses_1")
    keys = [own.say("ses_1", "user" if number % 2 == 0 else "assistant", str(number)) for number in range(30)]
    transcript = OpenCodeTranscript(OpenCodeDatabase(str(own.path)), "ses_1", page=5)
    assert [message.content for message in transcript.messages] == ["25", "26", "27", "28", "29"]
    own.say("ses_1", "user", "30")
    assert follow(own, transcript) == Change(first=5)
    own.connection.execute("UPDATE part SET data = json_set(data, '$.text', 'x') WHERE message_id = ?", (keys[3],))
    assert follow(own, transcript) == Change()
    own.connection.execute("DELETE FROM message WHERE id = ?", (keys[25],))
    assert follow(own, transcript) == Change(first=0, rewritten=True)
    while transcript.earlier():
        pass
    assert transcript.complete
    assert transcript.messages == list(own.get("ses_1").messages)
    assert transcript.messages[3].content == "x"


def test_a_replaced_or_removed_database_is_noticed(own: Store, tmp_path: Path) -> None:
    own.session("ses_1")
    own.say("ses_1", "user", "old")
    transcript = own.open("ses_1")
    other = Store(tmp_path / "other")
    other.session("ses_1")
    other.message("ses_1", "user", "msg_other")
    other.part("ses_1", "msg_other", type="text", text="new")
    for made in (own, other):
        made.connection.close()
    other.path.replace(own.path)
    assert transcript.refresh() == Change(first=0, rewritten=True)
    assert [message.content for message in transcript.messages] == ["new"]
    own.path.write_bytes(b"rubbish" * 1000)
    for _ in range(2):
        assert transcript.refresh() == Change()
        assert ["not an SQLite database" in problem.reason for problem in transcript.problems] == [True]
    own.path.unlink()
    assert transcript.refresh() == Change(gone=True)
    assert [message.content for message in transcript.messages] == ["new"]


def test_damage_that_is_mended_is_no_longer_reported(own: Store) -> None:
    own.session("ses_1")
    own.say("ses_1", "user", "one")
    broken = own.say("ses_1", "assistant", "two")
    whole = own.connection.execute("SELECT data FROM message WHERE id = ?", (broken,)).fetchone()[0]
    own.connection.execute("UPDATE message SET data = '{' WHERE id = ?", (broken,))
    transcript = own.open("ses_1")
    assert [(problem.place, problem.reason) for problem in transcript.problems] == [
        (f"message {broken}", "its content is not valid JSON")
    ]
    assert [message.content for message in transcript.messages] == ["one"]
    own.connection.execute("UPDATE message SET data = ? WHERE id = ?", (whole, broken))
    assert follow(own, transcript) == Change(first=1)
    assert transcript.problems == []


def test_a_tree_written_file_by_file_is_followed(tmp_path: Path, store: Stored) -> None:
    """The files of a sample come one by one, as 1.1 wrote them: a message, then its parts."""
    session_id = "ses_e02c7c556ffe2ekpDgwQRVEy8l"
    sample = store("opencode", "home-json-1.1")
    source = data_folder(sample) / "storage"
    home = tmp_path / "home"
    target = data_folder(home) / "storage"
    (info,) = source.glob(f"session/*/{session_id}.json")
    shutil.copytree(info.parent, target / info.parent.relative_to(source))
    shell = TreeShelf(str(target / info.relative_to(source)))
    transcript = OpenCodeTranscript(shell, session_id)
    adapter = adapter_for(home)
    steps = 0
    for message in sorted((source / "message" / session_id).iterdir()):
        for path in (message, *sorted((source / "part" / message.stem).iterdir())):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            content = path.read_bytes()
            for length in (0, len(content) // 2, len(content)):  # not every write was atomic
                copy.write_bytes(content[:length])
                transcript.refresh()
                assert transcript.messages == list(get(adapter, session_id).messages)
                steps += 1
    assert steps == 3 * 45
    assert transcript.problems == []
    assert transcript.messages == list(get(adapter_for(sample), session_id).messages)
    shutil.rmtree(data_folder(home))
    assert transcript.refresh() == Change(gone=True)
    assert len(transcript.messages) == 10


WRITER = """
import json, sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], timeout=1.0, isolation_level=None)
busy = []
for number in range(200):
    key, when = f"msg_{number:04}", 1790000000000 + number
    c.execute("INSERT INTO message VALUES (?, 'ses_1', ?, ?, ?)", (key, when, when, '{"role": "user"}'))
    c.execute("INSERT INTO part VALUES (?, ?, 'ses_1', ?, ?, ?)",
              (f"prt_{number:04}", key, when, when, json.dumps({"type": "text", "text": str(number)})))
    if number % 10 == 9:
        busy.append(c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
    time.sleep(0.002)
print(json.dumps(busy))
"""


def test_beside_a_real_writer_nothing_is_lost_and_nobody_waits(own: Store) -> None:
    own.session("ses_1")
    own.connection.close()
    transcript = own.open("ses_1")
    source = own.source()
    problems: list[Problem] = []
    with subprocess.Popen([sys.executable, "-c", WRITER, str(own.path)], stdout=subprocess.PIPE, text=True) as writer:
        while writer.poll() is None:
            before = len(transcript.messages)
            change = transcript.refresh()
            assert not change.rewritten and len(transcript.messages) >= before
            own.adapter.summaries(source, problems.append)
        assert writer.stdout is not None
        assert json.loads(writer.stdout.read()) == [0] * 20
    transcript.refresh()
    assert [message.content for message in transcript.messages] == [str(number) for number in range(200)]
    assert [problem for problem in problems if "faster than it can be read" not in problem.reason] == []


def test_following_leaves_no_trace(store: Stored) -> None:
    home = store("opencode", "home")
    before = tree(home)
    transcript = adapter_for(home).open(
        next(adapter_for(home).sources(lambda problem: None)), "ses_e02c9033cffeNe6jHnW6DuReQN"
    )
    for _ in range(3):
        transcript.refresh()
    assert tree(home) == before
