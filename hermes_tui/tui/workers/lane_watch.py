"""The worker that keeps the lanes of Hermes' gateway up to date.

One daemon thread that looks whether anything may have changed, reads only then, and hands over what differs.

It looks at the size and time of a handful of files and at the kernel's list of locks; it never holds a lock or a
database of Hermes' open. What came of operations is asked for in the same turn, so that an outcome that was pending
is seen to come true.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes_tui.clock import Clock
from hermes_tui.platform.background import Worker
from session_adapters.base import Environment

if TYPE_CHECKING:
    from hermes_tui.lifecycle.gateway.homes import HermesHome
    from hermes_tui.lifecycle.lanes import Board
    from hermes_tui.lifecycle.operations.audit import Audit
    from hermes_tui.lifecycle.operations.operations import Operations
    from hermes_tui.lifecycle.operations.record import AuditRecord, Operation
    from hermes_tui.lifecycle.operations.verify import Outcome

__all__ = ["LaneNews", "LaneWatch", "Notice"]

_OPEN = 1.0
"""Seconds between two looks while the lanes are on the screen; a look is a dozen stats."""
_CLOSED = 5.0
_NOTHING = 60.0
"""The same where there is no Hermes at all."""
_STALE = 60.0
"""Seconds after which it is read again in any case: `in 41 min` is `in 40 min` then."""
_FIRST = 0.6
"""Seconds before the first look: the list of sessions comes first."""
_LOGGED = 500
"""Operations of the log that are looked at, the latest ones."""
_SHARE = 10
"""A read that took one second is followed by at least so many without one."""
_FILES = (
    "state.db",
    "state.db-wal",
    "sessions/sessions.json",
    "gateway.lock",
    "gateway.pid",
    "gateway_state.json",
    "config.yaml",
    "gateway.json",
    ".restart_failure_counts",
)


class Notice(msgspec.Struct, frozen=True):
    """What became of an operation on a lane."""

    outcome: Outcome
    live: bool = False
    """It was done beside a running gateway, so that it had to be taken by it."""
    settled: datetime | None = None
    """When it was known for good what became of it."""


class LaneNews(msgspec.Struct, frozen=True):
    """Everything about lanes, as of one moment."""

    board: Board
    at: datetime
    notices: Mapping[tuple[str, str], Notice] = {}
    """(profile, key) → the latest operation on that lane, whenever it was."""
    undoable: Mapping[tuple[str, str], str] = {}
    """(profile, key) → id of the latest operation on that lane that was neither taken back nor failed. With an empty
    key: the profile's latest prune."""
    trouble: str = ""
    """Why the log of operations cannot be read; one sentence."""


