"""The catalogue: refresh, completion, what is gone, what goes wrong, several threads."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_tui.sessions.catalogue.agent import AgentSessions
from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.related_sessions import GONE_KEPT
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment, Report, Source
from session_adapters.reading.files import METER
from tiny_adapter import TinyAdapter
from tiny_home import START, TinyHome


def test_newest_activity_first(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("long", turns=100)
    tiny_home.add("later", at=START + timedelta(minutes=30))
    assert [one.session_id for one in manager.catalogue.refresh().sessions] == ["long", "later"]


def test_only_what_changed_is_read_again(tiny_home: TinyHome, manager: SessionManager) -> None:
    for number in range(10):
        tiny_home.add(f"s{number}")
    catalogue = manager.catalogue
    assert catalogue.refresh().version == 1
    METER.reset()
    again = catalogue.refresh()
    assert (again.version, METER.opened) == (1, 0)
    tiny_home.add("s3", turns=5)
    METER.reset()
    changed = catalogue.refresh()
    assert (changed.version, METER.opened) == (2, 1)
    assert {one.session_id: one.turn_count for one in changed.sessions}["s3"] == 5
    assert again.sessions != changed.sessions  # an old snapshot stays as it was


def test_a_refresh_without_time_reads_the_newest_and_the_next_goes_on(
    tiny_home: TinyHome, manager: SessionManager, tmp_path: Path
) -> None:
    for number in range(5):
        path = tiny_home.add(f"s{number}", at=START + timedelta(hours=number))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    catalogue = tiny_home.manager(tmp_path / "kept").catalogue
    catalogue.seconds = 0.0
    seen = [catalogue.refresh() for _ in range(5)]
    assert [[one.session_id for one in snapshot.sessions] for snapshot in seen] == [
        ["s4", "s3", "s2", "s1", "s0"][: number + 1] for number in range(5)
    ]
    assert [snapshot.unread for snapshot in seen] == [4, 3, 2, 1, 0]
    assert seen[-1].sessions == manager.catalogue.refresh().sessions
    hurried = tiny_home.manager(tmp_path / "hurried")
    hurried.catalogue.seconds = 0.0
    assert str(hurried.discover("nosuchword").coverage) == "scanned, 4 files not read yet"
    path = tiny_home.add("s4", turns=7)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    path = tiny_home.add("s0", turns=7)
    os.utime(path, (1_800_000_000, 1_800_000_000))
    stale = catalogue.refresh()
    assert (len(stale.sessions), stale.unread) == (5, 1), "what is not read anew stays as it was"
    assert [one.turn_count for one in catalogue.refresh().sessions if one.session_id in ("s0", "s4")] == [7, 7]


def test_closing_waits_for_no_look_at_very_many_and_the_next_program_goes_on(
    tiny_home: TinyHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        tiny_home.add(f"s{number}", at=START + timedelta(hours=number))
    catalogue = tiny_home.manager(tmp_path / "kept").catalogue
    read: list[str] = []
    closing = threading.Thread(target=catalogue.close)

    def summaries(adapter: TinyAdapter, source: Source, report: Report, *, exact: bool = False) -> Any:
        read.append(source.session_id)
        if len(read) == 10:
            closing.start()
            closing.join(0.2)  # it begins to wait
        return original(adapter, source, report, exact=exact)

    original = TinyAdapter.summaries
    monkeypatch.setattr(TinyAdapter, "summaries", summaries)
    snapshot = catalogue.refresh()
    closing.join(30)
    assert not closing.is_alive()
    assert (len(read), len(snapshot.sessions), snapshot.unread) == (10, 10, 90)
    again = tiny_home.manager(tmp_path / "kept").catalogue
    assert len(again.saved().sessions) == 10
    assert len(again.refresh().sessions) == len(read) == len(set(read)) == 100
    assert len(catalogue.refresh().sessions) == 100, "who lists after all is answered"


def test_a_glance_reads_what_changed_last_and_nothing_twice(tiny_home: TinyHome, tmp_path: Path) -> None:
    for number in range(100):
        path = tiny_home.add(f"s{number}", at=START + timedelta(hours=number))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    catalogue = tiny_home.manager(tmp_path / "kept").catalogue
    METER.reset()
    first = catalogue.glance()
    glanced = METER.opened
    assert [one.session_id for one in first.sessions][:60] == [f"s{number}" for number in range(99, 39, -1)]
    assert len(first.sessions) == glanced == 60
    assert not (tmp_path / "kept").exists(), "half a list is not worth keeping"
    everything = catalogue.refresh()
    assert METER.opened == 100
    assert everything.sessions[:60] == first.sessions
    assert len(everything.sessions) == 100
    METER.reset()
    again = tiny_home.manager(tmp_path / "kept").catalogue
    assert len(again.saved().sessions) == 100
    assert again.glance() == again.saved()
    assert METER.opened == 0


def test_a_short_list_is_kept_although_a_glance_has_read_all_of_it(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("only")
    catalogue = tiny_home.manager(tmp_path / "kept").catalogue
    catalogue.glance()
    catalogue.refresh()
    assert [one.session_id for one in tiny_home.manager(tmp_path / "kept").catalogue.saved().sessions] == ["only"]


def test_where_nothing_changed_no_file_is_opened_and_nothing_is_made_anew(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        tiny_home.add(f"s{number}")
    catalogue = manager.catalogue
    before = catalogue.refresh()
    opened, related = [], []
    audited = threading.Event()

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and audited.is_set() and str(arguments[0]).startswith(str(tiny_home.home)):
            opened.append(arguments[0])

    sys.addaudithook(audit)
    relate = TinyAdapter.relate

    def count(adapter: TinyAdapter, summaries: Any) -> Any:
        related.append(len(summaries))
        return relate(adapter, summaries)

    monkeypatch.setattr(TinyAdapter, "relate", count)
    audited.set()
    try:
        assert catalogue.refresh() is before
        assert (opened, related) == ([], [])
        tiny_home.add("s7", turns=3)
        opened.clear()
        assert catalogue.refresh() is not before
        assert (opened, related) == ([str(tiny_home.store / "s7.jsonl")], [50])
    finally:
        audited.clear()


def test_no_process_is_looked_for_where_there_is_no_session(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    live = TinyAdapter.live

    def count(adapter: TinyAdapter) -> Any:
        looks.append(adapter)
        return live(adapter)

    monkeypatch.setattr(TinyAdapter, "live", count)
    manager.catalogue.refresh()
    assert looks == []
    tiny_home.add("one")
    manager.catalogue.refresh()
    assert len(looks) == 1


def test_a_deleted_session_is_marked_gone_in_faces_and_absent_from_list(
    tiny_home: TinyHome, manager: SessionManager
) -> None:
    tiny_home.add("stays")
    path = tiny_home.add("goes")
    catalogue = manager.catalogue
    catalogue.refresh()
    kept = path.read_bytes()
    path.unlink()
    for _ in range(2):
        assert {one.session_id: one.gone for one in catalogue.refresh().sessions} == {"stays": False, "goes": True}
    assert [one.session_id for one in manager.list("tiny")] == ["stays"]
    path.write_bytes(kept)
    assert {one.session_id: one.gone for one in catalogue.refresh().sessions} == {"stays": False, "goes": False}


def test_only_the_last_sessions_that_are_gone_stay_in_the_list(tiny_home: TinyHome, manager: SessionManager) -> None:
    """A program that is left open for weeks would list thousands."""
    tiny_home.add("stays")
    paths = [tiny_home.add(f"goes-{number:03}") for number in range(GONE_KEPT + 20)]
    manager.catalogue.refresh()
    for path in paths[:70], paths[70:]:
        for one in path:
            one.unlink()
        found = manager.catalogue.refresh().sessions
    gone = {one.session_id for one in found if one.gone}
    assert len(gone) == GONE_KEPT and {path.stem for path in paths[70:]} <= gone
    assert [one.session_id for one in found if not one.gone] == ["stays"]


def test_what_was_gone_before_this_process_is_not_mentioned(tiny_home: TinyHome, tmp_path: Path) -> None:
    path = tiny_home.add("goes")
    tiny_home.manager(tmp_path / "cache").catalogue.refresh()
    path.unlink()
    catalogue = tiny_home.manager(tmp_path / "cache").catalogue
    assert [one.session_id for one in catalogue.saved().sessions] == ["goes"]
    assert catalogue.refresh().sessions == ()


def test_a_directory_that_cannot_be_listed_for_a_while_loses_nothing(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_home.add("one")
    catalogue = manager.catalogue
    catalogue.refresh()
    iterdir = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:  # what chmod does to everybody but root
        if path == tiny_home.store:
            raise PermissionError(13, "Permission denied", str(path))
        return iterdir(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "iterdir", refuse)
        during = catalogue.refresh()
    assert [(one.session_id, one.gone) for one in during.sessions] == [("one", False)]
    assert [problem.reason for problem in during.problems] == ["cannot be listed: Permission denied"]
    assert catalogue.refresh().problems == ()


def test_live_processes_come_and_go(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("one")
    pid = tiny_home.store / "one.pid"
    pid.write_text("77")
    (running,) = manager.catalogue.refresh().sessions
    assert (running.live, running.status) == (True, "busy")
    pid.unlink()
    (idle,) = manager.catalogue.refresh().sessions
    assert (idle.live, idle.status) == (False, None)


def test_processes_are_seen_without_a_look_at_the_stores(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("one")
    catalogue = manager.catalogue
    before = catalogue.refresh()
    assert catalogue.refresh_processes() is before
    (tiny_home.store / "one.pid").write_text("77")
    tiny_home.add("two")
    (running,) = catalogue.refresh_processes().sessions
    assert (running.session_id, running.live) == ("one", True)
    assert catalogue.refresh_processes() is catalogue.snapshot


def test_complete_reads_partial_sessions_newest_first_and_stops(tiny_home: TinyHome, manager: SessionManager) -> None:
    for number in range(3):
        path = tiny_home.add(f"large{number}", turns=200, filler=300)
        os.utime(path, (1e9 + number, 1e9 + number))
    catalogue = manager.catalogue
    assert catalogue.refresh().partial == 3
    asked = 0

    def after_one() -> bool:
        nonlocal asked
        asked += 1
        return asked > 1

    once = catalogue.complete(after_one)
    assert once.partial == 2
    assert [one.session_id for one in once.sessions if not one.partial] == ["large2"]
    done = catalogue.complete(lambda: False)
    assert done.partial == 0
    assert {one.turn_count for one in done.sessions} == {200}
    METER.reset()
    assert catalogue.complete(lambda: False) is catalogue.snapshot
    assert METER.opened == 0


def test_complete_does_not_put_old_counts_in_the_place_of_new_ones(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_home.add("large", turns=200, filler=300)
    catalogue = manager.catalogue
    catalogue.refresh()

    read = AgentSessions.read

    def read_then_rewrite(*arguments: Any, **options: Any) -> CachedSource:
        """Another thread's refresh, just between the reading of a file and the taking over of what was read."""
        monkeypatch.undo()
        entry = read(*arguments, **options)
        tiny_home.add("large", turns=1)
        catalogue.refresh()
        return entry

    monkeypatch.setattr(AgentSessions, "read", read_then_rewrite)
    assert [one.turn_count for one in catalogue.complete(lambda: False).sessions] == [1]


