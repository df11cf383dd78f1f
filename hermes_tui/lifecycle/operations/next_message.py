"""Predicts what a lane's next message meets after a plan.

Hermes' own decision, made on a copy of the planned result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import msgspec

from hermes_tui.display import counted
from hermes_tui.errors import EntryError
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.peer import Peer
from hermes_tui.lifecycle.lane_index.rows import KEPT, StoredLanes, insert
from hermes_tui.lifecycle.operations.facts import LaneFacts
from hermes_tui.lifecycle.operations.plan import Changes
from hermes_tui.lifecycle.policy import next_reset
from hermes_tui.lifecycle.routing import Route, next_message

__all__ = ["Outlook", "deadline_words", "outlook"]


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """Where it goes now, and until when that holds."""

    route: Route
    before: str = ""
    """When a message must come for that: a clause, with what comes first otherwise. Empty: whenever."""
    messages: int | None = None
    """In the session that it goes on in."""

    @property
    def words(self) -> str:
        """For after `the next message`."""
        if not self.route.session_id:
            return "begins a fresh session" + (f" ({_DUE[self.route.reason]})" if self.route.reason else "")
        count = f" ({counted(self.messages, 'message')})" if self.messages else ""
        return f"goes on in {self.route.session_id}{count}{self.before}"

    def breaks(self, wanted: str) -> str:
        """Why a message would not go where it is wanted, empty for a fresh session; empty if it would."""
        found = self.route
        if found.session_id == wanted:
            return ""
        if found.step == "reset":
            return f"{_DUE[found.reason]}, and Hermes lets that win: the next message begins a fresh session"
        if found.session_id:
            return f"Hermes would take up {found.session_id} instead"
        return "Hermes' own search would not find it, and begin a fresh session"


_DUE = {
    "suspended": "the lane is suspended",
    "idle": "its reset is due, for it was idle too long",
    "daily": "its daily reset is due",
    "resume_pending_expired": "its resume mark has expired",
}


def outlook(rows: StoredLanes, facts: LaneFacts, changes: Changes, now: datetime) -> Outlook:
    """For the lane of `facts` once `changes` are made. Raises what `rows` raises."""
    around, key, before = facts.around, facts.lane.key, facts.entry
    assert before is not None  # noqa: S101 - a lane that is not understood is refused before
    entry = _entry_after(facts, changes)
    with _planned(rows, facts, changes) as copy:
        found = next_message(
            copy,
            key,
            entry,
            around.config,
            around.home.profile,
            now,
            peer=Peer.of_entry(before),
            starts=not around.live,
        )
    row = rows.session(found.session_id) if found.session_id else None
    # A gateway that starts and finds the lane's session over takes another one up then, and counts from there.
    counts = found.step == "stays" or (around.live and found.step == "recovered")
    return Outlook(
        route=found,
        before=deadline_words(entry, facts, now) if entry is not None and counts else "",
        messages=row.message_count if row else None,
    )


def deadline_words(entry: SessionEntry, facts: LaneFacts, now: datetime) -> str:
    """Until when a message finds the lane's conversation: ` if it comes before 2026-11-23 04:00, when the daily reset
    is due`; empty: whenever."""
    config = facts.around.config
    coming = next_reset(entry, config.policy_of(entry), now, freshness=config.freshness, marks_win=config.documented)
    if coming.at is None:
        return ""
    what = {
        "daily": "the daily reset is due",
        "idle": "the lane is reset for being idle",
        "resume_pending_expired": "its resume mark expires",
    }
    return f" if it comes before {coming.at.astimezone():%Y-%m-%d %H:%M}, when {what[coming.reason or '']}"


def _entry_after(facts: LaneFacts, changes: Changes) -> SessionEntry | None:
    """The entry that the gateway will have: beside a running one its own, which nobody changes."""
    written = changes.table if facts.lane.primary == "table" else changes.file
    for one in written:
        if one.key == facts.lane.key:
            try:
                return SessionEntry.from_json(one.after) if one.after is not None else None
            except EntryError:
                return None  # an undo of what was broken before: nobody can tell
    return facts.entry


@contextmanager
def _planned(rows: StoredLanes, facts: LaneFacts, changes: Changes) -> Iterator[StoredLanes]:
    """The sessions that the decision may look at, as they will be, in a database of their own."""
    ids = [one.id for one in (*rows.of_lane(facts.lane.key), *facts.recoverable)]
    for one in (facts.row, facts.target):
        ids += [one.id, *rows.continuations(one.id)] if one is not None else []
    ids += [one.session_id for one in changes.rows]
    if facts.entry is not None:
        ids += [one.id for one in rows.boundaries(Peer.of_entry(facts.entry))]
    with rows.copy(rows.sessions(ids).values()) as connection:
        for change in changes.rows:
            # The copy has the columns that decide, and no others.
            after = (change.after or {}).items()
            values = {name: value for name, value in after if name in rows.columns and name in KEPT}
            if change.after is None:
                connection.execute("DELETE FROM sessions WHERE id = ?", (change.session_id,))
            elif change.before is None:
                insert(connection, values)
            elif values:
                assignments = ", ".join(f"{name} = ?" for name in values)
                statement = f"UPDATE sessions SET {assignments} WHERE id = ?"  # noqa: S608 - columns of ours
                connection.execute(statement, (*values.values(), change.session_id))
        yield StoredLanes.of(connection)
