"""The worker that keeps costs up to date when sessions change.

A daemon thread, not too often.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.background import Worker

__all__ = ["FIRST_AFTER", "PAUSE", "CostRefresh"]

FIRST_AFTER = 2.0
"""Seconds after the first list: what people look at comes before what it cost."""
PAUSE = 2.0
"""Seconds between two additions, at least."""
_REST = 5
"""Times the processor time that an addition took here, at least, before the next; once the time that it took in a
process of its own. Not the time on the clock: on a busy machine costs would be later still."""


class CostRefresh:
    """`book` is called in the thread and adds up; `booked` is called there each time it has."""

    def __init__(self, book: Callable[[], object], booked: Callable[[], None]) -> None:
        self._book = book
        self._booked = booked
        self._worker = Worker[None]("cost_refresh", self._serve, first=FIRST_AFTER)

    def look(self) -> None:
        """Sessions have changed. The first time the thread begins."""
        self._worker.ask(None)
        self._worker.start()

    def stop(self) -> None:
        """End, without waiting for an addition that is under way."""
        self._worker.stop()

    def join(self, seconds: float) -> None:
        """Wait so long at most, after `stop`, for an addition that is under way."""
        self._worker.join(seconds)

    def _serve(self, request: None) -> None:
        worked, elsewhere = time.thread_time(), _of_processes()
        try:
            self._book()
        except HermesTuiError:
            self._worker.stop()  # wrong settings, of which the screen of costs says what is wrong
            return
        if not self._worker.is_over:
            self._booked()
        self._worker.rest(max(PAUSE, _REST * (time.thread_time() - worked), _of_processes() - elsewhere))


def _of_processes() -> float:
    """Seconds of the processor that went to processes which have ended."""
    times = os.times()
    return times.children_user + times.children_system
