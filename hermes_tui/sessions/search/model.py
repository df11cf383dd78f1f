"""What a search is asked and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Struct, field

from hermes_tui.errors import ValidationError
from session_adapters.model import JsonRecord, MessageKind, Problem, Role, SessionSummary

__all__ = [
    "BrowsedSession",
    "BrowsedSessions",
    "DiscoveredSession",
    "DiscoveredSessions",
    "Field",
    "Match",
    "MessageWindow",
    "Outcome",
    "QuotedMessage",
    "Result",
    "ResultLine",
    "ScrolledMessages",
    "SearchCoverage",
    "SearchOptions",
    "SortBy",
    "SourceMatch",
    "facts_of",
]

SortBy = Literal["relevance", "date", "cost"]
Field = Literal["title", "prose", "tool"]

DEFAULT_LIMIT = 50


class SearchOptions(Struct, frozen=True, kw_only=True):
    """What is searched and how much of the answer is wanted (spec 004 §3.3). Raises `ValidationError` for values
    that make no sense. An unknown agent finds nothing (§8.1)."""

    agent: str | None = None
    since: datetime | date | None = None
    """Sessions created at this time or later."""
    until: datetime | date | None = None
    """Sessions created at this time or earlier; a day counts to its end."""
    model: str | None = None
    """Sessions in which this very model was used."""
    tags: tuple[str, ...] | None = None
    """Sessions with any one of them."""
    role: Role | None = None
    """Messages of this role alone. «ours»"""
    limit: int | None = DEFAULT_LIMIT
    """At most so many results; None (ours) for all."""
    sort: SortBy = "relevance"
    rewound: bool = False
    """Also messages that the user took back. «ours»"""
    windows: bool = True
    """With the messages around each match, and how its conversation began and ended. Without them much less has to
    be read. «ours»"""
    use_index: bool = True
    """Without it the stores themselves are searched. «ours»"""

    def __post_init__(self) -> None:
        limit: Any = self.limit
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise ValidationError(f"limit must be a whole number from 0 up, not {limit!r}")
        for name, value, allowed in (("sort", self.sort, get_args(SortBy)), ("role", self.role, get_args(Role))):
            if value is not None and value not in allowed:
                raise ValidationError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
        tags: Any = self.tags
        if isinstance(tags, str):
            raise ValidationError("tags must be a list of strings, not one string")
        msgspec.structs.force_setattr(self, "tags", None if tags is None else tuple(tags))


class Match(NamedTuple):
    """A text in which the query was found."""

    message_id: str
    """Empty for the title, and where the agent's messages have none."""
    field: Field
    role: str = ""
    time: float | None = None
    """Seconds since the epoch."""
    visibility: str = "live"
    score: float | None = None
    """How well it fits, 0 to 1; None where its text was not looked at."""
    place: int | None = None
    """Which message of the conversation it is, from 0; None where that was not looked at."""
    guessed: bool = False
    """Known is the message, not in which of its fields the words are."""

    @property
    def key(self) -> tuple[str, str]:
        """Each place once: not every agent gives its messages ids."""
        return (self.message_id or ("" if self.place is None else f"#{self.place}"), self.field)


class SourceMatch(NamedTuple):
    """A session that was found, and some or all of the places in it. One session can be given several times, with
    other places."""

    summary: SessionSummary
    matches: Sequence[Match] = ()
    """Those that `MOST_MATCHES` says."""
    total: int = 0
    """All of them."""


class ResultLine(JsonRecord, frozen=True):
    """A message as a result shows it."""

    message_id: str
    """Where the agent's messages have none, `#` and the place in the conversation, from 0."""
    role: str
    text: str
    """What was said, else what its tools did; cut after `LINE_LENGTH` characters."""
    timestamp: datetime | None = None
    visibility: str = "live"
    """As `Message.visibility`."""
    anchor: bool = False
    """This is the message that was found."""
    cut: bool = False
    """There is more of it."""


class MessageWindow(JsonRecord, frozen=True):
    """Some messages around one of a conversation."""

    lines: tuple[ResultLine, ...] = ()
    before: int = 0
    """How many messages there are in the window before the anchor; fewer than asked for at the beginning."""
    after: int = 0
    at_start: bool = False
    """The first message of the conversation is in it."""
    at_end: bool = False
    """The last one is."""


class Result(SessionSummary, frozen=True):
    """A conversation that was found: its newest part with a match, and what there is to see of it."""

    message_id: str | None = None
    """The message that fits best; None where only the title or a filter does."""
    match_field: Field | None = None
    match_role: str | None = None
    match_time: datetime | None = None
    match_visibility: str | None = None
    """Where the message does not stand in the conversation as the agent has it: why."""
    match_count: int = field(default_factory=int)
    """Texts in which the query was found, in all parts of the conversation; a lower bound where not all was read."""
    snippet: str = field(default_factory=str)
    """A piece of the text around the match, on one line."""
    marks: tuple[tuple[int, int], ...] = ()
    """Where in the snippet the words that were looked for are: start and end in characters."""
    parts: tuple[str, ...] = ()
    """Native ids of the parts of the conversation in which something was found."""
    start: tuple[ResultLine, ...] = ()
    """Its first three messages of user and assistant."""
    window: MessageWindow | None = None
    """The match and the five messages before and after it."""
    end: tuple[ResultLine, ...] = ()
    """Its last three messages of user and assistant."""


def facts_of(summary: SessionSummary) -> dict[str, Any]:
    """What a list knows of a session, as arguments of `Result`."""
    return {name: getattr(summary, name) for name in SessionSummary.__struct_fields__ if name != "unified_id"}


