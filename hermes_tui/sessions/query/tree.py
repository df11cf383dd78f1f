"""A parsed query: conditions on one text, on its author, and on its session.

A *unit* is one text: the prose of a message, its tool text, or a session's title. A session is found when some unit
satisfies the tree. A tree that even an empty unit satisfies (`-java`, or filters alone) says what there must not be:
it finds the sessions of which no unit breaks it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct

from hermes_tui.sessions.query.filters import SessionFilter
from hermes_tui.sessions.query.regex import literals, places
from hermes_tui.sessions.words import Passage, Span, located
from session_adapters.model import SessionSummary
from session_adapters.tool_names import NOTHING, ToolNames

__all__ = [
    "FALSE",
    "TRUE",
    "All",
    "Always",
    "Any",
    "Inside",
    "Literally",
    "MessageFilter",
    "Not",
    "Regex",
    "SessionFilter",
    "TextUnit",
    "Tree",
    "Word",
    "all_of",
    "any_of",
    "decide",
    "holds",
    "leaves",
    "opposite",
    "spans",
]


class Always(Struct, frozen=True):
    """A constant."""

    value: bool


TRUE = Always(True)
FALSE = Always(False)


class Word(Struct, frozen=True):
    """Words one after the other, without regard to case, accents and what stands between them."""

    tokens: tuple[str, ...]
    """Folded, at least one."""
    prefix: bool = False
    """The last one need only be begun."""


class Literally(Struct, frozen=True):
    """Characters that make no word (an emoji, say), as they stand."""

    text: str


class Inside(Struct, frozen=True):
    """Characters anywhere in a text, inside of words too, without regard to case."""

    text: str

    @property
    def words(self) -> Word | None:
        """Whole words, the last perhaps only begun, that are in every text which holds the characters; None where
        they tell of none."""
        found = located(self.text) if self.text.isascii() else []
        if found and not found[0].start:  # it may go on before
            found = found[1:]
        if not found:
            return None
        return Word(tuple(one.word for one in found), prefix=found[-1].end == len(self.text))

    def spans(self, text: str) -> Iterator[Span]:
        """Where they stand in a text."""
        for found in re.finditer(re.escape(self.text), text, re.IGNORECASE):
            yield Span(*found.span())


class Regex(Struct, frozen=True):
    """A pattern that some piece of a text fits; see `regex`."""

    pattern: str

    @property
    def words(self) -> Tree | None:
        """Whole words, the last of some perhaps only begun, that are in every text which the pattern fits; None where
        it tells of none."""
        found = (Inside(one).words for one in literals(self.pattern))
        every = all_of(one for one in found if one is not None)
        return every if every != TRUE else None

    def spans(self, text: str) -> Iterator[Span]:
        """Where it stands in a text."""
        return places(self.pattern, text)


class MessageFilter(Struct, frozen=True):
    """A condition on the message: who said it, which tool it called or answers for, which file that was about."""

    field: Literal["role", "tool", "file"]
    value: str
    """Lower case."""


class Not(Struct, frozen=True):
    """The opposite."""

    part: Tree


class All(Struct, frozen=True):
    """Every one of them."""

    parts: tuple[Tree, ...]


class Any(Struct, frozen=True):
    """At least one of them."""

    parts: tuple[Tree, ...]


Tree = Always | Word | Literally | Inside | Regex | MessageFilter | SessionFilter | Not | All | Any


class TextUnit:
    """One text and what is known of its message."""

    def __init__(self, text: str, role: str = "", names: ToolNames = NOTHING) -> None:
        """`names` are those that its message's calls name."""
        self.passage = Passage(text)
        self.role = role
        self._names = names

    @cached_property
    def tools(self) -> Sequence[str]:
        """Names of the tools that the message called or answers for, in lower case."""
        return [name.lower() for name in self._names.tools]

    @cached_property
    def files(self) -> Sequence[str]:
        """Paths that those calls named, in lower case."""
        return [path.lower() for path in self._names.files]


def holds(tree: Tree, unit: TextUnit) -> bool:
    """Whether the unit satisfies the tree, in which the conditions on the session are decided."""
    match tree:
        case Always(value):
            return value
        case Word(tokens, prefix):
            return unit.passage.holds(tokens, prefix)
        case Literally(text):
            return text in unit.passage.text
        case Inside() | Regex():
            return next(tree.spans(unit.passage.text), None) is not None
        case MessageFilter("role", value):
            return unit.role.startswith(value)
        case MessageFilter(field, value):
            return any(value in one for one in (unit.tools if field == "tool" else unit.files))
        case Not(part):
            return not holds(part, unit)
        case All(parts):
            return all(holds(part, unit) for part in parts)
        case Any(parts):
            return any(holds(part, unit) for part in parts)
        case SessionFilter():
            raise ValueError("conditions on the session are decided first")


def spans(tree: Tree, unit: TextUnit) -> list[Span]:
    """Where what is looked for stands in the unit: to be lit up. Merged, in order."""
    found: list[Span] = []
    for leaf in leaves(tree, positive=True):
        if isinstance(leaf, Word):
            found += unit.passage.find(leaf.tokens, leaf.prefix)
        elif isinstance(leaf, Inside | Regex):
            found += leaf.spans(unit.passage.text)
        elif isinstance(leaf, Literally):
            at = unit.passage.text.find(leaf.text)
            while at >= 0:
                found.append(Span(at, at + len(leaf.text)))
                at = unit.passage.text.find(leaf.text, at + len(leaf.text))
    merged: list[Span] = []
    for span in sorted(found):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def leaves(tree: Tree, *, positive: bool = False) -> Iterator[Tree]:
    """All conditions in the tree; with `positive` without those under a `Not`."""
    match tree:
        case Not(part):
            if not positive:
                yield from leaves(part)
        case All(parts) | Any(parts):
            for part in parts:
                yield from leaves(part, positive=positive)
        case _:
            yield tree


# Making trees ------------------------------------------------------------------------------------------------


def all_of(parts: Iterable[Tree]) -> Tree:
    """Every one of `parts`, each once; TRUE for none."""
    kept: list[Tree] = []
    for part in parts:
        if part == FALSE:
            return FALSE
        if part != TRUE:
            kept += part.parts if isinstance(part, All) else (part,)
    kept = list(dict.fromkeys(kept))
    return TRUE if not kept else kept[0] if len(kept) == 1 else All(tuple(kept))


def any_of(parts: Iterable[Tree]) -> Tree:
    """At least one of `parts`, each once; FALSE for none."""
    kept: list[Tree] = []
    for part in parts:
        if part == TRUE:
            return TRUE
        if part != FALSE:
            kept += part.parts if isinstance(part, Any) else (part,)
    kept = list(dict.fromkeys(kept))
    return FALSE if not kept else kept[0] if len(kept) == 1 else Any(tuple(kept))


def opposite(tree: Tree) -> Tree:
    """What holds exactly where `tree` does not."""
    match tree:
        case Always(value):
            return Always(not value)
        case Not(part):
            return part
        case _:
            return Not(tree)


def decide(tree: Tree, summary: SessionSummary) -> Tree:
    """The tree for the units of one session: its conditions on sessions replaced by what they come to."""
    match tree:
        case SessionFilter():
            return Always(tree.passes(summary))
        case Not(part):
            return opposite(decide(part, summary))
        case All(parts):
            return all_of(decide(part, summary) for part in parts)
        case Any(parts):
            return any_of(decide(part, summary) for part in parts)
        case _:
            return tree
