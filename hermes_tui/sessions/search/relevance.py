"""Ranks a message against a query by BM25, from 0 to 1.

The rule is that of SQLite's FTS5, which Hermes' own `session_search` goes by: a word counts more the rarer it is,
the oftener it stands in a message and the shorter the message is. A message is what was said and what tools were
given and gave; what was only thought counts neither for it nor for its length. A session fits as well as its best
message. The sum is divided by what it could come to at most, so that numbers of all queries are of one size, and what
a tool or the program wrote counts a little less than what somebody said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import log, log1p
from typing import NamedTuple

from hermes_tui.sessions.index.reading.counting import Counted
from hermes_tui.sessions.index.reading.expression import phrase_of
from hermes_tui.sessions.index.reading.reader import Hit, IndexCoverage, Place, SearchIndex, hit_of
from hermes_tui.sessions.index.schema import IndexUnusable
from hermes_tui.sessions.index.signs import count_indexed
from hermes_tui.sessions.index.source_state import VISIBILITY
from hermes_tui.sessions.query.query import Search
from hermes_tui.sessions.query.tree import Inside, Literally, Regex, TextUnit, Tree, Word, leaves
from hermes_tui.sessions.search.model import Field
from hermes_tui.sessions.words import Passage, count_words
from session_adapters.reading.searchable import Text

__all__ = [
    "MOST_RANKED",
    "PLAIN",
    "Weights",
    "looked_for",
    "of_place",
    "of_session",
    "of_text",
    "of_title",
    "scored",
    "weigh",
]

LookedFor = Word | Literally | Inside | Regex
"""Conditions on what stands in texts."""
MOST_RANKED = 300
"""Conversations that a search which is typed puts in order by how well they fit; more of them stay by date."""
_COUNTED = 50
"""Occurrences in a text; more are not counted."""

_K1, _B = 1.2, 0.75
"""FTS5's own: how soon further occurrences count for nothing, and how much the length of a message does."""
_EQUAL = 1e-6
"""What differs by less is equal."""
_RAREST = 1e-6
"""What a word counts at least, one that is in more than half of all messages."""
_WROTE = 0.8
"""What a message counts that nobody said."""
_USUAL = 60.0
"""Words of a message of ordinary length."""
_TITLE, _PROMPT, _REPLY, _TOOL = 1.0, 0.9, 0.8, 0.55


class Weights(NamedTuple):
    """What is known of all messages that are searched."""

    average: float = _USUAL
    """Words of one."""
    shares: Mapping[Tree, float] | None = None
    """What each condition of a query that is looked for in texts counts, 1 in all; None: as much as any other."""


PLAIN = Weights()
"""Where there is no index to ask."""


def looked_for(tree: Tree) -> Sequence[LookedFor]:
    """The conditions of a query on what stands in texts, each once."""
    found = (leaf for leaf in leaves(tree, positive=True) if isinstance(leaf, LookedFor))
    return list(dict.fromkeys(found))


def weigh(index: SearchIndex, tree: Tree) -> Weights:
    """What the words of a query count by an index; `PLAIN` where it cannot be asked."""
    try:
        messages, average = index.collected()
        if not messages:
            return PLAIN
        wanted = set(looked_for(tree))
        if len(wanted) < 2:  # one alone counts all there is to count
            return Weights(average)
        each: dict[LookedFor, float] = {}
        for leaf in wanted:
            holding = index.frequency(leaf)
            # Of a word of very many messages more may be counted than there are: see `frequency`.
            rarity = log((messages - holding + 0.5) / (holding + 0.5)) if holding <= messages else _RAREST
            each[leaf] = max(_RAREST, rarity)
    except IndexUnusable:
        return PLAIN
    return Weights(average, {leaf: one / sum(each.values()) for leaf, one in each.items()})


def scored(
    index: SearchIndex,
    tree: Tree,
    coverage: IndexCoverage,
    weights: Weights,
    most: int,
    among: Collection[Place] | None,
    *,
    rewound: bool,
) -> Iterator[tuple[Hit, float]]:
    """The messages that fit best in each session, as `SearchIndex.counted` finds them, and how well; those that were
    taken back only where they are wanted. Raises `IndexUnusable`."""
    phrases = {leaf: phrase for leaf in leaves(tree, positive=True) if (phrase := phrase_of(leaf))}
    if not phrases:
        return
    shares = weights.shares or dict.fromkeys(phrases, 1 / len(phrases))
    found: list[tuple[Counted, float]] = []
    best: dict[Place, float] = {}
    for one in index.counted(tree, coverage, most, among=among):
        if rewound or VISIBILITY[one.visibility] != "rewound":
            counts = [(shares.get(leaf, 0.0), one.counts.get(phrase, 0)) for leaf, phrase in phrases.items()]
            score = _of_role(one.role) * _fit(counts, one.length, weights.average)
            found.append((one, score))
            best[one.place] = max(score, best.get(one.place, 0.0))
    for one, score in found:
        if score > best[one.place] - _EQUAL:
            yield hit_of(one), score


def _fit(counts: Iterable[tuple[float, int]], length: int, average: float) -> float:
    """How well a message of so many words fits: of each word what it counts, 1 in all, and how often it is there."""
    less = _K1 * (1 - _B + _B * length / average)
    return sum(share * count / (count + less) for share, count in counts)


def of_text(search: Search, text: Text, weights: Weights = PLAIN) -> float:
    """How well a message fits, by those of its two texts that satisfy the query; 1 where nothing is looked for in
    texts."""
    length = count_indexed(text.prose) + count_indexed(text.tool) - count_words(text.tool[: text.thought])
    both = ((text.prose, text.prose), (text.tool, text.tool[text.thought :]))
    counted = (one for whole, one in both if one and search.matches(TextUnit(whole, text.role, text.names)))
    return _of_role(text.role) * _of_texts(search, counted, length, weights)


def of_title(search: Search, title: str, weights: Weights = PLAIN) -> float:
    """How well a title fits: as a message does."""
    return _of_texts(search, (title,), count_indexed(title), weights)


def _of_texts(search: Search, texts: Iterable[str], length: int, weights: Weights) -> float:
    wanted = looked_for(search.tree)
    if not wanted:
        return 1.0
    passages = [Passage(text) for text in texts if text]
    shares = weights.shares or dict.fromkeys(wanted, 1 / len(wanted))
    counts = [(shares.get(leaf, 0.0), sum(_occurrences(leaf, passage) for passage in passages)) for leaf in wanted]
    return _fit(counts, length, weights.average)


def _of_role(role: str) -> float:
    return 1.0 if role in ("user", "assistant") else _WROTE


def of_place(field: Field, role: str) -> float:
    """How much it counts where a text stands, as long as no text was looked at."""
    return _TITLE if field == "title" else _TOOL if field == "tool" else _PROMPT if role == "user" else _REPLY


def of_session(best: float, count: int) -> float:
    """How well a session may fit: its best text, and a little for every other one of `count`."""
    return min(1.0, best * (1.0 + 0.1 * log1p(max(0, count - 1))))


def _occurrences(leaf: LookedFor, passage: Passage) -> int:
    if isinstance(leaf, Literally):
        return min(_COUNTED, passage.text.count(leaf.text))
    if isinstance(leaf, Inside | Regex):
        return sum(1 for _ in islice(leaf.spans(passage.text), _COUNTED))
    return passage.count(leaf.tokens, leaf.prefix, _COUNTED)
