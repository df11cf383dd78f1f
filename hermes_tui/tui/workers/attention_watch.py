"""The worker that keeps the states of sessions up to date.

A daemon thread: it looks when sessions have changed, and now and then by itself where time or a pane's title may tell
something new.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING

from hermes_tui.attention.shared import SharedCounts
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.background import Worker
from hermes_tui.platform.log import write_failure
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.mark_store import MarkStore, MarksUnusable

if TYPE_CHECKING:
    from hermes_tui.attention.monitor import Monitor
    from hermes_tui.attention.report import AttentionReport

__all__ = ["AttentionWatch"]

_REST = 0.25
"""Seconds between two looks at least."""
_AGAIN = 15.0
"""Seconds after a look that failed: another program may have had the file, and a bug may be one session's."""


class AttentionWatch:
    """`publish` is called in the thread with every report that differs from the one before, `notify` with each, and
    says after how many seconds it wants another at the latest; `failed` with a sentence of what is wrong, once until
    it is not any more. `shared` lets `hermes-tui status` know the counts."""

    def __init__(
        self,
        monitor: Callable[[], Monitor],
        marks: MarkStore,
        publish: Callable[[AttentionReport], None],
        notify: Callable[[AttentionReport], float | None],
        failed: Callable[[str], None],
        shared: SharedCounts,
    ) -> None:
        self._make = monitor
        self._marks = marks
        self._publish = publish
        self._notify = notify
        self._failed = failed
        self._shared = shared
        self._monitor: Monitor | None = None
        self._snapshot: Snapshot | None = None
        self._report: AttentionReport | None = None
        self._said = ""
        self._seen: dict[str, datetime] = {}
        """What a person has looked at since the last look of the thread."""
        self._seen_lock = Lock()
        self._worker = Worker[Snapshot]("attention", self._serve, self._broken)
        marks.heard = self.look_again

    def look(self, snapshot: Snapshot) -> None:
        """Sessions have changed. The first time the thread begins."""
        self._snapshot = snapshot
        self._worker.ask(snapshot)
        self._worker.start()

    def see(self, unified_id: str, newest: datetime) -> None:
        """A person has looked at a session whose newest message is of `newest`. The thread keeps it: another program
        may have the file."""
        with self._seen_lock:
            self._seen[unified_id] = newest
        self.look_again()

    def look_again(self) -> None:
        """Something else than sessions has changed."""
        if self._snapshot is not None:
            self._worker.ask(self._snapshot)

    def stop(self) -> None:
        """End, without waiting for a look that is under way."""
        self._worker.stop()
        self._shared.close()

    def _serve(self, _: Snapshot | None) -> float | None:
        if self._snapshot is None:
            return None
        trouble = self._keep_seen()
        self._monitor = self._monitor or self._make()
        report = self._monitor.look(self._snapshot)
        if report != self._report and not self._worker.is_over:
            self._report = report
            self._publish(report)
        due = self._notify(report) if not self._worker.is_over else None
        self._shared.keep(report.counts)
        trouble = trouble or self._monitor.trouble
        self._say(trouble)
        self._worker.rest(_REST)
        wanted = (self._monitor.pause, due, _AGAIN if trouble else None)
        return min((one for one in wanted if one is not None), default=None)

    def _keep_seen(self) -> str:
        """Where that fails, why, in a sentence: what was seen is kept at a later look."""
        # A copy: the lock is not held while the file is written, for that may have to wait.
        with self._seen_lock:
            seen = dict(self._seen)
        for unified_id, newest in seen.items():
            try:
                self._marks.see(unified_id, newest)
            except MarksUnusable as error:
                return str(error)
            with self._seen_lock:
                if self._seen[unified_id] == newest:  # else it was looked at again meanwhile
                    del self._seen[unified_id]
        return ""

    def _broken(self, error: Exception) -> float | None:
        self._shared.keep({})  # who asks for the counts looks for itself
        if isinstance(error, HermesTuiError):
            self._say(str(error))
        elif self._say(f"What needs you could not be looked at ({type(error).__name__}: {error})."):
            write_failure(error)
        return _AGAIN

    def _say(self, sentence: str) -> bool:
        """Whether it was news."""
        is_news, self._said = sentence not in ("", self._said), sentence
        if is_news:
            self._failed(sentence)
        return is_news
