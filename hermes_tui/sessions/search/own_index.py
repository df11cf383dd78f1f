"""What a store's own index is asked for a query, and what its rows say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hermes_tui.sessions.index.reading.expression import match_expression
from hermes_tui.sessions.query.tree import TRUE, All, Tree, Word, all_of, leaves
from hermes_tui.sessions.scan import MOST_MATCHES, Wanted
from hermes_tui.sessions.search.model import Field, Match, SourceMatch
from hermes_tui.sessions.search.stores import SourceSessions
from hermes_tui.sessions.words import is_dense
from session_adapters.base import Adapter

__all__ = ["own_rows", "own_terms"]


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


def own_rows(
    adapter: Adapter, shelf: SourceSessions, wanted: Mapping[str, Wanted], thorough: bool, *, rewound: bool
) -> Iterator[SourceMatch]:
    """What a store's own index says of the sessions that are `wanted` (by native id), for all the same: of one all at
    once, or the first `MOST_MATCHES`. `thorough`: all of it, whatever that takes."""
    asked = own_terms(next(iter(wanted.values())).search.tree)
    if asked is None:
        return
    some = None if len(wanted) == len(shelf.sessions) else wanted
    rows = adapter.full_text(shelf.source, *asked, thorough=thorough, session_ids=some) or ()
    places: dict[str, list[Match]] = {}
    for row in rows:
        if row.session_id not in wanted or (row.visibility == "rewound" and not rewound):
            continue
        # A row names a message, not which of its texts: that is guessed by who wrote it.
        field: Field = "prose" if row.role in ("user", "assistant") else "tool"
        found = places.setdefault(row.session_id, [])
        if len(found) < MOST_MATCHES:
            found.append(Match(row.message_id, field, row.role, row.time, row.visibility, guessed=True))
    for session_id, found in places.items():
        yield SourceMatch(wanted[session_id].summary, tuple(found), 1)
