"""Corrects one word of a query that finds nothing.

Only the index is asked, which knows at once whether a word is said anywhere. Nothing is searched for instead: what is
found is what was asked for, and this is an offer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from hermes_tui.sessions.index.reading.reader import IndexCoverage, SearchIndex
from hermes_tui.sessions.index.schema import IndexUnusable
from hermes_tui.sessions.query.query import Query
from hermes_tui.sessions.query.tree import Tree, Word, any_of
from hermes_tui.sessions.words import tokens
from session_adapters.base import Source

__all__ = ["instead_of", "neighbours"]

_LEAST = 4
"""Letters of a word from which another one is like it, and not just as short."""
_LONGEST = 24
_MOST_WORDS = 8
"""Words of a query that are looked at."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_AT_ONCE = 40
"""Words that are asked for together: nearly none of them is said anywhere."""
_COUNTED = 40
"""Places of a word that are counted, to tell the usual one from the rare."""


def instead_of(query: Query, index: SearchIndex, sources: Sequence[Source]) -> str:
    """The query with every word of it that stands nowhere put right; nothing where there is none, or one for which
    there is no other."""
    text, mended = query.text, False
    words = [part for part in query.parts if part.kind == "word"][:_MOST_WORDS]
    try:
        covered = index.coverage(sources)
        for part in reversed(words):  # from the end, so that the places before stay right
            word = query.text[part.start : part.end]
            if not word.isalnum() or not _LEAST <= len(word) <= _LONGEST or len(tokens(word)) != 1:
                continue
            if _hits(index, covered, Word((tokens(word)[0],), prefix=True), 1):
                continue
            better = _likeliest(tokens(word)[0], index, covered)
            if not better:  # with this word nothing is found, whatever becomes of the others
                return ""
            text, mended = f"{text[: part.start]}{better}{text[part.end :]}", True
    except IndexUnusable:
        return ""
    return text if mended else ""


def neighbours(word: str) -> Iterator[list[str]]:
    """Words that one key makes of `word`: two letters changed places, one is missing, one is another, one is too
    many. The likeliest kind of mistake first; the word itself is none of them."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    yield [f"{left}{right[1]}{right[0]}{right[2:]}" for left, right in cuts if right[1:] and right[0] != right[1]]
    yield [f"{left}{letter}{right}" for left, right in cuts for letter in _LETTERS]
    yield [
        f"{left}{letter}{right[1:]}" for left, right in cuts for letter in _LETTERS if right and letter != right[0]
    ]
    yield [f"{left}{right[1:]}" for left, right in cuts if right]


def _likeliest(word: str, index: SearchIndex, covered: IndexCoverage) -> str:
    """Of the words one key away that are said somewhere, the most usual one of the likeliest kind."""
    for kind in neighbours(word):
        candidates = list(dict.fromkeys(kind))
        said: dict[str, int] = {}
        for at in range(0, len(candidates), _AT_ONCE):
            some = candidates[at : at + _AT_ONCE]
            if _hits(index, covered, any_of(Word((one,)) for one in some), 1):
                said |= {one: _hits(index, covered, Word((one,)), _COUNTED) for one in some}
        if any(said.values()):
            return max(said, key=lambda one: said[one])
    return ""


def _hits(index: SearchIndex, covered: IndexCoverage, tree: Tree, most: int) -> int:
    """How many units satisfy it, counted up to `most`."""
    found = index.search(tree, covered)
    return 0 if found is None else sum(1 for _ in islice(found, most))
