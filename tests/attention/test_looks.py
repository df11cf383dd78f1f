"""What a look costs: of a session that changed its file is read, and nobody else's is looked for."""

from __future__ import annotations

import os
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claude_lines import ClaudeHome
from hermes_tui.attention.monitor import Monitor
from hermes_tui.attention.panes import Pane
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.mark_store import MarkStore
from lane_homes import DISCORD, NOW, HermesDemo
from session_adapters.base import Environment
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.reading.files import METER


def test_a_session_that_grows_is_not_looked_for_among_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ClaudeHome(tmp_path / "home")
    path = made.session("the one that runs")
    made.process(path.stem, "busy")
    for number in range(5):
        made.session(f"another {number}")
    manager = SessionManager(Environment(home=made.home), cache_dir=tmp_path / "cache", agents=("claude",))
    monitor = Monitor(manager, MarkStore(tmp_path / "marks.db"), panes=lambda: ())
    sought: list[str] = []
    find = ClaudeAdapter.find
    monkeypatch.setattr(ClaudeAdapter, "find", lambda self, one: sought.append(one) or find(self, one))  # type: ignore[func-returns-value]
    for number in range(4):
        made.say(path, "assistant" if number % 2 else "user", f"said {number}")
        found = monitor.look(manager.catalogue.refresh()).by_session
        assert f"claude:{path.stem}" in found
    assert sought == []
    path.rename(tmp_path / "elsewhere.jsonl")
    monitor.look(manager.catalogue.snapshot)  # the list does not know yet; nothing ends it
    assert f"claude:{path.stem}" not in monitor.look(manager.catalogue.refresh()).by_session


def test_a_file_of_a_year_to_come_is_read_no_more_often_than_others(tmp_path: Path) -> None:
    """It was read again at each look until that year, and one of a year that Python has not ended all looks."""
    made = ClaudeHome(tmp_path / "home")
    path = made.session("the one that runs")
    made.process(path.stem, "busy")
    manager = SessionManager(Environment(home=made.home), cache_dir=tmp_path / "cache", agents=("claude",))
    later = [0.0]
    monitor = Monitor(manager, MarkStore(tmp_path / "marks.db"), panes=lambda: (), now=lambda: time.time() + later[0])
    for future in (time.time() + 86_400, 1e11):  # of as many seconds as the file system knows
        os.utime(path, (future, future))
        manager.catalogue.refresh()
        assert f"claude:{path.stem}" in monitor.look(manager.catalogue.snapshot).by_session
        later[0] += 3600
        monitor.look(manager.catalogue.snapshot)
        METER.reset()
        later[0] += 3600
        monitor.look(manager.catalogue.snapshot)
        assert METER.opened == 0


def test_a_session_that_dies_in_the_middle_is_something_new(tmp_path: Path) -> None:
    """Who had looked at it while it was at work was never told: no message says it."""
    made = ClaudeHome(tmp_path / "home")
    path = made.session("the one that runs")
    made.say(path, "user", "Go on")
    made.process(path.stem, "busy")
    manager = SessionManager(Environment(home=made.home), cache_dir=tmp_path / "cache", agents=("claude",))
    marks, key = MarkStore(tmp_path / "marks.db"), f"claude:{path.stem}"
    monitor = Monitor(manager, marks, panes=lambda: ())
    (session,) = manager.catalogue.refresh().sessions
    marks.see(key, session.updated_at)
    found = monitor.look(manager.catalogue.snapshot)
    assert (found.by_session[key].state.word, found.by_session[key].unread, found.unread) == ("working", False, {})
    (made.home / ".claude" / "sessions" / f"{os.getpid()}.json").unlink()
    for looks in (monitor, monitor, Monitor(manager, marks, panes=lambda: ())):
        found = looks.look(manager.catalogue.refresh())
        assert (found.by_session[key].state.word, found.by_session[key].unread) == ("gone", True)
        assert found.by_session[key].state.since == session.updated_at and list(found.unread) == [key]
    marks.see(key, session.updated_at)
    assert monitor.look(manager.catalogue.refresh()).by_session == {}


