"""Agents kept from turn to turn, by session key, so that the prompt cache holds.

Format: spec 002 section 11.

At most 128, the least recently used goes first; one that was idle for an hour goes at the next sweep. An agent in a
turn is never torn down: what drops it from the cache waits for the turn's end. So the cache may hold more than its
size while more agents than that are at work (Hermes 0.19 too; the document does not say).
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from hermes_tui.platform.log import write_failure

__all__ = ["IDLE_TTL", "MAX_SIZE", "AgentCache"]

MAX_SIZE = 128
IDLE_TTL = 3600.0
"""Seconds."""

T = TypeVar("T")


class _Cached(Generic[T]):
    """One agent."""

    __slots__ = ("agent", "ends", "key", "turns", "used")

    def __init__(self, key: str, agent: T, used: float) -> None:
        self.key = key
        self.agent = agent
        self.used = used
        self.turns = 0
        self.ends: Callable[[str, T], None] | None = None
        """Dropped during a turn: what is to be done with it afterwards."""


def _nothing(key: str, agent: object) -> None:
    """What is done with an agent that holds nothing."""


class AgentCache(Generic[T]):
    """The agents of one gateway. Threads may share it; no call of ours to a caller's function holds its lock."""

    def __init__(
        self,
        *,
        release: Callable[[str, T], None] = _nothing,
        close: Callable[[str, T], None] = _nothing,
        max_size: int = MAX_SIZE,
        idle_ttl: float = IDLE_TTL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`release` frees an agent whose session may go on with another one (its connections, its history in memory);
        `close` one whose session is over (its tools and its memory too). One that raises is noted in our log, but
        where the caller asked for the closing. `clock` gives seconds."""
        self._release = release
        self._close = close
        self._max_size = max_size
        self._idle_ttl = idle_ttl
        self._clock = clock
        self._lock = threading.Lock()
        self._cached: OrderedDict[str, _Cached[T]] = OrderedDict()

    @contextmanager
    def using(self, session_key: str, make: Callable[[], T]) -> Iterator[T]:
        """The lane's agent for one turn: the one that there is, else `make()`; it is the most recently used then."""
        with self._lock:
            found = self._cached.get(session_key)
            if found is not None:
                self._cached.move_to_end(session_key)
                found.turns += 1
        if found is None:
            new = _Cached(session_key, make(), self._clock())  # without the lock: `make` is the caller's
            found, over = self._added(new)
            self._done(over if found is new else [new, *over], self._release)
        try:
            yield found.agent
        finally:
            self._end_of_turn(found)

    def _added(self, new: _Cached[T]) -> tuple[_Cached[T], list[_Cached[T]]]:
        """Keep a new agent, unless another thread was quicker; and those that leave for it."""
        with self._lock:
            found = self._cached.setdefault(new.key, new)
            self._cached.move_to_end(new.key)
            found.turns += 1
            return found, self._excess()

    def _excess(self) -> list[_Cached[T]]:
        """Take out the least recently used that are in no turn, until it fits. Holds the lock."""
        idle = (one for one in list(self._cached.values()) if not one.turns)
        over = [one for one, _ in zip(idle, range(len(self._cached) - self._max_size), strict=False)]
        for one in over:
            del self._cached[one.key]
        return over

    def _end_of_turn(self, found: _Cached[T]) -> None:
        with self._lock:
            found.turns -= 1
            found.used = self._clock()
            # Turns that overlap share the agent: the last of them ends it.
            ends = None if found.turns else found.ends
            over = self._excess()
        if ends is not None:
            self._done([found], ends)
        self._done(over, self._release)

    def _done(self, dropped: list[_Cached[T]], how: Callable[[str, T], None]) -> None:
        for one in dropped:
            try:
                how(one.key, one.agent)
            except Exception as error:  # the owner's: it may fail in any way, and the agent is gone all the same
                write_failure(error)

    def evict(self, session_key: str) -> bool:
        """Drop the lane's agent, whose session goes on or is left: after its turn, if it is in one. Whether there was
        one."""
        found = self._taken(session_key, self._release)
        if found is not None and found.ends is None:
            self._done([found], self._release)
        return found is not None

    def close(self, session_key: str) -> bool:
        """Drop and close the lane's agent, whose session is over. Whether there was one. Raises what `close` does,
        and keeps the agent then: who asked may try again."""
        found = self._taken(session_key, self._close)
        if found is not None and found.ends is None:
            try:
                self._close(session_key, found.agent)
            except BaseException:
                with self._lock:
                    self._cached.setdefault(session_key, found)
                raise
        return found is not None

    def _taken(self, session_key: str, ends: Callable[[str, T], None]) -> _Cached[T] | None:
        """Take the lane's agent out; one in a turn is left to what `ends` does after it, which nobody else does."""
        with self._lock:
            found = self._cached.pop(session_key, None)
            if found is not None and found.turns:
                found.ends = ends
            return found

    def sweep_idle(self, keeps: Callable[[str], bool] = lambda key: False) -> int:
        """Drop agents that were in no turn for longer than the idle time, but those of lanes that `keeps` names; how
        many."""
        with self._lock:
            now = self._clock()
            old = [one for one in self._cached.values() if not one.turns and now - one.used > self._idle_ttl]
        kept = {one.key for one in old if keeps(one.key)}  # asked without the lock: it is the caller's
        with self._lock:  # one may have begun a turn, or left, since
            old = [
                one
                for one in old
                if one.key not in kept
                and self._cached.get(one.key) is one
                and not one.turns
                and now - one.used > self._idle_ttl
            ]
            for one in old:
                del self._cached[one.key]
        self._done(old, self._release)
        return len(old)

    def close_all(self) -> int:
        """Close every agent that is in no turn, as a gateway does that stops; how many. The others are closed at
        their turn's end."""
        with self._lock:
            found = list(self._cached.values())
            self._cached.clear()
            for one in found:
                one.ends = self._close if one.turns else None
        idle = [one for one in found if one.ends is None]
        self._done(idle, self._close)
        return len(idle)

    @property
    def keys(self) -> tuple[str, ...]:
        """The lanes that have an agent, the least recently used first."""
        with self._lock:
            return tuple(self._cached)

    def __len__(self) -> int:
        with self._lock:
            return len(self._cached)
