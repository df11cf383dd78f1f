"""Short texts of many things, to be searched together: most questions are in hardly any of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from hermes_tui.sessions.query.tree import Tree, Unit
from hermes_tui.sessions.scan import needles

__all__ = ["Titles"]

T = TypeVar("T")


class Titles(Generic[T]):
    """Things and what each is called. Any thread may ask."""

    def __init__(self, things: Iterable[tuple[T, str]]) -> None:
        self._units = [(thing, Unit(text)) for thing, text in things if text]
        self._odd = [at for at, (_, unit) in enumerate(self._units) if not unit.passage.plain]
        """Those in which letters may stand for plain ones: they are always looked at."""
        self._text = "\n".join(unit.passage.lower for _, unit in self._units)
        self._starts: list[int] = []
        at = 0
        for _, unit in self._units:
            self._starts.append(at)
            at += len(unit.passage.lower) + 1

    def candidates(self, tree: Tree) -> Sequence[tuple[T, Unit]]:
        """Everything whose text satisfies the tree, and some others, in the order given."""
        sought = needles(tree)
        if sought is None:
            return self._units
        found = set(self._odd)
        for needle in sought:
            found.update(self._holding(needle.decode(), begun=True))
        return [self._units[at] for at in sorted(found)]

    def containing(self, words: Sequence[str]) -> list[T]:
        """Everything whose text has all these characters (lower case, without line breaks) somewhere in it."""
        if not words:
            return [thing for thing, _ in self._units]
        near = [self._units[at] for at in self._holding(max(words, key=len), begun=False)]
        return [thing for thing, unit in near if all(word in unit.passage.lower for word in words)]

    def _holding(self, needle: str, *, begun: bool) -> Iterator[int]:
        """Numbers of the texts with the needle; where `begun` only those in which a word begins with it."""
        text = self._text
        begun = begun and needle.isascii()
        at = text.find(needle)
        while at >= 0:
            if at and begun and (before := text[at - 1]).isascii() and before.isalnum():
                at = text.find(needle, at + 1)
                continue
            number = bisect_right(self._starts, at) - 1
            yield number
            if number + 1 == len(self._starts):
                return
            at = text.find(needle, self._starts[number + 1])