def test_a_title_that_was_there_at_first_is_not_the_freshest_sign(tmp_path: Path) -> None:
    made = ClaudeHome(tmp_path / "home")
    path = made.session("the one that waits")
    made.process(path.stem, "waiting", waitingFor="permission prompt")
    manager = SessionManager(Environment(home=made.home), cache_dir=tmp_path / "cache", agents=("claude",))
    title = ["\u280b shop"]
    monitor = Monitor(
        manager,
        MarkStore(tmp_path / "marks.db"),
        panes=lambda: [Pane("s", os.getpid(), "%1", "/dev/null", "main", "0", "0", title[0])],
    )
    key, snapshot = f"claude:{path.stem}", manager.catalogue.refresh()
    assert monitor.look(snapshot).by_session[key].state.word == "approval"
    title[0] = "\u2819 shop"  # the spinner goes round: nothing else is said than before
    assert monitor.look(snapshot).by_session[key].state.word == "approval"
    title[0] = "\u2733 shop"
    monitor.look(snapshot)
    title[0] = "\u280b shop"
    assert monitor.look(snapshot).by_session[key].state.word == "working"


def test_panes_of_two_servers_may_have_the_same_id(tmp_path: Path) -> None:
    """The title of each was taken for a new one of the other's, and a new title is the freshest sign there is."""
    made = ClaudeHome(tmp_path / "home")
    waits, rests = made.session("the one that waits"), made.session("the one that rests")
    with subprocess.Popen(["sleep", "600"]) as other:
        made.process(waits.stem, "waiting", waitingFor="permission prompt")
        made.process(rests.stem, "idle", other.pid)
        manager = SessionManager(Environment(home=made.home), cache_dir=tmp_path / "cache", agents=("claude",))
        panes = [
            Pane("s", os.getpid(), "%1", "/dev/null", "main", "0", "0", "\u280b shop"),
            Pane("t", other.pid, "%1", "/dev/null", "main", "0", "0", "\u2733 shop"),
        ]
        monitor = Monitor(manager, MarkStore(tmp_path / "marks.db"), panes=lambda: panes)
        looks = [monitor.look(manager.catalogue.refresh()).by_session for _ in range(2)]
        other.kill()
    assert [found[f"claude:{waits.stem}"].state.word for found in looks] == ["approval", "approval"]


def test_an_answer_in_a_lane_needs_nobody_once_the_lane_has_left_it(tmp_path: Path) -> None:
    """After each reset, and each `/new` in a chat, the session before was said to need a person."""
    demo = HermesDemo(tmp_path / "home")
    demo.end_gateway()
    manager = SessionManager(demo.environment, cache_dir=tmp_path / "cache", agents=("hermes",), indexed=False)
    now = NOW.timestamp()
    monitor = Monitor(manager, MarkStore(tmp_path / "m.db", now=lambda: 1.0), panes=lambda: (), now=lambda: now)
    name = f"hermes:{demo.entry(DISCORD)['session_id']}"

    def said() -> str:
        return monitor.look(manager.catalogue.refresh()).by_session[name].state.word

    assert said() == "idle"
    operations = Operations(demo.environment, audit=Audit(tmp_path / "lanes.jsonl"), clock=lambda: NOW)
    assert operations.apply(operations.plan(Request(kind="reset", key=DISCORD))).state == "done"
    assert demo.entry(DISCORD)["session_id"] not in name
    assert said() == "idle"


def test_what_went_wrong_right_before_the_first_run_is_told(tmp_path: Path) -> None:
    """Whoever installs it because something is wrong was told that nothing needs them. What was done is no news."""
    made, now = ClaudeHome(tmp_path / "home"), time.time()
    keys: dict[str, str] = {}
    for name, last, ago in (("cut", "user", 600), ("cut long ago", "user", 7200), ("done", "assistant", 600)):
        made.start = datetime.fromtimestamp(now - ago - 200, UTC)
        path = made.session(name)
        made.say(path, last, "Go on")
        os.utime(path, (now - ago, now - ago))
        keys[f"claude:{path.stem}"] = name
    manager = SessionManager(Environment(home=made.home), cache_dir=tmp_path / "cache", agents=("claude",))
    marks = MarkStore(tmp_path / "marks.db", now=lambda: now)
    monitor = Monitor(manager, marks, panes=lambda: (), now=lambda: now + 60)
    (found,) = monitor.look(manager.catalogue.refresh()).by_session.values()
    assert (keys[found.session.unified_id], found.state.word, found.unread) == ("cut", "gone", False)
    marks.see(found.session.unified_id, found.session.updated_at)
    assert monitor.look(manager.catalogue.snapshot).by_session == {}
