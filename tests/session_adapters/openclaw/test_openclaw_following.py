"""An OpenClaw conversation that is open while its writer goes on, in pages; what reading costs and leaves behind."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from databases import (
    crashed_writer,
    nothing_left_open,
    opened_as_files,
    run_python,
    shared_folder,
    tree,
    unprivileged,
)
from openclaw_store import Database, adapter_for, event, everything, folder_of, get, header, listed, place, reply
from plain_openclaw import HOMES, database_of
from session_adapters.base import SessionMissing
from session_adapters.model import Message, Problem
from session_adapters.openclaw import listing
from session_adapters.openclaw.adapter import ClawTranscript, OpenClawAdapter
from session_adapters.openclaw.database.event_stores import ClawDatabaseStore, RowStore
from session_adapters.openclaw.rules import ClawFile
from session_adapters.reading.files import METER
from session_adapters.transcript import Change, Transcript, first_difference
from session_adapters.tree import file as tree_file

Stored = Callable[..., Path]
Statements = list[tuple[str, list[str]]]
LAYOUTS = ("home", "home-files-2026.3", "home-clawdbot", "home-spec")
REWOUND = "agent:main:dashboard:6c23f974-ceb7-4ec3-9dab-7dd27267ee73"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "own")
    with closing(made.connection):
        yield made


def opened(adapter: OpenClawAdapter, session_id: str) -> ClawTranscript:
    source = adapter.find(session_id)
    assert source is not None, session_id
    return adapter.open(source, session_id)


def whole(transcript: Transcript) -> list[Message]:
    while transcript.earlier():
        pass
    assert transcript.complete
    return transcript.messages


# Pages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", LAYOUTS)
@pytest.mark.parametrize("page", [1, 900, 4000])
def test_pages_put_together_are_the_session(home: str, page: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session_adapters.openclaw.adapter.PAGE", page)
    adapter = adapter_for(HOMES / home)
    for session_id in listed(adapter, problems=[]):
        source = adapter.find(session_id)
        assert source is not None
        transcript = adapter.open(source, session_id)
        parts = len(transcript.messages)
        assert transcript.messages == transcript.messages[-parts:]
        assert whole(transcript) == list(adapter.session(source, session_id).messages)


def test_a_page_is_a_part(own: Database) -> None:
    own.key("k", "s")
    for number in range(100):
        own.write("s", *turn(number))
    transcript = ClawTranscript(
        "k", str(own.path), lambda: RowStore(ClawDatabaseStore(str(own.path), "k")), page=2000
    )
    assert 2 <= len(transcript.messages) < 50 and not transcript.complete
    assert len(whole(transcript)) == 200


def turn(number: int) -> tuple[dict[str, Any], ...]:
    before = f"b{number - 1}" if number else None
    return (event(f"a{number}", before, f"q {number}", at=number), reply(f"b{number}", f"a{number}", at=number + 0.5))


# Following ---------------------------------------------------------------------------------------------------


def follow(transcript: Transcript, fresh: Callable[[], Transcript]) -> Change:
    """Refresh; afterwards the transcript is as if it had been opened now."""
    before = list(transcript.messages)
    change = transcript.refresh()
    now = whole(fresh())
    assert transcript.messages == now[len(now) - len(transcript.messages) :]
    if not change.rewritten:
        assert change.first == first_difference(before, transcript.messages)
    assert transcript.refresh() == Change(), "our own reading is no change"
    return change


def test_a_file_that_grows_line_by_line(tmp_path: Path) -> None:
    for sample in sorted(
        (HOMES / "home-files-2026.3" / ".openclaw" / "agents" / "main" / "sessions").glob("*.jsonl")
    ):
        path = tmp_path / sample.name
        data = sample.read_bytes().splitlines(keepends=True)
        path.write_bytes(data[0])
        transcript = ClawTranscript("s", str(path), lambda path=path: ClawFile([str(path)]))  # type: ignore[misc]
        for line in data[1:]:
            with path.open("ab") as file:
                file.write(line[: len(line) // 2])
                file.flush()
                transcript.refresh()
                file.write(line[len(line) // 2 :])
            transcript.refresh()
        complete = ClawTranscript("s", str(sample), lambda sample=sample: ClawFile([str(sample)]))  # type: ignore[misc]
        assert transcript.messages == complete.messages, sample.name


@pytest.mark.parametrize("failing", range(10))
@pytest.mark.parametrize("layout", ["database", "file"])
def test_what_cannot_be_read_for_a_moment_is_read_later(
    layout: str, failing: int, own: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever read fails, of a busy database or a file on a network: nothing is lost, and nothing there twice."""
    turns = [one for number in range(301) for one in turn(number)]  # several reads, one of which fails
    place_of: Any
    if layout == "database":
        own.key("k", "s")
        own.write("s", *turns[:2])
        transcript, place_of, name = opened(own.adapter, "k"), ClawDatabaseStore, "rows"
    else:
        path = place(folder_of(own.home), "s.jsonl", header("s"), *turns[:2])
        transcript, place_of, name = opened(adapter_for(own.home), "s"), tree_file, "open_file"
    read, calls = getattr(place_of, name), 0

    def once(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == failing + 1:
            raise OSError("it changes faster than it can be read")
        return read(*given)

    monkeypatch.setattr(place_of, name, once)
    for part in (turns[2:520], turns[520:]):
        if layout == "database":
            own.connection.execute("BEGIN")
            own.write("s", *part)
            own.connection.execute("COMMIT")
        else:
            with path.open("ab") as file:
                file.write(b"".join(json.dumps(one).encode() + b"\n" for one in part))
        for _ in range(2):
            assert not transcript.refresh().rewritten
    assert calls > failing
    assert [message.id for message in transcript.messages] == [one["id"] for one in turns]


def test_facts_of_a_result_that_comes_later(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c", "name": "sessions_spawn", "arguments": {}}
    asked = event("b", "a", role="assistant", content=[call])
    details = {"durationMs": 12, "childSessionKey": "agent:main:subagent:1", "exitCode": 0}
    result = event("c", "b", "done", "toolResult", toolCallId="c", toolName="sessions_spawn", details=details)
    path = place(folder_of(tmp_path), "s.jsonl", header("s"), event("a", None), asked)
    transcript = opened(adapter_for(tmp_path), "s")
    with path.open("ab") as file:
        file.write(json.dumps(result).encode() + b"\n")
    assert transcript.refresh() == Change(first=1)
    done = transcript.messages[1].tool_calls[0]
    assert (done.output, done.duration_ms, done.subagent_id) == ("done", 12, "agent:main:subagent:1")
    assert transcript.messages == list(get(adapter_for(tmp_path), "s").messages)


def test_a_database_row_by_row(own: Database) -> None:
    own.key("k", "s")
    own.key("other", "o")
    transcript = opened(own.adapter, "k")

    def fresh() -> Transcript:
        return opened(own.adapter, "k")

    assert (transcript.messages, transcript.complete) == ([], True)
    own.write("s", header("s"))
    assert follow(transcript, fresh) == Change()
    own.write("s", event("a", None))
    assert follow(transcript, fresh) == Change(first=0)
    own.write("s", reply("b", "a"), event("c", "b"))
    assert follow(transcript, fresh) == Change(first=1)
    own.write("o", header("o"), event("x", None))
    assert follow(transcript, fresh) == Change(), "another session's"
    pointer = {"type": "leaf", "id": "p", "parentId": "c", "timestamp": "2026-11-21T00:00:09Z", "targetId": "b"}
    own.write("s", pointer)
    assert follow(transcript, fresh).first == 2
    assert [message.id for message in transcript.messages] == ["a", "b"]
    own.write("s", event("d", "p"))
    follow(transcript, fresh)
    assert [message.id for message in transcript.messages] == ["a", "b", "d"]
    assert len(transcript.branches) == 2
    longer = json.dumps(event("d", "p", "written again"))
    own.connection.execute(
        "UPDATE transcript_events SET event_json = ? WHERE session_id = 's' AND seq = 5", (longer,)
    )
    assert follow(transcript, fresh).rewritten
    assert transcript.messages[-1].content == "written again"
    same = json.dumps(event("d", "p", "written AGAIN"))
    own.connection.execute("UPDATE transcript_events SET event_json = ? WHERE session_id = 's' AND seq = 5", (same,))
    own.insert("transcript_rewrite_watermarks", session_id="s", generation="2", updated_at=1)
    assert follow(transcript, fresh).rewritten, "as long as before, but OpenClaw says that it rewrote it"
    assert transcript.messages[-1].content == "written AGAIN"


def test_a_key_that_gets_another_window(own: Database) -> None:
    own.key("k", "s")
    own.write("s", header("s"), event("a", None, "old"))
    transcript = opened(own.adapter, "k")
    own.key("k", "t")
    own.write("t", header("t"), event("b", None, "new"))
    assert follow(transcript, lambda: opened(own.adapter, "k")) == Change(first=0, rewritten=True)
    assert [message.content for message in transcript.messages] == ["new"]
    kept = list(transcript.messages)
    own.connection.execute("DELETE FROM session_nodes")
    own.connection.execute("DELETE FROM session_windows")
    own.connection.execute("DELETE FROM transcript_events")
    assert transcript.refresh() == Change(gone=True)
    assert transcript.messages == kept
    with pytest.raises(SessionMissing):
        own.adapter.open(next(own.adapter.sources(lambda problem: None)), "k")


def test_a_document_that_is_written_again(store: Stored) -> None:
    home = store("openclaw", "home-spec")
    session_id = "f7f35634-f0e3-4d97-ae81-d66d346c6e2b"
    transcript = opened(adapter_for(home), session_id)
    path = Path(transcript.path)
    document = json.loads(path.read_text())
    document["messages"].append({"role": "user", "content": "more", "timestamp": "2026-07-25T17:21:00.000Z"})
    path.write_text(json.dumps(document))
    follow(transcript, lambda: opened(adapter_for(home), session_id))
    assert transcript.messages[-1].content == "more" and len(transcript.messages) == 5
    path.write_text("{")
    assert transcript.refresh() == Change()
    assert ["not valid JSON" in problem.reason for problem in transcript.problems] == [True]
    path.unlink()
    assert transcript.refresh() == Change(gone=True)
    assert len(transcript.messages) == 5


def test_a_file_that_is_reset_is_gone(tmp_path: Path) -> None:
    path = place(folder_of(tmp_path), "s.jsonl", header("s"), event("a", None))
    transcript = opened(adapter_for(tmp_path), "s")
    path.rename(path.with_name("s.jsonl.reset.2026-11-21T09-00-02.387Z"))
    assert transcript.refresh() == Change(gone=True)
    assert [message.id for message in get(adapter_for(tmp_path), "s").messages] == ["a"]


WRITER = """
import json, sys, time
import apsw
c = apsw.Connection(sys.argv[1])
c.set_busy_timeout(1000)
busy = []
for number in range(200):
    one = {"type": "message", "id": f"m{number}", "parentId": f"m{number - 1}" if number else None,
           "timestamp": "2026-11-21T00:00:00Z", "message": {"role": "user", "content": str(number)}}
    c.execute("INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s', ?, ?, 1)",
              (number, json.dumps(one)))
    if number % 10 == 9:
        busy.append(list(c.execute("PRAGMA wal_checkpoint(TRUNCATE)"))[0][0])
    time.sleep(0.002)
print(json.dumps(busy))
"""


def test_beside_a_real_writer_nothing_is_lost_and_nobody_waits(own: Database) -> None:
    own.key("k", "s")
    own.connection.close()
    transcript = opened(own.adapter, "k")
    source = next(own.adapter.sources(lambda problem: None))
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


# Nothing is left behind --------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", LAYOUTS)
def test_reading_leaves_no_trace(home: str, store: Stored) -> None:
    place_of = store("openclaw", home)
    before = tree(place_of)
    adapter = adapter_for(place_of)
    for source, summary in everything(adapter, problems=[]):
        if source.layout != "index":
            adapter.session(source, summary.session_id)
            adapter.open(source, summary.session_id).refresh()
        adapter.find(summary.session_id)
    adapter.live()
    assert tree(place_of) == before


def test_no_database_is_opened_as_a_plain_file(store: Stored) -> None:
    assert (
        opened_as_files(
            store("openclaw", "home"), "session_adapters.openclaw.adapter:OpenClawAdapter", "openclaw-agent.sqlite"
        )
        == "[]\n"
    )


_LIST = """
import sys
from pathlib import Path
from session_adapters.base import Environment
from session_adapters.openclaw.adapter import OpenClawAdapter
adapter = OpenClawAdapter(Environment(home=Path(sys.argv[1])))
problems = []
found = [one for source in adapter.sources(problems.append) for one in adapter.summaries(source, problems.append)]
print(len(found), sum(one.message_count for one in found), [problem.reason for problem in problems])
print(len(adapter.open(next(adapter.sources(print)), sys.argv[2]).messages))
"""


@pytest.mark.parametrize("state", ["cold", "log", "log without shm"])
def test_a_directory_that_may_not_be_written(state: str, store: Stored) -> None:
    with shared_folder() as folder:
        made = Database(folder)
        made.key("k", "s")
        made.write("s", header("s"), event("a", None))
        made.connection.close()
        if state != "cold":
            crashed_writer(made.path, "UPDATE session_nodes SET label = 'renamed'")
        if state == "log without shm":
            made.path.with_name(made.path.name + "-shm").unlink()
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = tree(folder)
        done = run_python(_LIST, folder, "k", user=unprivileged(), adapter="openclaw")
        assert done.stdout == "1 1 []\n1\n"
        assert tree(folder) == before


def test_what_a_crashed_writer_left_in_its_log_is_read(store: Stored) -> None:
    home = store("openclaw", "home")
    crashed_writer(database_of(home), "UPDATE session_nodes SET label = 'last words' WHERE label = 'Fruit plan'")
    before = tree(home)
    assert "last words" in {one.title for one in listed(adapter_for(home)).values()}
    assert tree(home) == before


# Cost --------------------------------------------------------------------------------------------------------


def crowd(made: Database, number: int, turns: int = 1) -> None:
    made.connection.execute("BEGIN")
    for index in range(number):
        made.key(f"agent:main:dashboard:{index}", f"s{index}")
        made.write(f"s{index}", header(f"s{index}"), *(one for at in range(turns) for one in turn(at)))
    made.connection.execute("COMMIT")


def test_one_session_is_read_without_the_others(own: Database, statements: Statements) -> None:
    crowd(own, 50)
    own.connection.execute("UPDATE transcript_events SET event_json = 'not JSON' WHERE session_id != 's9'")
    statements.clear()
    key = "agent:main:dashboard:9"
    session = get(own.adapter, key)
    assert (session.message_count, session.warnings) == (2, 0)
    transcript = opened(own.adapter, key)
    own.write("s9", *turn(1))
    transcript.refresh()
    asked = [(sql, plan) for sql, plan in statements if "pragma_" not in sql.lower()]
    assert len(asked) <= 80
    scans = [plan for sql, plan in asked for step in plan if step.startswith("SCAN") and "json_each" not in step]
    assert not scans, "every table is searched by its key"


def test_a_quick_list_reads_the_ends_of_each_transcript(
    own: Database, statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "FULL_SIZE", 0)
    crowd(own, 100, turns=40)
    # Whatever else were read would be reported: it is no JSON.
    own.connection.execute("UPDATE transcript_events SET event_json = 'x' WHERE seq BETWEEN 8 AND 76")
    statements.clear()
    found = listed(own.adapter, exact=False)
    assert len(found) == 100
    assert len([sql for sql, _ in statements if "pragma_" not in sql.lower()]) <= 2 * 100 + 20
    one = found["agent:main:dashboard:7"]
    assert (one.partial, one.preview, one.warnings) == (True, "q 0", 0)
    assert one.updated_at.second == 39, "the newest answer's time"
    problems: list[Problem] = []
    exact = listed(own.adapter, problems=problems)["agent:main:dashboard:7"]
    assert (exact.partial, exact.warnings) == (False, 69) and len(problems) == 100 * 11
    assert problems[0].place.endswith(", event 8")


def test_a_quick_list_of_a_long_file_reads_its_ends(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    events = [one for at in range(4000) for one in turn(at)]
    path = place(folder, "s.jsonl", header("s"), *events)
    assert path.stat().st_size > 1 << 20
    METER.reset()
    (one,) = listed(adapter_for(tmp_path), exact=False).values()
    assert (one.partial, one.preview) == (True, "q 0") and METER.bytes < 220 << 10
    (one,) = listed(adapter_for(tmp_path)).values()
    assert (one.partial, one.message_count, one.turn_count) == (False, 8000, 4000)
    place(folder, "other.jsonl", header("other"), *events)
    METER.reset()
    get(adapter_for(tmp_path), "s")
    assert METER.bytes < 4 * path.stat().st_size, "no other file"


def test_the_list_of_sources_opens_no_transcript(store: Stored) -> None:
    home = store("openclaw", "home-files-2026.3")
    METER.reset()
    sources = list(adapter_for(home).sources(lambda problem: None))
    assert len(sources) == 16 and METER.opened == 1, "the configuration, which may move stores"


def test_descriptors_stay_the_same(store: Stored) -> None:
    for name in LAYOUTS:
        adapter = adapter_for(store("openclaw", name))
        found = [(source, one) for source, one in everything(adapter, problems=[]) if source.layout != "index"]
        with nothing_left_open():
            for number in range(100):
                source, one = found[number % len(found)]
                adapter.open(source, one.session_id).refresh()
