"""Half a line at the end of a file that was left, and a field whose name is no UTF-8: both are problems with their
place, for every agent that writes lines, in the list and in the conversation."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Adapter, Environment, Source
from session_adapters.model import Problem
from session_adapters.registry import adapter_class

HOMES = [
    ("claude", "home"), ("claude", "older", "home"), ("codex", "home"), ("codex", "older", "home"),
    ("copilot", "home"), ("cursor", "home"), ("gemini", "home"), ("omp", "home"), ("openclaw", "home-files-2026.3"),
    ("pi", "home"),
]  # fmt: skip
Store = Callable[..., Path]


def longest(adapter: Adapter) -> Source:
    """The largest file of lines that is a session's own."""
    found = [one for one in adapter.sources(lambda problem: None) if one.path.endswith(".jsonl")]
    return max(found, key=lambda one: one.size)


def reports(adapter: Adapter, path: str) -> list[tuple[list[str], list[str]]]:
    """Places of the problems in one file: of the list, read at its ends and in full, and of the conversation."""
    (source,) = (one for one in adapter.sources(lambda problem: None) if one.path == path)
    said = []
    for exact in (False, True):
        problems: list[Problem] = []
        summaries = adapter.summaries(source, problems.append, exact=exact)
        transcript = adapter.open(source, summaries[0].session_id)
        while transcript.earlier():
            pass
        mine = [problem for problem in problems if problem.path == path]
        said.append(([one.place for one in mine], [one.place for one in transcript.problems]))
    return said


@pytest.fixture(params=HOMES, ids="/".join)
def adapter(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Adapter:
    agent, *parts = request.param
    return adapter_class(agent)(Environment(home=store(agent, *parts), proc=tmp_path / "proc"))


def test_half_a_line_is_a_problem_once_nobody_writes(adapter: Adapter) -> None:
    source = longest(adapter)
    path = Path(source.path)
    whole = path.read_bytes().rstrip(b"\n") + b"\n"
    line = max(whole.split(b"\n"), key=len)
    before = reports_of(adapter, path, whole, idle=True)
    torn = whole + line[: len(line) // 3]
    assert reports_of(adapter, path, torn, idle=False) == before, "its writer may be in the middle of it"
    for listed, shown in reports_of(adapter, path, torn, idle=True):
        assert f"byte {len(whole)}" in listed
        assert f"byte {len(whole)}" in shown
    assert reports_of(adapter, path, whole + line, idle=True) == before, "it only lacks its newline"


def reports_of(adapter: Adapter, path: Path, content: bytes, *, idle: bool) -> list[tuple[list[str], list[str]]]:
    path.write_bytes(content)
    moment = time.time() - (61 if idle else 1)
    os.utime(path, (moment, moment))
    return reports(adapter, str(path))


def test_a_broken_name_of_a_field_is_a_problem(adapter: Adapter) -> None:
    source = longest(adapter)
    path = Path(source.path)
    whole = path.read_bytes()
    before = reports_of(adapter, path, whole, idle=False)
    lines = whole.split(b"\n")
    names = (b'"message":', b'"payload":', b'"data":', b'"content":')
    number = max(n for n, line in enumerate(lines) if any(name in line for name in names))
    name = next(name for name in names if name in lines[number])
    place = f"byte {sum(len(line) + 1 for line in lines[:number])}"
    lines[number] = lines[number].replace(name, name[:4] + b"\xff" + name[5:], 1)
    after = reports_of(adapter, path, b"\n".join(lines), idle=False)
    for (listed, shown), (known, seen) in zip(after, before, strict=True):
        assert place in listed and place not in known
        assert place in shown and place not in seen


def test_the_list_looks_again_when_a_file_was_left(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = store("claude", "home")
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", agents=["claude"])
    path = max(home.rglob("projects/*/*.jsonl"), key=lambda one: one.stat().st_size)
    other = home / "other.jsonl"
    shutil.copy(path, other)
    path.write_bytes(path.read_bytes() + b'{"type":"user","mess')
    now = time.time()
    os.utime(path, (now, now))
    assert manager.catalogue.refresh().problems == ()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    (problem,) = manager.catalogue.refresh().problems
    assert (problem.path, problem.place) == (str(path), f"byte {other.stat().st_size}")
