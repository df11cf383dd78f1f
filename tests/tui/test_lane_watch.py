"""The watch over lanes: it reads when something may have changed, tells when something has, and writes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from hermes_tui.clock import Clock
from hermes_tui.lifecycle import lanes
from hermes_tui.lifecycle.operations.audit import Audit, History
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from hermes_tui.tui.workers.lane_watch import LaneNews, LaneWatch
from lane_homes import NOW, HermesDemo
from session_adapters.base import Environment

DISCORD = "agent:main:discord:thread:880012:880012"


@pytest.fixture
def demo(tmp_path: Path) -> HermesDemo:
    return HermesDemo(tmp_path / "home")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each time that lanes are read."""
    found: list[int] = []
    real: Callable[..., lanes.Board] = lanes.board

    def counted(*arguments: object) -> lanes.Board:
        found.append(1)
        return real(*arguments)

    monkeypatch.setattr(lanes, "board", counted)
    return found


def watch_of(environment: Environment, told: list[LaneNews], **more: bool) -> LaneWatch:
    failures: list[str] = []
    watch = LaneWatch(lambda: environment, Clock(NOW), told.append, failures.append, **more)
    assert not failures
    return watch


def gateway_state(told: list[LaneNews]) -> str:
    return told[-1].board.profiles[0].gateway.state


def test_it_reads_and_tells_only_when_it_must(demo: HermesDemo, reads: list[int]) -> None:
    told: list[LaneNews] = []
    watch = watch_of(demo.environment, told)
    for _ in range(5):
        watch.look()
    assert (len(reads), len(told)) == (1, 1)
    demo.sql("UPDATE sessions SET archived = archived")
    watch.look()
    assert (len(reads), len(told)) == (2, 1), "read again, and nothing new was found"
    demo.end_gateway()
    watch.look()
    assert len(told) == 2 and gateway_state(told) == "stopped"
    demo.run_gateway()
    watch.look()
    assert gateway_state(told) == "running"


def test_it_looks_less_often_while_nobody_sees_the_lanes(demo: HermesDemo, tmp_path: Path) -> None:
    told: list[LaneNews] = []
    watch = watch_of(demo.environment, told)
    watch.look()
    closed = watch.look()
    watch.on_screen = True
    assert 1.0 <= watch.look() < closed
    assert watch_of(Environment(home=tmp_path / "nobody"), told).look() >= 60


def test_an_outcome_is_seen_to_come_true(demo: HermesDemo) -> None:
    told: list[LaneNews] = []
    watch = watch_of(demo.environment, told)
    watch.look()
    assert told[-1].notices == {} and told[-1].undoable == {}
    operations = Operations(demo.environment, clock=lambda: NOW)
    done = operations.apply(operations.plan(Request(kind="reset", key=DISCORD)))
    watch.look()
    notice = told[-1].notices[("default", DISCORD)]
    assert (notice.outcome.state, notice.live, notice.settled) == ("pending", True, None)
    assert told[-1].undoable == {("default", DISCORD): done.operation}
    operations.apply(operations.undo(done.operation))
    watch.look()
    assert told[-1].notices[("default", DISCORD)].outcome.request.kind == "undo"
    assert told[-1].undoable == {}
    count = len(told)
    watch.look()
    assert len(told) == count


def test_read_only_writes_nothing_of_ours_either(demo: HermesDemo) -> None:
    operations = Operations(demo.environment, clock=lambda: NOW)
    operations.apply(operations.plan(Request(kind="reset", key=DISCORD)))
    entry = json.dumps(demo.entry(DISCORD) | {"session_id": "20261121_104000_0000beef"})
    demo.sql("UPDATE gateway_routing SET entry_json = ? WHERE session_key = ?", entry, DISCORD)
    columns = "id, source, session_key, started_at"
    demo.sql(f"INSERT INTO sessions ({columns}) VALUES ('20261121_104000_0000beef', 'x', ?, 1)", DISCORD)
    demo.sql("INSERT INTO messages (session_id, role, timestamp) VALUES ('20261121_104000_0000beef', 'user', 1.5)")
    path = Audit().path
    before = path.read_bytes()
    told: list[LaneNews] = []
    watch_of(demo.environment, told, read_only=True).look()
    assert told[-1].notices[("default", DISCORD)].outcome.state == "done"
    assert path.read_bytes() == before
    watch_of(demo.environment, told).look()
    assert path.read_bytes() != before and told[-1].notices[("default", DISCORD)].settled is not None


def test_operations_on_other_homes_are_not_asked_for(demo: HermesDemo, tmp_path: Path) -> None:
    other = HermesDemo(tmp_path / "other")
    operations = Operations(other.environment, clock=lambda: NOW - timedelta(hours=1))
    operations.apply(operations.plan(Request(kind="reset", key=DISCORD)))
    told: list[LaneNews] = []
    watch_of(demo.environment, told).look()
    assert told[-1].notices == {} and told[-1].trouble == ""


def test_a_log_that_cannot_be_read_is_said(demo: HermesDemo) -> None:
    path = Audit().path
    path.mkdir(parents=True)
    told: list[LaneNews] = []
    watch_of(demo.environment, told).look()
    assert "cannot be read" in told[-1].trouble and told[-1].board.lanes


def test_the_thread_ends_when_it_is_told_to(demo: HermesDemo) -> None:
    import threading

    seen = threading.Event()
    watch = LaneWatch(lambda: demo.environment, Clock(NOW), lambda _: seen.set(), pytest.fail)
    watch.start()
    assert seen.wait(60)
    watch.stop()
    for thread in threading.enumerate():
        if thread.name == "lanes":
            thread.join(60)
            assert not thread.is_alive()


def test_a_long_log_is_read_once_for_a_look(demo: HermesDemo, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many operations it has; else the first look at hundreds takes many seconds."""
    demo.end_gateway()
    operations = Operations(demo.environment, clock=lambda: NOW)
    for kind in ("suspend", "reset", "mark", "clear") * 3:
        operations.apply(operations.plan(Request(kind=kind, key=DISCORD)))
    real, times = Audit.read, []

    def counted(self: Audit) -> History:
        times.append(self.path)
        return real(self)

    monkeypatch.setattr(Audit, "read", counted)
    told: list[LaneNews] = []
    for read_only in (False, True):
        times.clear()
        watch_of(demo.environment, told, read_only=read_only).look()
        assert told[-1].notices[("default", DISCORD)].outcome.request.kind == "clear"
        assert len(times) == 1
