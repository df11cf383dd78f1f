"""A Hector conversation that is open while its writer goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from following import swap_spoil_remove
from hector_store import Store, get
from session_adapters.base import SessionMissing
from session_adapters.hector.transcript import HectorTranscript
from session_adapters.model import Problem
from session_adapters.transcript import Change


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "own")
    with closing(made.connection):
        yield made


def follow(own: Store, transcript: HectorTranscript) -> Change:
    """Refresh; afterwards the transcript says what the database says."""
    change = transcript.refresh()
    whole = list(own.get("s").messages)
    assert transcript.messages == whole[len(whole) - len(transcript.messages) :]
    return change


def test_an_open_conversation_follows_its_writer(own: Store) -> None:
    own.session("s")
    own.session("other")
    transcript = own.open("s")
    assert (transcript.messages, transcript.complete) == ([], True)
    own.say("s", "USER", "hello")
    assert follow(own, transcript) == Change(first=0)
    own.say("s", "AGENT", [{"data": {"data": {"id": "c", "name": "ls"}}}])
    assert follow(own, transcript) == Change(first=1)
    own.say("other", "USER", "not for us")
    assert follow(own, transcript) == Change()
    own.say("s", "AGENT", [{"data": {"data": {"tool_call_id": "c", "content": "files"}}}])
    assert follow(own, transcript) == Change(first=1)
    assert transcript.messages[1].tool_calls[0].output == "files"
    own.say("s", "AGENT", message_json="{torn")
    own.say("s", "USER", "more")
    assert follow(own, transcript) == Change(first=3)
    assert [problem.place for problem in transcript.problems] == ["message 5"]
    last = own.say("s", "USER", "first of two", sequence_num=7)
    own.say("s", "USER", "before it", sequence_num=6)
    assert follow(own, transcript) == Change(first=4)
    assert [message.content for message in transcript.messages[-2:]] == ["before it", "first of two"]
    own.connection.execute("UPDATE session_messages SET message_json = '{\"parts\":[]}' WHERE id = ?", (last,))
    assert follow(own, transcript) == Change(first=5)
    own.session("s", agent="elder", created_at="2020-01-01 00:00:00+00:00")
    assert follow(own, transcript) == Change(first=0), "the rows are now counted with the elder session"
    own.connection.execute("DELETE FROM sessions WHERE agent_id = 'elder'")
    own.connection.execute("DELETE FROM session_messages WHERE id = 1")
    assert follow(own, transcript) == Change(first=0, rewritten=True)
    kept = list(transcript.messages)
    own.connection.execute("DELETE FROM sessions WHERE id = 's'")
    assert transcript.refresh() == Change(gone=True)
    assert transcript.messages == kept
    with pytest.raises(SessionMissing):
        own.open("s")
    assert len(get(own.adapter, "@deleted/s").messages) == len(kept)


def test_only_the_loaded_part_is_followed_and_paging_goes_on(own: Store) -> None:
    own.session("s")
    for number in range(30):
        own.say("s", "USER" if number % 2 == 0 else "AGENT", str(number))
    transcript = own.open("s", page=5)
    assert [message.content for message in transcript.messages] == ["26", "27", "28", "29"]
    own.say("s", "USER", "30")
    assert follow(own, transcript) == Change(first=4)
    own.connection.execute("UPDATE session_messages SET role = 'ROLE_TOOL' WHERE id = 4")
    assert follow(own, transcript) == Change()
    while transcript.earlier():
        pass
    assert transcript.complete
    assert transcript.messages == list(own.get("s").messages)
    own.connection.execute("DELETE FROM session_messages")
    assert follow(own, transcript) == Change(first=0, rewritten=True)


def test_a_cut_off_beginning_that_went_is_read_anew(own: Store) -> None:
    own.session("s")
    for number in range(20):
        own.say("s", "USER", str(number))
    transcript = own.open("s", page=5)
    own.connection.execute("DELETE FROM session_messages WHERE id >= 10")
    assert transcript.earlier() == 0
    assert follow(own, transcript) == Change(first=0, rewritten=True)
    assert [message.content for message in transcript.messages] == ["4", "5", "6", "7", "8"]


def test_a_replaced_or_removed_database_is_noticed(own: Store, tmp_path: Path) -> None:
    own.session("s")
    own.say("s", "USER", "old")
    transcript = own.open("s")
    other = Store(tmp_path / "other")
    other.session("s")
    other.say("s", "USER", "new")
    for made in (own, other):
        made.connection.close()
    swap_spoil_remove(transcript, own.path, other.path)


WRITER = """
import json, sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], timeout=1.0, isolation_level=None)
busy = []
for number in range(200):
    c.execute("BEGIN IMMEDIATE")
    c.execute("INSERT INTO session_messages (session_id, message_id, role, message_json, sequence_num, created_at)"
              " VALUES ('s', '', 'ROLE_USER', ?, ?, '2025-11-03 10:00:00+02:00')",
              (json.dumps({"parts": [{"text": str(number)}]}), number))
    c.execute("UPDATE sessions SET updated_at = '2025-11-03 10:00:00+02:00'")
    c.execute("COMMIT")
    if sys.argv[2] == "WAL" and number % 10 == 9:
        busy.append(c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
    time.sleep(0.003)
print(json.dumps(busy))
"""


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_beside_a_real_writer_nothing_is_lost_and_nobody_waits(mode: str, tmp_path: Path) -> None:
    """Hector kept a rollback journal until the end of November 2025, and a log since."""
    made = Store(tmp_path, mode=mode)
    made.session("s")
    made.connection.close()
    transcript = made.open("s")
    (source,) = made.adapter.sources(lambda problem: None)
    problems: list[Problem] = []
    argv: list[Any] = [sys.executable, "-c", WRITER, str(made.path), mode]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as writer:
        while writer.poll() is None:
            before = len(transcript.messages)
            change = transcript.refresh()
            assert change.first == (before if len(transcript.messages) > before else None)
            assert not change.rewritten
            made.adapter.summaries(source, problems.append)
        assert writer.returncode == 0
        assert writer.stdout is not None
        assert json.loads(writer.stdout.read()) == ([0] * 20 if mode == "WAL" else [])
    transcript.refresh()
    assert [message.content for message in transcript.messages] == [str(number) for number in range(200)]
    assert [problem for problem in problems if "faster than it can be read" not in problem.reason] == []
