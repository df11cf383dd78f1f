"""A query in disjunctive normal form: cases whose conditions must all hold."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TypeGuard

from hermes_tui.sessions.index.reading.prefixes import may_begin
from hermes_tui.sessions.query.tree import All, Always, Any, Literally, MessageFilter, Not, Tree, Word, leaves

__all__ = ["Case", "cases", "is_short"]

Case = tuple[Tree, ...]
_MOST = 16
"""Cases; of more, FTS5 or the stores are asked."""


def cases(tree: Tree) -> list[Case] | None:
    """What satisfies `tree`: all conditions of any one of them. What FTS5 knows best itself is left whole. None where
    there are too many."""
    try:
        return _cases(tree, wanted=True)
    except RecursionError:
        return None
    except _TooMany:
        named = any(isinstance(leaf, MessageFilter) for leaf in leaves(tree))
        return None if named else [_whole(tree, wanted=True)]


def is_short(tree: Tree) -> TypeGuard[Word]:
    """The beginning of a word that is so short that a great many begin with it."""
    return isinstance(tree, Word) and tree.prefix and len(tree.tokens) == 1 and may_begin(tree.tokens[0])


class _TooMany(Exception):
    pass


def _cases(tree: Tree, *, wanted: bool) -> list[Case]:
    if not any(isinstance(leaf, MessageFilter | Literally) or is_short(leaf) for leaf in leaves(tree)):
        return [_whole(tree, wanted=wanted)]
    match tree:
        case Not(part):
            return _cases(part, wanted=not wanted)
        case All(parts) | Any(parts):
            each = [_cases(part, wanted=wanted) for part in parts]
            return _every(each) if isinstance(tree, All) == wanted else _limited(one for some in each for one in some)
        case Always(value):
            return [()] if value == wanted else []
        case _:
            return [(tree if wanted else Not(tree),)]


def _whole(tree: Tree, *, wanted: bool) -> Case:
    if wanted and isinstance(tree, All):
        return tree.parts
    if not wanted and isinstance(tree, Any):
        return tuple(Not(part) for part in tree.parts)
    return (tree if wanted else Not(tree),)


def _every(each: list[list[Case]]) -> list[Case]:
    number = 1
    for some in each:
        number *= len(some)
        if number > _MOST:
            raise _TooMany
    return [tuple(leaf for case in chosen for leaf in case) for chosen in product(*each)]


def _limited(found: Iterable[Case]) -> list[Case]:
    listed = list(found)
    if len(listed) > _MOST:
        raise _TooMany
    return listed
