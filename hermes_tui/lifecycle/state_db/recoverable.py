"""Finds the session that a lane without one returns to, as Hermes 0.19 does.

It knows two ends for accidents, takes only sessions with messages, and the one begun last. Other versions search
otherwise: what holds for this one holds for no other without proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["NOT_OVER", "RECOVERABLE", "SAME_PEER", "belongs_to", "recoverable"]

RECOVERABLE = ("agent_close", "ws_orphan_reap")
"""Reasons for which a row was ended by accident: Hermes reopens such a row (facts on Hermes, section 0)."""
NOT_OVER = f"(ended_at IS NULL OR end_reason IN {RECOVERABLE})"
"""Not ended on purpose."""
SAME_PEER = tuple(
    f"COALESCE({name}, '') = COALESCE(?, '')" for name in ("user_id", "chat_id", "chat_type", "thread_id")
)
"""The very same person, chat, type and thread: a condition each."""

_SPOKEN = (
    "(COALESCE(message_count, 0) > 0"
    " OR EXISTS (SELECT 1 FROM messages WHERE messages.session_id = sessions.id LIMIT 1))"
)

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
) -> str | None:
    """The id of the session that Hermes takes up: of that key, else of that very peer; None if there is none. The
    columns must be there. Raises what `query` raises."""
    last = f"AND {NOT_OVER} AND {_SPOKEN} ORDER BY started_at DESC LIMIT 1"
    found = query(f"SELECT id FROM sessions WHERE session_key = ? AND source = ? {last}", (key, source))  # noqa: S608
    if not found and chat_id is not None and chat_type is not None:
        found = query(
            f"SELECT id FROM sessions WHERE source = ? AND {' AND '.join(SAME_PEER)} {last}",  # noqa: S608
            (source, user_id, chat_id, chat_type, thread_id),
        )
    return str(found[0][0]) if found else None


def belongs_to(recorded: str | None, key: str, profile: str | None) -> bool:
    """Whether a session that was recorded with that key is taken up for a lane of `profile`: one found by its peer
    may be another profile's. None: one gateway serves all of them."""
    parts = (recorded or "").split(":")
    if profile is None or not recorded or recorded == key or len(parts) < 2 or parts[0] != "agent":
        return True
    return ("default" if parts[1] in ("", "main") else parts[1]) == profile
