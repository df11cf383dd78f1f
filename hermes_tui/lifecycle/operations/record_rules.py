"""Rules that every record of an operation keeps, because undo trusts them.

The log is a file that anybody may have edited, and `undo` writes into Hermes' store what stands there. So a record
is held to them twice: before it is written, so that none of ours is ever refused, and whenever it is read. What
cannot be told from the record alone is held against the store before anything is written: see `misfit`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from os.path import realpath
from pathlib import Path

from hermes_tui.errors import EntryError, ValidationError
from hermes_tui.lifecycle.keys import is_shared_multi_user_session
from hermes_tui.lifecycle.lane_index.entry import SessionEntry, check_session_id, check_session_key
from hermes_tui.lifecycle.lane_index.peer import Peer
from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow, StoredLanes
from hermes_tui.lifecycle.operations.draft import NEW_ROW, PEER
from hermes_tui.lifecycle.operations.facts import Surroundings
from hermes_tui.lifecycle.operations.plan import SESSION_KINDS, Request, RowChange
from hermes_tui.lifecycle.operations.planning import checked
from hermes_tui.lifecycle.operations.record import AuditRecord
from hermes_tui.lifecycle.operations.sessions.record_check import check_session_record
from hermes_tui.lifecycle.operations.switches import END_REASONS, FRESH
from hermes_tui.lifecycle.state_db.recoverable import RULE_0_21

__all__ = ["LONGEST_TEXT", "check_record", "misfit"]

_ID = re.compile(r"\d{8}T\d{6}-[0-9a-f]{6}")
_YEARS = range(1970, 9998)
"""Of a moment: beside them it cannot be shown in every zone."""
LONGEST_TEXT = 10_000
"""Characters of an outcome."""
_TIMES = ("started_at", "ended_at")
_ENDS = frozenset(("ended_at", "end_reason"))
_SWITCHED = frozenset((*FRESH, "session_id", "created_at", "updated_at"))
_MARKED = frozenset(("resume_pending", "resume_reason", "last_resume_marked_at"))
_CHANGED = {
    "reset": _SWITCHED,
    "resume": _SWITCHED,
    "suspend": frozenset(("suspended",)),
    "mark": _MARKED,
    "clear": _MARKED,
}
"""Operation → members of a lane's entry that it may change."""


def check_record(record: AuditRecord, begun: Mapping[str, AuditRecord]) -> None:
    """Hold a record to the rules; `begun` has the operations before it by their ids. Raises `ValueError`, whose text
    is the reason: a clause."""
    try:
        _need(bool(_ID.fullmatch(record.operation)), "its operation has no id of ours")
        _need(record.at.year in _YEARS, "its time is none of this age")
        if record.event == "begun":
            _need(record.operation not in begun, "an operation of that id was begun before")
            _check_begun(record, begun)
            return
        _need(record.operation in begun, "no operation of that id was begun before it")
        if record.event == "outcome":
            _need(record.state is not None, "it has no state")
            _need(len(record.text) <= LONGEST_TEXT, "its text is too long")
            if record.evidence is not None:
                check_session_id(record.evidence.session_id)
                _need(record.evidence.at is None or record.evidence.at.year in _YEARS, "its evidence is of no age")
    except (EntryError, ValidationError) as error:
        raise ValueError(str(error)) from error


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _check_begun(record: AuditRecord, begun: Mapping[str, AuditRecord]) -> None:
    request = record.request
    if request is None:
        raise ValueError("it does not say what was asked for")
    checked(request)
    _need(Path(record.home).is_absolute() and "\0" not in record.home, "its home is no directory's path")
    # SQLite's numbers of rows have 63 bits.
    _need(record.seen is None or 0 <= record.seen < 1 << 63, "its last message has no number")
    ids = [one for one in (record.session_id, record.becomes) if one]
    for session_id in (*ids, *record.older, *(one.session_id for one in record.changes.rows)):
        check_session_id(session_id)
    for key in record.keys:
        check_session_key(key)
    # The lanes that are changed are those that are named, each once in each place.
    if request.kind not in ("prune", "undo", *SESSION_KINDS):
        _need(record.keys == (request.key,), f"it names the lane {request.key} and is of others")
    for place in (record.keys, *([one.key for one in part] for part in (record.changes.table, record.changes.file))):
        _need(len(set(place)) == len(place), "it changes a lane twice")
        others = set(place) - set(record.keys)
        _need(not others, f"it changes a lane that it does not name: {min(others, default='')}")
    if request.kind in SESSION_KINDS:
        check_session_record(record, request)
        return
    if request.kind == "undo":
        undone = begun.get(request.target)
        if undone is None or undone.request is None:
            raise ValueError(f"it takes back {request.target}, which was not begun before it")
        _need(undone.request.kind != "undo", "it takes an undo back")
        same = (record.keys, request.profile) == (undone.keys, undone.request.profile)
        same = same and realpath(record.home) == realpath(undone.home)  # reached by another link, perhaps
        _need(same and record.changes == undone.changes.inverse, f"it is not what takes {request.target} back")
        return
    _need(not record.changes.removed and not record.changes.restored, f"{request.kind} deletes nothing")
    _need(record.mode == "offline" or request.kind in END_REASONS, f"{request.kind} is never done beside a gateway")
    _need(record.mode == "offline" or not (record.changes.table or record.changes.file), "a gateway has the entry")
    for key in record.keys if record.mode == "offline" else ():
        _check_entry(record, request, key)
    _check_rows(record, request)


