"""Describes what a search found: snippets, the messages around, beginning and end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from hermes_tui.sessions.lineage import lineage_of
from hermes_tui.sessions.query.query import Query
from hermes_tui.sessions.scan import Wanted, scan
from hermes_tui.sessions.search.excerpt import (
    bookends,
    find_around,
    name_of,
    seen_in,
    snippet,
    spoken,
    text_of,
    upwards,
    window_around,
)
from hermes_tui.sessions.search.grouping import FoundConversation, FoundPart
from hermes_tui.sessions.search.model import Match, Result, ResultLine, SearchOptions, facts_of
from hermes_tui.sessions.search.stores import CatalogueStores, by_age
from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.model import Message, Problem, SessionSummary
from session_adapters.reading.searchable import Text
from session_adapters.transcript import Transcript

__all__ = [
    "WINDOW",
    "Located",
    "compare",
    "details",
    "ends_of",
    "found_snippet",
    "glimpse",
    "locate",
    "outline",
]

WINDOW = 5
"""Messages before and after a match."""
_BOOKEND = 3
"""Messages that tell how a conversation began or ended."""
_MOST_BEFORE = 2_000
"""Messages among which those that tell how it began are looked for."""

Stop = Callable[[], bool]


def compare(
    stores: CatalogueStores,
    query: Query,
    conversation: FoundConversation,
    options: SearchOptions,
    problems: list[Problem],
    stop: Stop,
) -> None:
    """Look at the texts of a conversation that the index found, to say how well they fit."""
    for part in conversation.parts.values():
        if not part.unread or stop():
            continue
        shelf = stores.shelf(part.summary.unified_id)
        wanted = {part.summary.session_id: Wanted(part.summary, query.for_session(part.summary))}
        adapter = stores.adapter(part.summary.agent)
        for found in scan(
            adapter,
            shelf.source,
            wanted,
            problems.append,
            stop,
            rewound=options.rewound,
            note=part.note,
        ):
            if not stop():
                part.compare(found)


class Located(NamedTuple):
    """Where in a conversation a query was found, with what was said there, at the beginning and at the end."""

    summary: SessionSummary
    """The part of the conversation."""
    match: Match | None
    around: Sequence[Message]
    """The messages among which the match is; none where it is in a title, or not there any more."""
    at: int | None
    """Which of them it is."""
    text: Text | None
    """What can be searched of it."""
    first: Sequence[Message]
    """Those of the conversation's first part."""
    last: Sequence[Message]
    """Those of its last part."""


def locate(
    stores: CatalogueStores,
    query: Query,
    conversation: FoundConversation,
    problems: list[Problem],
    part: FoundPart | None = None,
    size: int = WINDOW,
) -> Located:
    """Read the conversation where `part`, or that which fits best, was found, and `size` messages on each side."""
    # Where messages have no ids, an index only tells that there are some: look where.
    places = (found for one in conversation.parts.values() for found in one.places)
    if any(found.key[0] == "" and found.field != "title" for found in places):
        compare(stores, query, conversation, SearchOptions(), problems, lambda: False)
    part = part or conversation.best
    summary, match = part.summary, part.anchor
    opened = _open(stores, summary, problems)
    parts = lineage_of(summary, stores.conversation(summary))  # how a fork ended is not how this ended
    first = _beginning(opened if parts[0] == summary else _open(stores, parts[0], problems))
    last = _ending(opened if parts[-1] == summary else _open(stores, parts[-1], problems))
    around, at = _around(opened, match, size)
    text = text_of(around, summary.session_id, at) if at is not None else None
    return Located(summary, match, around, at, text, first, last)


def details(
    stores: CatalogueStores,
    query: Query,
    conversation: FoundConversation,
    best: float,
    problems: list[Problem],
    part: FoundPart | None = None,
) -> Result:
    """A conversation with its snippet, window and bookends: of `part`, or of that which fits best. `best` is the
    score that counts as 1."""
    summary, match, around, at, text, first, last = locate(stores, query, conversation, problems, part)
    fields = facts_of(summary)
    fields["relevance_score"] = min(1.0, conversation.score / best) if best else 1.0
    shown, marks = found_snippet(query, summary, match, text)
    found = match if match is not None and (at is not None or match.field == "title") else None
    return Result(
        **fields,
        message_id=name_of(around[at], at) if at is not None else None,
        **_facts(found),
        match_count=conversation.total,
        snippet=shown,
        marks=marks,
        parts=_parts(conversation),
        start=bookends(first)[0],
        window=window_around(around, at, WINDOW) if at is not None else None,
        end=bookends(last)[1],
    )


def outline(
    stores: CatalogueStores,
    query: Query,
    conversation: FoundConversation,
    best: float,
    problems: list[Problem],
    stop: Stop,
) -> Result:
    """As `details`, without the messages around the match, beginning and end: what was compared is not read again,
    and nothing after `stop()`."""
    part = conversation.best
    summary, match = part.summary, part.anchor
    text: Text | None = None
    if match is not None and match.field != "title":
        try:
            text = part.read(match) or (None if stop() else _text(stores, summary, match))
        except Exception as error:
            path = stores.shelf(summary.unified_id).source.path
            reason = f"cannot be read ({type(error).__name__}: {error})"
            problems.append(Problem(agent=summary.agent, path=path, reason=reason, session_id=summary.session_id))
    shown, marks = found_snippet(query, summary, match, text)
    fields = facts_of(summary)
    fields["relevance_score"] = min(1.0, conversation.score / best) if best else 1.0
    if match is not None and (text is not None or match.field == "title"):
        fields |= _facts(match)
    return Result(
        **fields,
        message_id=(match.message_id or f"#{match.place}") if match is not None and text is not None else None,
        match_count=conversation.total,
        snippet=shown,
        marks=marks,
        parts=_parts(conversation),
    )


