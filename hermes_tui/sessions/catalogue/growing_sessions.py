"""What sums up the sessions that are being written to, line by line."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from hermes_tui.sessions.index.source_state import Key, key_of
from session_adapters.base import Report, Source
from session_adapters.usage import Counted

__all__ = ["WARM", "WarmCounters"]

WARM = 16
"""Sources of which it is kept what they come to."""
_LATELY = 600.0
"""Seconds since it was written to after which a source is not expected to grow."""


SourceCounter = Callable[[Source, Report], Counted]
"""See `Adapter.counter`."""


class WarmCounters:
    """Of the sources that were read last. Any thread may call any method."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, SourceCounter] = OrderedDict()
        self._lock = Lock()

    def take(self, source: Source) -> SourceCounter | None:
        """What has read the source before; nobody else gets it until it is kept again."""
        with self._lock:
            return self._kept.pop(key_of(source), None)

    def keep(self, source: Source, counter: SourceCounter) -> None:
        """Keep it for the next time, if that is to be expected."""
        if time.time() - source.modified > _LATELY:
            return
        with self._lock:
            self._kept[key_of(source)] = counter
            while len(self._kept) > WARM:
                self._kept.popitem(last=False)
