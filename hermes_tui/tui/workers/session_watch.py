"""The worker that keeps the session list up to date.

One daemon thread that reads and hands over the latest snapshot.

It is woken by file notification where that works and looks by itself now and then in any case; where notification
is not to be had (network file systems, no watches left) it only looks, less often the longer a look takes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from hermes_tui.platform.background import Worker
from hermes_tui.platform.memory_tuning import give_back
from hermes_tui.sessions.catalogue.snapshot import AgentPlace, Snapshot
from hermes_tui.tui.workers.watched_places import agents_at, directories
from session_adapters.model import Problem

__all__ = [
    "PROCESSES_PAUSE",
    "READING_TURN",
    "SHORTEST_PAUSE",
    "WITH_NOTIFICATION",
    "Watch",
    "WatchedCatalogue",
]

SHORTEST_PAUSE = 1.0
"""Seconds between two looks at least, however much is written."""
_LONGEST = 30.0
WITH_NOTIFICATION = 60.0
"""Seconds between two looks at every store, whatever is notified: the system may have dropped a notification, and of
some places there is none."""
_RARELY = 2000
"""Where the system notifies, a look at every store that took one second of the processor is followed by at least so
many without one, up to `_RAREST`: two thousand sessions take 0.03 to 0.08, and mostly nothing has changed."""
_RAREST = 300.0
PROCESSES_PAUSE = 15.0
"""Seconds between two looks for processes: they end without writing to a file."""
_ENDED_PAUSE = 1.0
"""Seconds between two looks at whether those that are known still run, and at what another program has marked."""
_ARRIVALS_PAUSE = 5.0
"""Seconds between two looks at whether an agent begins to be here."""
_SHARE = 20
"""A look that took one second is followed by at least so many without one: of the processor's time where the system
notifies (a busy machine makes nobody wait longer), but after one at every store; else of the clock's (a network)."""
READING_TURN = 5.0
"""Seconds of reading in full between two looks, where nothing is written meanwhile."""
_GIVING_BACK = 2.0
"""Seconds between two times at which free memory is given back while sessions change: what a look needed, and what
was drawn of it, lies between what stays. Given back as seldom as all is cleared up, it came to 3 MB after an hour."""
_FIRST = 0.15
"""Seconds in which the screen has the processor to itself, to show the beginning of the list."""
_STEP = 1.0
"""Seconds between two looks at what the system has notified. Waiting is done here, not in the native watcher, which
nothing could wake before its time."""


class WatchedCatalogue(Protocol):
    """What is watched; `hermes_tui.sessions.catalogue.catalogue.Catalogue`."""

    def glance(self) -> Snapshot:
        """Where nothing is known yet: read only what changed last."""

    def refresh(
        self, agents: Collection[str] | None = None, *, again: bool = False, written: Collection[str] = ()
    ) -> Snapshot:
        """Look at the stores of `agents`, at all of them if None; `again`, also at what cannot be read. `written`:
        the paths that are different there, where that is known."""

    def refresh_processes(self) -> Snapshot:
        """Look only at which sessions a process has open."""

    @property
    def lacks_process(self) -> bool:
        """Whether one of those processes has ended since."""

    def refresh_marks(self) -> Snapshot:
        """Look only at the user's own marks."""

    def complete(self, stop: Callable[[], bool]) -> Snapshot:
        """Read in full what was only read in part, until `stop()`."""


