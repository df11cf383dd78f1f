"""When a lane begins a new conversation of its own accord (spec 002 section 6).

Decisions are Hermes' own, on its own terms: local times without a zone, compared as they are. What comes next is
told as an instant, found by following the clock on the wall. A reset takes place at the lane's next message, or when
the gateway's watcher next looks (every five minutes), not at the stroke of the hour.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from math import ceil
from typing import Any

from msgspec import Struct

from hermes_tui.errors import EntryError
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.fields import Fields
from hermes_tui.lifecycle.local_times import first_shown, wall

__all__ = [
    "FRESHNESS",
    "MODES",
    "NextReset",
    "SessionResetPolicy",
    "duration_words",
    "next_reset",
    "policy_words",
    "reset_reason",
    "reset_words",
    "should_reset",
]

MODES = ("none", "idle", "daily", "both")
FRESHNESS = 3600.0
"""Seconds for which a resume mark keeps a conversation, unless `agent.gateway_auto_continue_freshness` says else."""
_STEP = timedelta(microseconds=1)  # Hermes asks whether more time has passed, not as much


class SessionResetPolicy(Struct, frozen=True, kw_only=True):
    """When a conversation is dropped for a new one. The defaults are those of Hermes 0.18.1 and later; before, the
    mode was `both` unless something else was set."""

    mode: str = "none"
    """none, idle, daily or both; Hermes takes any other word as never."""
    at_hour: int = 4
    """0–23, local: the hour of the daily reset."""
    idle_minutes: float = 1440
    """Minutes without activity."""
    notify: bool = True
    notify_exclude_platforms: tuple[str, ...] = ("api_server", "webhook")
    bg_process_max_age_hours: float = 24
    """A lane's process that has run longer than that no longer keeps the conversation."""

    @classmethod
    def from_dict(cls, data: Any, place: str = "") -> SessionResetPolicy:
        """Read `session_reset`. Raises `EntryError` for values that Hermes ignores or fails on; `place` precedes
        the names of the fields there."""
        fields = Fields(data, place)
        usual = cls()
        mode, hour, idle = fields.taken("mode"), fields.taken("at_hour"), fields.taken("idle_minutes")
        age, excluded = fields.taken("bg_process_max_age_hours"), fields.taken("notify_exclude_platforms")
        if mode is not None and mode not in MODES:
            raise EntryError(f"{place}mode", f"is {mode!r}, not one of {', '.join(MODES)}")
        if hour is not None and not (type(hour) is int and 0 <= hour <= 23):
            raise EntryError(f"{place}at_hour", f"is {hour!r}, not a whole hour from 0 to 23")
        if idle is not None and not (type(idle) in (int, float) and 0 < idle < 1e9):
            raise EntryError(f"{place}idle_minutes", f"is {idle!r}, not a number of minutes above 0")
        if age is not None and not (type(age) in (int, float) and age >= 0):
            raise EntryError(f"{place}bg_process_max_age_hours", f"is {age!r}, not a number of hours")
        if excluded is not None and not (
            isinstance(excluded, list) and all(isinstance(one, str) for one in excluded)
        ):
            raise EntryError(f"{place}notify_exclude_platforms", "is not a list of platforms")
        return cls(
            mode=usual.mode if mode is None else mode,
            at_hour=usual.at_hour if hour is None else hour,
            idle_minutes=usual.idle_minutes if idle is None else idle,
            notify=fields.flag("notify", default=True),
            notify_exclude_platforms=usual.notify_exclude_platforms if excluded is None else tuple(excluded),
            bg_process_max_age_hours=usual.bg_process_max_age_hours if age is None else age,
        )

    def to_dict(self) -> dict[str, Any]:
        """As Hermes writes it."""
        return {
            "mode": self.mode,
            "at_hour": self.at_hour,
            "idle_minutes": self.idle_minutes,
            "notify": self.notify,
            "notify_exclude_platforms": list(self.notify_exclude_platforms),
            "bg_process_max_age_hours": self.bg_process_max_age_hours,
        }


def should_reset(
    updated_at: datetime, policy: SessionResetPolicy, now: datetime, has_active_processes: bool = False
) -> str | None:
    """What the policy alone says: "idle", "daily" or None. Both times are local and without a zone. A lane with
    running background processes is never reset by policy."""
    if has_active_processes:
        return None
    due = [reason for reason, moment in _policy_moments(updated_at, policy) if now >= moment]
    return "idle" if "idle" in due else due[0] if due else None  # where both hold, Hermes says idle


def reset_reason(
    entry: SessionEntry,
    policy: SessionResetPolicy,
    now: datetime,
    has_active_processes: bool = False,
    freshness: float = FRESHNESS,
    marks_win: bool = False,
) -> str | None:
    """Why the lane's next message, at `now` (local, without a zone), would begin a new conversation: suspended,
    idle, daily, resume_pending_expired; None if it would not. `freshness` is in seconds, 0 or less: for ever. With
    `marks_win` a resume mark keeps the conversation whatever the policy says, and for ever, as spec 002 has it."""
    if entry.suspended:
        return "suspended"
    if marks_win and entry.resume_pending:
        return None
    # The policy is asked before the mark, as in Hermes 0.19.
    found = should_reset(entry.updated_at, policy, now, has_active_processes)
    expires = _mark_expires(entry, policy, freshness)
    return found or ("resume_pending_expired" if expires is not None and now >= expires else None)


