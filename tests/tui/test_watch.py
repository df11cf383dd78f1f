"""The watching thread: looks when it should, hands over the newest only, leaks nothing, ends at once."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from claude_lines import ClaudeHome
from hermes_tui.platform.background import Slot
from hermes_tui.sessions.catalogue.arrivals import Arrivals
from hermes_tui.sessions.catalogue.snapshot import AgentPlace, Snapshot
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.workers.session_watch import Watch
from hermes_tui.tui.workers.watched_places import agents_at, directories
from session_adapters.base import Environment, Root
from session_adapters.model import Problem, SessionSummary


def wait(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Until it is so; fails when it never is."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def nothing(problem: Problem) -> None:
    raise AssertionError(problem)


class Looked:
    """A catalogue that counts."""

    lacks_process = False

    def __init__(self, root: Path | None = None) -> None:
        self.count = 0
        self.agents: list[Collection[str] | None] = []
        self.written: list[Collection[str]] = []
        self.again = False
        self.processes = 0
        self.error: Exception | None = None
        self.root = root

    def glance(self) -> Snapshot:
        return Snapshot()

    def refresh(
        self, agents: Collection[str] | None = None, *, again: bool = False, written: Collection[str] = ()
    ) -> Snapshot:
        self.count += 1
        self.agents.append(agents)
        self.written.append(written)
        self.again = again
        if self.error is not None:
            raise self.error
        places = (AgentPlace(agent="a", label="A", roots=(Root(path=self.root, exists=True),)),) if self.root else ()
        return Snapshot(version=1, places=places)

    def refresh_processes(self) -> Snapshot:
        self.processes += 1
        return Snapshot(version=1 + self.processes)

    def refresh_marks(self) -> Snapshot:
        return Snapshot(version=1 + self.processes)

    def complete(self, stop: Callable[[], bool]) -> Snapshot:
        raise AssertionError("nothing is partial")


def test_slot_keeps_the_newest_and_schedules_once() -> None:
    scheduled: list[Callable[[], None]] = []
    received: list[int] = []
    slot: Slot[int] = Slot(scheduled.append, received.append)
    for number in range(5):
        slot.put(number)
    assert len(scheduled) == 1
    scheduled.pop()()
    assert received == [4]
    slot.put(5)
    scheduled.pop()()
    assert received == [4, 5]


def test_a_change_on_disk_is_seen_long_before_the_next_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.WITH_NOTIFICATION", 600.0)
    looked = Looked(tmp_path)
    watch = Watch(looked, lambda snapshot: None, nothing)
    watch.start()
    try:
        wait(lambda: looked.count >= 2 and watch.notified)  # once more when it listens: it may have missed something
        time.sleep(1.5)  # the shortest pause is over, and nothing has changed
        before = looked.count
        assert before == 2
        (tmp_path / "state.db-shm").write_text("our own reading does this")
        (tmp_path / "new.jsonl").write_text("{}")
        wait(lambda: looked.count > before)
        assert [agents and set(agents) for agents in looked.agents] == [None, None, {"a"}]
        assert [*map(set, looked.written)] == [set(), set(), {str(tmp_path / "new.jsonl")}]
        assert not looked.again
        looked.agents.clear()
        watch.look_now()
        wait(lambda: looked.agents)
        assert (looked.agents, looked.again) == ([None], True)
    finally:
        watch.stop()


def test_a_look_that_was_asked_for_is_not_lost_by_a_mark(tmp_path: Path) -> None:
    looked = Looked(tmp_path)
    watch = Watch(looked, lambda snapshot: None, nothing)
    watch.start()
    try:
        wait(lambda: looked.count >= 2 and watch.notified)
        looked.agents.clear()
        watch.look_now()
        watch.look_at_marks()
        wait(lambda: looked.agents)
        assert (looked.agents, looked.again) == ([None], True)
    finally:
        watch.stop()


def test_every_store_is_looked_at_now_and_then_however_much_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.WITH_NOTIFICATION", 4.0)
    looked = Looked(tmp_path)
    watch = Watch(looked, lambda snapshot: None, nothing)
    watch.start()

    def look_again() -> bool:
        (tmp_path / "grows.jsonl").write_text(str(time.monotonic()))
        return looked.agents.count(None) >= 2 and len(looked.agents) > looked.agents.count(None)

    try:
        wait(look_again)
    finally:
        watch.stop()
        watch.join()


def test_the_longer_a_look_at_every_store_takes_the_rarer_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.WITH_NOTIFICATION", 0.5)

    class Long(Looked):
        def refresh(
            self, agents: Collection[str] | None = None, *, again: bool = False, written: Collection[str] = ()
        ) -> Snapshot:
            until = time.thread_time() + 0.02  # as with a thousand sessions
            while time.thread_time() < until:
                pass
            return super().refresh(agents, again=again)

    looked = Long(tmp_path)
    watch = Watch(looked, lambda snapshot: None, nothing)
    watch.start()
    try:
        wait(lambda: looked.count >= 2 and watch.notified)
        time.sleep(3)  # three pauses, and six times as long as between two that take no time
        assert looked.agents == [None, None]
        (tmp_path / "new.jsonl").write_text("{}")
        wait(lambda: looked.count > 2)
        assert looked.agents[2:] == [{"a"}]
    finally:
        watch.stop()
        watch.join()


def test_a_change_right_after_a_look_at_every_store_does_not_wait_for_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.WITH_NOTIFICATION", 600.0)

    class Long(Looked):
        def refresh(
            self, agents: Collection[str] | None = None, *, again: bool = False, written: Collection[str] = ()
        ) -> Snapshot:
            until = time.thread_time() + (1.5 if agents is None else 0.0)  # as with fifty thousand sessions
            while time.thread_time() < until:
                pass
            return super().refresh(agents, again=again)

    looked = Long(tmp_path)
    watch = Watch(looked, lambda snapshot: None, nothing)
    watch.start()
    try:
        wait(lambda: looked.count == 2 and watch.notified)
        written = time.monotonic()
        (tmp_path / "new.jsonl").write_text("{}")
        wait(lambda: looked.count > 2)
        assert looked.agents == [None, None, {"a"}]
        assert time.monotonic() - written < 15, "a look of 1.5 s is followed by 30 s without one, but not this one"
    finally:
        watch.stop()
        watch.join()


def test_whose_place_it_is() -> None:
    """An agent may have several places, two may share one, and what is nobody's may be anybody's."""
    places = [
        AgentPlace(agent=agent, label=agent, roots=tuple(Root(path=Path(path), exists=True) for path in paths))
        for agent, paths in {"a": ["/h/.a"], "b": ["/h/.b/one", "/h/.b/two"], "c": ["/h/.a/inside"]}.items()
    ]
    snapshot = Snapshot(places=tuple(places))
    assert agents_at(["/h/.a/x.jsonl", "/h/.a"], snapshot) == {"a"}
    assert agents_at(["/h/.b/two/deep/x", "/h/.a/inside/x"], snapshot) == {"a", "b", "c"}
    assert agents_at(["/h/.a/x", "/h/.abc"], snapshot) is None
    assert agents_at(["/h/.b/three"], snapshot) is None


def test_processes_are_looked_for_without_a_look_at_the_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.PROCESSES_PAUSE", 0.01)
    looked = Looked(tmp_path)
    published: list[Snapshot] = []
    watch = Watch(looked, published.append, nothing)
    watch.start()
    try:
        wait(lambda: looked.processes >= 2)
    finally:
        watch.stop()
        watch.join()
    assert looked.count <= 2  # the second when it has begun to listen
    assert [snapshot.version for snapshot in published[:2]] == [1, 2]


def test_it_clears_up_once_after_each_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.PROCESSES_PAUSE", 0.01)
    looked = Looked(tmp_path)
    seen: list[str] = []
    watch = Watch(looked, lambda snapshot: seen.append(f"{snapshot.version}"), nothing, lambda: seen.append("rest"))
    watch.start()
    try:
        wait(lambda: looked.processes >= 2)
        for look in ("refresh_processes", "refresh_marks"):
            monkeypatch.setattr(looked, look, lambda: Snapshot(version=7))
        wait(lambda: seen[-2:] == ["7", "rest"])
        time.sleep(2.5)
    finally:
        watch.stop()
        watch.join()
    assert seen[-2:] == ["7", "rest"]
    assert ("rest", "rest") not in pairwise(seen)
    assert seen.count("7") == 1


def test_it_clears_up_where_the_system_notifies_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.PROCESSES_PAUSE", 0.01)
    monkeypatch.setattr("watchfiles.watch", lambda *places, **options: iter(()))
    rested: list[int] = []
    watch = Watch(Looked(tmp_path), lambda snapshot: None, nothing, lambda: rested.append(1))
    watch.start()
    try:
        wait(lambda: bool(rested))
    finally:
        watch.stop()
        watch.join()


def test_nothing_waits_for_an_agent_to_stop_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.PROCESSES_PAUSE", 3.0)
    looked = Looked(tmp_path)
    rested: list[int] = []
    watch = Watch(looked, lambda snapshot: None, nothing, lambda: rested.append(1))
    watch.start()

    def is_done() -> bool:
        (tmp_path / "session.jsonl").write_text(f"{time.monotonic()}")
        return bool(rested and looked.processes)

    try:
        wait(is_done, 30.0)
    finally:
        watch.stop()
        watch.join()


def test_a_process_that_ended_is_missed_within_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes nothing: that it runs is looked at every second, and for new ones every fifteen."""
    looked = Looked(tmp_path)
    watch = Watch(looked, lambda snapshot: None, nothing)
    watch.start()
    try:
        wait(lambda: watch.notified)
        before = looked.processes
        looked.lacks_process = True
        wait(lambda: looked.processes > before, 5.0)
    finally:
        watch.stop()
        watch.join()


