"""Filters complete while one types: their names, and the values that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from hermes_tui.sessions.query.filters import ATTENDED, FILTERS, ROLES, STATES
from hermes_tui.sessions.query.grammar import split

__all__ = ["Completion", "as_typed", "complete", "mistyped"]

_TIMES = ("today", "yesterday", "7d", "30d", "1y")
_NEAR = 0.8
"""How like a filter's name another one must be to be taken for it mistyped: one letter of five is another."""


class Completion(NamedTuple):
    """One way to go on: `text[start:end]` of the query is replaced by `insert`."""

    start: int
    end: int
    insert: str
    about: str = ""
    """What it means, for people; empty for a value."""


def complete(text: str, cursor: int, values: Callable[[str], Iterable[str]]) -> list[Completion]:
    """What can stand at `cursor`, the best first; nothing where no filter is being typed.

    `values` gives the candidates for a filter by name (`agent`, `model` …); those of `is`, `role`, `since` and
    `until` are known here. Never raises.
    """
    cursor = max(0, min(cursor, len(text)))
    piece = next((one for one in split(text) if one.start < cursor <= one.end), None)
    if piece is None or piece.kind not in ("word", "filter"):
        return []
    if piece.kind == "filter" and cursor > piece.start + len(piece.name):
        start = piece.start + len(piece.name) + 1
        commas = list(_commas(text, start, piece.end))
        start = max((at + 1 for at in commas if at < cursor), default=start)
        end = min((at for at in commas if at >= cursor), default=piece.end)
        begun = text[start:cursor].strip('"').lower()
        known = {"is": (*ATTENDED, *STATES), "role": tuple(ROLES), "since": _TIMES, "until": _TIMES}.get(piece.name)
        there = dict.fromkeys(value for value in (known or values(piece.name)) if value)
        # What is typed in full is no way to go on. Those that begin with it are likelier than those that hold it.
        fitting = [value for value in there if begun in value.lower() and value.lower() != begun]
        fitting.sort(key=lambda value: not value.lower().startswith(begun))
        return [Completion(start, end, as_typed(value)) for value in fitting]
    begun = text[piece.start : cursor].lower()
    return [
        Completion(piece.start, cursor, f"{name}:", about)
        for name, about in FILTERS.items()
        if name.startswith(begun)
    ]


def mistyped(text: str) -> list[tuple[str, str]]:
    """Names as in `agnet:claude`, which is searched for as text, each with the filter that was likely meant."""
    from difflib import get_close_matches

    found: dict[str, str] = {}
    for piece in split(text):
        name, colon, _ = text[piece.start : piece.end].lstrip("-(").partition(":")
        if piece.kind != "filter" and colon and name.isalpha():
            found.update((name, near) for near in get_close_matches(name.lower(), list(FILTERS), 1, _NEAR))
    return list(found.items())


def _commas(text: str, start: int, end: int) -> Iterator[int]:
    """Those between values: outside quotes."""
    quoted = False
    for at in range(start, end):
        if text[at] == '"':
            quoted = not quoted
        elif text[at] == "," and not quoted:
            yield at


def as_typed(value: str) -> str:
    """As it is typed: in quotes where it has a blank."""
    value = value.replace('"', "")
    return f'"{value}"' if any(char.isspace() or char in "()," for char in value) else value
