"""What is known of an answer at one moment, as it is shown while somebody types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from hermes_tui.sessions.query.query import Query
from hermes_tui.sessions.search.grouping import FoundConversation, FoundPart
from hermes_tui.sessions.search.model import Match, SearchCoverage
from hermes_tui.sessions.search.stores import CatalogueStores
from session_adapters.model import Problem, SessionSummary

__all__ = ["LivePart", "LiveResult", "LiveSnapshot", "SnapshotView", "live_part", "live_result"]


class LiveResult(Struct, frozen=True):
    """A conversation in a snapshot."""

    summary: SessionSummary
    """Its part with the best place."""
    match: Match | None
    """The place to open it at; None where only a filter or the title found it."""
    total: int
    """Places found by now."""
    score: float
    """How well it fits, from 0 to 1; 0 while it is not known."""


class LivePart(NamedTuple):
    """A session of a conversation in a snapshot."""

    summary: SessionSummary
    in_texts: bool
    """Something was found in its messages, not by its title or a filter alone."""
    messages: frozenset[str] = frozenset()
    """Ids of all messages with a match; empty where not all of them are known."""


class LiveSnapshot(Struct, frozen=True, kw_only=True):
    """What is known of the answer."""

    query: Query
    version: int = 0
    """One more with each snapshot of a search."""
    results: tuple[LiveResult, ...] = ()
    """The first hundred, newest first, or the best first where `ranked`."""
    total: int = 0
    """Conversations found by now."""
    sessions: frozenset[str] | None = None
    """Unified ids of all sessions found by now, where the query has filters alone; else None."""
    more: bool = False
    """There are more, older ones: only the newest were asked for."""
    ranked: bool = False
    done: bool = False
    """There will be no more."""
    coverage: SearchCoverage = SearchCoverage()
    problems: tuple[Problem, ...] = ()
    failure: str = ""
    """Why it broke off, in one sentence that is among the problems too; empty where it did not."""


class SnapshotView(NamedTuple):
    """A snapshot, and what it was made of: to be looked at closer as long as it is the latest."""

    snapshot: LiveSnapshot
    stores: CatalogueStores | None = None
    """None where nothing is known."""
    conversations: Mapping[str, FoundConversation] = {}
    """Unified id of each session that was found, of those that are shown."""


def live_result(conversation: FoundConversation) -> LiveResult:
    """A conversation as it is known now."""
    part = conversation.best
    return LiveResult(part.summary, part.anchor, conversation.total, conversation.score)


def live_part(part: FoundPart) -> LivePart:
    """A session as it is known now."""
    places = [one for one in part.places if one.field != "title"]
    ids = frozenset(one.message_id for one in places)
    known = part.total == len(places) and "" not in ids
    return LivePart(part.summary, bool(places), ids if known else frozenset())
