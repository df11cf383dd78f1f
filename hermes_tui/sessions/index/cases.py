"""A query as the cases that satisfy it, each a row of conditions that all must be met."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from hermes_tui.sessions.query.tree import All, Always, Any, MessageFilter, Not, Tree, leaves

__all__ = ["Case", "cases"]

Case = tuple[Tree, ...]
_MOST = 16
"""Cases; of more, the stores are asked."""


def cases(tree: Tree) -> list[Case] | None:
    """What satisfies `tree`: all conditions of any one of them. Trees without conditions on messages are left whole
    as FTS5 understands them. None where there are too many."""
    try:
        return _cases(tree, wanted=True)
    except (_TooMany, RecursionError):
        return None


class _TooMany(Exception):
    pass


def _cases(tree: Tree, *, wanted: bool) -> list[Case]:
    if not any(isinstance(leaf, MessageFilter) for leaf in leaves(tree)):
        parts = tree.parts if wanted and isinstance(tree, All) else (tree if wanted else Not(tree),)
        return [parts]
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
