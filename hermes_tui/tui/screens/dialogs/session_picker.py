"""Picks a session by typing words of its title, id or project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from hermes_tui.cells import fit, pad, width_of
from hermes_tui.display import age, safe
from hermes_tui.tui.screens.dialogs.picker import FoundRows, Picker
from hermes_tui.tui.widgets.session_list.conversation import project_of
from hermes_tui.tui.widgets.styled import Parts
from session_adapters.model import SessionSummary

__all__ = ["Candidate", "SessionPicker"]

_NOTE = 22


class Candidate(NamedTuple):
    """A session that can be chosen."""

    session: SessionSummary
    note: str = ""
    """What is special about it; safe for a terminal."""


class _FoundSessions(FoundRows[Candidate], inherit_bindings=False):
    NOTHING = "No session has all these words."

    def __init__(self, candidates: Sequence[Candidate], now: datetime) -> None:
        super().__init__(candidates)
        self._haystacks = list(map(_haystack, candidates))  # there may be many thousands
        self._now = now
        names = Counter(one.session.title or one.session.preview for one in candidates)
        self._alike = {name for name, count in names.items() if count > 1}
        """Titles that several have: there the end of the id is shown where there is no room for all of it."""

    def haystack(self, place: int) -> str:
        return self._haystacks[place]

    def parts(self, at: int) -> Parts:
        one, width = self.item(at), self.size.width
        session = one.session
        last = f" {age(session.updated_at, self._now)} {session.message_count:>5} msg "
        note = f" {fit(one.note, _NOTE)}" if one.note and width >= 60 else ""
        id_ = f" {pad(safe(session.session_id), 24)}" if width >= 90 else ""
        if not id_ and width >= 60 and (session.title or session.preview) in self._alike:
            id_ = f" …{safe(session.session_id)[-8:]}"
        room = max(1, width - len(last) - width_of(note) - width_of(id_) - 1)
        title = pad(safe(session.title or session.preview) or "untitled", room)
        return [(f" {title}", ""), (note + id_ + last, "faint")]


def _haystack(item: Candidate) -> str:
    one = item.session
    parts = (one.title, one.preview, one.session_id, project_of(one), one.source or "", item.note)
    return "\n".join(parts).lower()


class SessionPicker(Picker[Candidate]):
    """Gives the session that was chosen."""

    def __init__(self, heading: str, candidates: Sequence[Candidate], now: datetime) -> None:
        super().__init__(heading, "words of its title, id or project", _FoundSessions(candidates, now))
        self.candidates = candidates
