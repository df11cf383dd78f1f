"""Tells whether a query can only find less than another.

While a user types, the next one mostly does.
"""

from __future__ import annotations

from hermes_tui.sessions.query.tree import All, Always, Any, Inside, MessageFilter, Not, Tree, Word, leaves

__all__ = ["narrows"]


def narrows(tree: Tree, wide: Tree) -> bool:
    """Whether every session that `tree` finds is known to be found by `wide`. Never true of what asks for something
    not to be there: a session is found by such a query for all its texts together, not for one of them."""
    if any(isinstance(leaf, Always) for one in (tree, wide) for leaf in leaves(one)):
        return False
    try:
        return not _denies(tree) and not _denies(wide) and _implies(tree, wide)
    except RecursionError:  # too deep to be compared: everything is searched, which is never wrong
        return False


def _denies(tree: Tree) -> bool:
    match tree:
        case Not():
            return True
        case All(parts) | Any(parts):
            return any(_denies(part) for part in parts)
        case _:
            return False


def _implies(tree: Tree, wide: Tree) -> bool:
    """Whether whatever satisfies `tree` satisfies `wide`; false where that is not to be seen at once."""
    if tree == wide:
        return True
    match wide:
        case All(parts):
            return all(_implies(tree, part) for part in parts)
        case Any(parts) if not isinstance(tree, Any):  # else each alternative may lead to another one
            return any(_implies(tree, part) for part in parts)
    match tree:
        case Any(parts):
            return all(_implies(part, wide) for part in parts)
        case All(parts):
            return any(_implies(part, wide) for part in parts)
        case Word() if isinstance(wide, Word):
            # The words of `wide` stand among those of `tree`, one after the other as there.
            *whole, last = wide.tokens
            ends = range(len(whole), len(tree.tokens))
            return any(
                list(tree.tokens[end - len(whole) : end]) == whole
                and (
                    tree.tokens[end].startswith(last)
                    if wide.prefix
                    else tree.tokens[end] == last and not (tree.prefix and end == len(tree.tokens) - 1)
                )
                for end in ends
            )
        case Inside(text) if isinstance(wide, Inside):
            return wide.text in text
        case MessageFilter(field, value) if isinstance(wide, MessageFilter):
            return field == wide.field and (value.startswith(wide.value) if field == "role" else wide.value in value)
        case _:
            return False
