"""A call that comes later, once, however often it was asked for."""

from __future__ import annotations

from collections.abc import Callable

from textual.message_pump import MessagePump
from textual.timer import Timer

__all__ = ["Delay"]


class Delay:
    """Calls `function` in the screen's thread, some seconds after `start`."""

    def __init__(self, pump: MessagePump, function: Callable[[], None], seconds: float) -> None:
        """`pump`: whose timer it is; with it the call is over."""
        self._pump = pump
        self._function = function
        self._seconds = seconds
        self._timer: Timer | None = None

    @property
    def is_waiting(self) -> bool:
        """It was started and has not called yet."""
        return self._timer is not None

    def start(self, seconds: float | None = None) -> None:
        """Call after `seconds` from now, whenever it was started before; None: the usual ones."""
        self.stop()
        self._timer = self._pump.set_timer(self._seconds if seconds is None else seconds, self._call)

    def start_once(self) -> None:
        """Start it, unless it waits already."""
        if not self.is_waiting:
            self.start()

    def stop(self) -> None:
        """Do not call."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _call(self) -> None:
        self._timer = None
        self._function()
