"""What a toast says, and for how long."""

from __future__ import annotations

from textual.notifications import Notification

__all__ = ["Notice"]

_LEAST = 1.0
"""Seconds for which a toast is shown at least."""


class Notice(Notification):
    """A notification whose time can be over and whose toast still gets some.

    Textual asks for the time that is left when it makes the toast, a moment after it has looked whether there is any:
    a process that was stopped or had no processor in between, and it is negative. A timer of negative seconds never
    fires, and computes for ever.
    """

    @property
    def time_left(self) -> float:
        """Seconds until it goes."""
        return max(super().time_left, _LEAST)

    @property
    def has_expired(self) -> bool:
        """Whether its time is over."""
        return super().time_left <= 0
