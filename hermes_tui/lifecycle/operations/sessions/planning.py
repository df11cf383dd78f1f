"""Makes the plan of an operation on sessions, or says why it cannot be done now.

The same rows as Hermes' own commands and dashboard change (facts on Hermes, section 5); what they leave unsaid is
said: who else has the session, what becomes of its descendants.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from hermes_tui.display import counted
from hermes_tui.errors import SessionNotFound, ValidationError
from hermes_tui.lifecycle.gateway.homes import HermesHome
from hermes_tui.lifecycle.gateway.rules import newer_schema
from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow, StoredLanes
from hermes_tui.lifecycle.operations.facts import Surroundings, look_around
from hermes_tui.lifecycle.operations.plan import Changes, Plan, Removal, Request, RowChange, basis_of
from hermes_tui.lifecycle.operations.sessions.tables import SessionTables, removal, session_tables
from hermes_tui.lifecycle.state_db.export import helpers_of
from hermes_tui.lifecycle.state_db.pruning import prunable
from hermes_tui.lifecycle.state_db.titles import TitleRefused, continued_by, sanitize_title

__all__ = ["draw_up_sessions", "held_by_gateway"]

_NAMED = 8
"""Sessions that a plan names one by one."""


class _Draft:
    """What one kind makes of the facts."""

    def __init__(self) -> None:
        self.refusal = ""
        self.rows: list[RowChange] = []
        self.removed: list[Removal] = []
        self.writes: list[str] = []
        self.notes: list[str] = []


def draw_up_sessions(request: Request, rows: StoredLanes, home: HermesHome, proc: Path, now: datetime) -> Plan:
    """The plan. Raises `SessionNotFound`, `ValidationError`, and what `rows` raises."""
    around = look_around(rows, home, proc)
    draft = _Draft()
    tables = session_tables(rows)
    if request.kind == "prune-sessions":
        concerned = _prune(draft, request, rows, tables, around, now)
    else:
        row = rows.session(request.session)
        if row is None:
            raise SessionNotFound(
                f"profile {request.profile!r} has no session {request.session!r} in {home.database}"
            )
        concerned = [row]
        _one(draft, request, row, rows, tables, around, now)
        draft.notes += _lane_notes(request, {row.id: "it"}, around)
    if request.kind != "rename" and (newer := newer_schema(around.schema)):
        draft.refusal = draft.refusal or f"{newer}: which tables of that version belong to a session is not known"
    if draft.removed and not draft.refusal:
        draft.notes.append("what is deleted is first copied beside the log of operations, for undo")
    draft.notes += _files_left([one.session_id for one in draft.removed if "sessions" in one.tables], around)
    if draft.removed and tables.unknown:
        draft.refusal = draft.refusal or f"table {tables.unknown[0]} points at sessions, and is not known here"
    return Plan(
        request=request,
        home=str(home.path),
        mode="live" if around.live else "offline",
        read=tuple(_read_words(request, concerned, around)),
        writes=tuple(draft.writes),
        notes=tuple(draft.notes),
        refusal=draft.refusal,
        session_id=request.session,
        changes=Changes(rows=tuple(draft.rows), removed=tuple(draft.removed)),
        # Not what is written: the time of an end is that of its writing.
        basis=basis_of(
            [
                (row.id, row.title, row.parent_session_id, row.ended_at, row.end_reason, row.message_count)
                for row in concerned
            ],
            [(one.session_id, one.before) for one in draft.rows],
            draft.removed,
            around.live,
            draft.refusal,
        ),
    )


def _one(
    draft: _Draft,
    request: Request,
    row: LaneSessionRow,
    rows: StoredLanes,
    tables: SessionTables,
    around: Surroundings,
    now: datetime,
) -> None:
    match request.kind:
        case "rename":
            _rename(draft, request, row, rows)
        case "end" if not row.open or row.ended_at is not None:
            draft.refusal = (
                f"it has ended already ({row.end_reason or 'no reason'}), and Hermes keeps the first reason"
            )
        case "end":
            draft.rows.append(_change(row, ended_at=now.timestamp(), end_reason=request.reason or "user_exit"))
            draft.writes.append(f"ends {row.id} ({request.reason or 'user_exit'})")
        case "reopen" if row.open and row.ended_at is None:
            draft.refusal = "it has not ended"
        case "reopen" if tip := rows.compression_tip(row.id):
            draft.refusal = f"it was compressed and goes on in {tip}; reopen that"
        case "reopen":
            draft.rows.append(_change(row, ended_at=None, end_reason=None))
            draft.writes.append(f"opens {row.id} again")
        case "clear-messages":
            found = removal(rows, tables, row.id, only=["messages"])
            counts = rows.select("SELECT message_count, tool_call_count FROM sessions WHERE id = ?", (row.id,))[0]
            if not found.tables["messages"] and not any(counts):
                draft.refusal = "it has no messages"
            else:
                before = dict(zip(("message_count", "tool_call_count"), counts, strict=True))
                draft.rows.append(RowChange(session_id=row.id, before=before, after=dict.fromkeys(before, 0)))
                draft.removed.append(found)
                gone = counted(found.tables["messages"], "message")
                draft.writes.append(f"deletes {gone} of {row.id}; the session stays")
        case "delete":
            helpers = helpers_of(rows.select, row.id)
            _delete(draft, [row.id, *helpers], rows, tables, helpers)
    # Held is also a session that was compressed, by the lane that is in its continuation.
    if request.kind != "rename" and not draft.refusal:
        held = held_by_gateway(around)
        key = held.get(row.id) or held.get(rows.compression_tip(row.id) or row.id)
        if key:
            draft.refusal = f"a gateway is running and lane {key} is in it; reset the lane, or {around.stop_first}"


def _rename(draft: _Draft, request: Request, row: LaneSessionRow, rows: StoredLanes) -> None:
    try:
        title = sanitize_title(request.title)
    except TitleRefused as error:
        raise ValidationError(str(error)) from error
    if title == row.title:
        draft.refusal = f"it is called {title!r} already" if title else "it has no title"
        return
    for (holder,) in rows.select("SELECT id FROM sessions WHERE title = ? AND id <> ?", (title, row.id)):
        # Two may not have one title; of a compressed conversation the later part takes it over.
        if not continued_by(rows.select, str(holder), row.id):
            draft.refusal = f"session {holder} has that title; choose another"
            return
        other = rows.session(str(holder))
        assert other is not None  # noqa: S101 - it was found just now
        draft.rows.append(_change(other, title=None))
        draft.writes.append(f"takes the title from {holder}, which {row.id} continues")
    draft.rows.append(_change(row, title=title))
    draft.writes.append(f"calls {row.id} {title!r}" if title else f"takes the title from {row.id}")


def _delete(
    draft: _Draft, ids: Sequence[str], rows: StoredLanes, tables: SessionTables, helpers: Sequence[str] = ()
) -> None:
    """These sessions, with all that belongs to them; children that stay name no parent any more."""
    draft.removed += [removal(rows, tables, session_id) for session_id in ids]
    known = rows.sessions(ids[:_NAMED])
    for one in draft.removed[:_NAMED]:
        title = f" “{known[one.session_id].title}”" if known[one.session_id].title else ""
        helper = ", which worked for it" if one.session_id in helpers else ""
        messages = counted(one.tables["messages"], "message")
        draft.writes.append(f"deletes {one.session_id}{title} with {messages}{helper}")
    if len(ids) > _NAMED:
        messages = counted(sum(one.tables["messages"] for one in draft.removed), "message")
        draft.writes.append(f"deletes {len(ids) - _NAMED} more: {len(ids)} sessions with {messages} in all")
    kept: list[str] = []
    for session_id in ids:
        for child in rows.sessions_where("parent_session_id = ?", (session_id,)):
            if child.id not in ids:
                draft.rows.append(_change(child, parent_session_id=None))
                kept.append(child.id)
    if kept:
        shown = ", ".join(kept[:_NAMED]) + ("…" if len(kept) > _NAMED else "")
        verbs = "stay, and name" if len(kept) > 1 else "stays, and names"
        draft.notes.append(f"{counted(len(kept), 'descendant')} {verbs} no parent any more: {shown}")


def _files_left(ids: Sequence[str], around: Surroundings) -> list[str]:
    """Of deleted sessions: what versions up to 0.13 wrote beside the database."""
    folder = around.home.sessions_dir
    names = [
        f"{one}{suffix}" for one in ids for suffix in (".json", ".jsonl") if (folder / f"{one}{suffix}").exists()
    ]
    if not names:
        return []
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return [f"{folder / names[0]}{more} stay: what an old version wrote there"]


def _prune(
    draft: _Draft, request: Request, rows: StoredLanes, tables: SessionTables, around: Surroundings, now: datetime
) -> list[LaneSessionRow]:
    wanted = request.matching
    after, before = wanted.period(now)
    if unknown := wanted.columns - rows.columns:
        draft.refusal = f"the database of this version of Hermes does not say {min(unknown)} of its sessions"
        return []
    ids = prunable(rows.select, wanted, after, before, archived="archived" in rows.columns)
    led_to = held_by_gateway(around)
    held = [one for one in ids if one in led_to]
    ids = [one for one in ids if one not in led_to]
    if held:
        draft.notes.append(f"{counted(len(held), 'session')} stay: a lane is in each of them")
    if not ids:
        draft.refusal = "no session that has ended is so"
    _delete(draft, ids, rows, tables)
    draft.notes += _lane_notes(request, {one: one for one in ids}, around)
    return list(rows.sessions(ids).values())


def held_by_gateway(around: Surroundings) -> dict[str, str]:
    """Session → the lane that is in it, where a gateway keeps the lanes in its memory."""
    if around.gateway.state == "stopped":
        return {}
    return {one.entry.session_id: one.key for one in around.lanes if one.entry is not None}


def _lane_notes(request: Request, ids: Mapping[str, str], around: Surroundings) -> list[str]:
    """Of the lanes that are in one of these sessions, by what each is called, what their next message does."""
    if request.kind in ("rename", "reopen"):
        return []
    led = [(one.key, one.entry.session_id) for one in around.lanes if one.entry and one.entry.session_id in ids]
    what = "begins a new session" if request.kind == "end" else "goes on there, without what was said"
    notes = [f"lane {key} is in {ids[session_id]}: its next message {what}" for key, session_id in led[:_NAMED]]
    return [*notes, f"{len(led) - _NAMED} more lanes are in others of them"] if len(led) > _NAMED else notes


def _change(row: LaneSessionRow, **after: Any) -> RowChange:
    return RowChange(session_id=row.id, before={name: getattr(row, name) for name in after}, after=after)


def _read_words(request: Request, concerned: Sequence[LaneSessionRow], around: Surroundings) -> list[str]:
    words = ["a gateway is running" if around.live else "no gateway is running"]
    if request.kind == "prune-sessions":
        found = counted(len(concerned), "session")
        words.append(f"of those that have ended, {found} fit {shlex.join(request.matching.words)}")
    elif concerned:
        row = concerned[0]
        title = f" “{row.title}”" if row.title else ""
        state = "has not ended" if row.open else f"ended ({row.end_reason})"
        words.append(
            f"{row.id}{title}, {row.source or 'of no source'}: {state}, {counted(row.message_count or 0, 'message')}"
        )
    return words
