"""A Hermes conversation that is open while its writer goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from following import swap_spoil_remove
from hermes_store import Store
from session_adapters.base import SessionMissing
from session_adapters.hermes.transcript import HermesTranscript
from session_adapters.model import Problem
from session_adapters.transcript import Change


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "own")
    with closing(made.connection):
        yield made


def follow(own: Store, transcript: HermesTranscript) -> Change:
    """Refresh; afterwards the transcript says what the database says."""
    change = transcript.refresh()
    whole = list(own.get(transcript.session_id).messages)
    assert transcript.messages == whole[len(whole) - len(transcript.messages) :]
    return change


def test_an_open_conversation_follows_its_writer(own: Store) -> None:
    own.session("s", model="m")
    own.session("other")
    transcript = own.open("s")
    assert (transcript.messages, transcript.complete) == ([], True)
    own.say("s", "user", "hello")
    assert follow(own, transcript) == Change(first=0)
    own.say("s", "assistant", "", tool_calls='[{"id": "c", "function": {"name": "ls", "arguments": "{}"}}]')
    assert follow(own, transcript) == Change(first=1)
    own.say("other", "user", "not for us")
    assert follow(own, transcript) == Change()
    own.say("s", "tool", "files", tool_call_id="c")
    assert follow(own, transcript) == Change(first=1)
    assert transcript.messages[1].tool_calls[0].output == "files"
    last = own.say("s", "assistant", "done")
    own.say("s", "user", "more")
    assert follow(own, transcript) == Change(first=3)
    own.connection.execute("UPDATE messages SET active = 0, compacted = 0 WHERE id >= ?", (last,))
    assert follow(own, transcript) == Change(first=3)
    assert transcript.messages[3].visibility == "rewound"
    own.connection.execute("UPDATE messages SET content = 'edited longer' WHERE id = ?", (last,))
    assert follow(own, transcript) == Change(first=3)
    own.connection.execute("DELETE FROM messages WHERE session_id = 's' AND id = 1")
    assert follow(own, transcript) == Change(first=0, rewritten=True)
    kept = list(transcript.messages)
    own.connection.execute("DELETE FROM messages WHERE session_id = 's'")
    own.connection.execute("DELETE FROM sessions WHERE id = 's'")
    assert transcript.refresh() == Change(gone=True)
    assert transcript.messages == kept
    with pytest.raises(SessionMissing):
        own.open("s")
    with pytest.raises(SessionMissing):
        own.adapter.session(next(own.adapter.sources(lambda problem: None)), "s")


def test_only_the_loaded_part_is_followed_and_paging_goes_on(own: Store) -> None:
    own.session("s")
    for number in range(30):
        own.say("s", "user" if number % 2 == 0 else "assistant", str(number))
    transcript = own.open("s", page=5)
    assert [message.content for message in transcript.messages] == ["26", "27", "28", "29"]
    own.say("s", "user", "30")
    assert follow(own, transcript) == Change(first=4)
    own.connection.execute("UPDATE messages SET active = 0 WHERE content = '3'")
    assert follow(own, transcript) == Change()
    while transcript.earlier():
        pass
    assert transcript.complete
    assert transcript.messages == list(own.get("s").messages)
    assert transcript.messages[3].visibility == "rewound"


def test_a_replaced_or_removed_database_is_noticed(own: Store, tmp_path: Path) -> None:
    own.session("s")
    own.say("s", "user", "old")
    transcript = own.open("s")
    other = Store(tmp_path / "other")
    other.session("s")
    other.say("s", "user", "new")
    for made in (own, other):
        made.connection.close()
    swap_spoil_remove(transcript, own.path, other.path)


WRITER = """
import json, sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], timeout=1.0, isolation_level=None)
busy = []
for number in range(300):
    c.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', ?, 1)", (number,))
    if number % 10 == 9:
        busy.append(c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
    time.sleep(0.002)
print(json.dumps(busy))
"""


def test_beside_a_real_writer_nothing_is_lost_and_nobody_waits(own: Store) -> None:
    own.session("s")
    own.connection.close()
    adapter = own.adapter
    transcript = own.open("s")
    (source,) = adapter.sources(lambda problem: None)
    problems: list[Problem] = []
    with subprocess.Popen([sys.executable, "-c", WRITER, str(own.path)], stdout=subprocess.PIPE, text=True) as writer:
        while writer.poll() is None:
            before = len(transcript.messages)
            change = transcript.refresh()
            assert change.first == (before if len(transcript.messages) > before else None)
            assert not change.rewritten
            adapter.summaries(source, problems.append)
        assert writer.stdout is not None
        assert json.loads(writer.stdout.read()) == [0] * 30
    transcript.refresh()
    assert [message.content for message in transcript.messages] == [str(number) for number in range(300)]
    assert [problem for problem in problems if "faster than it can be read" not in problem.reason] == []
