"""Checklist R-1, R-3 and R-4 for planning a resume and for the context view; R-6 is in `test_native_plan`, R-5 in the
tests of the command line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_tui.errors import CapabilityError
from hermes_tui.sessions.manager import SessionManager
from support import STORES

Store = Callable[..., Path]
Manager = Callable[..., SessionManager]
AGENTS = sorted(path.name for path in STORES.iterdir() if (path / "home").is_dir())


def fingerprint(home: Path) -> str:
    """Names, sizes, times and bytes of a whole tree."""
    found = hashlib.sha256()
    for path in sorted(home.rglob("*")):
        status = path.lstat()
        found.update(f"{path} {status.st_mode} {status.st_size} {status.st_mtime_ns}\n".encode())
        if path.is_file() and not path.is_symlink():
            found.update(path.read_bytes())
    return found.hexdigest()


def look(manager: SessionManager, agent: str) -> list[str]:
    """Plan everything and view everything; what came of it."""
    found = []
    for one in sorted(manager.list(agent), key=lambda one: one.session_id):
        for make in (manager.resume, manager.fork):
            try:
                found.append(make(agent, one.session_id).line)
            except CapabilityError as error:
                found.append(str(error))
        found.append(manager.context(agent, one.session_id).sentence)
    return found


@pytest.mark.parametrize("agent", AGENTS)
def test_r_1_nothing_of_a_store_is_touched(agent: str, store: Store, manager_for: Manager) -> None:
    home = store(agent, "home")
    before = fingerprint(home)
    assert look(manager_for(home), agent)
    assert fingerprint(home) == before


def test_r_3_the_home_counts_at_the_time_of_the_call(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = SessionManager(cache_dir=tmp_path / "cache", indexed=False)
    monkeypatch.setenv("HOME", str(store("claude", "home")))
    (one, *_) = [one for one in manager.list("claude") if one.kind == "session"]
    assert manager.resume("claude", one.session_id).env == {}
    monkeypatch.setenv("HOME", str(store("pi", "home")))
    (other, *_) = manager.list("pi")
    assert manager.resume("pi", other.session_id).argv[-1] == other.path


def test_r_4_from_several_threads_at_once(store: Store, manager_for: Manager) -> None:
    manager = manager_for(store("codex", "home"))
    wanted = look(manager, "codex")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: look(manager, "codex"), range(8))) == [wanted] * 8
