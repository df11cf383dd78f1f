"""A query as an FTS5 expression that misses nothing and adds little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hermes_tui.sessions.query.tree import All, Always, Any, Literally, MessageFilter, Not, SessionFilter, Tree, Word

__all__ = ["excluded", "match_expression"]

_LEAVES = 200
"""More words than this are not asked."""


class _Set(NamedTuple):
    """Rows: those that match `text`, or all others. An empty text matches none."""

    text: str
    inside: bool = True


_NOTHING = _Set("")
_EVERYTHING = _Set("", inside=False)


class _TooMuch(Exception):
    """More than FTS5 takes."""


def match_expression(tree: Tree, *, places: bool = True) -> str | None:
    """What to ask a table whose rows are units, so that every one that satisfies `tree` is among the answers. Where
    the table has no `places`, phrases are taken for their words. Conditions on messages and sessions are taken to be
    met. None where the answer would be nearly everything, or cannot be asked for; empty where there is none."""
    found = _compiled(tree, places)
    return found.text if found is not None and found.inside else None


def excluded(tree: Tree, *, places: bool = True) -> str:
    """Where `match_expression` gives None: what matches this does not satisfy `tree`; empty for nothing."""
    found = _compiled(tree, places)
    return "" if found is None or found.inside else found.text


def _compiled(tree: Tree, places: bool) -> _Set | None:
    try:
        return _Compiler(places).at_least(tree)
    except (_TooMuch, RecursionError):
        return None


class _Compiler:
    def __init__(self, places: bool) -> None:
        self._places = places
        self._leaves = 0

    def at_least(self, tree: Tree) -> _Set:
        """A set that holds every unit which satisfies the tree."""
        return self._set(tree, upper=True)

    def _set(self, tree: Tree, *, upper: bool) -> _Set:
        match tree:
            case Always(value):
                return _EVERYTHING if value else _NOTHING
            case Word():
                return self._word(tree, upper=upper)
            case Literally() | MessageFilter() | SessionFilter():
                return _EVERYTHING if upper else _NOTHING
            case Not(part):
                found = self._set(part, upper=not upper)
                return _Set(found.text, not found.inside)
            case All(parts):
                return _all([self._set(part, upper=upper) for part in parts])
            case Any(parts):
                others = [self._set(part, upper=upper) for part in parts]
                found = _all([_Set(one.text, not one.inside) for one in others])
                return _Set(found.text, not found.inside)

    def _word(self, word: Word, *, upper: bool) -> _Set:
        self._leaves += len(word.tokens)
        if self._leaves > _LEAVES:
            raise _TooMuch
        if self._places or len(word.tokens) == 1:
            return _Set(_phrase(word.tokens, prefix=word.prefix))
        if not upper:
            return _NOTHING
        *whole, last = word.tokens
        return _all([*(_Set(_phrase((one,))) for one in whole), _Set(_phrase((last,), prefix=word.prefix))])


def _all(sets: Sequence[_Set]) -> _Set:
    """What is in every one of them."""
    inside = list(dict.fromkeys(one.text for one in sets if one.inside))
    outside = list(dict.fromkeys(one.text for one in sets if not one.inside and one.text))
    if "" in inside:
        return _NOTHING
    if not inside:
        return _Set(_joined(outside, "OR"), inside=False)
    found = _joined(inside, "AND")
    return _Set(f"({found} NOT {_joined(outside, 'OR')})" if outside else found)


def _joined(texts: Sequence[str], how: str) -> str:
    return texts[0] if len(texts) == 1 else f"({f' {how} '.join(texts)})" if texts else ""


def _phrase(tokens: Sequence[str], *, prefix: bool = False) -> str:
    words = " ".join(tokens).replace('"', '""')
    return f'"{words}"{"*" if prefix else ""}'
