"""One object for the latest key, the same for every thread that asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Latest"]

K = TypeVar("K")
T = TypeVar("T")


class Latest(Generic[K, T]):
    """Keeps what was made for the latest key, and makes another only when the key changes."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a maker may ask for the same object's neighbours
        self._held: tuple[K, T] | None = None

    @property
    def current(self) -> T | None:
        """What was made last, whatever the key; makes nothing."""
        held = self._held
        return None if held is None else held[1]

    def get(self, key: K, make: Callable[[], T]) -> T:
        """What was made for `key`, by `make` if nothing is held for it. Raises what `make` raises."""
        held = self._held
        if held is not None and held[0] == key:
            return held[1]
        with self._lock:
            if self._held is None or self._held[0] != key:
                self._held = (key, make())
            return self._held[1]
