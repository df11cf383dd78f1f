"""Searching in the real program in tmux: type, open at the match, go on to the next, come back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from claude_lines import ClaudeHome
from tmuxes import Tmux

pytestmark = [pytest.mark.e2e, pytest.mark.needs("tmux")]


@pytest.fixture(params=[(80, 24), (160, 48)], ids=["80x24", "160x48"])
def tmux(request: pytest.FixtureRequest, claude_home: ClaudeHome) -> Iterator[Tmux]:
    """The program on `claude_home`, in which two sessions speak of a heron."""
    for number, title in enumerate(("Birds of the lake", "A long walk")):
        path = claude_home.session(title)
        claude_home.say(path, "assistant", f"The heron number {number} stood still.")
        for stop in range(40):
            claude_home.say(path, "user", f"And at stop {stop}?")
            claude_home.say(path, "assistant", f"Nothing at stop {stop}.")
        claude_home.say(path, "assistant", f"A last heron, {number}, flew off.")
        claude_home.say(path, "assistant", f"The end of {title}.")
    variables = {"HOME": str(claude_home.home), "LC_ALL": "C.UTF-8", "COLORTERM": "truecolor"}
    with Tmux(request.param, [sys.executable, "-m", "hermes_tui"], variables) as server:
        yield server


def test_search_open_go_on_and_come_back(tmux: Tmux, claude_home: ClaudeHome) -> None:
    tmux.until("42 sessions", "A long walk", "↵ open")
    tmux.keys("Down", "Down")
    third = next(path for path in claude_home.projects.rglob("*.jsonl") if "Session n39x" in path.read_text())
    began = json.loads(third.read_text().splitlines()[0])["timestamp"][11:16]
    before = tmux.until("Session n39x", f"{began}, last").splitlines()
    tmux.type("/heron stood")
    tmux.until(" 2 of 42", "A long walk", "Birds of the lake", "stood still.", absent="Session n39x")
    tmux.keys("Enter")
    tmux.until("↵ open", "esc back")
    tmux.keys("g", "Enter")
    tmux.until("stood still.", "And at stop 0?", "open/close")
    # There is no other match of both words here: the next is in the other session.
    first = "heron number 1" if "heron number 1" in tmux.text() else "heron number 0"
    other = "heron number 0" if first.endswith("1") else "heron number 1"
    step = "n" if first.endswith("1") else "N"
    tmux.keys(step)
    tmux.until("again goes to")
    tmux.keys(step)
    tmux.until(f"The {other} stood still.", "open/close")
    tmux.keys("Escape")
    tmux.until("↵ open", " 2 of 42")
    tmux.keys("Escape")
    tmux.until("42 sessions", "Session n38x", absent="of 42")
    tmux.until("42 sessions", absent="again goes to")  # what was said of the end is gone
    after = tmux.until("Session n38x", absent="of 42").splitlines()
    # The cursor is where it was: the line of details speaks of the same session.
    assert after[-2] == before[-2]
    tmux.keys("q")
