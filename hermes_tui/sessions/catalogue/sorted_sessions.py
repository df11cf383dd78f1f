"""All sessions, newest first, put in their places anew as they change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from hermes_tui.changes import differences
from hermes_tui.sessions.catalogue.snapshot import newest_first
from hermes_tui.sessions.marks import NO_ONE_MARKED, OwnMarks, with_marks
from session_adapters.model import SessionSummary

__all__ = ["SortedSessions"]

_FEW = 100
"""Sessions that are put in their places one by one: of more it is as quick to sort all."""


class SortedSessions:
    """With the user's own marks. For one thread at a time; what it gives out never changes."""

    def __init__(self) -> None:
        self._given: tuple[SessionSummary, ...] = ()
        self._marks: Mapping[str, OwnMarks] = NO_ONE_MARKED
        self._once = False
        """No two have one id."""
        self.sessions: tuple[SessionSummary, ...] = ()
        """Newest first."""
        self.memories: tuple[SessionSummary, ...] = ()
        """Of the same, what agents keep in mind beyond their sessions, but for what is gone."""
        self.by_id: Mapping[str, SessionSummary] = {}
        """All of them by unified id."""
        self.partial = 0
        """How many of the sessions have only been read at their ends."""

    def take(self, given: tuple[SessionSummary, ...], marks: Mapping[str, OwnMarks]) -> None:
        """Take in what there is now: of sessions with one id the last counts."""
        gone, new = differences(self._given, given)
        few = (
            self._once and max(len(gone), len(new)) <= _FEW and not any(one.kind == "memory" for one in (*gone, *new))
        )
        if not (few and marks is self._marks and self._put(gone, new)):
            self._sort(given, marks)
        self._given, self._marks = given, marks

    def _sort(self, given: Sequence[SessionSummary], marks: Mapping[str, OwnMarks]) -> None:
        last = {one.unified_id: one for one in given}
        self._once = len(last) == len(given)
        everything = sorted(last.values(), key=newest_first)
        if marks:
            everything = [with_marks(one, marks.get(one.unified_id)) for one in everything]
        self.sessions = tuple(one for one in everything if one.kind != "memory")
        self.memories = tuple(one for one in everything if one.kind == "memory" and not one.gone)
        self.by_id = {one.unified_id: one for one in (*self.sessions, *self.memories)}
        self.partial = sum(one.partial for one in self.sessions)

    def _put(self, gone: Sequence[SessionSummary], new: Sequence[SessionSummary]) -> bool:
        """Take out and put in single ones. False, and nothing is different, where one had none of its own places."""
        sessions, by_id, partial = list(self.sessions), dict(self.by_id), self.partial
        for one in gone:
            shown = by_id.pop(one.unified_id, None)
            at = bisect_left(sessions, newest_first(one), key=newest_first)
            if shown is None or at == len(sessions) or sessions[at] is not shown:
                return False
            del sessions[at]
            partial -= shown.partial
        for one in new:
            if one.unified_id in by_id:
                return False
            shown = by_id[one.unified_id] = with_marks(one, self._marks.get(one.unified_id))
            sessions.insert(bisect_left(sessions, newest_first(one), key=newest_first), shown)
            partial += shown.partial
        self.sessions, self.by_id, self.partial = tuple(sessions), by_id, partial
        return True
