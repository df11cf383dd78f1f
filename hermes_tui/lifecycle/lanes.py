"""The gateway's lanes for people: who talks where, in which session, until when.

`lanes` is the read model of the Lanes screen and of `hermes-tui lanes`; it changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from hermes_tui.lifecycle.gateway.configuration import GatewayConfig
from hermes_tui.lifecycle.gateway.home_state import HomeState, survey
from hermes_tui.lifecycle.gateway.homes import hermes_homes, homes_left_out, no_home_words
from hermes_tui.lifecycle.gateway.process import Gateway
from hermes_tui.lifecycle.gateway.rules import Rules
from hermes_tui.lifecycle.keys import is_shared_multi_user_session, key_parts
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.loaded import IndexedLane
from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow
from hermes_tui.lifecycle.local_times import from_wall, wall
from hermes_tui.lifecycle.policy import next_reset, policy_words, reset_reason, reset_words
from hermes_tui.lifecycle.routing import Route, route
from session_adapters.base import Environment
from session_adapters.model import JsonRecord
from session_adapters.times import from_epoch

__all__ = ["Board", "Earlier", "Lane", "LaneState", "Profile", "board", "lane_of", "lanes"]

LaneState = Literal[
    "live", "expired", "compressed", "suspended", "resume pending", "ended", "no session", "unknown", "unreadable"
]
"""live: the next message goes on with the session. expired: the policy begins a new one then. compressed: it goes on
in the session's continuation. ended: its session is closed, so that Hermes looks for another or begins one. no
session: the database has no row of it (yet). unknown: the database cannot be read, and the index says nothing else.
unreadable: what the index says cannot be understood."""


_FLAGS = ("suspended", "resume_pending", "expiry_finalized", "is_fresh_reset", "was_auto_reset")
_NEVER = datetime.min.replace(tzinfo=UTC)


class Earlier(JsonRecord, frozen=True):
    """A session that was the lane's before."""

    session_id: str
    started_at: datetime | None = None
    end_reason: str | None = None
    """None: never ended; Hermes may bring it back."""
    title: str = ""
    messages: int = 0


class Lane(JsonRecord, frozen=True):
    """One lane of one profile."""

    profile: str
    home: str
    key: str
    parts: tuple[tuple[str, str], ...]
    """The key taken apart: name of the part (namespace, platform, chat type, chat, thread, participant) and value."""
    state: LaneState
    platform: str = ""
    chat_type: str = ""
    chat: str = ""
    """Name of the chat, else its identifier; with the thread, if there is one."""
    who: str = ""
    """The other side: a person, or `shared` where several share the session."""
    session_id: str = ""
    continues_in: str = ""
    """The session in which a compressed one goes on: Hermes moves the lane there at its next message."""
    created_at: datetime | None = None
    last_active: datetime | None = None
    flags: tuple[str, ...] = ()
    """Those of the entry that are set: suspended, resume_pending, is_fresh_reset, was_auto_reset, …"""
    resume_reason: str = ""
    context_tokens: int = 0
    """Size of the last prompt."""
    input_tokens: int = 0
    """As the session's row counts them; so the output."""
    output_tokens: int = 0
    title: str = ""
    model: str = ""
    messages: int = 0
    policy: str = ""
    """In words: `daily at 04:00 or after 12 h idle`."""
    resets: str = ""
    """In words, as of the moment that was given: `daily at 04:00, in 3 h 12 min`."""
    resets_briefly: str = ""
    """The same for a column: `daily 04:00, in 3 h 12 min`."""
    next_reset: datetime | None = None
    """The first moment at which a message would begin a new session; None: never."""
    reset_due: bool = False
    last_reset: str = ""
    """Why the conversation before this one ended: idle, daily, suspended, asked for …"""
    queued: int | None = None
    """Messages that wait behind its turn; None: nobody but the gateway knows."""
    restarts: int = 0
    """In a row, with the lane busy; at three Hermes suspends it."""
    end_reason: str = ""
    """Of the session that the lane leads to."""
    disagreement: str = ""
    """In what the database and `sessions.json` differ about it."""
    fault: str = ""
    """Why its entry cannot be understood."""
    earlier: tuple[Earlier, ...] = ()
    """Newest first."""


