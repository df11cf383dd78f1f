"""Finds the session that a lane without one returns to, as Hermes does.

0.19 knows two ends for accidents, takes only sessions with messages, and the one begun last: compared with the real
program. 0.21 (schema 30) knows four, passes over what was last spoken in before a reset of the lane, and takes an
empty session rather than none: read in its source, and never run.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple

__all__ = [
    "BOUNDARIES",
    "RULE_0_19",
    "RULE_0_21",
    "SAME_PEER",
    "RecoveryRule",
    "belongs_to",
    "recoverable",
    "rule_of",
]

_PEER = ("user_id", "chat_id", "chat_type", "thread_id")
SAME_PEER = tuple(f"COALESCE({name}, '') = COALESCE(?, '')" for name in _PEER)
"""The very same person, chat, type and thread: a condition each."""
BOUNDARIES = ("session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired")
"""Ends on purpose, behind which 0.21 does not reach."""


class RecoveryRule(NamedTuple):
    """How a version of Hermes searches."""

    accidents: tuple[str, ...]
    """Reasons for which a row was ended by accident: Hermes reopens such a row (facts on Hermes, section 0)."""
    fenced: bool = False
    """A later end on purpose of the same lane hides what was last spoken in before."""

    @property
    def not_over(self) -> str:
        """Not ended on purpose: a condition."""
        return f"(ended_at IS NULL OR end_reason IN {self.accidents})"


RULE_0_19 = RecoveryRule(("agent_close", "ws_orphan_reap"))
RULE_0_21 = RecoveryRule((*RULE_0_19.accidents, "superseded_by_resume", "startup_orphan_reap"), fenced=True)


def rule_of(columns: Container[str]) -> RecoveryRule:
    """The rule of the version that keeps sessions with these columns."""
    return RULE_0_21 if "last_activity_at" in columns else RULE_0_19


_SPOKEN = "(COALESCE(s.message_count, 0) > 0 OR EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id LIMIT 1))"
_LAST = "COALESCE(s.last_activity_at, s.started_at)"

Query = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


def recoverable(
    query: Query,
    *,
    source: str,
    key: str,
    user_id: str | None,
    chat_id: str | None,
    chat_type: str | None,
    thread_id: str | None,
    rule: RecoveryRule = RULE_0_19,
) -> str | None:
    """The id of the session that Hermes takes up: of that key, else of that very peer; None if there is none. The
    columns must be there. Raises what `query` raises."""
    found = query(
        f"SELECT id FROM sessions s WHERE session_key = ? AND source = ? {_best(rule, ('session_key',))}",  # noqa: S608
        (key, source),
    )
    if not found and chat_id is not None and chat_type is not None:
        found = query(
            f"SELECT id FROM sessions s WHERE source = ? AND {' AND '.join(SAME_PEER)} AND {_SPOKEN}"  # noqa: S608
            f" {_best(rule, _PEER)}",
            (source, user_id, chat_id, chat_type, thread_id),
        )
    return str(found[0][0]) if found else None


def _best(rule: RecoveryRule, same: Sequence[str]) -> str:
    """The rest of a statement: the one that is taken. `same`: what a reset has in common with what it hides."""
    if not rule.fenced:
        return f"AND {rule.not_over} AND {_SPOKEN} ORDER BY started_at DESC LIMIT 1"
    alike = " AND ".join(f"COALESCE(b.{name}, '') = COALESCE(s.{name}, '')" for name in ("source", *same))
    return (
        f"AND {rule.not_over} AND NOT EXISTS (SELECT 1 FROM sessions b WHERE {alike} AND b.ended_at > {_LAST}"  # noqa: S608
        f" AND b.end_reason IN {BOUNDARIES}) ORDER BY {_SPOKEN} DESC, {_LAST} DESC LIMIT 1"
    )


def belongs_to(recorded: str | None, key: str, profile: str | None) -> bool:
    """Whether a session that was recorded with that key is taken up for a lane of `profile`: one found by its peer
    may be another profile's. None: one gateway serves all of them."""
    parts = (recorded or "").split(":")
    if profile is None or not recorded or recorded == key or len(parts) < 2 or parts[0] != "agent":
        return True
    return ("default" if parts[1] in ("", "main") else parts[1]) == profile
