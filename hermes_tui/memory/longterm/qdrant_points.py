"""Hector's points as Qdrant keeps them: the same payload embedded and on a server.

Format: spec 001 «Store Operation»; facts agentmux_hector.md 2.2, line 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_tui.memory.longterm.protocols import MemoryPoint

__all__ = ["COLLECTION", "INDEXED", "MOST", "newest_first", "payload_of", "point_of"]

COLLECTION = "hector_session_memory"
"""Hector's own name for it."""
INDEXED = ("agent_id", "session_id")
"""What everything is filtered by."""
MOST = 10_000
"""Points of one session that are looked at to find the newest."""


def payload_of(point: MemoryPoint) -> dict[str, Any]:
    """What stands beside the vector."""
    return {
        "agent_id": point.agent_id,
        "session_id": point.session_id,
        "role": point.role,
        "content": point.content,
        "timestamp": point.timestamp,
        "message_index": point.message_index,
    }


def point_of(identity: object, payload: Mapping[str, Any] | None) -> MemoryPoint:
    """A point that was read. Those that Hector itself writes have no time."""
    payload = payload or {}
    timestamp, index = payload.get("timestamp"), payload.get("message_index")
    return MemoryPoint(
        id=str(identity),
        agent_id=str(payload.get("agent_id", "")),
        session_id=str(payload.get("session_id", "")),
        role=str(payload.get("role", "")),
        content=str(payload.get("content", "")),
        timestamp=timestamp if isinstance(timestamp, int) else 0,
        message_index=index if isinstance(index, int) else 0,
    )


def newest_first(points: list[MemoryPoint], limit: int) -> list[MemoryPoint]:
    """The last so many by their time."""
    return sorted(points, key=lambda one: (one.timestamp, one.message_index), reverse=True)[:limit]
