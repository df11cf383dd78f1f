"""Files beside sessions, that say where they are or whose: what cannot be read is said."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from session_adapters.base import Environment
from session_adapters.model import Problem
from session_adapters.registry import adapter_class

BESIDE = [
    ("cursor", "home", ".config/Cursor/User/workspaceStorage/*/workspace.json"),
    ("gemini", "home", ".gemini/projects.json"),
    ("hector", "home", "config.yaml"),
    ("openclaw", "home", ".openclaw/openclaw.json"),
    ("pi", "home", ".pi/agent/settings.json"),
]


def pipe(path: Path) -> None:
    os.mkfifo(path)


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def large(path: Path) -> None:
    path.write_bytes(b" " * (5 << 20))


def damaged(path: Path) -> None:
    path.write_bytes(b'{"projects": {"session_stores:\ndatabases: [\n"agentDir')


@pytest.mark.parametrize("spoil", [pipe, zeros, large, damaged])
@pytest.mark.parametrize(("agent", "home", "pattern"), BESIDE, ids=[f"{one[0]}-{one[2][-9:]}" for one in BESIDE])
def test_what_cannot_be_read_beside_sessions_is_said(
    agent: str, home: str, pattern: str, spoil: Callable[[Path], None], store: Callable[..., Path], tmp_path: Path
) -> None:
    place = store(agent, home)
    path = sorted(place.glob(pattern))[0]

    def look() -> tuple[set[str], list[Problem]]:
        problems: list[Problem] = []
        adapter = adapter_class(agent)(Environment(home=place, proc=tmp_path))
        sources = list(adapter.sources(problems.append))
        return {one.session_id for at in sources for one in adapter.summaries(at, problems.append)}, problems

    path.unlink()
    for same in place.glob(".gemini/tmp/*/.project_root"):
        same.unlink()
    without, _ = look()
    spoil(path)
    found, problems = look()
    assert found >= without
    assert found
    assert any(path.name in f"{one.path} {one.place} {one.reason}" for one in problems)
