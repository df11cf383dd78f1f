"""Law 2: read-only means read-only. Every sample store, before and after everything the command line can do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from session_adapters.registry import BUILT_IN
from support import STORES
from tiny_home import tree_hash

HOMES = sorted(
    path.relative_to(STORES)
    for agent in sorted(BUILT_IN)
    for path in (STORES / agent).rglob("home*")
    if path.is_dir() and not any(parent.name.startswith("home") for parent in path.relative_to(STORES).parents)
)


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """The program as its own process, so that nothing hangs on this one."""
    command = [sys.executable, "-m", "hermes_tui", "--home", str(home), *arguments]
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)


def test_there_are_stores_to_read() -> None:
    assert len(HOMES) >= 30


@pytest.mark.parametrize("relative", HOMES, ids=str)
def test_nothing_of_a_store_changes(relative: Path, store: Callable[..., Path]) -> None:
    home = store(*relative.parts)
    before = tree_hash(home)
    listed = run(home, "sessions", "list", "--json", "--sort", "turns")
    assert listed.returncode == 0, listed.stderr
    rows = json.loads(listed.stdout)
    assert rows
    for row in rows[:3]:
        for form in ("markdown", "json", "jsonl"):
            shown = run(home, "sessions", "show", row["agent"], row["sessionId"], "--format", form)
            assert shown.returncode == 0, shown.stderr
    assert run(home, "doctor", "--json").returncode == 0
    assert run(home, "lanes", "list").returncode == 0
    assert run(home, "cost", "report", "--json").returncode == 0
    assert run(home, "index", "rebuild").returncode == 0
    assert run(home, "sessions", "search", "the").returncode == 0
    assert tree_hash(home) == before


@pytest.mark.parametrize("relative", HOMES, ids=str)
def test_list_and_show_agree(relative: Path, store: Callable[..., Path]) -> None:
    """Checklist G-7 over every real session: the fields of a list row equal those of the session read in full. A cost
    that must be added up first is missing in the list until that was done, and the manager says so."""
    from hermes_tui.sessions.manager import SessionManager
    from session_adapters.base import Environment

    home = store(*relative.parts)
    manager = SessionManager(Environment(home=home), cache_dir=home.parent / "cache")
    manager.catalogue.complete(lambda: False)
    first = manager.list(limit=None)
    pending = manager.pending_costs(first)
    manager.costs.sheet()
    rows = manager.list(limit=None)
    assert rows
    assert manager.pending_costs(rows) == frozenset()
    assert {row.unified_id for row in first if row not in rows} <= pending
    for row in rows:
        session = manager.get(row.agent, row.session_id)
        different = {
            name: (getattr(session, name), getattr(row, name))
            for name in row.__struct_fields__
            if name != "raw" and getattr(session, name) != getattr(row, name)
        }
        assert different == {}, row.unified_id
        # A session read in full may say more about itself (pi: its whole tree), never something else.
        assert {key: session.raw.get(key) for key in row.raw} == row.raw, row.unified_id