class Profile(JsonRecord, frozen=True):
    """One profile, with or without lanes."""

    name: str
    home: str
    gateway: Gateway
    rules: Rules | None = None
    lanes: int = 0
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read; like the notes, sentences without a full stop."""


class Board(JsonRecord, frozen=True):
    """Every profile and every lane."""

    profiles: tuple[Profile, ...] = ()
    lanes: tuple[Lane, ...] = ()
    no_home: str = ""
    """Where Hermes was looked for, if there is none."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Over all profiles."""
        return tuple(problem for profile in self.profiles for problem in profile.problems)


def lanes(environment: Environment, now: datetime | None = None) -> list[Lane]:
    """Every lane, the latest active first. `now` is aware; None: the present."""
    return list(board(environment, now).lanes)


def board(environment: Environment, now: datetime | None = None) -> Board:
    """Every profile with its gateway, and every lane, the latest active first. Raises nothing that a store can
    cause: see `problems`."""
    moment = now or datetime.now(UTC)
    profiles: list[Profile] = []
    found: list[Lane] = []
    for home in hermes_homes(environment):
        seen = survey(home, environment.proc)
        found += [lane_of(one, seen, moment) for one in seen.lanes]
        profiles.append(
            Profile(
                name=home.profile,
                home=str(home.path),
                gateway=seen.gateway,
                rules=seen.rules,
                lanes=len(seen.lanes),
                notes=seen.notes,
                problems=seen.problems if profiles else (*homes_left_out(environment), *seen.problems),
            )
        )
    # The first order is that of lanes which were active at the same time: sorting keeps it.
    found.sort(key=lambda lane: (lane.profile, lane.key))
    found.sort(key=lambda lane: lane.last_active or _NEVER, reverse=True)
    return Board(profiles=tuple(profiles), lanes=tuple(found), no_home="" if profiles else no_home_words(environment))


def lane_of(one: IndexedLane, seen: HomeState, now: datetime) -> Lane:
    """The lane for people."""
    entry = one.entry
    if entry is None:
        parts = tuple((part.name, part.value) for part in key_parts(one.key))
        return Lane(
            profile=seen.home.profile,
            home=str(seen.home.path),
            key=one.key,
            parts=parts,
            state="unreadable",
            platform=dict(parts).get("platform", ""),
            chat_type=dict(parts).get("chat type", ""),
            disagreement=one.disagreement,
            fault=one.fault,
        )
    row = seen.sessions.get(entry.session_id)
    tip = seen.tips.get(entry.session_id, "")
    chain = [each for each in seen.chains.get(one.key, ()) if each.id not in (entry.session_id, tip)]
    config = seen.config
    policy = config.policy_of(entry)
    coming = next_reset(entry, policy, now, freshness=config.freshness, marks_win=config.documented)
    goes = route(
        entry,
        ended=row is not None and not row.open,
        tip=tip,
        reset=reset_reason(entry, policy, wall(now), freshness=config.freshness, marks_win=config.documented),
        recovered=lambda: seen.recovered.get(one.key, ""),
        starts=seen.has_table and seen.gateway.state == "stopped",
    )
    # Where the message goes on in another session, it resets nothing.
    elsewhere = goes.session_id if goes.step in ("compressed", "recovered") else ""
    return Lane(
        profile=seen.home.profile,
        home=str(seen.home.path),
        key=one.key,
        parts=tuple((part.name, part.value) for part in key_parts(one.key, entry.origin)),
        state=_state(entry, row, goes, tip, unread=bool(seen.unread)),
        platform=entry.platform or (entry.origin.platform if entry.origin else ""),
        chat_type=entry.origin.chat_type if entry.origin else entry.chat_type,
        chat=_chat(entry),
        who=_who(entry, seen.config),
        session_id=entry.session_id,
        continues_in=tip,
        created_at=from_wall(entry.created_at),
        last_active=from_wall(entry.updated_at),
        flags=tuple(name for name in _FLAGS if getattr(entry, name)),
        resume_reason=entry.resume_reason or "",
        context_tokens=entry.last_prompt_tokens,
        # Hermes counts in the row; the entry's own totals are practically always 0.
        input_tokens=(row.input_tokens if row else None) or entry.input_tokens,
        output_tokens=(row.output_tokens if row else None) or entry.output_tokens,
        title=(row.title if row else None) or "",
        model=(entry.model_override or {}).get("model") or (row.model if row else None) or "",
        messages=(row.message_count if row else None) or 0,
        policy=policy_words(policy),
        resets=_resets(row, goes) or reset_words(coming, now),
        resets_briefly=_resets(row, goes, brief=True) or reset_words(coming, now, brief=True),
        next_reset=None if elsewhere else coming.at,
        reset_due=coming.due and not elsewhere,
        last_reset=_last_reset(entry, chain),
        queued=seen.gateway.queued.get(one.key, 0) if seen.gateway.queued is not None else None,
        restarts=seen.restarts.get(one.key, 0),
        end_reason=(row.end_reason if row else None) or "",
        disagreement=one.disagreement,
        fault=one.fault,
        earlier=tuple(map(_earlier, chain)),
    )