class Watch:
    """The thread. `publish` is called in it, with every snapshot that differs from the one before."""

    def __init__(
        self,
        catalogue: WatchedCatalogue,
        publish: Callable[[Snapshot], None],
        failed: Callable[[Problem], None],
        rest: Callable[[], object] = int,
        arrivals: Callable[[Sequence[AgentPlace]], Collection[str]] = lambda places: (),
    ) -> None:
        """`failed` is told, in the thread, of an error that is a bug; the watch goes on. `rest` is called there when
        something was published and a while has passed: to clear up after it. `arrivals`: see `Arrivals.since`."""
        self._catalogue = catalogue
        self._publish = publish
        self._failed = failed
        self._rest = rest
        self._arrivals = arrivals
        self._worker = Worker[bool]("watch", self._serve, self._broken)
        self._over = threading.Event()
        """For the native watcher, which nothing else can end."""
        self._version = self._rested = -1
        self._given_back = -1
        """The version that was the latest one when free memory was last given back."""
        self._gave_back = self._cleared = time.monotonic()
        self._snapshot: Snapshot | None = None
        """What the last look found; None before the first."""
        self._watched: tuple[Path, ...] = ()
        self._watcher: Iterator[Collection[str]] | None = None
        """Tells what was written in the places that are watched; None where they can only be looked at."""
        self._touched: set[str] = set()
        """Paths of which the system notified since the last look."""
        self._whole = 0.0
        """When every store was last looked at."""
        self._backstop = WITH_NOTIFICATION
        """Seconds until every store is looked at again, whatever is notified."""
        self._looked = 0.0
        """When every agent's processes were: where one writes all the time, no single wait is long enough."""
        self._checked = 0.0
        """When it was last looked at whether the known processes run, and at marks."""
        self._awaited = 0.0
        """When at whether an agent begins to be here."""
        self._ended = 0.0
        self._pause = 0.0
        """When the last look ended, and how long none follows."""
        self._unfinished = False
        """It left something to be read in full."""
        self._in_notify = False
        self.notified = False
        """Whether the system tells of changes; else they are looked for."""

    def start(self) -> None:
        """Begin, with a first look at once."""
        self.look_now()
        self._worker.start()

    def look_now(self) -> None:
        """Ask for a look without waiting for its turn; it begins within a second."""
        self._worker.ask(True)

    def look_at_marks(self) -> None:
        """Show what was marked without waiting for the next turn; no store is looked at."""
        self._checked = float("-inf")
        self._worker.wake()

    def stop(self) -> None:
        """End, without waiting for anything."""
        self._over.set()
        self._worker.stop()

    def join(self) -> None:
        """After `stop`: wait for the native watcher, which must not be left running while the interpreter ends;
        not for a read that is under way."""
        if self._in_notify:
            self._worker.join(0.1)

    def _serve(self, wanted: bool | None) -> float:
        """Look at the stores, or, where it is not time for that, at what the system has notified since."""
        if self._snapshot is None:
            # The beginning of the list is shown before all of it is read.
            try:
                first = self._catalogue.glance()
            except Exception as error:
                self._failed(_bug(error))
            else:
                if first.sessions:
                    self._offer(first)
                    self._worker.rest(_FIRST)
        now = time.monotonic()
        checks = now - self._checked >= _ENDED_PAUSE
        if checks:
            self._checked = now
        if wanted or self._watcher is None or self._is_due:
            self._look(everything=bool(wanted))
        elif checks:
            self._offer(self._catalogue.refresh_marks())
        now = time.monotonic()
        # Both once after something was published, and not too often.
        if self._given_back != self._version and now - self._gave_back >= _GIVING_BACK:
            self._given_back, self._gave_back = self._version, now
            give_back()
        if self._rested != self._version and now - self._cleared >= PROCESSES_PAUSE:
            self._rested, self._cleared = self._version, now
            self._rest()
        if self._watcher is None:
            return max(self._pause, 2 * SHORTEST_PAUSE)
        if not self._take_notifications(checks=checks):
            return 0  # it can notify no more
        # What was notified is looked at as soon as that may be.
        return min(_STEP, max(0, self._ended + self._pause - time.monotonic())) if self._touched else _STEP

    def _broken(self, error: Exception) -> float:
        self._failed(_bug(error))
        self._snapshot = Snapshot()  # there was a look, if in vain: no other glance
        self._watched, self._watcher = (), None  # the next look has the system notify anew
        return _LONGEST

    def _look(self, *, everything: bool) -> None:
        touched, self._touched = self._touched, set()
        began, worked = time.monotonic(), time.thread_time()
        late = began - self._whole >= self._backstop
        agents = None if everything or late or not touched else agents_at(touched, self._snapshot or Snapshot())
        if agents is None:
            self._whole = self._looked = began
        written = () if agents is None else touched
        snapshot = self._snapshot = self._catalogue.refresh(agents, again=everything, written=written)
        self._offer(snapshot)
        used = time.thread_time() - worked
        if agents is None:
            self._backstop = max(WITH_NOTIFICATION, min(used * _RARELY, _RAREST))
        took = time.monotonic() - began
        places = directories(snapshot)
        if places != self._watched:
            self._watcher, self._watched = self._notifications(places), places
            self._whole = float("-inf")  # of what was written before it listens it tells nothing: look once more
        spent = took if self._watcher is None else 0 if late or everything else used
        self._unfinished = False
        if snapshot.partial and not self._worker.is_over:
            turn = _Turn(self._worker, self._note_written)
            self._offer(self._catalogue.complete(turn))
            self._unfinished = turn.stopped
        self._ended, self._pause = time.monotonic(), min(max(spent * _SHARE, SHORTEST_PAUSE), _LONGEST)

    @property
    def _is_due(self) -> bool:
        """There is something to look at, and the last look is long enough ago."""
        now = time.monotonic()
        late = now - self._whole >= self._backstop
        return now - self._ended >= self._pause and (bool(self._touched) or self._unfinished or late)

    def _offer(self, snapshot: Snapshot) -> None:
        if snapshot.version != self._version and not self._worker.is_over:
            self._version = snapshot.version
            self._publish(snapshot)

    def _take_notifications(self, *, checks: bool) -> bool:
        """Note what was written, and look for processes now and then, with `checks` at those that are known; False
        when the watcher can notify no more."""
        now = time.monotonic()
        if now - self._awaited >= _ARRIVALS_PAUSE:
            self._awaited = now
            self._touched.update(self._arrivals(self._snapshot.places if self._snapshot is not None else ()))
        due = now - self._looked >= PROCESSES_PAUSE or (checks and self._catalogue.lacks_process)
        if due:
            self._looked = now
            try:
                self._offer(self._catalogue.refresh_processes())
            except Exception as error:
                self._failed(_bug(error))
        self._note_written()
        return self.notified

    def _note_written(self) -> bool:
        """Note what the system has told of since; whether there is anything to look at."""
        if self._watcher is None:
            return False
        self._in_notify = True
        try:
            self._touched.update(next(self._watcher))
            self.notified = True
        except (StopIteration, OSError, RuntimeError):
            self._watcher, self.notified = None, False
        finally:
            self._in_notify = False
        return bool(self._touched)

    def _notifications(self, places: tuple[Path, ...]) -> Iterator[Collection[str]] | None:
        """Yields at once, each time it is asked, what was written below `places` since; None when the system notifies
        of nothing."""
        if not places:
            return None
        from watchfiles import Change, watch

        def counts(change: Change, path: str) -> bool:
            # A reader moves bytes in a database's shared memory: that would wake us by our own reading.
            return not path.endswith("-shm")

        def notifications() -> Iterator[Collection[str]]:
            for changes in watch(
                *places,
                watch_filter=counts,
                debounce=100,
                step=1,
                stop_event=self._over,
                rust_timeout=1,
                yield_on_timeout=True,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                yield [path for _, path in changes]

        return notifications()


class _Turn:
    """Asked between two files read in full: goes on for a while, at half speed at most, so that the screen has the
    processor when it needs it; not long where something is `written` meanwhile."""

    def __init__(self, worker: Worker[bool], written: Callable[[], bool]) -> None:
        self._worker = worker
        self._written = written
        self._last = time.monotonic()
        self._end = self._last + READING_TURN
        self._soon = self._last + SHORTEST_PAUSE
        self.stopped = False
        """Whether more is left to be read than there was time for."""

    def __call__(self) -> bool:
        worked = time.monotonic() - self._last
        self._worker.rest(min(max(worked, 0.005), 0.5))
        self._last = time.monotonic()
        self.stopped = self._worker.is_superseded or self._last > self._end
        if not self.stopped and self._last > self._soon:
            self._soon = self._last + _STEP
            self.stopped = self._written()
        return self.stopped


def _bug(error: Exception) -> Problem:
    reason = f"the stores could not be looked at ({type(error).__name__}: {error}); the list may be out of date"
    return Problem(agent="hermes-tui", path="", reason=reason)
