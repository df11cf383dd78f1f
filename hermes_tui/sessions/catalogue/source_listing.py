"""Lists the sources of an agent, of very many the newest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappush, heappushpop
from itertools import islice

from session_adapters.base import Source

__all__ = ["MANY", "MOST_SOURCES", "SourceListing"]

MANY = 10_000
"""Sources: more than the largest homes that we know have, fewer than a store that is made to keep us busy. What is
done to more of them has an end."""
MOST_SOURCES = 50_000
"""Sources of an agent that are listed. Of a million small files the list alone would take gigabytes."""


class SourceListing:
    """`first` gives the sources one by one. Where there are `more`, `newest` lists them all once more: who needs that
    has too many, and nobody else should have them in memory together."""

    def __init__(self, sources: Callable[[], Iterable[Source]], failures: list[Exception]) -> None:
        """`failures` takes why the adapter does not go on."""
        self._sources = sources
        self._failures = failures
        self.more = False
        """Whether there are more than can be listed."""
        self.left = 0
        """How many `newest` left out."""

    def first(self) -> Iterator[Source]:
        """As many as can be listed."""
        coming = self._as_far_as_it_comes()
        yield from islice(coming, MOST_SOURCES)
        self.more = next(coming, None) is not None

    def newest(self) -> Iterator[Source]:
        """Those that were changed last, in their order."""
        self._failures.clear()
        kept: list[tuple[float, int, Source]] = []
        for number, source in enumerate(self._as_far_as_it_comes()):
            if number < MOST_SOURCES:
                heappush(kept, (source.modified, -number, source))
            else:
                heappushpop(kept, (source.modified, -number, source))
                self.left += 1
        kept.sort(key=lambda one: -one[1])
        return (source for *_, source in kept)

    def _as_far_as_it_comes(self) -> Iterator[Source]:
        try:
            yield from self._sources()
        except Exception as error:
            self._failures.append(error)
