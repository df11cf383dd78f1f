"""Has the collector look for screens that were left."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from typing import Any

from textual.screen import Screen

from hermes_tui.tui.delay import Delay
from hermes_tui.tui.program import Program

__all__ = ["AT_ONCE", "LONG", "LOOK", "SELDOM", "LeftScreens"]

LOOK = 0.15
"""Seconds from a screen that was left to a look for it: some ten thousand objects, whose room nobody gives back once
several of them have lain about together."""
AT_ONCE = 2
"""So many screens that were left have a look at once: keys that come faster than they are answered hold up timers."""
LONG = 0.01
"""Seconds of a look that found much that lives on: the next is to pass that over."""
SELDOM = 1000
"""So many times what it takes to have it passed over is between one time and the next."""


class LeftScreens:
    """A screen that was left, and all it had read, is a cycle, which Python looks for too seldom."""

    def __init__(self, program: Program, settle: Callable[[], None] | None) -> None:
        """`program`: whose screens they are. `settle` goes through everything, and has looks pass over what lives on
        from then on. None: each look goes through everything."""
        self._program = program
        self._settle = settle
        self._due = float("-inf")
        self._left = 0
        self._screens: weakref.WeakSet[Screen[Any]] = weakref.WeakSet()
        self._late = Delay(program, self._look_now, LOOK)

    def one_more(self, screen: Screen[Any]) -> None:
        """A screen is left."""
        self._screens.add(screen)
        self._left += 1
        if self._left >= AT_ONCE:
            self._late.stop()
            self._look_now()
        else:
            self._late.start_once()

    def look(self) -> None:
        """Let go of all that nobody needs; any thread may."""
        began = time.thread_time()
        gc.collect()
        if self._settle is not None and time.thread_time() - began > LONG and time.monotonic() > self._due:
            self._program.in_loop(self._settle_where_quiet)

    def _settle_where_quiet(self) -> None:
        """Not while there is a screen or a toast: what they have would not be found before the next time."""
        if len(self._program.screen_stack) > 1 or self._screens or self._program.screen.query("Toast"):
            return
        if self._settle is not None:
            began = time.monotonic()
            self._settle()
            now = time.monotonic()
            self._due = now + SELDOM * (now - began)

    def _look_now(self) -> None:
        self._left = 0
        self.look()