def _state(entry: SessionEntry, row: LaneSessionRow | None, goes: Route, tip: str, *, unread: bool) -> LaneState:
    if tip and goes.session_id == tip:
        return "compressed"
    # The mark alone is not enough: a gateway that starts drops a lane whose session is over, with its marks.
    if entry.suspended and goes.reason == "suspended":
        return "suspended"
    if row is not None and not row.open:
        return "ended"
    if entry.resume_pending:
        return "resume pending"
    if row is None:
        return "unknown" if unread else "no session"
    return "expired" if goes.step == "reset" else "live"


def _resets(row: LaneSessionRow | None, goes: Route, *, brief: bool = False) -> str:
    """Where it is not the policy alone that decides."""
    if goes.step in ("compressed", "recovered"):
        return "not at the next message" + ("" if brief else f", which goes on in {goes.session_id}")
    if row is None or row.open:
        return ""
    return "at the next message" if brief else f"its session ended ({row.end_reason}), at the next message"


def _chat(entry: SessionEntry) -> str:
    origin = entry.origin
    name = entry.display_name or (origin.chat_name or origin.chat_id if origin else "") or ""
    if origin and origin.chat_type == "dm":
        name = name or origin.user_name or origin.user_id or ""
    return f"{name} › {origin.thread_id}" if origin and origin.thread_id else name


def _who(entry: SessionEntry, config: GatewayConfig) -> str:
    origin = entry.origin
    if origin is None:
        return ""
    shared = is_shared_multi_user_session(
        origin,
        group_sessions_per_user=config.group_sessions_per_user,
        thread_sessions_per_user=config.thread_sessions_per_user,
    )
    return "shared" if shared else origin.user_name or origin.user_id or ""


def _last_reset(entry: SessionEntry, chain: Sequence[LaneSessionRow]) -> str:
    """The entry says it of an automatic one; else the end of the session that ended last. Where a conversation was
    compressed it goes on: that is no reset."""
    if entry.was_auto_reset:
        return entry.auto_reset_reason or "automatic"
    if entry.is_fresh_reset:
        return "asked for"
    ends = [row for row in chain if row.end_reason not in (None, "compression")]
    return max(ends, key=lambda row: row.ended_at or 0.0).end_reason or "" if ends else ""


def _earlier(row: LaneSessionRow) -> Earlier:
    return Earlier(
        session_id=row.id,
        started_at=from_epoch(row.started_at),
        end_reason=row.end_reason,
        title=row.title or "",
        messages=row.message_count or 0,
    )
