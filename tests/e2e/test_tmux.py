"""The real program in tmux, as over SSH: start, move, open, filter, follow a growing file, resize, quit."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from claude_lines import ClaudeHome
from tmuxes import Tmux

pytestmark = [pytest.mark.e2e, pytest.mark.needs("tmux")]


@pytest.fixture(params=[(80, 24), (160, 48)], ids=["80x24", "160x48"])
def tmux(request: pytest.FixtureRequest, claude_home: ClaudeHome) -> Iterator[Tmux]:
    """The program on `claude_home`."""
    variables = {"HOME": str(claude_home.home), "LC_ALL": "C.UTF-8", "COLORTERM": "truecolor"}
    with Tmux(request.param, [sys.executable, "-m", "hermes_tui"], variables) as server:
        yield server


def test_a_walk_through(tmux: Tmux, claude_home: ClaudeHome) -> None:
    tmux.until("40 sessions", "Session n39x", "↵ open")
    tmux.keys("Down", "Down")
    tmux.keys("Enter")
    tmux.until("Answer 0 to Session n37x", "esc back")
    tmux.keys("Escape")
    tmux.until("↵ open", "Session n36x", absent="open/close")
    tmux.type("/n1")
    tmux.until(" 11 of 40", "Session n19x", absent="Session n39x")
    tmux.keys("Enter")
    tmux.until("↵ open", absent="keep")
    tmux.keys("Escape")
    tmux.until("40 sessions", "Session n37x", absent="of 40")
    # Follow a file that grows.
    tmux.keys("g", "Enter")
    tmux.until("Answer 29 to Session n39x", "following")
    (path,) = claude_home.projects.rglob(f"{_newest(claude_home)}.jsonl")
    claude_home.say(path, "assistant", "Here comes the rest")
    tmux.until("Here comes the rest", "following")
    tmux.keys("PageUp", "PageUp")
    tmux.until("Answer", absent="following")
    claude_home.say(path, "assistant", "Not seen while reading above")
    claude_home.session("The newcomer")
    tmux.keys("Escape")
    tmux.until("The newcomer", "41 sessions")
    for size in ((40, 15), (20, 5), (100, 30), (160, 48), (80, 24)):
        tmux.run("resize-window", "-x", str(size[0]), "-y", str(size[1]))
        tmux.until("41")
    tmux.keys("?")
    tmux.until("Keys", "Open the session")
    tmux.keys("q")
    tmux.until("↵ open")
    tmux.keys("q")
    tmux.until_it_ends()


def _newest(home: ClaudeHome) -> str:
    """Id of the session of the fixture that was written last."""
    return max(home.projects.rglob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns).stem
