"""Puts the history of a lane together from its rows and from our own log."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime

import apsw
import msgspec

from hermes_tui.display import counted
from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.gateway.homes import HermesHome, home_of
from hermes_tui.lifecycle.lane_history.endings import ending_of
from hermes_tui.lifecycle.lane_history.model import DaySpent, LaneHistory, PastSession, PersonSpent, SumSpent, Waited
from hermes_tui.lifecycle.lane_history.reading import LaneRows, SessionFigures, read_lane_rows
from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow
from hermes_tui.lifecycle.lanes import Lane
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.history import OperationHistory
from hermes_tui.lifecycle.operations.plan import Request
from hermes_tui.lifecycle.operations.record import Operation
from hermes_tui.lifecycle.state_db.connection.access import advice_on
from session_adapters.base import Environment
from session_adapters.model import EPOCH
from session_adapters.reading.sqlite import DatabaseMissing, DatabaseUnreadable, read_database
from session_adapters.times import from_epoch

__all__ = ["lane_history"]

_UNDONE = ("undone", "failed", "interrupted")


def lane_history(
    environment: Environment,
    lane: Lane,
    now: datetime,
    *,
    local: Callable[[datetime], datetime] = datetime.astimezone,
    audit: Audit | None = None,
) -> LaneHistory:
    """What became of the lane's conversations up to `now` (aware). `local` puts a time into the reader's zone, for
    days and for the answer. Changes nothing. Raises `StoreError` where the database is gone or cannot be read."""
    home = home_of(environment, lane.profile)
    ours, notes = _operations(environment, audit or Audit(), lane, now)
    # Looked for by name: a session that another lane was led into is recorded with that lane's key.
    led = dict.fromkeys(id_ for one in ours for id_ in (one.begun.session_id, one.begun.becomes) if id_)
    found = _read(home, lane, (lane.session_id, lane.continues_in, *led), now)
    gone = [one for one in led if one not in found.figures]
    if gone:
        notes.append(f"{counted(len(gone), 'session')} of which our log tells are no longer in the store")
    # The operation whose end a row still has: Hermes may have opened and ended the session again since.
    ended = {row.id: row.ended_at for row in found.rows if row.ended_at is not None}
    ended_by = {
        row.session_id: one.id
        for one in ours
        for row in one.begun.changes.rows
        if row.session_id in ended and row.after_of("ended_at") == ended[row.session_id]
    }
    sessions = _ordered([_past(row, found, lane, ended_by.get(row.id, "")) for row in found.rows])
    return LaneHistory(
        profile=lane.profile,
        key=lane.key,
        answer=_answer(lane, sessions, found, local),
        sessions=tuple(sessions),
        total=_sum(sessions),
        people=tuple(_people(lane, sessions)),
        days=tuple(_days(sessions, local)),
        notes=tuple(notes),
    )


def _read(home: HermesHome, lane: Lane, named: Sequence[str], now: datetime) -> LaneRows:
    def read(connection: apsw.Connection) -> LaneRows:
        return read_lane_rows(connection, lane.key, named, now.timestamp())

    try:
        return read_database(home.database, read)
    except DatabaseMissing as error:
        raise StoreError(
            f"There is no session store {home.database}, so what was said in the lane is not known."
        ) from error
    except (DatabaseUnreadable, apsw.Error, UnicodeDecodeError) as error:
        raise StoreError(
            f"The session store {home.database} cannot be read: {error}; {advice_on(home.database)}."
        ) from error


def _operations(
    environment: Environment, audit: Audit, lane: Lane, now: datetime
) -> tuple[list[Operation], list[str]]:
    """Those of ours on the lane that hold, the oldest first, and what cannot be told of them."""
    try:
        history = OperationHistory(environment, audit, lambda: now, read_only=True).history()
    except StoreError as error:
        return [], [f"what hermes-tui itself did is not known: {str(error).rstrip('.')}"]
    ours = [
        one
        for one in history.operations
        if one.begun.home == lane.home and lane.key in one.begun.keys
        if one.outcome is None or one.outcome.state not in _UNDONE
    ]
    return ours, list(history.problems)


# One session -------------------------------------------------------------------------------------------------


def _past(row: LaneSessionRow, found: LaneRows, lane: Lane, operation: str) -> PastSession:
    figures = found.figures.get(row.id, SessionFigures())
    present = row.id == (lane.continues_in or lane.session_id)
    chain = found.continued.get(row.id, ())
    ending = ending_of(row, present=present, goes_on_in=chain[-1] if chain else "", operation=operation)
    try:
        told = msgspec.json.decode(row.origin_json or "{}", type=dict[str, object])
    except (msgspec.DecodeError, ValueError, RecursionError):
        told = {}  # the row's own identifier is left
    name = told.get("user_name")
    return PastSession(
        session_id=row.id,
        title=row.title or "",
        model=row.model or "",
        person=name if isinstance(name, str) and name else row.user_id or "",
        started_at=from_epoch(row.started_at),
        last_message_at=from_epoch(figures.last),
        ended_at=from_epoch(row.ended_at),
        end_reason=row.end_reason,
        present=present,
        restored=present and any((one.started_at or 0.0) > (row.started_at or 0.0) for one in found.rows),
        ending=ending.words,
        carried=ending.carried,
        operation=operation,
        messages=figures.messages,
        input_tokens=row.input_tokens or 0,
        output_tokens=row.output_tokens or 0,
        cost_usd=figures.cost,
        estimated=figures.estimated,
        waited=tuple(
            Waited(at=moment, seconds=None if after is None else after - at)
            for at, after in figures.waited
            if (moment := from_epoch(at)) is not None
        ),
    )


def _ordered(sessions: Iterable[PastSession]) -> list[PastSession]:
    def left(one: PastSession) -> tuple[bool, datetime, str]:
        latest = max((at for at in (one.started_at, one.last_message_at, one.ended_at) if at), default=EPOCH)
        return one.present, latest, one.session_id

    return sorted(sessions, key=left, reverse=True)


# Sums --------------------------------------------------------------------------------------------------------


def _sum(sessions: Iterable[PastSession]) -> SumSpent:
    every = list(sessions)
    costs = [one.cost_usd for one in every if one.cost_usd is not None]
    return SumSpent(
        sessions=len(every),
        messages=sum(one.messages for one in every),
        input_tokens=sum(one.input_tokens for one in every),
        output_tokens=sum(one.output_tokens for one in every),
        cost_usd=round(sum(costs), 6) if costs else None,
        estimated=any(one.estimated for one in every),
    )


def _people(lane: Lane, sessions: Iterable[PastSession]) -> list[PersonSpent]:
    of_person: dict[str, list[PastSession]] = {}
    for one in sessions:
        of_person.setdefault("shared" if lane.who == "shared" else one.person or "unknown", []).append(one)
    sums = [PersonSpent(person=name, **msgspec.structs.asdict(_sum(each))) for name, each in of_person.items()]
    return sorted(sums, key=lambda one: (-(one.cost_usd or 0.0), -one.messages, one.person))


def _days(sessions: Iterable[PastSession], local: Callable[[datetime], datetime]) -> list[DaySpent]:
    of_day: dict[date, list[PastSession]] = {}
    for one in sessions:
        if one.started_at is not None:
            of_day.setdefault(local(one.started_at).date(), []).append(one)
    return [
        DaySpent(day=day, **msgspec.structs.asdict(_sum(each))) for day, each in sorted(of_day.items(), reverse=True)
    ]


# The answer --------------------------------------------------------------------------------------------------


def _answer(
    lane: Lane, sessions: Sequence[PastSession], found: LaneRows, local: Callable[[datetime], datetime]
) -> str:
    """Why did it forget?"""
    if lane.fault:
        return f"Its entry cannot be understood: {lane.fault}."
    present = next((one for one in sessions if one.present), None)
    before = {id_ for id_, chain in found.continued.items() if present is not None and present.session_id in chain}
    said = []
    if present is None:
        said.append(f"Nothing was said yet in the session that it is in now ({lane.session_id}).")
    if summarised := [one for one in sessions if one.session_id in before]:
        at = max((one.ended_at for one in summarised if one.ended_at), default=None)
        ids = ", ".join(one.session_id for one in summarised[:3]) + (" …" if len(summarised) > 3 else "")
        said.append(
            f"It knows a summary of {counted(sum(one.messages for one in summarised), 'message')}: the conversation"
            f" had grown too long{_on(at, local)}, and Hermes compressed it. Every word is still in"
            f" {ids}."
        )
    left = [one for one in sessions if not one.present and one.session_id not in before]
    # An empty one is nothing to know of, and Hermes would not go on in it.
    if other := next((one for one in left if one.messages), None):
        known = "It was brought back to this session, and" if present and present.restored else "Its session"
        ended = f", which ended{_on(other.ended_at, local)}" if other.ended_at else ""
        back = Request(kind="resume", profile=lane.profile, key=lane.key, target=other.session_id)
        said.append(
            f"{known} knows nothing of {other.session_id} ({counted(other.messages, 'message')}){ended}:"
            f" {other.ending}. `{shlex.join(('hermes-tui', *back.words))}` leads back to it."
        )
    if present is not None and not said:
        only = f"{present.session_id} is the only session that it has had"
        said.append(f"It has forgotten nothing: {'nothing was said in its sessions before' if left else only}.")
    if lane.reset_due or (lane.state in ("expired", "suspended", "ended") and not lane.continues_in):
        why = {"ended": f"its own has ended ({lane.end_reason})", "suspended": "the lane is suspended"}
        said.append(f"Its next message begins a new, empty session: {why.get(lane.state, lane.resets)}.")
    return " ".join(said)


def _on(at: datetime | None, local: Callable[[datetime], datetime]) -> str:
    return f" on {local(at):%Y-%m-%d at %H:%M}" if at is not None else ""
