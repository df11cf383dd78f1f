"""`hermes-tui demo` as a user starts it: it opens, it moves, it leaves nothing behind and touches nothing real."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_tui.demo.home import MARKER
from terminal import Terminal

pytestmark = pytest.mark.e2e

Demo = Callable[..., Terminal]


def _tree(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def user_home(store: Callable[..., Path]) -> Path:
    """A user with a real Hermes home, which the demo must neither show nor touch."""
    return store("hermes", "home")


@pytest.fixture
def demo(user_home: Path, tmp_path: Path) -> Iterator[Demo]:
    """`demo("--static")` in a terminal of 160×48, on a machine whose variables point at real stores."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    running: list[Terminal] = []

    def run(*options: str) -> Terminal:
        variables = {"HERMES_HOME": str(user_home / ".hermes"), "TMPDIR": str(temporary)}
        variables["CLAUDE_CONFIG_DIR"] = str(user_home / "claude")
        argv = [sys.executable, "-m", "hermes_tui", "demo", *options]
        terminal = Terminal(argv, home=user_home, size=(160, 48), variables=variables)
        running.append(terminal)
        return terminal

    yield run
    for terminal in running:
        terminal.close()


def test_it_moves_and_leaves_nothing_behind(demo: Demo, user_home: Path, tmp_path: Path) -> None:
    before = _tree(user_home)
    terminal = demo()
    terminal.until("Fix the flaky login test")
    terminal.until("Now the note in cart.py")  # the first thing that the writer adds
    terminal.until("rg -n 'cart_expires' src")
    (home,) = (tmp_path / "tmp").iterdir()
    assert (home / MARKER).is_file()
    terminal.send("q")
    assert terminal.wait() == 0
    assert list((tmp_path / "tmp").iterdir()) == []
    assert _tree(user_home) == before


def test_static_stands_still(demo: Demo, tmp_path: Path) -> None:
    terminal = demo("--static", "--home", str(tmp_path / "kept"))
    terminal.until("All 412 pass")
    terminal.quiet(1.0)
    stores = {name: content for name, content in _tree(tmp_path / "kept").items() if name.startswith(".claude")}
    assert terminal.pump(4.0) == 0
    after = {name: content for name, content in _tree(tmp_path / "kept").items() if name.startswith(".claude")}
    assert stores == after
    terminal.send("q")
    assert terminal.wait() == 0
    assert (tmp_path / "kept" / ".hermes" / "state.db").is_file()


def test_a_directory_that_is_in_use_is_refused(demo: Demo, user_home: Path) -> None:
    before = _tree(user_home)
    terminal = demo("--home", str(user_home))
    assert terminal.wait() == 2
    assert "is not empty" in " ".join(terminal.text.split())
    assert _tree(user_home) == before
