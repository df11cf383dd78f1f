"""Law 4: nothing hidden. When one file of a sample store is damaged, whatever its kind, its neighbours are listed as
before, and it is named with a reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from session_adapters.registry import BUILT_IN
from support import STORES

HOMES = sorted(
    path.relative_to(STORES)
    for agent in sorted(BUILT_IN)
    for path in (STORES / agent).rglob("home*")
    if path.is_dir() and not any(parent.name.startswith("home") for parent in path.relative_to(STORES).parents)
)
GARBAGE = b"\x00\xff this is nothing that the agent wrote {[\x00\n"


def look(home: Path, cache: Path) -> SessionManager:
    """A manager that has read everything there is."""
    manager = SessionManager(Environment(home=home), cache_dir=cache)
    manager.catalogue.refresh()
    manager.catalogue.complete(lambda: False)
    return manager


@pytest.mark.parametrize("relative", HOMES, ids=str)
def test_a_damaged_file_is_named_and_hides_no_neighbour(
    relative: Path, store: Callable[..., Path], tmp_path: Path
) -> None:
    home = store(*relative.parts)
    before = look(home, tmp_path / "first")
    sessions = {(one.unified_id, one.path) for one in before.catalogue.snapshot.sessions}
    place = min(path for _, path in sessions if path)
    victim = min(Path(place).iterdir()) if Path(place).is_dir() else Path(place)  # spec 004: a folder for a session
    is_database = victim.read_bytes()[:15] == b"SQLite format 3"
    known = {problem.path for problem in before.catalogue.snapshot.problems}
    victim.write_bytes(GARBAGE * 100 if is_database or victim.suffix == ".json" else victim.read_bytes() + GARBAGE)
    after = look(home, tmp_path / "second")
    snapshot = after.catalogue.snapshot
    lost = sessions - {(one.unified_id, one.path) for one in snapshot.sessions}
    assert {path for _, path in lost} <= {place}
    named = [problem for problem in snapshot.problems if problem.path == str(victim)]
    assert named or str(victim) in known
    assert all(problem.reason and "\n" not in problem.reason for problem in named)
    assert all(problem.agent for problem in named)