class LaneWatch:
    """The thread. `publish` is called in it, whenever what is to be seen differs."""

    def __init__(
        self,
        environment: Callable[[], Environment],
        clock: Clock,
        publish: Callable[[LaneNews], None],
        failed: Callable[[str], None],
        *,
        read_only: bool = False,
    ) -> None:
        """`failed` is told, in the thread, of an error that is a bug; the watch goes on. `read_only`: nothing is
        written, not even into our own log of operations."""
        self._environment = environment
        self._clock = clock
        self._publish = publish
        self._failed = failed
        self._read_only = read_only
        self._worker = Worker[None]("lanes", lambda request: self.look(), self._say, first=_FIRST)
        self._stamp: tuple[object, ...] | None = None
        self._last: LaneNews | None = None
        self._settled: dict[str, tuple[AuditRecord, Notice]] = {}
        """Operation → the log's last word on it, and what is shown of that."""
        self._places: tuple[Environment, Sequence[HermesHome], Audit] | None = None
        """What lanes are read from; looked up anew with each read that time asks for, and while they are on the
        screen."""
        self._read_at = 0.0
        self._took = 0.0
        self.on_screen = False
        """The lanes are on the screen: look often."""

    def start(self) -> None:
        """Begin, with a first look soon."""
        self._worker.start()

    def look_now(self) -> None:
        """Look without waiting for its turn."""
        self._stamp = None
        self._worker.ask(None)

    def show(self, on_screen: bool) -> None:
        """Say whether the lanes are on the screen."""
        self.on_screen = on_screen
        self._worker.ask(None)

    def stop(self) -> None:
        """End, without waiting for a read that is under way."""
        self._worker.stop()

    def _say(self, error: Exception) -> float:
        """A bug: without the lanes the rest of the program goes on."""
        self._failed(f"The lanes could not be looked at ({type(error).__name__}: {error}).")
        return _NOTHING

    def look(self) -> float:
        """Read and publish if anything may have changed; seconds until the next look."""
        from hermes_tui.lifecycle.gateway.homes import hermes_homes
        from hermes_tui.lifecycle.gateway.process import gateway_for
        from hermes_tui.lifecycle.operations.audit import Audit

        late = time.monotonic() - self._read_at >= _STALE
        if self._places is None or self._stamp is None or self.on_screen or late:
            environment = self._environment()
            self._places = environment, hermes_homes(environment), Audit()
        environment, homes, audit = self._places
        # Changes when anything may have that lanes are read from.
        seen: list[object] = []
        for home in homes:
            seen.append(gateway_for(home.path, home.profile, home.root, environment.proc))
            seen += [_stat(home.path / name) for name in _FILES]
        stamp = (*seen, _stat(audit.path))
        now = time.monotonic()
        # Where the clock stands still, `in 41 min` stays true.
        if stamp != self._stamp or (homes and late and not self._clock.is_fixed):
            self._stamp = stamp
            self._read_at = now
            news = self._read(environment, audit)
            self._took = time.monotonic() - now
            # All but the moment: what looks the same is not told again.
            if self._last is None or msgspec.structs.replace(news, at=self._last.at) != self._last:
                self._last = news
                if not self._worker.is_over:
                    self._publish(news)
        if not homes:
            return _NOTHING
        return max(_OPEN if self.on_screen else _CLOSED, self._took * _SHARE)

    def _read(self, environment: Environment, audit: Audit) -> LaneNews:
        from hermes_tui.errors import HermesTuiError
        from hermes_tui.lifecycle.lanes import board
        from hermes_tui.lifecycle.operations.operations import Operations

        now = self._clock.now()
        found = board(environment, now)
        operations = Operations(environment, read_only=self._read_only, audit=audit, clock=self._clock.now)
        notices: dict[tuple[str, str], Notice] = {}
        undoable: dict[tuple[str, str], str] = {}
        trouble = ""
        known: list[Operation] = []
        try:
            history = operations.history()
            known, unread = list(history.operations), history.problems
            trouble = f"{unread[0]}{f' ({len(unread)} such lines)' if len(unread) > 1 else ''}." if unread else ""
        except HermesTuiError as error:
            trouble = str(error)
        for one in known[-_LOGGED:]:
            try:
                notice = self._notice(one, operations)
            except HermesTuiError as error:  # of that profile's store; the others' are still told
                trouble = str(error)
                continue
            request, profile = notice.outcome.request, notice.outcome.profile
            notices.update(((profile, key), notice) for key in notice.outcome.keys)
            if request.kind != "undo" and notice.outcome.state not in ("undone", "failed"):
                keys = ("",) if request.kind == "prune" else notice.outcome.keys
                undoable.update(((profile, key), one.id) for key in keys)
        return LaneNews(found, now, notices, undoable, trouble)

    def _notice(self, one: Operation, operations: Operations) -> Notice:
        """What became of it: asked for until it is known for good."""
        settled = one.outcome.at if one.outcome is not None else None
        kept = self._settled.get(one.id)
        if kept is not None and kept[0] == one.outcome:
            return kept[1]
        live = one.begun.mode == "live"
        outcome = operations.outcome_of(one)
        # Nothing is written into the log then, which would say when it was known.
        if self._read_only and settled is None:
            return Notice(outcome, live)
        if settled is None and outcome.final:
            settled = self._clock.now()  # it stands in the log from this moment on
        notice = Notice(outcome, live, settled)
        if one.outcome is not None:
            self._settled[one.id] = one.outcome, notice
        return notice


def _stat(path: Path) -> object:
    try:
        status = os.stat(path)  # noqa: PTH116  (every second, for weeks)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
