"""Lanes in a real terminal, on the demo: a change from its plan until the gateway has taken it."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lane_homes import FAYE, HermesDemo
from tmuxes import Tmux

pytestmark = [pytest.mark.e2e, pytest.mark.needs("tmux")]


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    variables = {"HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "COLORTERM": "truecolor"}
    command = [sys.executable, "-m", "hermes_tui", "demo", "--home", str(tmp_path / "demo")]
    with Tmux((120, 36), command, variables) as server:
        yield server


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
    tmux.agree("y")
    tmux.until("◷ reset pending")
    assert log.is_file()
    tmux.until("✓ reset taken", "the lane's next message, of")
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
    tmux.until_it_ends()


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory whose path leaves room for more in a line."""
    with tempfile.TemporaryDirectory(prefix="h", dir="/tmp") as folder:
        yield Path(folder)


def test_the_command_that_does_the_same_names_the_home(short: Path) -> None:
    """Copied into a shell somewhere else, it makes the same plan."""
    HermesDemo(short / "demo")
    variables = {"HOME": str(short), "LC_ALL": "C.UTF-8"}
    start = f"cd {short} && exec {sys.executable} -m hermes_tui --home demo --no-index"
    with Tmux((160, 48), ["sh", "-c", start], variables) as tmux:
        tmux.until("12 lanes")
        tmux.keys("L")
        tmux.until("R reset…", "profile default")
        tmux.keys("Tab")
        tmux.until("profile coder", "▸ slack")
        tmux.keys("S")
        # Its last line may be there before those above it.
        text = tmux.until("Suspend this lane?", "Same as:", "lanes suspend", "Suspend (y)")
        tmux.keys("Escape")
        tmux.until("R reset…", absent="Suspend this lane?")
        tmux.keys("q", "y")
        copied = tmux.until("show hermes:")
    home = str((short / "demo").resolve())
    rows = [row.split("│")[1].strip() for row in text.splitlines() if row.count("│") == 2]
    words = shlex.split(" ".join(rows[rows.index("Same as:") + 1 : -1]))
    assert words == ["hermes-tui", "--home", home, "lanes", "suspend", FAYE, "--profile", "coder"]
    assert f"hermes-tui --home {home} sessions show hermes:" in copied
    argv = [sys.executable, "-m", "hermes_tui", *words[1:], "--dry-run"]
    done = subprocess.run(argv, cwd="/", capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    said = [row.partition("writes")[2].strip() for row in done.stdout.splitlines() if "writes" in row]
    shown = " ".join(text.split())
    assert said and all(one in shown for one in said), (said, text)
