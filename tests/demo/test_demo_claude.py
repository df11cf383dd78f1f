"""The demo's Claude Code home, held against what the real program wrote: read here in a few plain lines."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.demo.home import MARKER, prepare, write_home
from hermes_tui.demo.live import LiveWriter
from support import PATIENCE, STORES

NOW = datetime(2026, 11, 21, 10, 34, tzinfo=UTC)
REAL = STORES / "claude" / "home" / ".claude"
LIVE_PID = 4127
LIVE_START = 126968
"""In clock ticks, as in the 22nd field of its `/proc` stat."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("demo")
    write_home(home, NOW, ["claude"])
    return home / ".claude"


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _kind(record: dict[str, Any]) -> str:
    inner = record.get("attachment", {}).get("type", "") or record.get("subtype", "")
    return f"{record['type']}/{inner}"


def _shapes(folder: Path) -> dict[str, set[str]]:
    """Every key that records of a kind have, over all files."""
    shapes: dict[str, set[str]] = defaultdict(set)
    for path in folder.rglob("*.jsonl"):
        if path.name != "history.jsonl":
            for record in _records(path):
                shapes[_kind(record)] |= set(record)
    return shapes


def test_its_records_have_the_keys_of_the_real_ones(root: Path) -> None:
    real = _shapes(REAL)
    # The samples hold no session that failed for good outside the API's retries, hence no key `error` on a reply.
    real["assistant/"] |= {"error", "isApiErrorMessage"}
    for kind, keys in _shapes(root).items():
        assert keys <= real[kind], (kind, keys - real[kind])


def test_its_other_files_have_the_keys_of_the_real_ones(root: Path) -> None:
    for pattern in ("sessions/*.json", "projects/*/*/subagents/*.meta.json"):
        known = {key for path in REAL.glob(pattern) for key in json.loads(path.read_text())}
        made = [json.loads(path.read_text()) for path in root.glob(pattern)]
        assert made and known
        for one in made:
            assert set(one) <= known


def test_conversations_hang_together(root: Path) -> None:
    """Each record's parent stands above it, ids are unique, each call has one result, times do not go back."""
    paths = sorted(root.rglob("*.jsonl"))
    assert len(paths) > 130
    for path in paths:
        above: set[str] = set()
        calls: set[str] = set()
        results: list[str] = []
        last = ""
        for record in _records(path):
            if "uuid" not in record:
                continue
            assert record["parentUuid"] is None or record["parentUuid"] in above, path
            assert record["uuid"] not in above, path
            above.add(record["uuid"])
            assert record["timestamp"] >= last, path
            last = record["timestamp"]
            content = record.get("message", {}).get("content", [])
            for block in content if isinstance(content, list) else []:
                if block["type"] == "tool_use":
                    calls.add(block["id"])
                elif block["type"] == "tool_result":
                    results.append(block["tool_use_id"])
        assert sorted(calls) == sorted(results), path
        assert datetime.fromisoformat(last) <= NOW, path


def test_the_main_session_shows_what_there_is_to_show(root: Path) -> None:
    live = json.loads((root / "sessions" / f"{LIVE_PID}.json").read_text())
    (path,) = root.glob(f"projects/*/{live['sessionId']}.jsonl")
    records = _records(path)
    assert any(record.get("subtype") == "compact_boundary" for record in records)
    blocks = [block for r in records if r["type"] == "assistant" for block in r["message"]["content"]]
    assert {"thinking", "text", "tool_use"} == {block["type"] for block in blocks}
    assert {"Bash", "Read", "Edit", "Write", "Agent"} == {b["name"] for b in blocks if b["type"] == "tool_use"}
    assert len(list((path.with_suffix("") / "subagents").glob("agent-*.jsonl"))) == 1
    age = NOW - datetime.fromisoformat(max(r["timestamp"] for r in records if "timestamp" in r))
    assert age == timedelta(minutes=3)
    mine = {record["uuid"] for record in records if "uuid" in record}
    forks = [p for p in root.rglob("*.jsonl") if '"forkedFrom"' in p.read_text()]
    assert len(forks) == 1
    shared = [r for r in _records(forks[0]) if "forkedFrom" in r]
    assert shared and {r["uuid"] for r in shared} <= mine
    assert {r["forkedFrom"]["sessionId"] for r in shared} == {live["sessionId"]}


def test_the_same_moment_gives_the_same_bytes(root: Path, tmp_path: Path) -> None:
    write_home(tmp_path, NOW, ["claude"])
    first = {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    again = tmp_path / ".claude"
    second = {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}
    assert first == second


def test_the_process_table_names_the_open_session(tmp_path: Path) -> None:
    write_home(tmp_path, NOW)
    after_name = (tmp_path / "proc" / str(LIVE_PID) / "stat").read_text().rpartition(") ")[2].split()
    assert int(after_name[22 - 3]) == LIVE_START
    note = json.loads((tmp_path / ".claude" / "sessions" / f"{LIVE_PID}.json").read_text())
    assert note["procStart"] == str(LIVE_START)


def test_the_writer_adds_whole_turns_and_stops(tmp_path: Path) -> None:
    home = tmp_path / "home"
    prepare(home)
    write_home(home, NOW)
    note = home / ".claude" / "sessions" / f"{LIVE_PID}.json"
    (path,) = home.glob(f".claude/projects/*/{json.loads(note.read_text())['sessionId']}.jsonl")
    before = path.read_bytes()
    writer = LiveWriter(home, pace=0.0004)
    writer.start()
    while path.read_bytes().count(b'"last-prompt"') < 6 and writer.is_alive():
        writer.join(0.01)
    writer.stop()
    writer.join(PATIENCE)
    assert not writer.is_alive() and writer.failure is None
    after = path.read_bytes()
    assert after.startswith(before) and after.endswith(b"\n")
    added = [json.loads(line) for line in after[len(before) :].splitlines()]
    text = after[len(before) :].decode()
    assert '"tool_use"' in text and '"tool_result"' in text
    known = {json.loads(line).get("uuid") for line in before.splitlines()}
    for record in added:
        if "uuid" in record:
            assert record["uuid"] not in known
            assert record["parentUuid"] in known
            known.add(record["uuid"])
    assert json.loads(note.read_text())["status"] in ("busy", "idle")
    assert not list(note.parent.glob("*.tmp"))


def test_the_writer_ends_when_its_home_is_removed(tmp_path: Path) -> None:
    write_home(tmp_path, NOW)
    writer = LiveWriter(tmp_path, pace=0.0004)
    (tmp_path / ".claude").rename(tmp_path / "moved")
    writer.start()
    writer.join(PATIENCE)
    assert not writer.is_alive()
    assert isinstance(writer.failure, FileNotFoundError)


def test_only_a_demo_home_is_overwritten(tmp_path: Path) -> None:
    home = tmp_path / "home"
    prepare(home)
    write_home(home, NOW)
    (home / "notes.txt").write_text("mine")
    (home / ".claude" / "projects" / "stale.jsonl").write_text("{}\n")
    prepare(home)
    assert (home / MARKER).is_file()
    assert (home / "notes.txt").read_text() == "mine"
    assert not (home / ".claude").exists()
    write_home(home, NOW)
    assert not (home / ".claude" / "projects" / "stale.jsonl").exists()
