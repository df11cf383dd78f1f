"""Digits before a motion say how often: `5j`."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.screen import Screen

__all__ = ["KeyCount"]

_DIGITS = "0123456789"
_MOST = 9_999


class KeyCount:
    """The number that was typed before the key that is being obeyed."""

    def __init__(self) -> None:
        self._digits = ""
        """Those that were typed since another key."""
        self._times = 0

    def typed(self, event: events.Key, screen: Screen[Any]) -> bool:
        """Take note of a key; whether it was a digit, and nothing else is to come of it."""
        character = event.character or ""
        # No number begins with 0, and a digit may be a key of its own.
        if character in _DIGITS[not self._digits :] and character and event.key not in screen.active_bindings:
            self._digits += character
            event.stop()
            return True
        self._digits, self._times = "", min(int(self._digits or 0), _MOST)
        return False

    def take(self) -> int:
        """How often the key is meant, 0 where that was not said; asked for once."""
        times, self._times = self._times, 0
        return times

    def forget(self) -> None:
        """No number was typed."""
        self._digits, self._times = "", 0
