"""The real program in tmux: from the attention screen, and from a key of tmux's, into the pane of a session."""

from __future__ import annotations

import sys

import pytest

from claude_lines import ClaudeHome
from tmuxes import Client, Tmux, until

pytestmark = [pytest.mark.e2e, pytest.mark.needs("tmux")]


def test_a_key_leads_into_the_pane(claude_home: ClaudeHome) -> None:
    one = claude_home.session("Clear the build")
    variables = {"HOME": str(claude_home.home), "LC_ALL": "C.UTF-8"}
    program = [sys.executable, "-m", "hermes_tui"]
    with Tmux((80, 24), program, variables) as tmux:
        tmux.until("41 sessions")
        tmux.run("new-session", "-d", "-s", "jobs", "sleep", "600")
        tmux.run("new-window", "-t", "jobs", "sleep", "600")
        pid = int(tmux.run("display-message", "-p", "-t", "jobs:1", "#{pane_pid}"))
        claude_home.process(one.stem, "waiting", pid, waitingFor="permission prompt")
        client = Client(tmux, "0")
        other = Client(tmux, "0")
        client.press("A")
        until(lambda: "Clear the build" in tmux.run("capture-pane", "-p", "-t", "0:0.0"))
        until(lambda: "approval" in client.seen())
        client.press("g")
        until(lambda: client.shown() == "jobs:1.0")
        assert other.shown() == "0:0.0"
        other.press("q")
        until(lambda: "↵ open" in other.seen() and "Attention" not in other.seen())
        # The same from tmux itself, whatever is on the screen.
        command = " ".join(("env", *(f"{name}={value}" for name, value in variables.items()), *program, "jump"))
        tmux.run("bind-key", "-n", "F9", "run-shell", f"{command} --client '#{{client_name}}'")
        other.press("\x1b[20~")
        until(lambda: other.shown() == "jobs:1.0")
        client.close()
        other.close()
