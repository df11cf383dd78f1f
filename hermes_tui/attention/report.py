"""What a look at all sessions found: which need a person, and how each is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from hermes_tui.attention.panes import Pane
from hermes_tui.attention.states import GROUPS, NEEDS, STATES, SessionState
from session_adapters.model import SessionSummary

__all__ = ["Attended", "AttentionReport"]

_TOGETHER: Mapping[str, Collection[str]] = {"needs": NEEDS, "waiting": ("approval", "question")}
"""What a search asks for by one word."""


class Attended(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was looked at."""

    session: SessionSummary
    state: SessionState
    unread: bool
    """Something came since a person looked at it."""
    pane: Pane | None = None
    lane: str = ""
    """The lane of Hermes' gateway that leads to it, as people know it."""

    @property
    def rank(self) -> tuple[int, int, float]:
        """Sort key: group by group, the most urgent first, then the newest."""
        state = self.state
        urgency = NEEDS.index(state.state) if state.needs_person else 0
        return GROUPS.index(state.group), urgency, -(state.since or self.session.updated_at).timestamp()


class AttentionReport(NamedTuple):
    """What one look found."""

    by_session: Mapping[str, Attended] = {}
    """By unified id, those that need a person first."""
    unread: Mapping[str, float] = {}
    """By unified id, all sessions in which something came since a person looked, however long ago, and up to when it
    was seen: seconds since the epoch."""

    def among(self, state: str) -> frozenset[str]:
        """Unified ids of the sessions that `is:STATE` finds."""
        if state == "unread":
            return frozenset(self.unread)
        wanted: Collection[str] = _TOGETHER.get(state, (state,))
        return frozenset(key for key, one in self.by_session.items() if one.state.state in wanted)

    @property
    def needs(self) -> int:
        """How many sessions need a person."""
        return sum(one.state.needs_person for one in self.by_session.values())

    @property
    def counts(self) -> dict[str, int]:
        """How many sessions `need` a person, and how many are in each state."""
        states = Counter(one.state.state for one in self.by_session.values())
        return {"need": self.needs, **{name: states[name] for name in STATES}}
