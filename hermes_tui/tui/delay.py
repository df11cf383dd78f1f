"""A call that comes later, once, however often it was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.message_pump import MessagePump

__all__ = ["Delay"]


class Delay:
    """Calls `function` in the screen's thread, some seconds after `start`.

    Not by a timer of Textual's: one whose time is over before it begins to wait, for it is short or the processor was
    taken away just then, counts as missed and never calls; and one that was stopped may call once more.
    """

    def __init__(self, pump: MessagePump, function: Callable[[], None], seconds: float) -> None:
        """`pump`: in whose turn it is called; with it the call is over."""
        self._pump = pump
        self._function = function
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """It was started and has not called yet."""
        return self._timer is not None

    def start(self, seconds: float | None = None) -> None:
        """Call after `seconds` from now, whenever it was started before; None: the usual ones."""
        self.stop()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._seconds if seconds is None else seconds, self._due)

    def start_once(self) -> None:
        """Start it, unless it waits already."""
        if not self.is_waiting:
            self.start()

    def stop(self) -> None:
        """Do not call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        if self._pump.is_running:
            self._pump.call_next(self._call, self._timer)

    def _call(self, timer: asyncio.TimerHandle) -> None:
        if timer is self._timer:  # else it was stopped or started anew while it waited for its turn
            self._timer = None
            self._function()
