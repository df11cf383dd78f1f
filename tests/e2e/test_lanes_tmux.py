"""Lanes in a real terminal, on the demo: a change from its plan until the gateway has taken it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tmuxes import Tmux

pytestmark = pytest.mark.e2e


@pytest.fixture
def tmux(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Iterator[Tmux]:
    variables = {"HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "COLORTERM": "truecolor"}
    command = [sys.executable, "-m", "hermes_tui", "demo", "--home", str(tmp_path / "demo")]
    server = Tmux(tmp_path_factory.mktemp("t"), (120, 36), command, variables)
    yield server
    server.run("kill-server")


def test_a_reset_from_its_plan_until_it_has_come_true(tmux: Tmux, tmp_path: Path) -> None:
    log = tmp_path / "demo" / ".local" / "state" / "hermes-tui" / "lanes.jsonl"
    tmux.until("gateway up 3d", "12 lanes")
    tmux.keys("L")
    tmux.until("↻ resume pending", "R reset…", "read-write")
    tmux.keys("Home", "Down", "Down", "Down")
    tmux.until("▸ signal")
    # In one read: the second key must do nothing.
    tmux.type("Ry")
    tmux.until("Reset this lane?", "Same as:")
    time.sleep(0.3)
    assert not log.exists()
    tmux.keys("Escape")
    tmux.until("R reset…", absent="Reset this lane?")
    assert not log.exists()
    tmux.keys("R")
    tmux.until("Reset this lane?", "lanes reset agent:main:signal")
    end = time.monotonic() + 20
    while "Reset (y)" in tmux.text():
        assert time.monotonic() < end
        time.sleep(0.6)
        tmux.keys("y")
    tmux.until("◷ reset pending")
    assert log.is_file()
    text = tmux.until("✓ reset taken")
    assert "the lane is in the new session" in text
    for size in ((40, 15), (20, 5), (80, 24), (160, 48), (120, 36)):
        tmux.run("resize-window", "-x", str(size[0]), "-y", str(size[1]))
        tmux.until("Lanes")
    tmux.keys("Enter")
    tmux.until("Hello! What can I do?", "esc back")
    tmux.keys("q")
    tmux.until("R reset…")
    tmux.keys("q")
    tmux.until("↵ open")
    tmux.keys("q")
    end = time.monotonic() + 10
    while tmux.is_there:
        assert time.monotonic() < end
        time.sleep(0.02)
