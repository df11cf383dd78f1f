"""Ranks a text against a query from 0 to 1, the same for every agent.

One formula over the texts themselves, not the engines' own figures: those of two FTS5 tables, or of a table and a
file, cannot be compared. What counts: where the words stand (title, prompt, reply, tool output), how many of the
alternatives are there, how often and in how long a text (saturating, as in BM25), and in how many texts of a session.
"""

from __future__ import annotations

from itertools import islice
from math import log1p

from hermes_tui.sessions.query import Search
from hermes_tui.sessions.query.tree import Inside, Literally, TextUnit, Word, leaves
from hermes_tui.sessions.search.model import Field

__all__ = ["MOST_RANKED", "of_place", "of_session", "of_unit"]

MOST_RANKED = 300
"""Of more conversations only so many are put in order by how well they fit; the newest."""

_TITLE, _PROMPT, _REPLY, _TOOL = 1.0, 0.9, 0.8, 0.55
_USUAL = 400.0
"""Characters of a text of ordinary length."""
_SATURATION = 1.2
_ENOUGH = 50
"""Occurrences; more are not counted."""


def of_unit(search: Search, unit: TextUnit, field: Field) -> float:
    """How well one text fits."""
    place = of_place(field, unit.role)
    wanted = [leaf for leaf in leaves(search.tree, positive=True) if isinstance(leaf, Word | Literally | Inside)]
    if not wanted:
        return place
    counts = [_occurrences(leaf, unit) for leaf in wanted]
    length = 0.25 + 0.75 * len(unit.passage.text) / _USUAL
    density = sum(count / (count + _SATURATION * length) for count in counts) / len(counts)
    there = sum(count > 0 for count in counts) / len(counts)
    return place * (0.2 + 0.5 * there + 0.3 * density)


def of_place(field: Field, role: str) -> float:
    """How much it counts where a text stands."""
    return _TITLE if field == "title" else _TOOL if field == "tool" else _PROMPT if role == "user" else _REPLY


def of_session(best: float, count: int) -> float:
    """How well a session fits: its best text, and a little for every other one of `count`."""
    return min(1.0, best * (1.0 + 0.1 * log1p(max(0, count - 1))))


def _occurrences(leaf: Word | Literally | Inside, unit: TextUnit) -> int:
    if isinstance(leaf, Literally):
        return unit.passage.text.count(leaf.text)
    if isinstance(leaf, Inside):
        return sum(1 for _ in islice(leaf.spans(unit.passage.text), _ENOUGH))
    return unit.passage.count(leaf.tokens, leaf.prefix, _ENOUGH)