@pytest.mark.parametrize("crash", ["construct", "sources", "relate", "live", "summaries:one"])
def test_an_adapter_that_fails_is_a_problem_and_the_others_go_on(
    tiny_home: TinyHome, tmp_path: Path, crash: str
) -> None:
    tiny_home.add("one")
    tiny_home.add("two")
    manager = tiny_home.manager(tmp_path / "cache", "crashing", "tiny", "absent", "impostor", CRASH_IN=crash)
    snapshot = manager.catalogue.refresh()
    assert {one.session_id for one in snapshot.sessions if one.agent == "tiny"} == {"one", "two"}
    assert {problem.agent for problem in snapshot.problems} == {"crashing", "absent", "impostor"}
    (problem,) = (problem for problem in snapshot.problems if problem.agent == "crashing")
    assert f"RuntimeError: crash in {crash}" in problem.reason
    survivors = {"construct": set(), "summaries:one": {"two"}}.get(crash, {"one", "two"})
    assert {one.session_id for one in snapshot.sessions if one.agent == "crashing"} == survivors


def test_saved_touches_no_store(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("parent")
    tiny_home.add("child", parent="parent")
    first = tiny_home.manager(tmp_path / "cache").catalogue.refresh()
    tiny_home.store.rename(tiny_home.home / "elsewhere")
    METER.reset()
    assert tiny_home.manager(tmp_path / "cache").catalogue.saved().sessions == first.sessions
    assert METER.opened == 0


def test_a_first_picture_shows_only_the_agents_that_were_asked_for(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one")
    tiny_home.manager(tmp_path / "cache", "tiny", "copy").catalogue.refresh()
    only = tiny_home.manager(tmp_path / "cache", "copy").catalogue
    assert [one.unified_id for one in only.saved().sessions] == ["copy:one"]
    assert only.labels["tiny"] == ("Tiny Agent", "ty")


def test_two_homes_do_not_share_a_catalogue(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one")
    tiny_home.manager(tmp_path / "cache").catalogue.refresh()
    other = TinyHome(tmp_path / "other")
    assert other.manager(tmp_path / "cache").catalogue.saved().sessions == ()
    moved = tiny_home.manager(tmp_path / "cache", TINY_HOME=str(other.store))
    assert moved.catalogue.saved().sessions == ()


def test_r_3_home_is_looked_up_at_every_call(
    tiny_home: TinyHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_home.add("one")
    other = TinyHome(tmp_path / "other")
    other.add("two")
    manager = SessionManager(cache_dir=tmp_path / "cache", agents=["tiny"])
    found = []
    for home in (tiny_home.home, other.home):
        monkeypatch.setenv("HOME", str(home))
        found.append([one.session_id for one in manager.list("tiny")])
    monkeypatch.setenv("TINY_HOME", str(tiny_home.store))
    found.append([one.session_id for one in manager.list("tiny")])
    assert found == [["one"], ["two"], ["one"]]
    assert Environment.current().home == other.home
    monkeypatch.delenv("TINY_HOME")
    for home, name in ((tiny_home.home, "one"), (other.home, "two")):
        monkeypatch.setenv("HOME", str(home))
        saved = SessionManager(cache_dir=tmp_path / "cache", agents=["tiny"]).catalogue.saved()
        assert [one.session_id for one in saved.sessions] == [name], "each home's list is kept apart"


def test_r_4_many_threads_at_once(tiny_home: TinyHome, manager: SessionManager) -> None:
    for number in range(20):
        tiny_home.add(f"s{number:02}", turns=60, filler=300)
    catalogue = manager.catalogue
    failures: list[BaseException] = []
    barrier = threading.Barrier(6)

    def work(number: int) -> None:
        try:
            barrier.wait(60)
            for turn in range(10):
                if number == 0:
                    tiny_home.add(f"new{turn}")
                elif number == 1:
                    catalogue.complete(lambda: False)
                elif number == 2:
                    assert len(manager.get("tiny", "s00").messages) == 120
                else:
                    assert len({one.unified_id for one in catalogue.refresh().sessions}) >= 20
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert len(catalogue.complete(lambda: False).sessions) == 30


def test_r_2_a_torn_last_line_is_no_error(tiny_home: TinyHome, manager: SessionManager) -> None:
    path = tiny_home.add("one", turns=2)
    whole = path.read_bytes()
    for cut in range(len(whole) - 60, len(whole)):
        path.write_bytes(whole[:cut])
        assert len(manager.get("tiny", "one").messages) >= 3


def test_places_name_every_root(tiny_home: TinyHome, manager: SessionManager) -> None:
    (place,) = manager.catalogue.refresh().places
    assert (place.agent, place.label) == ("tiny", "Tiny Agent")
    assert [(root.path, root.exists) for root in place.roots] == [(tiny_home.store, True)]
    assert manager.labels["tiny"] == ("Tiny Agent", "ty")


def test_l_11_of_copies_the_adapter_chooses_the_session(store: Callable[..., Path], tmp_path: Path) -> None:
    home = store("hermes", "old_versions", "0.13.0")
    database = home / ".hermes" / "state.db"
    left_over = home / ".hermes" / "sessions"
    with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        rows = {str(row[0]) for row in connection.execute("select id from sessions")}
    both = rows & {path.stem for path in left_over.glob("*.jsonl")}
    assert both
    for name in both:
        os.utime(left_over / f"{name}.jsonl")  # the copy is the younger one
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", agents=["hermes"])
    found = {one.session_id: one.path for one in manager.catalogue.refresh().sessions}
    assert {found[name] for name in both} == {str(database)}