class SearchCoverage(Struct, frozen=True, kw_only=True):
    """Where the answer came from, in sources (session files and databases)."""

    sources: int = 0
    """All that had to be searched."""
    indexed: int = 0
    """Answered for by the index."""
    scanned: int = 0
    """Read."""
    unpriced: int = 0
    """Sessions whose cost is asked for and not added up yet: none of them is found by it."""
    unread: int = 0
    """Could not be read, or only in part; some of them are no `sources`, for no session of theirs is known."""
    waiting: int = 0
    """Files that there was no time yet to read for the list: what is said in them is not found."""
    trouble: str = ""
    """Why the index was not asked, where it should have been."""

    @property
    def left(self) -> int:
        """Still to be searched."""
        return max(0, self.sources - self.indexed - self.scanned)

    def of_found(self, found: int) -> str:
        """The same, where so many conversations were found: a query of filters alone needs no source for that."""
        return str(self) if self.sources or not found else "by what the list of sessions says"

    def __str__(self) -> str:
        """`indexed 94 %, rest scanned`."""
        if not self.sources:
            said = "no session to search"
        elif self.indexed == self.sources:
            said = "indexed 100 %"
        elif self.indexed:
            share = 100 * self.indexed // self.sources
            done = f"{100 * (self.sources - self.left) // self.sources} % searched" if self.left else "rest scanned"
            said = f"indexed {share} %, {done}"
        elif self.left:
            said = f"{100 * (self.sources - self.left) // self.sources} % searched"
        else:
            said = "scanned" if self.unread or self.waiting else "all scanned"
        if self.unread:
            said = f"{said}, {self.unread:,} could not be read in full"
        if self.waiting:
            said = f"{said}, {self.waiting:,} files not read yet"
        return f"{said}, {self.unpriced:,} costs not added up yet" if self.unpriced else said


class Outcome(Struct, frozen=True, kw_only=True):
    """An answer and how complete it is."""

    results: tuple[Result, ...] = ()
    total: int = 0
    """Conversations found, of which `results` are the first."""
    complete: bool = True
    """All was searched; false where it was stopped."""
    ranked: int = 0
    """Of so many conversations it is known how well they fit; the others are ordered by date behind them."""
    coverage: SearchCoverage = SearchCoverage()
    problems: tuple[Problem, ...] = ()


class _DocumentRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """With the document's names, which are not in camel case; what is not there is left out."""


class QuotedMessage(_DocumentRecord, frozen=True):
    """A message of a session, its texts uncut."""

    id: str
    """What `around_message_id` takes."""
    role: Role
    kind: MessageKind = "message"
    """As `Message.kind`: what the program put in, or a summary, was not said by anyone."""
    content: str = field(default_factory=str)
    """What was said, else what a tool gave."""
    left_out: int = 0
    """Characters of it that were not wanted."""
    timestamp: datetime | None = None
    anchor: bool = False
    """This is the message that was found, or asked for."""
    tool_name: str = ""
    """Whose output it is."""
    tool_calls: tuple[str, ...] = ()
    """What was called: `Bash: git status`."""
    visibility: str = "live"
    """As `Message.visibility`."""


class DiscoveredSession(_DocumentRecord, frozen=True):
    """A conversation that was found: how it began, the match, how it ended."""

    session_id: str
    """`agent:native id` of the part with the match; with `messages[].id` it goes into a scroll."""
    agent: str
    title: str
    when: datetime
    """When it was last active."""
    started_at: datetime
    source: str | None = None
    model: str | None = None
    cwd: str | None = None
    parent_session_id: str | None = None
    """The conversation that it is part of, where that began in another session."""
    matched_role: str | None = None
    """Who said it; `session_title` where the title alone fits."""
    match_message_id: str | None = None
    match_count: int = 0
    """Texts in which it was found."""
    snippet: str = ""
    bookend_start: tuple[QuotedMessage, ...] = ()
    messages: tuple[QuotedMessage, ...] = ()
    """The match, flagged as `anchor`, and the five messages before and after it."""
    bookend_end: tuple[QuotedMessage, ...] = ()
    messages_before: int = field(default_factory=int)
    """How many of `messages` stand before the anchor."""
    messages_after: int = field(default_factory=int)


class DiscoveredSessions(_DocumentRecord, frozen=True):
    """Discovery: what a query finds, the best first."""

    results: tuple[DiscoveredSession, ...] = field(default_factory=tuple)
    total: int = field(default_factory=int)
    """Conversations that were found, of which `results` are the first."""
    more: bool = field(default_factory=bool)
    """There may be further ones, older than these: only so many were looked for."""
    ranked: int = field(default_factory=int)
    """So many were ordered by how well they fit; the others behind them by date."""
    coverage: str = ""
    """How complete it is."""
    problems: tuple[Problem, ...] = ()


class ScrolledMessages(_DocumentRecord, frozen=True):
    """Scroll: a page of one session."""

    session_id: str
    agent: str
    title: str
    around_message_id: str
    window: int
    messages: tuple[QuotedMessage, ...]
    messages_before: int
    """How many of `messages` stand before the anchor; fewer than `window` where the session begins."""
    messages_after: int
    """How many stand after it; fewer than `window` where the session ends."""
    when: datetime
    source: str | None = None
    model: str | None = None
    cwd: str | None = None
    parent_session_id: str | None = None


class BrowsedSession(_DocumentRecord, frozen=True):
    """A conversation of the list."""

    session_id: str
    agent: str
    title: str
    started_at: datetime
    last_active: datetime
    message_count: int | None = None
    """None where only the ends of a long one were read."""
    preview: str = ""
    source: str | None = None
    model: str | None = None
    cwd: str | None = None
    live: bool = False
    """A process has it open."""


class BrowsedSessions(_DocumentRecord, frozen=True):
    """Browse: the conversations that were active last."""

    results: tuple[BrowsedSession, ...] = field(default_factory=tuple)