class NextReset(Struct, frozen=True, kw_only=True):
    """When and why a lane next begins a new conversation."""

    reason: str | None = None
    """As `reset_reason` has it; None: never."""
    at: datetime | None = None
    """The first instant, in UTC, at which a message would do it; None: never."""
    due: bool = False
    """That instant has come: the next message does it."""
    held: bool = False
    """It is due, but not while the lane's background processes run."""
    at_hour: int | None = None
    """For a daily reset: the hour, local."""


def next_reset(
    entry: SessionEntry,
    policy: SessionResetPolicy,
    now: datetime,
    zone: tzinfo | None = None,
    has_active_processes: bool = False,
    freshness: float = FRESHNESS,
    marks_win: bool = False,
) -> NextReset:
    """What comes next if no message comes; `now` is aware, `zone` is where the gateway runs (None: as here). The rest
    is as for `reset_reason`."""
    if marks_win and entry.resume_pending and not entry.suspended:
        return NextReset()
    due = reset_reason(entry, policy, wall(now, zone), False, freshness)
    if due is not None:
        held = has_active_processes and due in ("idle", "daily")
        return NextReset(reason=due, at=now, due=True, held=held, at_hour=policy.at_hour if due == "daily" else None)
    coming = _policy_moments(entry.updated_at, policy)
    expires = _mark_expires(entry, policy, freshness)
    if expires is not None:
        coming.append(("resume_pending_expired", expires))
    if not coming:
        return NextReset()
    at = first_shown(min(shown for _, shown in coming), now, zone)
    # Decided there once more: where an hour is left out, the clock may pass several boundaries at once.
    reason = reset_reason(entry, policy, wall(at, zone), False, freshness)
    return NextReset(reason=reason, at=at, at_hour=policy.at_hour if reason == "daily" else None)


def _policy_moments(updated_at: datetime, policy: SessionResetPolicy) -> list[tuple[str, datetime]]:
    """From which local time on the policy's reasons hold."""
    found: list[tuple[str, datetime]] = []
    try:
        if policy.mode in ("daily", "both"):
            boundary = updated_at.replace(hour=policy.at_hour, minute=0, second=0, microsecond=0, fold=0)
            # Activity at the very hour belongs to the new day: only what came before it is reset.
            found.append(("daily", boundary if boundary > updated_at else boundary + timedelta(days=1)))
        if policy.mode in ("idle", "both"):
            found.append(("idle", updated_at + timedelta(minutes=policy.idle_minutes) + _STEP))
    except OverflowError:
        pass  # after the year 9999: never
    return found


def _mark_expires(entry: SessionEntry, policy: SessionResetPolicy, freshness: float) -> datetime | None:
    # Without a policy a mark never grows stale, as in Hermes.
    if not entry.resume_pending or policy.mode == "none" or freshness <= 0:
        return None
    try:
        return (entry.last_resume_marked_at or entry.updated_at) + timedelta(seconds=freshness) + _STEP
    except OverflowError:  # after the year 9999: never, as far as anybody waits
        return None


def policy_words(policy: SessionResetPolicy) -> str:
    """The policy for people: `daily at 04:00 or after 12 h idle`."""
    words = []
    if policy.mode in ("daily", "both"):
        words.append(f"daily at {policy.at_hour:02}:00")
    if policy.mode in ("idle", "both"):
        words.append(f"after {duration_words(timedelta(minutes=policy.idle_minutes))} idle")
    return " or ".join(words) or "never"


def reset_words(coming: NextReset, now: datetime, *, brief: bool = False) -> str:
    """`daily at 04:00, in 3 h 12 min`; `idle, in 41 min`; `never`; what is due says so. `now` is aware. `brief`, for
    a column: `daily 04:00, in 3 h 12 min`, and of what is due only when it takes place."""
    if coming.reason is None or coming.at is None:
        return "never"
    if brief:  # at most 28 columns
        if coming.held:
            return "once its processes end"
        if coming.due or coming.at <= now:
            return "at the next message"
        words = {"daily": f"daily {coming.at_hour or 0:02}:00", "resume_pending_expired": "mark expires"}
        return f"{words.get(coming.reason, coming.reason)}, in {duration_words(coming.at - now)}"
    if coming.reason == "suspended":
        return "suspended, at the next message"
    reason = {"idle": "idle", "resume_pending_expired": "resume mark expires"}.get(coming.reason)
    if coming.reason == "daily":
        reason = f"daily at {coming.at_hour or 0:02}:00"
    if coming.held:
        return f"{reason}, once its processes have ended"
    if coming.due or coming.at <= now:
        return f"{reason}, at the next message"
    return f"{reason}, in {duration_words(coming.at - now)}"


def duration_words(span: timedelta) -> str:
    """`2 d 3 h`, `3 h 12 min`, `41 min`, rounded up to the minute (with days: to the hour)."""
    minutes = max(1, ceil(round(span.total_seconds()) / 60))
    if minutes >= 1440:
        days, hours = divmod(ceil(minutes / 60), 24)
        return f"{days} d {hours} h" if hours else f"{days} d"
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
