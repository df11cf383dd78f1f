"""Claude Code's sessions by their ends, by pages, and while they grow."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import asdict

from claude_samples import (
    EVERY,
    SAMPLES,
    adapter,
    line,
    listed,
    never,
    prompt,
    reply,
)
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.reading.files import METER

COUNTS = {
    "turn_count",
    "message_count",
    "tool_call_count",
    "tokens",
    "cost",
    "model",
    "models",
    "partial",
    "warnings",
    "raw",
}
"""Fields of a summary that only the whole file can tell."""


@pytest.fixture
def small_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends so small that every sample has a middle that is not read."""
    monkeypatch.setattr(ClaudeAdapter, "head", 1_500)
    monkeypatch.setattr(ClaudeAdapter, "tail", 3_000)


@pytest.mark.usefixtures("small_ends")
@pytest.mark.parametrize("name", SAMPLES)
def test_the_ends_tell_everything_but_the_counts(name: str) -> None:
    reader = adapter(SAMPLES[name])
    whole, ends = listed(reader), listed(reader, exact=False)
    assert set(whole) == set(ends)
    for session_id, summary in whole.items():
        glance = ends[session_id]
        same = {key: value for key, value in asdict(summary).items() if key not in COUNTS}
        assert {key: getattr(glance, key) for key in same} == same
        assert glance.turn_count <= summary.turn_count
        assert glance.message_count <= summary.message_count
        if not glance.partial:
            assert glance == summary
    if name == "home":
        assert sum(summary.partial for summary in ends.values()) >= 8


@pytest.mark.parametrize("page", [1, 500, 1_400, 4_096, 20_000])
@pytest.mark.parametrize(("name", "session_id"), EVERY)
def test_pages_back_to_the_start_give_the_session(
    name: str, session_id: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = adapter(SAMPLES[name])
    source = reader.find(session_id)
    assert source is not None
    monkeypatch.setattr(ClaudeAdapter, "page", page)
    transcript = reader.open(source, session_id)
    while transcript.earlier():
        pass
    assert transcript.complete
    assert transcript.messages == list(reader.session(source, session_id).messages)


@pytest.mark.parametrize(
    "session_id", ["677bcb80-64fb-432d-b58a-3a648e106e84", "e1d05390-abe4-4794-ac31-6f0601b093f1"]
)
def test_following_gives_what_reading_anew_gives(store: Callable[..., Path], session_id: str) -> None:
    reader = adapter(store("claude", "home"))
    source = reader.find(session_id)
    assert source is not None
    path = Path(source.path)
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(rows[0])
    followed = reader.open(source, session_id)
    for row in rows[1:]:
        for part in (row[: len(row) // 2], row[len(row) // 2 : -1], row[-1:]):
            with path.open("ab") as out:
                out.write(part)
            followed.refresh()
            assert followed.messages == reader.open(source, session_id).messages
    assert followed.messages == list(reader.session(source, session_id).messages)


def test_a_large_file_is_not_read_to_be_listed_or_opened(tmp_path: Path) -> None:
    path = tmp_path / ".claude/projects/-p/big.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("wb") as out:
        number = 0
        while out.tell() < 50 << 20:
            out.write(line(uuid=f"u{number}", **prompt(f"Question {number}")))
            out.write(line(uuid=f"a{number}", **reply(f"m{number}", "x" * 20_000)))
            number += 1
    reader = adapter(tmp_path)
    METER.reset()
    (source,) = reader.sources(never)
    assert (METER.bytes, METER.opened) == (0, 0)
    (summary,) = reader.summaries(source, never)
    assert METER.bytes <= 160 << 10
    assert summary.partial
    assert (summary.title, summary.cwd, summary.updated_at.year) == ("Question 0", "/p", 2026)
    METER.reset()
    assert reader.open(source, "big").messages[-1].content == "x" * 20_000
    assert METER.bytes <= 5 << 20
    (exact,) = reader.summaries(source, never, exact=True)
    assert (exact.turn_count, exact.message_count, exact.partial) == (number, 2 * number, False)


def test_a_long_branch_began_when_its_own_records_do(tmp_path: Path) -> None:
    path = tmp_path / ".claude/projects/-p/branch.jsonl"
    path.parent.mkdir(parents=True)
    copied = {"forkedFrom": {"sessionId": "parent", "messageUuid": "x"}, "timestamp": "2026-01-01T00:00:00.000Z"}
    with path.open("wb") as out:
        for number in range(3_000):
            out.write(line(uuid=f"u{number}", **prompt("copied " * 100), **copied))
        out.write(line(type="mode", mode="normal"))
        out.write(line(uuid="own", **prompt("own"), timestamp="2026-03-01T00:00:00.000Z"))
        out.write(line(uuid="answer", **reply("m", "yes"), timestamp="2026-03-01T00:00:01.000Z"))
        for number in range(1_000):
            out.write(line(uuid=f"o{number}", **prompt("later " * 100), timestamp="2026-04-01T00:00:00.000Z"))
    reader = adapter(tmp_path)
    (source,) = reader.sources(never)
    METER.reset()
    (glance,) = reader.summaries(source, never)
    assert METER.bytes < 4 << 20
    (exact,) = reader.summaries(source, never, exact=True)
    assert glance.partial
    assert glance.created_at == exact.created_at == datetime.fromisoformat("2026-03-01T00:00:00Z")
    assert (glance.kind, glance.forked_from) == ("fork", "parent")


def test_a_last_record_larger_than_the_tail(tmp_path: Path) -> None:
    path = tmp_path / ".claude/projects/-p/s.jsonl"
    path.parent.mkdir(parents=True)
    old, new = "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"
    body = line(uuid="1", **prompt("first"), timestamp=old) * 1 + line(type="x", pad="p" * 3_000_000)
    for size in (300_000, 3_000_000):
        path.write_bytes(body + line(uuid="2", **reply("m", "x" * size), timestamp=new))
        os.utime(path, (1_769_904_000, 1_769_904_000))  # 2026-02-01
        reader = adapter(tmp_path)
        (source,) = reader.sources(never)
        (glance,) = reader.summaries(source, never)
        assert glance.updated_at == datetime.fromisoformat(new)
