"""The sample stores made long: still what their agents write, and long where it matters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from long_stores import HOMES, SHAPES, long_store
from support import STORES


def _rows(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _with_log(path: Path) -> bytes:
    log = path.with_name(path.name + "-wal")
    return path.read_bytes() + (log.read_bytes() if log.exists() else b"")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("agent", "home"), HOMES, ids=lambda part: part.replace("/", "-"))
def test_what_was_added_is_there_and_no_file_is_gone(agent: str, home: str, shape: str, tmp_path: Path) -> None:
    long = long_store(agent, home, tmp_path / "long", SHAPES[shape])
    sample = STORES / agent / home
    before = {path.relative_to(sample) for path in sample.rglob("*")}
    kept = {path.relative_to(long.home) for path in long.home.rglob("*")}
    assert before <= kept
    contents = {path: _with_log(path) for path in {one.path for one in long.added}}
    by_text: dict[str, set[str]] = {}
    for one in long.added:
        assert one.text.split()[0].encode() in contents[one.path]
        by_text.setdefault(one.text, set()).add(str(one.record.get("uuid", one.record.get("id"))))
    # A fork holds a copy of what was put before its parent; Gemini writes a conversation's context at each resume.
    assert all(len(ids) == 1 for ids in by_text.values())


def test_ordinals_of_rollouts_go_on_and_forks_end_their_parents_at_a_line(tmp_path: Path) -> None:
    for name, shape in SHAPES.items():
        home = long_store("codex", "home", tmp_path / name, shape).home
        size = shape.first_line
        rollouts = {_rows(path)[0]["payload"]["id"]: path for path in home.rglob("rollout-*.jsonl")}
        forks = 0
        for path in rollouts.values():
            rows = _rows(path)
            assert size < len(path.read_bytes().split(b"\n")[0]) < size + 2_000
            assert (len(path.read_bytes().split(b"\n")[-2]) > 16 * 1024) == (name == "deep")
            ordinals = [row["ordinal"] for row in rows]
            base = rows[0]["payload"].get("history_base")
            start = base["end_ordinal_exclusive"] if base else 0
            assert ordinals == list(range(start, start + len(rows)))
            if base:
                forks += 1
                above = rollouts[base["thread_id"]].read_bytes()[: base["end_byte_offset"]]
                assert above.endswith(b"\n")
                assert json.loads(above.split(b"\n")[-2])["ordinal"] == start - 1
        assert forks == 2


@pytest.mark.parametrize(
    ("agent", "pattern", "own", "above"),
    [
        ("claude", ".claude/projects/**/*.jsonl", "uuid", "parentUuid"),
        ("copilot", ".copilot/session-state/*/events.jsonl", "id", "parentId"),
        ("pi", ".pi/**/*.jsonl", "id", "parentId"),
        ("omp", ".omp/**/*.jsonl", "id", "parentId"),
    ],
)
def test_chains_of_parents_are_as_whole_as_they_were(
    agent: str, pattern: str, own: str, above: str, tmp_path: Path
) -> None:
    def roots(home: Path) -> dict[str, int]:
        counts = {}
        for path in home.glob(pattern):
            rows = [row for row in _rows(path) if own in row and row.get("type") != "session"]
            known = {row[own] for row in rows}
            assert len(known) == len({json.dumps(row) for row in rows})
            counts[path.name + path.parent.name] = sum(row.get(above) not in known for row in rows)
        return counts

    for name, shape in SHAPES.items():
        assert roots(long_store(agent, "home", tmp_path / name, shape).home) == roots(STORES / agent / "home")


def test_forks_copy_what_was_put_before_their_parents(tmp_path: Path) -> None:
    home = long_store("pi", "home", tmp_path / "pi").home
    ids = [{row["id"] for row in _rows(path)} for path in sorted(home.rglob("*01a1fd3c-*.jsonl"))]
    assert len(ids) == 3
    shared = ids[0] & ids[1] & ids[2]
    plain = [{row["id"] for row in _rows(path)} for path in sorted((STORES / "pi/home").rglob("*01a1fd3c-*.jsonl"))]
    assert len(shared) == len(plain[0] & plain[1] & plain[2]) + 2
