"""Lists the sources of an agent: all, the newest, or those written to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import heappush, heappushpop, nlargest
from itertools import islice

from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.unreadable import Key
from session_adapters.base import Root, Source

__all__ = ["MANY", "MOST_SOURCES", "SourceListing", "newest_sources", "written_sources"]

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


def newest_sources(adapters: Adapters, agents: Iterable[str], count: int) -> Sequence[tuple[str, Source]]:
    """Those that changed last, whosever they are, each with its agent, as far as they can be listed: what is wrong
    is not told."""

    def listed() -> Iterator[tuple[str, Source]]:
        for agent in agents:
            with suppress(Exception):
                for source in adapters.get(agent).sources(lambda problem: None):
                    yield agent, source

    return nlargest(count, listed(), key=lambda found: found[1].modified)


def written_sources(
    written: Collection[str],
    roots: Iterable[Root],
    known: Mapping[Key, CachedSource],
    also: Collection[Key],
) -> Sequence[Source] | None:
    """The known sources of these paths, as far as they lie below `roots`, and those that `also` names, as they are
    now; None where that does not tell all that is different, as where a path is none of theirs, or none is there."""
    from session_adapters.reading.folders import renewed  # not before the first frame

    places = tuple(f"{root.path}/" for root in roots)
    wanted = {path for path in written if path.startswith(places)}
    found: list[Source] = []
    for key in dict.fromkeys((*(key for key in known if key[0] in wanted), *also)):
        source = renewed(known[key].source)
        if source is None:
            return None
        found.append(source)
    return found if wanted and wanted <= {source.path for source in found} else None