class Partial(Looked):
    """A catalogue with a session that stays partial; `stops` says whether there was time for reading it in full."""

    def __init__(self, root: Path, *, stops: bool) -> None:
        super().__init__(root)
        self._stops = stops

    def refresh(
        self, agents: Collection[str] | None = None, *, again: bool = False, written: Collection[str] = ()
    ) -> Snapshot:
        return replace(super().refresh(agents), partial=1)

    def complete(self, stop: Callable[[], bool]) -> Snapshot:
        while self._stops and not stop():
            pass
        return Snapshot(version=1, partial=1)


def test_what_is_left_to_be_read_is_read_at_once_and_what_cannot_be_is_no_reason_to_look_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.PROCESSES_PAUSE", 0.01)
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.READING_TURN", 0.01)
    for stops in (False, True):
        looked = Partial(tmp_path, stops=stops)
        watch = Watch(looked, lambda snapshot: None, nothing)
        watch.start()
        try:
            wait(lambda looked=looked, stops=stops: looked.count >= 3 if stops else looked.processes >= 3)  # type: ignore[misc]
            assert stops or looked.count <= 2
        finally:
            watch.stop()
            watch.join()


def test_what_is_written_while_much_is_read_in_full_is_looked_at_before_all_of_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an update of the program all is read anew: a sign waited for that, ten seconds at a time."""
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.READING_TURN", 600.0)
    looked = Partial(tmp_path, stops=True)
    watch = Watch(looked, lambda snapshot: None, nothing)

    def look_again() -> bool:
        (tmp_path / "grows.jsonl").write_text(str(time.monotonic()))
        return {"a"} in map(set, filter(None, looked.agents))

    watch.start()
    try:
        wait(look_again)
    finally:
        watch.stop()
        watch.join()


def test_without_notification_it_looks_by_itself() -> None:
    looked = Looked()
    watch = Watch(looked, lambda snapshot: None, nothing)
    watch.start()
    try:
        wait(lambda: looked.count >= 2)
        before = looked.count
        watch.look_now()
        wait(lambda: looked.count > before, 1.5)
    finally:
        watch.stop()


def test_only_a_new_version_is_published() -> None:
    looked = Looked()
    published: list[Snapshot] = []
    watch = Watch(looked, published.append, nothing)
    watch.start()
    for _ in range(3):
        before = looked.count
        watch.look_now()
        wait(lambda before=before: looked.count > before)  # type: ignore[misc]
    watch.stop()
    assert len(published) == 1


def test_a_bug_is_told_and_the_watch_goes_on() -> None:
    looked = Looked()
    looked.error = RuntimeError("boom")
    told: list[Problem] = []
    watch = Watch(looked, lambda snapshot: None, told.append)
    watch.start()
    wait(lambda: told)
    assert "RuntimeError: boom" in told[0].reason
    looked.error = None
    before = looked.count
    watch.look_now()
    wait(lambda: looked.count > before)
    watch.stop()


def test_what_changed_last_is_shown_before_all_is_read() -> None:
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    newest, older = (
        SessionSummary(agent="a", session_id=name, created_at=moment, updated_at=moment) for name in ("new", "old")
    )
    first, everything = Snapshot(version=1, sessions=(newest,)), Snapshot(version=2, sessions=(newest, older))
    published: list[Snapshot] = []
    done = threading.Event()

    class Long(Looked):
        def glance(self) -> Snapshot:
            return first

        def refresh(
            self, agents: Collection[str] | None = None, *, again: bool = False, written: Collection[str] = ()
        ) -> Snapshot:
            assert published == [first]
            done.set()
            return everything

    watch = Watch(Long(), published.append, nothing)
    watch.start()
    assert done.wait(60)
    watch.stop()


def test_stopping_waits_for_no_read() -> None:
    gate = threading.Event()

    class Slow(Looked):
        def refresh(
            self, agents: Collection[str] | None = None, *, again: bool = False, written: Collection[str] = ()
        ) -> Snapshot:
            gate.wait(600)
            return super().refresh(agents)

    watch = Watch(Slow(), lambda snapshot: None, nothing)
    watch.start()
    began = time.monotonic()
    watch.stop()
    assert time.monotonic() - began < 30
    gate.set()


def test_two_hundred_looks_leave_no_file_and_no_thread_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchfiles.watch", lambda *places, **options: iter(()))  # it is asked here when to look
    home = ClaudeHome(tmp_path / "home")
    paths = [home.session(f"Session {number}") for number in range(5)]
    manager = SessionManager(Environment(home=home.home), cache_dir=tmp_path / "cache", agents=["claude"])
    published: list[Snapshot] = []
    watch = Watch(manager.catalogue, published.append, nothing)

    def look(at: int, text: str) -> None:
        """Say something, and wait until the list tells of it."""
        known = len(published)
        home.say(paths[at], "user", text)
        watch.look_now()
        wait(lambda: len(published) > known)

    def used() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), threading.active_count()  # noqa: PTH208

    watch.start()
    wait(lambda: published)
    for number in range(5):
        look(number, "warm up")
    before = used()
    for number in range(200):
        look(number % 5, f"message {number}")
    # Fewer where a thread of an earlier test has ended meanwhile.
    assert all(now <= then for now, then in zip(used(), before, strict=True))
    watch.stop()
    watch.join()


def test_a_server_among_the_places_keeps_no_directory_from_being_watched(tmp_path: Path) -> None:
    roots = (Root(path=Path("postgresql:host:5432/hector"), exists=True), Root(path=tmp_path, exists=True))
    snapshot = Snapshot(version=1, places=(AgentPlace(agent="a", label="A", roots=roots),))
    assert directories(snapshot) == (tmp_path,)


@pytest.mark.parametrize("begun", ["", ".pi", ".pi/agent", ".gemini"])
def test_the_first_session_of_an_agent_is_seen_where_it_had_no_place_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: str
) -> None:
    """`begun`: what it had made before."""
    monkeypatch.setattr("hermes_tui.tui.workers.session_watch.WITH_NOTIFICATION", 600.0)
    made = ClaudeHome(tmp_path / "home")
    made.session("one")
    (made.home / begun).mkdir(parents=True, exist_ok=True)
    environment = Environment(home=made.home)
    manager = SessionManager(environment, cache_dir=tmp_path / "cache", agents=("claude", "pi", "gemini", "omp"))
    found: list[Snapshot] = []
    watch = Watch(manager.catalogue, found.append, nothing, int, Arrivals(environment).since)
    watch.start()
    try:
        wait(lambda: found and watch.notified)
        time.sleep(2.5)  # what comes after it listens is looked for once more
        folder = made.home / ".pi" / "agent" / "sessions" / "--x--"
        folder.mkdir(parents=True)
        head = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-01T10:00:00.000Z", "cwd": "/x"}
        said = {"type": "message", "id": "m", "parentId": None, "timestamp": head["timestamp"]}
        said["message"] = {"role": "user", "content": "hello", "timestamp": 1_793_527_200_000}
        (folder / "2026-11-01T10-00-00-000Z_s.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(said)}\n")
        wait(lambda: {one.agent for one in found[-1].sessions} == {"claude", "pi"}, 20.0)
    finally:
        watch.stop()
        watch.join()


def test_an_arrival_is_told_once(tmp_path: Path) -> None:
    environment = Environment(home=tmp_path)
    arrivals = Arrivals(environment)
    missing = Root(path=tmp_path / ".codex" / "sessions")
    places = [
        AgentPlace(agent="codex", label="Codex", roots=(missing,)),
        AgentPlace(agent="gemini", label="Gemini"),
        AgentPlace(agent="somebody-else", label="of whom nothing is known"),
    ]
    assert arrivals.since(places) == set()
    missing.path.parent.mkdir()
    missing.path.symlink_to(tmp_path / "later")
    assert arrivals.since(places) == set(), "a link that leads nowhere"
    (tmp_path / "later").write_text("a file")
    assert arrivals.since(places) == {str(missing.path)}
    assert arrivals.since(places) == set()
    (tmp_path / "later").unlink()
    (tmp_path / "later").mkdir()
    assert arrivals.since(places) == {str(missing.path)}, "a folder in its place"
    assert arrivals.since(places) == set()
    (tmp_path / ".gemini").mkdir()
    wait(lambda: arrivals.since(places) == {"/"})  # not at once, if that took long before
    assert arrivals.since(places) == set()
    assert agents_at({"/"}, Snapshot(places=tuple(places))) is None