def _check_entry(record: AuditRecord, request: Request, key: str) -> None:
    """One lane's entry, where it counts; the mirror follows it."""
    table = next((one for one in record.changes.table if one.key == key), None)
    file = next((one for one in record.changes.file if one.key == key), None)
    main = table or file
    if main is None or main.before is None:
        raise ValueError(f"it has no entry of the lane {key} from before")
    _need(table is None or file is None or table.after == file.after, "the mirror would not follow the table")
    if table is not None and file is not None and file.before is not None:
        _entry(file.before, key)  # what taking it back writes into the mirror
    before = _entry(main.before, key)
    if request.kind == "prune":
        _need(main.after is None, f"it does not drop the lane {key}")
        return
    if main.after is None:
        raise ValueError(f"it drops the lane {key}")
    after = _entry(main.after, key)
    _need(before.session_id == record.session_id, f"the lane was in {before.session_id}, not in {record.session_id}")
    _need(after.session_id == (record.becomes or record.session_id), "the lane comes into another session")
    differing = {one for one in before.__struct_fields__ if getattr(before, one) != getattr(after, one)}
    wrong = differing - _CHANGED[request.kind]
    _need(not wrong, f"{request.kind} never changes {min(wrong, default='')}")


def _entry(text: str, key: str) -> SessionEntry:
    entry = SessionEntry.from_json(text)
    for name in ("session_key", "session_id"):  # Hermes takes numbers for texts; no operation of ours writes one
        _need(isinstance(json.loads(text).get(name), str), f"the {name} of the lane {key} is no text")
    _need(entry.session_key == key, f"an entry of the lane {key} is that of {entry.session_key}")
    return entry


