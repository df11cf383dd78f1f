"""Reads texts and cuts them into words, beside what an index finds."""

from __future__ import annotations

from collections.abc import Callable

from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.reading.reader import Hit, IndexCoverage, SearchIndex
from hermes_tui.sessions.query.tree import Tree
from hermes_tui.sessions.words import tokens
from indexing import homes_sources
from session_adapters.base import Environment
from session_adapters.reading.searchable import Text

__all__ = ["Unit", "begins", "cut", "found", "has", "holds", "naive", "runs", "texts", "units"]

Unit = tuple[str, str, str]
"""Session, message, field."""


def texts(environment: Environment) -> list[Text]:
    """Every text there is."""
    adapters = Adapters(lambda: environment)
    return [
        text
        for source in homes_sources(environment)
        for text in adapters.get(source.agent).texts(source, lambda problem: None)
    ]


def found(index: SearchIndex, tree: Tree, coverage: IndexCoverage) -> list[Hit]:
    """All that the index gives for a tree that it can be asked."""
    hits = index.search(tree, coverage)
    assert hits is not None
    return list(hits)


def units(hits: list[Hit]) -> set[Unit]:
    """Where they are."""
    return {(hit.session_id, hit.message_id, hit.field) for hit in hits}


def naive(words: list[tuple[Unit, list[str]]], wanted: Callable[[list[str]], bool]) -> set[Unit]:
    """Where what is wanted is, of `cut`."""
    return {unit for unit, there in words if wanted(there)}


def cut(environment: Environment) -> list[tuple[Unit, list[str]]]:
    """The words of every unit."""
    found: list[tuple[Unit, list[str]]] = []
    for text in texts(environment):
        found.append(((text.session_id, text.message_id, "prose"), tokens(text.prose)))
        found.append(((text.session_id, text.message_id, "tool"), tokens(text.tool)))
    return found


def holds(there: list[str], phrase: tuple[str, ...]) -> bool:
    """Whether its words follow each other there."""
    return any(tuple(there[at : at + len(phrase)]) == phrase for at in range(len(there) - len(phrase) + 1))


def has(word: str, there: list[str]) -> bool:
    """Whether it is there."""
    return word in there


def begins(start: str, there: list[str]) -> bool:
    """Whether a word begins so."""
    return any(word.startswith(start) for word in there)


def runs(phrase: tuple[str, ...], there: list[str]) -> bool:
    """`holds`, with what is looked for first."""
    return holds(there, phrase)
