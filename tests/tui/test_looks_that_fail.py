"""The worker that keeps the states of sessions up to date: what becomes of it when a look fails."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from hermes_tui.attention.monitor import Monitor
from hermes_tui.attention.report import AttentionReport
from hermes_tui.attention.shared import SharedCounts, shared_counts
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.mark_store import MarkStore
from hermes_tui.tui.workers.attention_watch import AttentionWatch
from session_adapters.base import Environment
from support import PATIENCE


class _Faulty(Monitor):
    """Has a bug at its second look."""

    looks = 0

    def look(self, snapshot: Snapshot) -> AttentionReport:
        self.looks += 1
        if self.looks == 2:
            raise ZeroDivisionError
        return super().look(snapshot)

    @property
    def pause(self) -> float | None:
        return None


def test_a_bug_in_a_look_does_not_end_all_looks(tmp_path: Path) -> None:
    """`hermes-tui status` told the counts of the look before it for as long as the program ran."""
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    marks = MarkStore(tmp_path / "marks.db")
    shared, file = SharedCounts(tmp_path / "counts.json"), tmp_path / "counts.json"
    monitor = _Faulty(manager, marks, panes=lambda: ())
    said: list[str] = []
    counts: list[object] = []
    first, failed, over = Event(), Event(), Event()

    def keep(report: AttentionReport) -> None:
        first.set()

    def note(sentence: str) -> None:
        said.append(sentence)
        counts.append(shared_counts(file))
        failed.set()

    watch = AttentionWatch(lambda: monitor, marks, keep, lambda report: None, note, shared)
    watch.look(Snapshot())
    assert first.wait(PATIENCE)
    watch.look(Snapshot())
    assert failed.wait(PATIENCE)
    watch.look(Snapshot())
    while monitor.looks < 3 and not over.wait(0.01):
        pass
    watch.stop()
    assert said == ["What needs you could not be looked at (ZeroDivisionError: )."] and counts == [None]


def test_who_waits_to_be_notified_has_every_report(tmp_path: Path) -> None:
    """Also one that is like the one before, as soon as that is wanted."""
    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    marks, shared = MarkStore(tmp_path / "marks.db"), SharedCounts(tmp_path / "counts.json")
    published: list[AttentionReport] = []
    notified: list[AttentionReport] = []
    enough = Event()

    def notify(report: AttentionReport) -> float | None:
        notified.append(report)
        if len(notified) == 3:
            enough.set()
            return None
        return 0.01

    monitor = Monitor(manager, marks, panes=lambda: ())
    watch = AttentionWatch(lambda: monitor, marks, published.append, notify, lambda sentence: None, shared)
    watch.look(Snapshot())
    assert enough.wait(PATIENCE)
    watch.stop()
    assert len(published) == 1