def _check_rows(record: AuditRecord, request: Request) -> None:
    """Sessions are ended, one is made or opened; none else is touched, and no other column."""
    rows = record.changes.rows
    _need(not rows or request.kind in END_REASONS, f"{request.kind} never changes a session")
    ids = [one.session_id for one in rows]
    _need(len(set(ids)) == len(ids), "it changes a session twice")
    for one in rows:
        id_, before, after = one.session_id, one.before or {}, one.after or {}
        if request.kind == "resume" and id_ == record.becomes == request.target:
            named = before.keys() == after.keys() and _ENDS <= after.keys() <= _ENDS | PEER
            _need(named, "more changes than whose it is")
            _need(all(after[name] is None for name in _ENDS), f"{id_} is not opened")
            _need(after.get("session_key") in (None, *record.keys), f"{id_} is opened for another lane")
        elif one.before is None:
            _need(request.kind == "reset" and id_ == record.becomes, f"it makes {id_}")
            _need(after.keys() <= NEW_ROW, f"{id_} is made with other columns than those of a lane's session")
            _need(after.get("id") == id_, f"{id_} is made with another id")
            _need(after.get("session_key") in (None, *record.keys), f"{id_} is made for another lane")
        else:
            _need(id_ in (record.session_id, *record.older), f"it ends {id_}, unnamed")
            _need(before.keys() == after.keys() == _ENDS, f"more of {id_} changes than its end")
            # By the rule of the two that forgives more ends, whichever version the store is of.
            open_ = before["ended_at"] is None or before["end_reason"] in RULE_0_21.accidents
            _need(open_, f"{id_} was over before")
            ends = after["ended_at"] is not None and after["end_reason"] == END_REASONS[request.kind]
            _need(ends, f"{id_} ends otherwise")
        for name, value in (*before.items(), *after.items()):
            if name in _TIMES:
                _need(value is None or (not isinstance(value, str) and isfinite(value)), f"{name} is no time")
            else:
                _need(value is None or isinstance(value, str), f"{name} is no text")


# Against the store ------------------------------------------------------------------------------------------


def misfit(record: AuditRecord, rows: StoredLanes, around: Surroundings) -> str:
    """Why a record is not of the store as it is now, so that nothing is written on its account: a clause; empty if it
    is. Raises what `rows` raises."""
    changes = record.changes
    unknown = {name for one in changes.rows for name in (*(one.before or ()), *(one.after or ()))} - rows.columns
    if unknown:
        return f"the sessions here have no column {min(unknown)}"
    for one in changes.table:
        # A row is written under the directory that counts, or, where the lane has none, under one of those there are.
        own = {lane.scope for lane in around.lanes if lane.key == one.key and lane.scope is not None}
        there = own or {around.home.scope, *(lane.scope for lane in around.lanes if lane.scope is not None)}
        if one.scope not in there:
            return f"lane {one.key} is not recorded for the directory {one.scope} here"
    # Before and after alike: one of them is what taking it back writes.
    written = [(one.key, text) for one in changes.table for text in (one.before, one.after)]
    written += [(one.key, text) for one in changes.file for text in (one.before, one.after)]
    for key, text in written:
        if text is None:
            continue
        try:
            _entry(text, key)
        except (EntryError, ValueError) as error:
            return f"what would be written for lane {key} is no entry of it: {error}"
    return next(filter(None, (_stranger(record, one, rows, around) for one in changes.rows)), "")


def _stranger(record: AuditRecord, change: RowChange, rows: StoredLanes, around: Surroundings) -> str:
    """A session of somebody else's, by what its row says of itself and by what other lanes are in."""
    row, key = rows.session(change.session_id), record.keys[0]
    if row is None:
        return ""
    lane = next((one for one in around.lanes if one.key == key), None)
    entry = lane.entry if lane else None
    others = [one.key for one in around.lanes if one.entry and one.key != key and one.entry.session_id == row.id]
    its = row.session_key == key or (entry is not None and _same_peer(row, entry, around))
    current = change.session_id == record.session_id  # two lanes of one peer may be in one session
    if others and not (its and current):
        return f"session {row.id} is that of lane {others[0]}"
    # Whom the lane talks to may not be recorded; its own session is then known by the entry alone.
    known = current and entry is not None and entry.origin is None
    forced = record.request is not None and record.request.force
    return "" if its or known or forced or not row.session_key else f"session {row.id} is not this lane's"


def _same_peer(row: LaneSessionRow, entry: SessionEntry, around: Surroundings) -> bool:
    if entry.origin is None:
        return False
    shared = is_shared_multi_user_session(
        entry.origin,
        group_sessions_per_user=around.config.group_sessions_per_user,
        thread_sessions_per_user=around.config.thread_sessions_per_user,
    )
    ours = Peer.of(entry.origin)
    theirs = Peer(row.source or "", row.user_id, row.chat_id, row.chat_type, row.thread_id)
    names = ("source", "chat_id", "chat_type", "thread_id", *(() if shared else ("user_id",)))
    return all((getattr(ours, name) or "") == (getattr(theirs, name) or "") for name in names)
