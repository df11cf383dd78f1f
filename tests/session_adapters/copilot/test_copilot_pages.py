"""Copilot's transcripts by pages, growing, and how little is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from plain_copilot import (
    DOCUMENTS,
    FORK_ID,
    HELPED_ID,
    HELPER_ID,
    HOME,
    IDS,
    PARENT_ID,
    Scribe,
    adapter,
    got,
    listed,
    no_report,
    shutdown,
    uuid,
)
from session_adapters.base import SessionMissing, Source
from session_adapters.copilot.adapter import CopilotAdapter
from session_adapters.model import Message
from session_adapters.reading.files import METER


def find(reader: CopilotAdapter, session_id: str) -> Source:
    source = reader.find(session_id)
    assert source is not None
    return source


def by_pages(reader: CopilotAdapter, session_id: str, page: int) -> list[Message]:
    reader.page = page
    transcript = reader.open(find(reader, session_id), session_id)
    while not transcript.complete:
        before = len(transcript.messages)
        added = transcript.earlier()
        assert len(transcript.messages) == before + added
        assert added or transcript.complete
    return transcript.messages


PAGES = (1, 300, *range(500, 30_000, 1700))


@pytest.mark.parametrize("session_id", [*IDS, HELPER_ID])
def test_pages_give_what_one_pass_gives(session_id: str) -> None:
    reader = adapter(HOME)
    whole = list(got(reader, session_id).messages)
    for page in PAGES:
        assert by_pages(reader, session_id, page) == whole, page


def crooked(home: Path) -> Scribe:
    """A session with all that a cut between two pages can go through."""
    scribe = Scribe(home)
    scribe.turn("a", "A", "c1")
    scribe.usage("hidden")
    scribe.add("assistant.turn_end")
    late = scribe.event("assistant.message", content="late", apiCallId="c2", outputTokens=7)
    scribe.write(json.dumps(late).encode() + b"\n")
    scribe.usage("c2", 20, 7)
    requests = [{"toolCallId": "t1", "name": "task", "arguments": {}}, {"toolCallId": "t2", "name": "view"}]
    repeated = json.dumps(scribe.event("assistant.message", content="two calls", toolRequests=requests)).encode()
    scribe.write(repeated + b"\n")
    scribe.add("tool.execution_start", toolCallId="t1", toolName="task", arguments={})
    scribe.add("subagent.started", "h1", toolCallId="t1", agentName="helper")
    scribe.add("user.message", "h1", content="help")
    scribe.usage("h", 5, 5, "h1")
    scribe.reply("helped", "h", "h1")
    scribe.write(b'{"type":"assistant.message","data":{"content":"one\n\ntwo\nthree"},"id":"raw"}\n')
    scribe.add("tool.execution_complete", toolCallId="t1", success=True, result={"content": "done"})
    scribe.write(repeated + b"\n")
    scribe.add("tool.execution_complete", toolCallId="t2", success=False, error={"message": "no"})
    scribe.usage("c1")
    undone = scribe.add("user.message", content="never mind")
    scribe.add("session.snapshot_rewind", eventIds=[undone])
    back = scribe.add("user.message", content="back to here")
    scribe.turn("undone", "too")
    scribe.add("session.snapshot_rewind", upToEventId=back)
    scribe.reply("old", outputTokens=30)
    scribe.add("session.shutdown", **shutdown(100, 50, 40))
    scribe.reply("older", outputTokens=3)
    scribe.reply("helped too", agent="h1", outputTokens=4)
    scribe.add("session.shutdown", **shutdown(10, 9))
    scribe.add("session.shutdown", **shutdown(150, 70, cumulative=True))
    scribe.reply("new", outputTokens=1)
    scribe.add("session.shutdown", **shutdown(170, 75, cumulative=True))
    return scribe


def test_a_cut_may_go_through_anything(tmp_path: Path) -> None:
    scribe = crooked(tmp_path)
    reader = adapter(tmp_path)
    whole = list(got(reader, scribe.session_id).messages)
    assert [one.content for one in whole if one.role == "assistant"][:4] == [
        "A",
        "late",
        "two calls",
        "one\n\ntwo\nthree",
    ]
    (calls,) = [one.tool_calls for one in whole if one.tool_calls]
    assert [(one.output, one.subagent_id, one.is_error) for one in calls] == [
        ("done", f"{scribe.session_id}:h1", False),
        ("no", None, True),
    ]
    for page in range(1, scribe.path.stat().st_size + 200, 37):
        assert by_pages(reader, scribe.session_id, page) == whole, page


@pytest.mark.parametrize("session_id", [PARENT_ID, FORK_ID, HELPED_ID, HELPER_ID])
def test_following_line_by_line(session_id: str, store: Callable[..., Path]) -> None:
    reader = adapter(store("copilot", "home"))
    source = find(reader, session_id)
    follow(reader, session_id, Path(source.path), 15_000 if session_id == HELPER_ID else 1200)


def test_following_a_crooked_one(tmp_path: Path) -> None:
    scribe = crooked(tmp_path)
    follow(adapter(tmp_path), scribe.session_id, scribe.path, 1200)


def follow(reader: CopilotAdapter, session_id: str, path: Path, first: int) -> None:
    """Write the file piece by piece; it must read as it does at once."""
    source = find(reader, session_id)
    whole = list(reader.session(source, session_id).messages)
    data = path.read_bytes()
    start = data.index(b"\n", first) + 1
    path.write_bytes(data[:start])
    transcript = reader.open(source, session_id)
    for line in data[start:].split(b"\n"):
        for part in (line[: len(line) // 2], line[len(line) // 2 :] + b"\n"):
            before = list(transcript.messages)
            with path.open("ab") as file:
                file.write(part)
            change = transcript.refresh()
            assert not change.gone and not change.rewritten
            same = len(transcript.messages) if change.first is None else change.first
            assert transcript.messages[:same] == before[:same]
    assert transcript.messages == whole
    path.unlink()
    assert transcript.refresh().gone and transcript.messages == whole


def test_rewritten_is_read_anew(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.turn("a", "A")
    scribe.turn("b", "B")
    transcript = adapter(tmp_path).open(find(adapter(tmp_path), uuid(1)), uuid(1))
    scribe.path.write_bytes(b"")
    Scribe(tmp_path).turn("c", "C")
    assert transcript.refresh().rewritten
    assert [one.content for one in transcript.messages] == ["c", "C"]


def test_a_document_is_read_anew_when_it_changed(store: Callable[..., Path]) -> None:
    home = store("copilot", "spec-layout", "home")
    reader = adapter(home)
    source = find(reader, "gh-7781")
    transcript = reader.open(source, "gh-7781")
    assert transcript.refresh().first is None
    path = Path(source.path)
    document = json.loads(path.read_text())
    document["messages"].append({"role": "user", "content": "And small ones?"})
    path.write_text(json.dumps(document))
    assert transcript.refresh() == (2, False, False)
    assert transcript.messages == list(reader.session(source, "gh-7781").messages)
    path.write_text("{")
    assert transcript.refresh() == (None, False, False) and transcript.problems[0].path == str(path)
    path.unlink()
    assert transcript.refresh().gone and len(transcript.messages) == 3


# Laziness --------------------------------------------------------------------------------------------------------


def test_listing_reads_the_ends(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.turn("the first", "A", "c1")
    for number in range(3000):
        scribe.turn(f"question {number}", "x" * 300, f"call {number}")
    reader = adapter(tmp_path)
    METER.reset()
    (source,) = reader.sources(no_report)
    assert METER.bytes == METER.opened == 0
    (summary,) = reader.summaries(source, no_report)
    assert source.size > 40 * (reader.head + reader.tail)
    assert METER.bytes <= reader.head + reader.tail + (16 << 10), "the ends, and the rest of the lines that they cut"
    assert (summary.title, summary.partial) == ("the first", True)
    (exact,) = reader.summaries(source, no_report, exact=True)
    assert (exact.turn_count, exact.message_count, exact.partial) == (3001, 6002, False)
    assert exact.updated_at == summary.updated_at
    assert exact.tokens is not None and exact.tokens.output_tokens == 2 * 3001


def test_opening_reads_a_page(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    for number in range(6000):
        scribe.turn(f"question {number}", "x" * 300)
    reader = adapter(tmp_path)
    source = find(reader, uuid(1))
    METER.reset()
    transcript = reader.open(source, uuid(1))
    assert METER.bytes < 2.2 * reader.page < source.size
    assert transcript.messages[-1].content == "x" * 300 and not transcript.complete


def test_get_reads_no_other_session() -> None:
    reader = adapter(HOME)
    for session_id in (HELPED_ID, HELPER_ID):
        METER.reset()
        session = got(reader, session_id)
        path = Path(session.path)
        workspace = (path.parent / "workspace.yaml").stat().st_size
        assert METER.opened <= 2 and METER.bytes <= path.stat().st_size + workspace


def test_a_long_beginning_and_a_long_end(tmp_path: Path) -> None:
    """The first prompt behind a large event, the newest message before one."""
    scribe = Scribe(tmp_path)
    scribe.add("system.message", content="s" * 60_000)
    scribe.turn("late prompt", "A", "c1")
    for number in range(300):
        scribe.turn(f"question {number}", "x" * 3000)
    scribe.add("model.messages_snapshot", messages=["y" * 90_000])
    reader = adapter(tmp_path)
    (summary,) = listed(reader, exact=False).values()
    (exact,) = listed(reader).values()
    assert summary.partial and (summary.title, summary.updated_at) == (exact.title, exact.updated_at)


def test_the_ends_of_a_fork_tell_that_it_is_one(tmp_path: Path) -> None:
    parent = Scribe(tmp_path, uuid(1))
    for number in range(100):
        parent.turn(f"question {number}", "x" * 500, f"call {number}")
    copied = parent.path.read_bytes().split(b"\n", 1)[1]
    fork = Scribe(tmp_path, uuid(2), minute=30, start=False)
    start = fork.event("session.start", sessionId=uuid(2), startTime=fork.time(0))
    fork.write(json.dumps({**start, "id": f"{uuid(1)[-4:]}-0001"}).encode() + b"\n" + copied)
    fork.turn("own", "O", "own call")
    for exact in (False, True):
        found = listed(adapter(tmp_path), exact=exact)
        one = found[uuid(2)]
        assert (one.kind, one.forked_from, one.lineage_id) == ("fork", uuid(1), uuid(1))
        assert one.preview == "own"
        assert (one.turn_count, one.message_count) == (101, 202) or one.partial
        assert one.tokens is not None and one.tokens.total == 12
        assert found[uuid(1)].kind == "session"


def test_partial_totals_are_those_of_the_last_shutdown(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    for number in range(200):
        scribe.turn(f"question {number}", "x" * 500, f"call {number}")
    scribe.add(
        "session.shutdown", **shutdown(2000, 400, 100, cumulative=True, main=True), usageAccountingWatermarks={}
    )
    partial, exact = (listed(adapter(tmp_path), exact=one)[uuid(1)] for one in (False, True))
    assert partial.partial and partial.tokens is not None and partial.tokens.total == 2400
    assert exact.tokens is not None and exact.tokens.total == 2400


def test_what_is_not_there() -> None:
    reader = adapter(HOME)
    source = find(reader, HELPED_ID)
    for wrong in ("nobody", f"{HELPED_ID}:nobody", PARENT_ID):
        for read in (reader.open, reader.session):
            with pytest.raises(SessionMissing):
                read(source, wrong)
    document = find(adapter(DOCUMENTS), "gh-7781")
    with pytest.raises(SessionMissing):
        adapter(DOCUMENTS).open(document, "gh-7781:x")
