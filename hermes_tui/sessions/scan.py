"""Searches the stores themselves: the complete answer where there is no index.

Files are turned away by their raw bytes where their agent's format allows that
(`session_adapters.reading.prefilter`), and what is left is read through the adapter, a session at a time.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hermes_tui.sessions.query.query import Search
from hermes_tui.sessions.query.regex import literals
from hermes_tui.sessions.query.tree import All, Any, Inside, MessageFilter, Regex, TextUnit, Tree, Word
from hermes_tui.sessions.search.model import Field, Match, SourceMatch
from hermes_tui.sessions.search.relevance import PLAIN, Weights, of_text
from hermes_tui.sessions.words import is_han
from session_adapters.base import Adapter, Report, Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.bounds import Stint, unsearched
from session_adapters.reading.prefilter import may_hold
from session_adapters.reading.searchable import Text
from session_adapters.tool_names import NOTHING

__all__ = ["MOST_MATCHES", "Wanted", "fields_of", "needles", "scan"]

MOST_MATCHES = 200
"""Places that are kept of one session: the newest, and of those before them the newest of each kind that an index
tells apart, on which it depends how well the session fits."""

_PIECES = re.compile("[a-z0-9]+")

Stop = Callable[[], bool]
Note = Callable[[Match, Text], None]


class Wanted(NamedTuple):
    """A session and what is looked for in it."""

    summary: SessionSummary
    search: Search
    weights: Weights = PLAIN


def needles(tree: Tree, *, inside: bool = True) -> frozenset[bytes] | None:
    """Runs of ASCII letters and digits, or Chinese characters as UTF-8 and as JSON escapes them, one of which is in
    every text that satisfies the tree (but for accents); None where there are no such. Without `inside`
    none that may stand inside of a word."""
    match tree:
        case Inside(text) if inside and text.isascii():
            runs = _PIECES.findall(text.lower())
            return frozenset({max(runs, key=len).encode()}) if runs else None
        case Regex(pattern) if inside:
            runs = _PIECES.findall(" ".join(filter(str.isascii, literals(pattern))).lower())
            return frozenset({max(runs, key=len).encode()}) if runs else None
        case Word(tokens):
            runs = [word for word in tokens if word.isascii()]
            if runs:
                return frozenset({max(runs, key=len).encode()})
            han = next((word for word in tokens if is_han(word)), None)
            return frozenset({han.encode(), b"\\u%04x" % ord(han)}) if han else None
        case MessageFilter(field, value) if field != "role":
            # Names of tools and files are words of a text, or parts of such words.
            pieces = _PIECES.findall(value)
            return frozenset({max(pieces, key=len).encode()}) if pieces else None
        case All(parts):
            found = [one for part in parts if (one := needles(part, inside=inside)) is not None]
            return max(found, key=lambda one: min(map(len, one)), default=None)
        case Any(parts):
            each = [needles(part, inside=inside) for part in parts]
            return frozenset().union(*(one or () for one in each)) if all(each) else None
        case _:
            return None


def scan(
    adapter: Adapter,
    source: Source,
    wanted: Mapping[str, Wanted],
    report: Report,
    stop: Stop,
    *,
    whole: bool = False,
    rewound: bool = False,
    note: Note = lambda match, text: None,
    stint: Stint | None = None,
    missed: Callable[[Sequence[str]], None] = lambda left: None,
) -> Iterator[SourceMatch]:
    """The sessions of `source` among `wanted` (by native id) in which something is found.

    `whole`: the source holds no others. `note` is called with each place and the message that it is in. Ends early
    after `stop()`, which is asked before each message. Whatever goes wrong is reported. Once the `stint` is over the
    rest is left out: `missed` gets the ids of the sessions.
    """
    told: set[Problem] = set()

    def once(problem: Problem) -> None:
        if problem not in told:
            told.add(problem)
            report(problem)

    try:
        if not _may_hold(adapter, source, wanted):
            return
        # One after the other where the time is limited: so it can be told which were left out.
        for number, session_id in enumerate([None] if whole and stint is None else list(wanted)):
            if stop():
                return
            if stint is not None and stint.over:
                report(Problem(agent=adapter.name, path=source.path, reason=unsearched(number, len(wanted))))
                missed(list(wanted)[number:])
                return
            yield from _matches(_units(adapter.texts(source, once, session_id)), wanted, stop, note, rewound=rewound)
    except OSError as error:
        report(Problem(agent=adapter.name, path=source.path, reason=f"cannot be searched: {error.strerror or error}"))
    except Exception as error:
        reason = f"the adapter failed while its texts were read ({type(error).__name__}: {error})"
        report(Problem(agent=adapter.name, path=source.path, reason=reason))


def _may_hold(adapter: Adapter, source: Source, wanted: Mapping[str, Wanted]) -> bool:
    if adapter.verbatim is None:
        return True
    sought: set[bytes] = set()
    for tree in {one.search.tree for one in wanted.values()}:
        found = needles(tree)
        if found is None:
            return True
        sought |= found
    return may_hold(source.path, sought, adapter.verbatim)


class _Piece(NamedTuple):
    text: Text
    field: Field
    unit: TextUnit
    place: int
    """Which message of its session it is."""


def fields_of(text: Text) -> Iterator[tuple[Field, str]]:
    """What of a message is a unit: its prose and its tool text, and no text at all where it only calls a tool."""
    if text.prose or (not text.tool and text.names != NOTHING):
        yield "prose", text.prose
    if text.tool:
        yield "tool", text.tool


def _units(texts: Iterator[Text]) -> Iterator[_Piece]:
    session_id, place = None, 0
    for text in texts:
        place = place + 1 if text.session_id == session_id else 0
        session_id = text.session_id
        for field, said in fields_of(text):
            yield _Piece(text, field, TextUnit(said, text.role, text.names), place)


def _matches(
    pieces: Iterator[_Piece], wanted: Mapping[str, Wanted], stop: Stop, note: Note, *, rewound: bool
) -> Iterator[SourceMatch]:
    """Sessions come one after the other; each is given when its last message was looked at."""
    current: Wanted | None = None
    session_id: str | None = None
    kept = deque[Match]()
    older: dict[tuple[Field, bool], Match] = {}
    count = 0
    for text, field, unit, place in pieces:
        if stop():
            break
        if text.session_id != session_id:
            if current is not None and count:
                yield SourceMatch(current.summary, (*older.values(), *kept), count)
            session_id, count = text.session_id, 0
            current = wanted.get(session_id)
            kept.clear()
            older.clear()
        if current is None or (text.visibility == "rewound" and not rewound) or not current.search.matches(unit):
            continue
        count += 1
        score = of_text(current.search, text, current.weights)
        match = Match(text.message_id, field, text.role, text.time, text.visibility, score, place)
        kept.append(match)
        if len(kept) > MOST_MATCHES:
            one = kept.popleft()
            older[one.field, one.role == "user"] = one
        note(match, text)
    if current is not None and count:
        yield SourceMatch(current.summary, (*older.values(), *kept), count)
