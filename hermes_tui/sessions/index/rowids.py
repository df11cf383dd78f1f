"""Numbers of rows: their order is that of the messages' times."""

from __future__ import annotations

import apsw

from hermes_tui.sessions.index.schema import SECOND

__all__ = ["Numbers"]

_LATEST = 1 << 37
"""Seconds; a later time is a mistake."""
_SPAN = 8
"""Bits: so many seconds, four minutes or so, are looked up at once, since messages of a session follow each other."""
_KEPT = 512
"""Seconds that are kept in mind: eight minutes', where agents write all the time. An hour's took 0.7 MB, and whatever
is looked up again is one query for four minutes."""
_TAKEN = f"SELECT max(id) FROM message WHERE id >= ? AND id < ? GROUP BY id >> {SECOND}"  # noqa: S608


class Numbers:
    """Hands out row numbers that no message has: those of a second begin with it."""

    def __init__(self, connection: apsw.Connection) -> None:
        """`connection` gives where to look up which there are."""
        self._connection = connection
        self._next: dict[int, int] = {}
        self._full: dict[int, int] = {}
        """Second → a later one, where there are no more numbers in it."""
        self._last: int | None = None
        """The largest there was when the first number was asked for."""
        self._spans: set[int] = set()
        """What was looked up."""

    def __len__(self) -> int:
        """Seconds that are kept in mind."""
        return len(self._next)

    def next(self, second: int) -> int:
        """One of `second`, or if it has no more of the seconds that follow."""
        second = min(max(second, 0), _LATEST)
        at = self._full.get(second, second)
        while (number := self._first(at)) >= (at + 1) << SECOND:
            at = self._full.get(at + 1, at + 1)
            self._full[second] = at
        self._next[at] = number + 1
        return number

    def trim(self) -> None:
        """Keep no more in mind than is worth it; all that were handed out can be looked up."""
        if len(self) >= _KEPT:
            self.forget()

    def forget(self) -> None:
        """Those that were handed out may not have been used."""
        self._next.clear()
        self._full.clear()
        self._spans.clear()
        self._last = None

    def _first(self, second: int) -> int:
        number = self._next.get(second)
        if number is not None:
            return number
        if self._last is None:
            self._last = int(self._connection.execute("SELECT coalesce(max(id), -1) FROM message").get)
        span = second >> _SPAN
        # Behind the last row every number is free.
        if second << SECOND <= self._last and span not in self._spans:
            self._spans.add(span)
            first, stop = span << _SPAN << SECOND, (span + 1) << _SPAN << SECOND
            for (last,) in self._connection.execute(_TAKEN, (first, stop)):
                # What was handed out since is not to be handed out again.
                self._next.setdefault(last >> SECOND, last + 1)
        return self._next.get(second, second << SECOND)
