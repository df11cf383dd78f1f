"""A query as cases, each of conditions that must all hold of a message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Literal, NamedTuple

from hermes_tui.sessions.index.reading.expression import expression
from hermes_tui.sessions.index.schema import KINDS
from hermes_tui.sessions.index.source_state import Level
from hermes_tui.sessions.query.tree import All, Always, Any, MessageFilter, Not, SessionFilter, Tree, leaves

__all__ = ["Case", "Field", "Name", "Question", "question"]

_MOST = 16
"""Cases; of more the stores are asked."""

Field = Literal["prose", "tool"]
Conditions = tuple[Tree, ...]


class Name(NamedTuple):
    """Messages that have to do with a role, a tool or a file."""

    kind: int
    value: str
    """What its name begins with, or has in it."""


class Case(NamedTuple):
    """Rows that are wanted: those that satisfy all of it."""

    words: str
    """What FTS5 must find in the row; empty for nothing."""
    unwanted: str
    """What it must not, where there are no `words`; empty for nothing."""
    names: tuple[Name, ...]
    nameless: tuple[Name, ...]
    """Which they must have nothing to do with."""


class Question(NamedTuple):
    """Rows that are wanted, in prose and in tool text alike: those of any case."""

    cases: Sequence[Case]
    exact: bool
    """Every row satisfies the query; else some may not."""

    @property
    def begun(self) -> bool:
        """Of some words only the beginning is known: FTS5 makes a list of all their rows first, each time."""
        return any('"*' in case.words for case in self.cases)

    def level(self, field: Field) -> Level:
        """How much of a source must be in the index for the answer to hold."""
        named = any(case.names or case.nameless for case in self.cases)
        return Level.ALL if field == "tool" or named else Level.PROSE


def question(tree: Tree) -> Question | None:
    """What to ask; None where the query cannot be asked of the index."""
    try:
        every = _cases(tree, wanted=True)
    except (_TooMany, RecursionError):
        return None
    cases: list[Case] = []
    exact = True
    for conditions in every:
        on_words = (one for one in conditions if not isinstance(one.part if isinstance(one, Not) else one, _BESIDE))
        words = expression(All(tuple(on_words)))
        names = _names(one for one in conditions if isinstance(one, MessageFilter))
        nameless = _names(one.part for one in conditions if isinstance(one, Not))
        exact = exact and words.exact
        if not words.inside and not names:  # nearly everything would be the answer
            return None
        if not words.inside or words.text:
            cases.append(
                Case(*((words.text, "") if words.inside else ("", words.text)), names=names, nameless=nameless)
            )
    return Question(cases, exact)


_BESIDE = (MessageFilter, SessionFilter)
"""What is no condition on words."""


def _names(conditions: Iterable[Tree]) -> tuple[Name, ...]:
    """Files before tools before roles: the fewer messages they are of, the sooner they are looked through."""
    found = {Name(KINDS.index(one.field), one.value) for one in conditions if isinstance(one, MessageFilter)}
    return tuple(sorted(found, reverse=True))


class _TooMany(Exception):
    pass


def _cases(tree: Tree, *, wanted: bool) -> list[Conditions]:
    """The disjunctive normal form of `tree`, or of its opposite; what has no names in it is left whole."""
    if not any(isinstance(leaf, MessageFilter) for leaf in leaves(tree)):
        if wanted and isinstance(tree, All):
            return [tree.parts]
        if not wanted and isinstance(tree, Any):
            return [tuple(Not(part) for part in tree.parts)]
        return [(tree if wanted else Not(tree),)]
    match tree:
        case Not(part):
            return _cases(part, wanted=not wanted)
        case All(parts) | Any(parts):
            each = [_cases(part, wanted=wanted) for part in parts]
            if isinstance(tree, All) == wanted:
                return _every(each)
            found = [one for some in each for one in some]
            if len(found) > _MOST:
                raise _TooMany
            return found
        case Always(value):
            return [()] if value == wanted else []
        case _:
            return [(tree if wanted else Not(tree),)]


def _every(each: list[list[Conditions]]) -> list[Conditions]:
    number = 1
    for some in each:
        number *= len(some)
        if number > _MOST:
            raise _TooMany
    return [tuple(leaf for case in chosen for leaf in case) for chosen in product(*each)]
