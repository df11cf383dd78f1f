"""What the sessions of a database came to, for whoever counts them again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

__all__ = ["LONG", "MOST", "OPEN", "STEP", "KeptSessions", "Mark", "Recounted"]

LONG, OPEN, STEP = 100, 8, 32
"""Messages of a session of which it is kept what all but the last came to, those last, and how many more at a time
are taken to what is kept."""
MOST = 8
"""Sessions of which that is kept."""

Mark = tuple[Any, ...]
"""Changes with a session, or a part of one."""
C = TypeVar("C")
S = TypeVar("S")


class Recounted(NamedTuple, Generic[C, S]):
    """What one session came to."""

    counted: C
    mark: Mark | None = None
    """None where nothing tells that it changed."""
    settled: S | None = None
    """What all but the last messages of a long one came to."""


class KeptSessions(Generic[C, S]):
    """Of the sessions of one database. One thread at a time may change it."""

    def __init__(self) -> None:
        self._kept: dict[str, Recounted[C, S]] = {}
        self._settled: OrderedDict[str, S] = OrderedDict()

    def same(self, key: str, mark: Mark | None) -> Recounted[C, S] | None:
        """What a session came to, if it is what it was."""
        before = self._kept.get(key)
        return before if before is not None and before.mark == mark and mark is not None else None

    def settled(self, key: str) -> S | None:
        """What the settled part of a long session came to."""
        return self._settled.get(key)

    def keep(self, found: Mapping[str, Recounted[C, S]], damaged: Collection[str]) -> None:
        """Have it for the next time, but of sessions of which something could not be read."""
        for key, one in found.items():
            if one is self._kept.get(key):
                continue
            self._kept.pop(key, None)
            self._settled.pop(key, None)
            if one.mark is None or key in damaged:
                continue
            self._kept[key] = one._replace(settled=None)  # which is kept of few sessions, below
            if one.settled is not None:
                self._settled[key] = one.settled
        while len(self._settled) > MOST:
            self._settled.popitem(last=False)

    def forget_others(self, keys: Collection[str]) -> None:
        """Keep nothing of sessions that are gone."""
        self._kept = {key: one for key, one in self._kept.items() if key in keys}
        for key in self._settled.keys() - set(keys):
            del self._settled[key]
