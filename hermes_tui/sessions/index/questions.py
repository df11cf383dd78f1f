"""Which tables a query is put to, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hermes_tui.sessions.index.answers import Coverage, Field
from hermes_tui.sessions.index.beginnings import LONGEST, beginnings_of
from hermes_tui.sessions.index.cases import Case, cases
from hermes_tui.sessions.index.expression import excluded, match_expression
from hermes_tui.sessions.index.schema import KINDS
from hermes_tui.sessions.index.writer import Level
from hermes_tui.sessions.query.tree import All, Literally, MessageFilter, Not, SessionFilter, Tree, Word, leaves

__all__ = ["Ask", "Name", "Question", "questions"]


class Ask(NamedTuple):
    """Rows of a table that match an expression."""

    table: str
    expression: str


class Name(NamedTuple):
    """Messages that have to do with a role, a tool or a file."""

    kind: int
    value: str
    """What its name begins with, or has in it."""


class Question(NamedTuple):
    """Rows that are wanted: those that satisfy all of it."""

    field: Field
    asks: tuple[Ask, ...]
    names: tuple[Name, ...] = ()
    without: tuple[Ask, ...] = ()
    """Which must not match."""
    nameless: tuple[Name, ...] = ()
    """Which they must have nothing to do with."""
    exact: bool = True
    """Every row satisfies the query; else some may not."""

    @property
    def level(self) -> Level:
        """How much of a source must be in the index for the answer to hold."""
        return Level.ALL if self.field == "tool" or self.names or self.nameless else Level.PROSE


def questions(tree: Tree, fields: Iterable[Field], coverage: Coverage) -> list[Question] | None:
    """What to ask; None where the query cannot be asked of the index."""
    every = cases(tree)
    if every is None:
        return None
    found: list[Question] = []
    for field in fields:
        for case in every:
            asked = _asked(case, field, coverage)
            if asked is None:
                return None
            found += asked
    return found


def _asked(case: Case, field: Field, coverage: Coverage) -> list[Question] | None:
    names, nameless = list[Name](), list[Name]()
    words: list[Tree] = []
    for one in case:
        if isinstance(one, MessageFilter):
            names.append(_name(one))
        elif isinstance(one, Not) and isinstance(one.part, MessageFilter):
            nameless.append(_name(one.part))
        elif not isinstance(one, SessionFilter):
            words.append(one)
    found = list(_worded(words, field, coverage, alone=not names))
    if None in found or not all(map(_is_written, (*names, *nameless))):
        return None
    about = tuple(dict.fromkeys(names)), tuple(dict.fromkeys(nameless))
    return [one._replace(names=about[0], nameless=about[1]) for one in found if one is not None]


def _name(condition: MessageFilter) -> Name:
    return Name(KINDS.index(condition.field), condition.value)


def _is_written(name: Name) -> bool:
    """Halves of characters cannot be asked for."""
    return not any("\ud800" <= char <= "\udfff" for char in name.value)


def _worded(words: list[Tree], field: Field, coverage: Coverage, *, alone: bool) -> Iterator[Question | None]:
    """The questions for words; None among them where they cannot be asked, because nothing else is asked for."""
    starts, rest = _begun(words, field, coverage)
    begun = (Ask("short" if field == "prose" else "brief", beginnings_of(starts)),) if starts else ()
    exact = not any(isinstance(leaf, Literally) for one in words for leaf in leaves(one))
    if not rest:
        yield Question(field, begun, exact=exact) if begun or not alone else None
        return
    single = all(len(leaf.tokens) == 1 for one in rest for leaf in leaves(one) if isinstance(leaf, Word))
    wanted = All(tuple(rest))
    if (expressions := [(table, _expression(wanted, table)) for table in _tables(field)])[0][1] is None:
        # Nothing that must be there, at most what must not.
        unwanted = _unwanted(wanted, field)
        yield None if alone and not begun else Question(field, begun, without=unwanted, exact=exact and single)
        return
    for table, expression in expressions:
        if expression is None:
            yield None
        elif expression:
            yield Question(field, (Ask(table, expression), *begun), exact=exact and (single or table != "long"))


def _begun(words: list[Tree], field: Field, coverage: Coverage) -> tuple[list[str], list[Tree]]:
    """The short beginnings that must be there, and all else. FTS5 would look at every word that begins so; the tables
    of beginnings know at once, where all that was said is in such a table."""
    if field == "prose" and not coverage.whole:
        return [], words
    starts = [one.tokens[0] for one in words if isinstance(one, Word) and _is_short(one)]
    return starts, [one for one in words if not (isinstance(one, Word) and _is_short(one))]


def _tables(field: Field) -> tuple[str, ...]:
    return ("prose",) if field == "prose" else ("tool", "long")


def _expression(tree: Tree, table: str) -> str | None:
    return match_expression(tree, places=table != "long")


def _unwanted(tree: Tree, field: Field) -> tuple[Ask, ...]:
    found = ((table, excluded(tree, places=table != "long")) for table in _tables(field))
    return tuple(Ask(table, expression) for table, expression in found if expression)


def _is_short(word: Word) -> bool:
    return word.prefix and len(word.tokens) == 1 and 0 < len(word.tokens[0]) <= LONGEST
