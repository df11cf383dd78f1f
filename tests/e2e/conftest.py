"""The real program, as a user starts it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claude_lines import ClaudeHome
from terminal import Terminal

Start = Callable[..., Terminal]


@pytest.fixture
def claude_home(tmp_path: Path) -> ClaudeHome:
    """A store of Claude Code with forty sessions, the newest with a long conversation."""
    home = ClaudeHome(tmp_path / "home")
    for number in range(40):
        home.session(f"Session n{number}x", turns=30 if number == 39 else 1)
    return home


@pytest.fixture
def start(claude_home: ClaudeHome) -> Iterator[Start]:
    """`start(size=(80, 24))`: the program on `claude_home`, once its list is on the screen."""
    running: list[Terminal] = []

    def run(**options: object) -> Terminal:
        argv = [sys.executable, "-m", "hermes_tui"]
        terminal = Terminal(argv, home=claude_home.home, **options)  # type: ignore[arg-type]
        running.append(terminal)
        terminal.until("40 sessions")
        terminal.quiet()
        return terminal

    yield run
    for terminal in running:
        terminal.close()