def glimpse(stores: CatalogueStores, query: Query, conversation: FoundConversation, part: FoundPart) -> Result:
    """A part of a conversation with its snippet alone: only its texts are read, up to the match. Raises what adapters
    do."""
    summary, match = part.summary, part.anchor
    search = query.for_session(summary)
    shown, marks = snippet(search if match is not None else None, summary.title or summary.preview or "")
    if match is not None and match.field != "title":
        text = part.read(match) or _text(stores, summary, match)
        if text is not None:
            shown, marks = seen_in(search, text, match)
    return Result(**facts_of(summary), match_count=conversation.total, snippet=shown, marks=marks)


def _text(stores: CatalogueStores, summary: SessionSummary, match: Match) -> Text | None:
    """The message with the match. Raises what adapters do."""
    source = stores.shelf(summary.unified_id).source
    texts = stores.adapter(summary.agent).texts(source, lambda problem: None, summary.session_id)
    return next(
        (
            text
            for place, text in enumerate(texts)
            if (text.message_id == match.message_id if match.message_id else place == match.place)
        ),
        None,
    )


def found_snippet(
    query: Query,
    summary: SessionSummary,
    match: Match | None,
    text: Text | None,
    shown: Callable[[str], str] | None = None,
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A piece of what was found on one line, and where in it the words are: of the message, else of the title. For
    `shown` see `snippet`."""
    search = query.for_session(summary)
    if match is not None and text is not None:
        return seen_in(search, text, match, shown)
    if match is not None and match.field == "title":
        return snippet(search, summary.title)
    return snippet(None, summary.preview or summary.title)


def _parts(conversation: FoundConversation) -> tuple[str, ...]:
    parts = sorted((one.summary for one in conversation.parts.values()), key=by_age)
    return tuple(one.session_id for one in parts)


def _facts(match: Match | None) -> dict[str, Any]:
    """What a result tells of a match."""
    if match is None:
        return {}
    return {
        "match_field": match.field,
        "match_role": match.role or None,
        "match_time": None if match.time is None else datetime.fromtimestamp(match.time, UTC),
        "match_visibility": match.visibility if match.visibility != "live" else None,
    }


def _open(stores: CatalogueStores, summary: SessionSummary, problems: list[Problem]) -> Transcript | None:
    """A session, its last page read; None where it cannot be."""
    shelf = stores.shelf(summary.unified_id)
    try:
        return stores.adapter(summary.agent).open(shelf.source, shelf.named or summary.session_id)
    except (SessionMissing, SessionUnreadable) as error:
        reason = str(error)
    except Exception as error:
        reason = f"the adapter failed ({type(error).__name__}: {error})"
    problems.append(
        Problem(agent=summary.agent, path=shelf.source.path, reason=reason, session_id=summary.session_id)
    )
    return None


def ends_of(opened: Transcript) -> tuple[tuple[ResultLine, ...], tuple[ResultLine, ...]]:
    """How a conversation began and ended. What is between is not read, however long it is."""
    return bookends(_beginning(opened))[0], bookends(_ending(opened))[1]


def _beginning(opened: Transcript | None) -> Sequence[Message]:
    """The first messages, those that tell how it began among them."""
    if opened is None:
        return ()
    found: list[Message] = []
    for _, messages in opened.whole():
        found += messages
        if len(spoken(found)) >= _BOOKEND or len(found) > _MOST_BEFORE:
            break
    return found


def _ending(opened: Transcript | None) -> Sequence[Message]:
    """The last messages, or those that tell how it ended where these do not."""
    if opened is None:
        return ()
    if opened.complete or len(spoken(opened.messages)) >= _BOOKEND:
        return list(opened.messages)
    found: list[Message] = []
    for messages in upwards(opened):
        found = [*(one for one, _ in spoken(messages)), *found]
        if len(found) >= _BOOKEND:
            break
    return found


def _around(opened: Transcript | None, match: Match | None, size: int) -> tuple[Sequence[Message], int | None]:
    """The messages among which a match is, with `size` before and behind it, and which of them it is; along its
    branch."""
    if opened is None or match is None or match.field == "title":
        return (), None
    while not match.message_id and not opened.complete and opened.earlier():
        pass  # by its number from the beginning
    at = _place(opened.messages, match) if opened.complete else None
    if at is not None or not match.message_id:
        return opened.messages, at
    return find_around(opened, match.message_id, size) or ((), None)


def _place(messages: Sequence[Message], match: Match) -> int | None:
    if match.place is not None and match.place < len(messages) and messages[match.place].id == match.message_id:
        return match.place
    if not match.message_id:
        return None
    return next((index for index, one in enumerate(messages) if one.id == match.message_id), None)
