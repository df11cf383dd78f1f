"""The parts of one conversation that continued in new sessions.

After a compression, a reset, or a resume into a new file.
"""

from __future__ import annotations

from collections.abc import Iterable

from session_adapters.model import SessionSummary

__all__ = ["lineage_of"]


def lineage_of(session: SessionSummary, sessions: Iterable[SessionSummary]) -> tuple[SessionSummary, ...]:
    """`session` and everything of `sessions` that it continues or that continues it, oldest first. Forks and helpers
    are conversations of their own."""
    known = {one.session_id: one for one in sessions if one.agent == session.agent}
    known[session.session_id] = session
    first = _first(session, known)
    parts = [one for one in known.values() if _first(one, known) == first]
    return tuple(sorted(parts, key=lambda one: (one.created_at, one.updated_at, one.session_id)))


def _first(session: SessionSummary, known: dict[str, SessionSummary]) -> str:
    """Native id of the first known part. A damaged store may hold circles: then the least id of the circle."""
    seen = {session.session_id}
    while session.kind == "continuation" and session.parent_id:
        if session.parent_id in seen:
            return min(seen)
        parent = known.get(session.parent_id)
        if parent is None:
            # A part in between is lost; the adapter may still know where it all began.
            return session.lineage_id or session.session_id
        seen.add(parent.session_id)
        session = parent
    return session.session_id
