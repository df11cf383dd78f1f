"""Each agent's real program through its states, and what is said of it: `make test-agents`, which prints a table.

What was true is known from the script; what we say comes from the stores, the processes and the titles alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from agents.programs import PROGRAMS, Running
from agents.recording import Recorder
from hermes_tui.attention.monitor import Monitor
from hermes_tui.attention.panes import Pane, list_panes
from hermes_tui.attention.report import Attended
from hermes_tui.attention.states import STUCK_AFTER
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.mark_store import MarkStore
from session_adapters.base import Environment

RECORD = os.environ.get("HERMES_TUI_RECORD", "")
"""A folder for what each agent leaves behind at each state; none is kept without it."""
HASTE = timedelta(seconds=4)
TABLE: list[str] = []
pytestmark = [pytest.mark.needs("tmux"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    """Prints what was seen of all agents."""
    yield
    print("\n| agent | true | said | seconds | evidence |\n|---|---|---|---:|---|")
    print("\n".join(TABLE))


class Watcher:
    """Says how the one session of an agent is, as the program would."""

    def __init__(self, name: str, running: Running, folder: Path) -> None:
        self.name, self.running = name, running
        self.manager = SessionManager(Environment(home=running.home), cache_dir=folder / "cache", indexed=False)
        marks = MarkStore(folder / "marks.db", now=lambda: 1.0)
        self._recorder = Recorder(name, running.home, folder / "moments") if RECORD else None
        self.monitor = self._usual = Monitor(self.manager, marks, panes=self._panes)
        self._hasty = Monitor(self.manager, marks, panes=self._panes, stuck_after=HASTE)

    def _panes(self) -> Sequence[Pane]:
        return list_panes(self.running.tmux)

    def look(self) -> Attended | None:
        found = self.monitor.look(self.manager.catalogue.refresh((self.name,)))
        return next(iter(found.by_session.values()), None)

    def expect_stuck(self) -> None:
        """As if silence counted after a few seconds."""
        self.monitor = self._hasty
        self.expect(f"silent for {HASTE.seconds} s", "stuck")
        self.monitor = self._usual

    def pack(self) -> None:
        """Keep what was recorded, where it was asked for."""
        if self._recorder is not None:
            self._recorder.pack(Path(RECORD))

    def expect(self, true: str, *said: str) -> Attended:
        """Wait until one of these is said, and a second later still is."""
        last: list[Attended | None] = [None]

        def holds() -> bool:
            last[0] = self.look()
            return last[0] is not None and last[0].state.word in said

        try:
            seconds = self.running.until(holds, f"{self.name}: {true}")
        except AssertionError as error:
            raise AssertionError(f"{error}\nlast said: {last[0]}") from None
        time.sleep(1)
        found = self.look()
        assert found is not None and found.state.word in said, f"{true}: {found}"
        if self._recorder is not None:
            after = HASTE if self.monitor is self._hasty else STUCK_AFTER
            self._recorder.keep(true, said, self._panes(), after.total_seconds())
        evidence = "; ".join(one.words for one in found.state.evidence if not one.contradicts)
        TABLE.append(f"| {self.name} | {true} | {found.state.word} | {seconds:.1f} | {evidence} |")
        return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_agent_is_what_we_say(name: str, tmp_path: Path) -> None:
    # What is recorded has the same paths each time.
    folder = Path(tempfile.gettempdir(), "hermes-tui-agents", name) if RECORD else tmp_path / "agent"
    shutil.rmtree(folder, ignore_errors=True)
    with Running(name, folder) as running:
        watcher = Watcher(name, running, tmp_path)
        tells = name in ("claude", "codex", "copilot")  # of the others no file says which process is whose
        running.say("Hello")  # some keep no file before the first answer
        watcher.expect("it answered", "done")
        running.say("HOLD one")
        running.until(lambda: running.model.is_holding("one"), "the model is asked")
        watcher.expect("the model is asked", "working")
        running.model.let_go("one")
        watcher.expect("it answered", "done")
        if running.program.asks_for_leave:
            running.say(f"{running.program.asks_for_leave} touch built.txt && sleep 8")
            asked = watcher.expect("a tool waits for leave", "approval")
            assert name == "gemini" or "touch built.txt" in asked.state.text  # Gemini's log does not say it yet
            assert asked.pane is not None
            running.run("send-keys", "Enter")
            watcher.expect("leave was given, and the command runs", "working")
            watcher.expect("the command ended, and it answered", "done")
        if running.program.has_questions:
            running.say("ASK Which currency first?")
            watcher.expect("it asks its user", "question")
            running.run("send-keys", "Escape")
            watcher.expect("the question was dismissed", "done", "idle", "failed")
        running.say("HOLD two")
        running.until(lambda: running.model.is_holding("two"), "the model is asked")
        watcher.expect("the model is asked", "working")
        watcher.expect_stuck()
        running.model.let_go("two")
        watcher.expect("it answered", "done")
        running.say("FAIL")
        watcher.expect("the model refuses", "failed")
        running.say("HOLD three")
        running.until(lambda: running.model.is_holding("three"), "the model is asked")
        cut = watcher.expect("the model is asked", "working")
        running.kill()
        watcher.expect("killed in the middle", "gone" if tells else "working?")
        running.model.let_go("three")
        command = watcher.manager.resume(cut.session.agent, cut.session.session_id)
        running.resume(command.argv[1:])
        watcher.expect("resumed", *(("idle", "done", "gone") if tells else ("idle", "working?")))
        running.say("HOLD four")
        running.until(lambda: running.model.is_holding("four"), "the model is asked")
        watcher.expect("resumed, and the model is asked", "working")
        running.model.let_go("four")
        watcher.expect("resumed, and it answered", "done")
        watcher.pack()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_usage_limit_is_said(name: str, tmp_path: Path) -> None:
    with Running(name, tmp_path / "agent") as running:
        watcher = Watcher(name, running, tmp_path)
        running.say("Hello")
        watcher.expect("it answered", "done")
        running.say("LIMIT")
        at_limit = running.program.limit
        if at_limit is None:
            watcher.expect("the provider refuses: a usage limit, and it tries on", "working")
            return
        watcher.expect("the provider refuses: a usage limit", "limited")
        running.until(lambda: at_limit in running.screen(), "it tries no more")
        running.say("HOLD five")
        running.until(lambda: running.model.is_holding("five"), "the model is asked")
        watcher.expect("the limit is over, and the model is asked", "working")
        running.model.let_go("five")
        watcher.expect("the limit is over, and it answered", "done")
