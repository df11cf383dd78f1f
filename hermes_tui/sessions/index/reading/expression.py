"""A query as an FTS5 expression that misses nothing and adds little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hermes_tui.sessions.index.signs import escaped, is_sign, sign_word, signs
from hermes_tui.sessions.query.tree import (
    All,
    Always,
    Any,
    Inside,
    Literally,
    MessageFilter,
    Not,
    Regex,
    SessionFilter,
    Tree,
    Word,
)

__all__ = ["Expression", "expression", "match_expression", "phrase_of"]

_LEAVES = 200
"""More words than this are not asked."""


class Expression(NamedTuple):
    """Rows: those that match `text`, or all others. An empty text matches none."""

    text: str
    inside: bool = True
    exact: bool = True
    """Every one of them is wanted; else some may not be."""


_NOTHING = Expression("")
_EVERYTHING = Expression("", inside=False)


class _TooMuch(Exception):
    """More than FTS5 takes."""


def match_expression(tree: Tree) -> str | None:
    """What to ask a table whose rows are units, so that every one that satisfies `tree` is among the answers. None
    where the answer would be nearly everything, or cannot be asked for; empty where there is none."""
    found = expression(tree)
    return found.text if found.inside else None


def expression(tree: Tree) -> Expression:
    """The rows among which every one is that satisfies `tree`. Conditions on messages and sessions are taken to be
    met."""
    compiler = _Compiler()
    try:
        found = compiler.rows(tree, upper=True)
    except (_TooMuch, RecursionError):
        return _EVERYTHING._replace(exact=False)
    return found._replace(exact=compiler.exact)


def phrase_of(leaf: Tree) -> str:
    """How FTS5 is asked for one condition on words; empty where it cannot be told by one phrase."""
    found = expression(leaf)
    return found.text if found.inside and found.exact and isinstance(leaf, Word | Literally) else ""


class _Compiler:
    def __init__(self) -> None:
        self.exact = True
        self._leaves = 0

    def rows(self, tree: Tree, *, upper: bool) -> Expression:
        """A set that holds every unit which satisfies the tree; if not `upper`, one of which every unit does."""
        match tree:
            case Always(value):
                return _EVERYTHING if value else _NOTHING
            case Word(tokens, prefix):
                return self._phrase([escaped(token) for token in tokens], prefix)
            case Literally(text):
                if is_sign(text):
                    return self._phrase((sign_word(text),))
                self.exact = False  # where they stand, and what is no sign either, FTS5 does not know
                there = [self._phrase((sign_word(sign),)) for sign in signs(text)]
                return (_all(there) if there else _EVERYTHING) if upper else _NOTHING
            case Inside() | Regex():
                self.exact = False  # of words FTS5 knows the beginnings
                words = tree.words
                return self.rows(words, upper=True) if upper and words else _EVERYTHING if upper else _NOTHING
            case MessageFilter() | SessionFilter():
                self.exact = False
                return _EVERYTHING if upper else _NOTHING
            case Not(part):
                return _other(self.rows(part, upper=not upper))
            case All(parts):
                return _all([self.rows(part, upper=upper) for part in parts])
            case Any(parts):
                return _other(_all([_other(self.rows(part, upper=upper)) for part in parts]))

    def _phrase(self, tokens: Sequence[str], prefix: bool = False) -> Expression:
        self._leaves += len(tokens)
        if self._leaves > _LEAVES:
            raise _TooMuch
        words = " ".join(tokens).replace('"', '""')
        return Expression(f'"{words}"{"*" if prefix else ""}')


def _other(found: Expression) -> Expression:
    return Expression(found.text, not found.inside)


def _all(sets: Sequence[Expression]) -> Expression:
    """What is in every one of them."""
    inside = list(dict.fromkeys(one.text for one in sets if one.inside))
    outside = list(dict.fromkeys(one.text for one in sets if not one.inside and one.text))
    if "" in inside:
        return _NOTHING
    if not inside:
        return Expression(_joined(outside, "OR"), inside=False)
    found = _joined(inside, "AND")
    return Expression(f"({found} NOT {_joined(outside, 'OR')})" if outside else found)


def _joined(texts: Sequence[str], how: str) -> str:
    return texts[0] if len(texts) == 1 else f"({f' {how} '.join(texts)})" if texts else ""
