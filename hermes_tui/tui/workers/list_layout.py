"""Lays the list out in the thread that has news.

With many thousand sessions it takes a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import is_
from threading import Lock

from msgspec.structs import replace

from hermes_tui.errors import HermesTuiError
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.widgets.session_list.order import Order
from hermes_tui.tui.widgets.session_list.rows import Forest
from session_adapters.model import SessionSummary

__all__ = ["ListLayout"]


class ListLayout:
    """One layout at a time, of the latest that is known: what two threads make beside each other needs twice the
    room."""

    def __init__(
        self, manager: SessionManager, order: Callable[[], Order], put: Callable[[tuple[Snapshot, Forest]], None]
    ) -> None:
        """`order`: in which the list is shown now. `put` is given what was made, in the thread that made it."""
        self._manager = manager
        self._order = order
        self._put = put
        self._making = Lock()
        self._made_of: tuple[Snapshot | None, Sequence[SessionSummary]] = (None, ())
        """What was last known of the sessions, and these with their costs."""
        self._forest: Forest | None = None

    def make(self) -> None:
        """Nothing where sessions and costs are those of the last time."""
        with self._making:
            snapshot = self._manager.catalogue.snapshot
            sessions = snapshot.sessions
            with suppress(HermesTuiError):  # wrong settings: no costs but those that agents recorded
                sessions = self._manager.costs.shown(sessions)
            before, shown = self._made_of
            if snapshot is before and all(map(is_, sessions, shown)):
                return
            snapshot_with_costs = replace(snapshot, sessions=sessions)
            self._made_of = snapshot, snapshot_with_costs.sessions
            self._forest = Forest(snapshot_with_costs.sessions, self._forest).prepare(self._order())
            self._put((snapshot_with_costs, self._forest))
