"""Searches titles and other short texts of many sessions together."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Generic, TypeGuard, TypeVar

from hermes_tui.sessions.query.tree import All, TextUnit, Tree, Word, holds
from hermes_tui.sessions.scan import needles
from hermes_tui.sessions.words import Passage

__all__ = ["Titles"]

T = TypeVar("T")


class Titles(Generic[T]):
    """Things and what each is called. Any thread may ask."""

    def __init__(self, things: Iterable[tuple[T, str]], before: Titles[T] | None = None) -> None:
        """`before` are those of a moment ago: what is called the same is not taken to pieces again."""
        named = [pair for pair in things if pair[1]]
        self._things = [thing for thing, _ in named]
        self._texts = [text for _, text in named]
        self._known = {unit.passage.text: unit for unit in before._units.values()} if before is not None else {}
        self._units: dict[int, TextUnit] = {}
        """Those that were looked at: of ten thousand titles a search looks at few."""
        self._odd = [at for at, text in enumerate(self._texts) if not (text.isascii() or Passage(text).plain)]
        """Those in which letters may stand for plain ones: they are always looked at."""
        lower = [text.lower() for text in self._texts]
        self._text = "\n".join(lower)
        self._starts = array("L", accumulate((len(text) + 1 for text in lower[:-1]), initial=0))

    def _pair(self, at: int) -> tuple[T, TextUnit]:
        unit = self._units.get(at)
        if unit is None:
            text = self._texts[at]
            unit = self._units[at] = self._known.get(text) or TextUnit(text)
        return self._things[at], unit

    def matching(self, tree: Tree) -> Sequence[tuple[T, TextUnit]]:
        """Everything whose text satisfies the tree, in the order given."""
        if _is_plain(tree):
            return self.candidates(tree)
        return [pair for pair in self.candidates(tree) if holds(tree, pair[1])]

    def candidates(self, tree: Tree) -> Sequence[tuple[T, TextUnit]]:
        """Everything whose text satisfies the tree, and some others, in the order given."""
        words = [one for one in (tree.parts if isinstance(tree, All) else (tree,)) if _is_plain(one)]
        if words:
            found = self._saying(words[0])
            for word in words[1:]:
                found &= self._saying(word)
            return list(map(self._pair, sorted(found)))
        sought = needles(tree, inside=False)
        if sought is None:
            return list(map(self._pair, range(len(self._texts))))
        found = set(self._odd)
        for needle in sought:
            found.update(self._holding(needle.decode()))
        return list(map(self._pair, sorted(found)))

    def _saying(self, word: Word) -> set[int]:
        """Numbers of the texts with one plain word: hardly any needs a second look."""
        found = {at for at in self._odd if holds(word, self._pair(at)[1])}
        text, starts = self._text, self._starts
        # What goes before is looked at last: hardly any place that looks right is inside of a word.
        sought = re.compile(f"{word.tokens[0]}(?<![a-z0-9]{word.tokens[0]}){'' if word.prefix else '(?![a-z0-9])'}")
        place = sought.search(text)
        while place is not None:
            at, end = place.span()
            number = bisect_right(starts, at) - 1
            if (text[at - 1 : at] + text[end : end + 1]).isascii() or holds(word, self._pair(number)[1]):
                found.add(number)
                end = starts[number + 1] if number + 1 < len(starts) else len(text)
            place = sought.search(text, end)
        return found

    def _holding(self, needle: str) -> Iterator[int]:
        """Numbers of the texts with the needle: where it is plain, those in which a word begins with it."""
        text = self._text
        begun = needle.isascii()
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


def _is_plain(tree: Tree) -> TypeGuard[Word]:
    """One word of letters and digits that look like nothing else."""
    return isinstance(tree, Word) and len(tree.tokens) == 1 and tree.tokens[0].isascii()
