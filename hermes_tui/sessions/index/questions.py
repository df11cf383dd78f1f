"""Which tables a query is put to, and how."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hermes_tui.sessions.index.answers import Coverage, Field
from hermes_tui.sessions.index.beginnings import LONGEST, beginnings_of
from hermes_tui.sessions.index.expression import match_expression
from hermes_tui.sessions.query.tree import All, Literally, MessageFilter, SessionFilter, Tree, Word

__all__ = ["Question", "questions"]


class Question(NamedTuple):
    """Rows of a table that match an expression, and where there is another one, of those the ones that match that."""

    table: str
    field: Field
    expression: str
    other_table: str = ""
    other_expression: str = ""

    @property
    def whole(self) -> bool:
        """The table has all places, or they do not matter."""
        return self.table != "long"


def questions(tree: Tree, fields: Iterable[Field], coverage: Coverage) -> list[Question] | None:
    """What to ask; None where the query cannot be asked of the index."""
    found: list[Question] = []
    for field in fields:
        asked = _beginning(tree, field, coverage) or [_plain(table, field, tree) for table in _tables(field)]
        for one in asked:
            if one is None:
                return None
            if one.expression:
                found.append(one)
    return found


def _tables(field: Field) -> tuple[str, ...]:
    return ("prose",) if field == "prose" else ("tool", "long")


def _plain(table: str, field: Field, tree: Tree) -> Question | None:
    expression = match_expression(tree, places=table != "long")
    return None if expression is None else Question(table, field, expression)


def _beginning(tree: Tree, field: Field, coverage: Coverage) -> list[Question | None] | None:
    """FTS5 would look at every word with a short beginning; the tables of beginnings know at once. None where there
    is none in the query, or not all that was said is in such a table yet."""
    if field == "prose" and not coverage.whole:
        return None
    parts = [one for one in (tree.parts if isinstance(tree, All) else (tree,)) if not isinstance(one, _MET)]
    starts = [one.tokens[0] for one in parts if isinstance(one, Word) and _is_short(one)]
    if not starts:
        return None
    table, begun = "short" if field == "prose" else "brief", beginnings_of(starts)
    rest = tuple(one for one in parts if not (isinstance(one, Word) and _is_short(one)))
    if not rest:
        return [Question(table, field, begun)]
    found: list[Question | None] = []
    for one in _tables(field):
        question = _plain(one, field, All(rest))
        if question is None:
            return None
        found.append(question._replace(other_table=table, other_expression=begun))
    return found


_MET = (Literally, MessageFilter, SessionFilter)
"""What is taken to be met."""


def _is_short(word: Word) -> bool:
    return word.prefix and len(word.tokens) == 1 and 0 < len(word.tokens[0]) <= LONGEST
