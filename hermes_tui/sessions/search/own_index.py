"""A query as a store's own index is asked it."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.sessions.index.expression import match_expression
from hermes_tui.sessions.query.tree import TRUE, All, Tree, Word, all_of, leaves
from hermes_tui.sessions.words import is_dense

__all__ = ["own_terms"]


def own_terms(tree: Tree) -> tuple[str, Sequence[str]] | None:
    """What to ask a store's own index: an expression, and runs of characters that have no blanks between words. None
    for what cannot be asked without also finding what is not meant."""
    found = list(leaves(tree))
    if not all(isinstance(leaf, Word) for leaf in found):
        return None
    dense = [leaf for leaf in found if isinstance(leaf, Word) and is_dense(leaf.tokens)]
    if not dense:
        expression = match_expression(tree)
        return (expression, ()) if expression else None
    parts = tree.parts if isinstance(tree, All) else (tree,)
    if not all(isinstance(part, Word) for part in parts):
        return None  # one of several, or none of them: every row is read for that
    words = all_of(part for part in parts if part not in dense)
    expression = "" if words == TRUE else match_expression(words)
    return None if expression is None else (expression, ["".join(leaf.tokens) for leaf in dense])
