"""What is said of an agent, as its real program left everything behind at each state of the script.

The moments are written by `make test-agents` with `HERMES_TUI_RECORD` set to this folder's `recorded`.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agents.recording import Moment, moments
from hermes_tui.attention.monitor import Monitor
from hermes_tui.attention.states import SessionState
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.mark_store import MarkStore
from session_adapters.base import Environment

RECORDED = Path(__file__).parent / "recorded"
AGENTS = ("claude", "codex", "gemini", "copilot", "opencode", "pi")


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_said_to_be_what_it_was(agent: str, tmp_path: Path) -> None:
    wrong, seen = [], set()
    for number, moment in enumerate(moments(RECORDED / f"{agent}.tar.xz", tmp_path / "moments")):
        state = judged(agent, moment, tmp_path / str(number))
        seen.add(state.state)
        if state.word not in moment.facts["said"]:
            wrong.append((moment.facts["true"], moment.facts["said"], state))
    assert wrong == []
    assert seen >= {"working", "done", "failed", "stuck"}


def judged(agent: str, moment: Moment, scratch: Path) -> SessionState:
    """What is said of the one session there is, by a program that looks for the first time."""
    environment = Environment(home=moment.home, proc=moment.proc)
    manager = SessionManager(environment, cache_dir=scratch / "cache", agents=(agent,), indexed=False)
    monitor = Monitor(
        manager,
        MarkStore(scratch / "marks.db", now=lambda: 1.0),
        stuck_after=timedelta(seconds=moment.facts["stuckAfter"]),
        panes=lambda: moment.panes,
        now=lambda: float(moment.facts["now"]),
    )
    (found,) = monitor.look(manager.catalogue.refresh()).by_session.values()
    return found.state
