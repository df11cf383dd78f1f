"""Law 2: read-only means read-only. Every sample store, before and after everything the command line can do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
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


Ask = Callable[..., subprocess.CompletedProcess[bytes]]
FORMS = ("markdown", "json", "jsonl")


def use_everything(home: Path, ask: Ask, sessions: int = 3, forms: Sequence[str] = FORMS) -> None:
    """Every command that reads; so many sessions of each agent in these forms."""
    listed = ask(home, "sessions", "list", "--json", "--sort", "turns")
    assert listed.returncode == 0, listed.stderr
    rows = json.loads(listed.stdout)
    assert rows
    for agent in sorted({row["agent"] for row in rows}):
        for row in [row for row in rows if row["agent"] == agent][:sessions]:
            for form in forms:
                shown = ask(home, "sessions", "show", agent, row["sessionId"], "--format", form)
                assert shown.returncode == 0, shown.stderr
    for arguments in ("doctor --json", "lanes list", "cost report --json", "index rebuild", "sessions search the"):
        ran = ask(home, *arguments.split())
        assert ran.returncode == 0, ran.stderr


def test_there_are_stores_to_read() -> None:
    assert len(HOMES) >= 30


@pytest.mark.parametrize("relative", HOMES, ids=str)
def test_nothing_of_a_store_changes(relative: Path, store: Callable[..., Path], ask: Ask) -> None:
    home = store(*relative.parts)
    before = tree_hash(home)
    use_everything(home, ask)
    assert tree_hash(home) == before


def test_real_programs_change_nothing_of_all_stores_in_one_home(store: Callable[..., Path], tmp_path: Path) -> None:
    """What a process does when it begins and when it ends is part of it."""

    def start(home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "hermes_tui", "--home", str(home), *arguments]
        return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)

    home = tmp_path / "home"
    for agent in sorted(BUILT_IN):
        shutil.copytree(store(agent, "home"), home, symlinks=True, dirs_exist_ok=True)
    before = tree_hash(home)
    use_everything(home, start, sessions=1, forms=FORMS[:1])
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
