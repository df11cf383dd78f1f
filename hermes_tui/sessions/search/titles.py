"""Titles of all sessions, to be searched together: most questions are in hardly any of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from hermes_tui.sessions.query.tree import Tree, Unit
from hermes_tui.sessions.scan import needles
from session_adapters.model import SessionSummary

__all__ = ["Titles"]


class Titles:
    """The titles of `sessions`. Any thread may ask."""

    def __init__(self, sessions: Iterable[SessionSummary]) -> None:
        self._units = [(one, Unit(one.title)) for one in sessions if one.title]
        self._odd = [at for at, (_, unit) in enumerate(self._units) if not unit.passage.plain]
        """Those in which letters may stand for plain ones: they are always looked at."""
        self._text = "\n".join(unit.passage.lower for _, unit in self._units)
        self._starts: list[int] = []
        at = 0
        for _, unit in self._units:
            self._starts.append(at)
            at += len(unit.passage.lower) + 1

    def candidates(self, tree: Tree) -> Sequence[tuple[SessionSummary, Unit]]:
        """Every session whose title satisfies the tree, and some others, in the order given."""
        sought = needles(tree)
        if sought is None:
            return self._units
        found = set(self._odd)
        for needle in sought:
            found.update(self._holding(needle.decode()))
        return [self._units[at] for at in sorted(found)]

    def _holding(self, needle: str) -> Iterator[int]:
        at = self._text.find(needle)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            if number + 1 == len(self._starts):
                return
            at = self._text.find(needle, self._starts[number + 1])
