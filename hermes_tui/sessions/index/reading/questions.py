"""Which tables a query is put to, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hermes_tui.sessions.index.reading.answers import Field, IndexCoverage
from hermes_tui.sessions.index.reading.dnf import Case, cases, is_short
from hermes_tui.sessions.index.reading.expression import excluded, match_expression
from hermes_tui.sessions.index.reading.prefixes import beginnings_of, is_sign, signs
from hermes_tui.sessions.index.schema import KINDS
from hermes_tui.sessions.index.source_state import Level
from hermes_tui.sessions.query.tree import All, Literally, MessageFilter, Not, SessionFilter, Tree, Word, leaves

__all__ = ["Ask", "Name", "Question", "questions"]


class Ask(NamedTuple):
    """Rows of a table that match an expression."""

    table: str
    expression: str

    @property
    def begun(self) -> bool:
        """Of some words only the beginning is known, which no table of beginnings knows."""
        return '"*' in self.expression and self.table not in ("short", "brief")


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
    def plain(self) -> bool:
        """It is one question to one table."""
        return len(self.asks) == 1 and not (self.names or self.nameless or self.without)

    @property
    def wordless(self) -> bool:
        """Nothing is asked of the words of a message: its prose and its tool text are found alike."""
        return not self.asks and not self.without

    @property
    def units(self) -> tuple[int, ...]:
        """What the messages have of which it may be true, as `called` numbers it. Of words that are not there, one
        without text has none."""
        if self.wordless:
            return (0, 1, 2, 3)
        if self.field == "tool":
            return (2, 3)
        return (1, 3) if self.asks else (0, 1, 3)

    @property
    def level(self) -> Level:
        """How much of a source must be in the index for the answer to hold."""
        return Level.ALL if self.field == "tool" or self.names or self.nameless else Level.PROSE


def questions(tree: Tree, fields: Iterable[Field], coverage: IndexCoverage) -> list[Question] | None:
    """What to ask; None where the query cannot be asked of the index. What asks for no words is asked together with
    tool text, for all units."""
    every = cases(tree)
    if every is None:
        return None
    found: list[Question] = []
    for field in fields:
        for case in every:
            asked = _asked(case, field, coverage)
            if asked is None:
                return None
            found += [one for one in asked if field == "tool" or not one.wordless]
    return found


def _asked(case: Case, field: Field, coverage: IndexCoverage) -> list[Question] | None:
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
    if None in found:
        return None
    about = tuple(dict.fromkeys(names)), tuple(dict.fromkeys(nameless))
    return [one._replace(names=about[0], nameless=about[1]) for one in found if one is not None]


def _name(condition: MessageFilter) -> Name:
    return Name(KINDS.index(condition.field), condition.value)


def _worded(words: list[Tree], field: Field, coverage: IndexCoverage, *, alone: bool) -> Iterator[Question | None]:
    """The questions for words; None among them where they cannot be asked, because nothing else is asked for."""
    begun = _begun(words, field, coverage)
    table = "short" if field == "prose" else "brief"
    starts = (Ask(table, beginnings_of(begun.starts)),) if begun.starts else ()
    absent = tuple(Ask(table, beginnings_of((one,))) for one in begun.absent)
    doubts = tuple(Ask(table, beginnings_of(some)) for some in begun.doubts)
    exact = all(_is_known(one) for one in begun.rest)
    rest = [one for one in begun.rest if not isinstance(one, Literally)]
    about = Question(field, starts, without=(*absent, *doubts), exact=exact)
    yield from _put(rest, about, alone=alone)
    for doubt in doubts:
        yield from _put(rest, about._replace(asks=(*starts, doubt), without=absent, exact=False), alone=alone)


def _put(rest: Sequence[Tree], about: Question, *, alone: bool) -> Iterator[Question | None]:
    """The questions to the tables of words, each with all that `about` asks of beginnings and signs."""
    if not rest:
        yield about if about.asks or not alone else None
        return
    single = all(len(leaf.tokens) == 1 for one in rest for leaf in leaves(one) if isinstance(leaf, Word))
    wanted = All(tuple(rest))
    if (expressions := [(table, _expression(wanted, table)) for table in _tables(about.field)])[0][1] is None:
        # Nothing that must be there, at most what must not.
        unwanted = (*about.without, *_unwanted(wanted, about.field))
        unsure = about._replace(without=unwanted, exact=about.exact and single)
        yield None if alone and not about.asks else unsure
        return
    for table, expression in expressions:
        if expression is None:
            yield None
        elif expression:
            asks = Ask(table, expression), *about.asks
            yield about._replace(asks=asks, exact=about.exact and (single or table != "long"))


class _Begun(NamedTuple):
    """What the tables of beginnings know."""

    starts: list[str]
    """Short beginnings and signs that must be there."""
    absent: list[str]
    """Those that must not."""
    doubts: list[list[str]]
    """Signs of which some run must not be there: where they all are, it may be."""
    rest: list[Tree]
    """All else."""


def _begun(words: list[Tree], field: Field, coverage: IndexCoverage) -> _Begun:
    """What is known at once, where all that was said is in such a table: FTS5 would look at every word that begins
    so."""
    if field == "prose" and not coverage.whole:
        return _Begun([], [], [], words)
    found = _Begun([], [], [], [])
    for one in words:
        part = one.part if isinstance(one, Not) else None
        if is_short(one):
            found.starts.append(one.tokens[0])
        elif part is not None and is_short(part):
            found.absent.append(part.tokens[0])
        elif isinstance(part, Literally) and is_sign(part.text):
            found.absent.append(part.text)
        elif isinstance(part, Literally) and (some := signs(part.text)):
            found.doubts.append(some)
        elif isinstance(one, Literally) and (some := signs(one.text)):
            found.starts.extend(some)
            if len(one.text) > 1:
                found.rest.append(one)
        else:
            found.rest.append(one)
    return found


def _is_known(tree: Tree) -> bool:
    """FTS5 knows all of it."""
    return not any(isinstance(leaf, Literally) for leaf in leaves(tree))


def _tables(field: Field) -> tuple[str, ...]:
    return ("prose",) if field == "prose" else ("tool", "long")


def _expression(tree: Tree, table: str) -> str | None:
    return match_expression(tree, places=table != "long")


def _unwanted(tree: Tree, field: Field) -> tuple[Ask, ...]:
    found = ((table, excluded(tree, places=table != "long")) for table in _tables(field))
    return tuple(Ask(table, expression) for table, expression in found if expression)
