"""Has the collector look for screens that were left."""

from __future__ import annotations

import gc

from textual.message_pump import MessagePump

from hermes_tui.tui.delay import Delay

__all__ = ["LONG_LOOK", "SHORT_LOOK", "LeftScreens"]

SHORT_LOOK, LONG_LOOK = 0.15, 1.0
"""Seconds from a screen that was left to looks for what of it is to be let go: some ten thousand objects, whose room
nobody gives back once several of them have lain about together. The first goes through what was made lately alone."""
_AT_ONCE = 4
"""Screens that may be left before either look: keys that come faster than they are answered hold up looks, too."""
_LOOKED_THROUGH = 2_000
"""Sessions that such a look goes through in a time that nobody feels; with more of them it waits for more screens."""
_MOST_LEFT = 8


class LeftScreens:
    """A screen that was left, and all it had read, is a cycle, which Python looks for too seldom."""

    def __init__(self, pump: MessagePump) -> None:
        """`pump`: whose timers bring the looks."""
        self._pump = pump
        self._left = 0
        self._late = Delay(pump, self._look, LONG_LOOK)

    def one_more(self, sessions: int) -> None:
        """A screen is left, in a program that knows so many sessions."""
        self._left += 1
        worth_a_look = min(sessions // _LOOKED_THROUGH + 1, _MOST_LEFT)
        if self._left >= worth_a_look + _AT_ONCE:
            self._look()
        elif self._left >= worth_a_look:
            self._late.start_once()
        self._pump.set_timer(SHORT_LOOK, lambda: gc.collect(1))

    def _look(self) -> None:
        self._late.stop()
        self._left = 0
        gc.collect()
