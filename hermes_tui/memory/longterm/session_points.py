"""What long-term memory holds of one session, and recalls: for people."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hermes_tui.errors import ValidationError
from hermes_tui.memory.components import MemoryComponents
from hermes_tui.memory.configuration import MemoryConfiguration
from hermes_tui.memory.longterm.protocols import MemoryPoint, RecalledMemory

__all__ = ["Owned", "SessionPoints", "session_points"]

LISTED = 200
"""Points that are shown where nothing is asked."""
FOUND = 10
"""Points that answer a question; of what the isolation leaves out fewer."""
_FOUND_ELSEWHERE = 5
_MOST_OTHERS = 20
"""Sessions that are looked into for what the isolation leaves out."""

Owned = tuple[str, str]
"""An agent and one of its sessions, by their ids."""


class SessionPoints(Struct, frozen=True, kw_only=True):
    """An answer of long-term memory."""

    store: str
    embedder: str
    total: int
    """Points of this session."""
    points: tuple[MemoryPoint, ...] = ()
    """The newest first, where nothing was asked."""
    recalled: tuple[RecalledMemory, ...] = ()
    """The nearest to the question first."""
    left_out: tuple[RecalledMemory, ...] = ()
    """What would be as near, and belongs to another agent or session."""
    others: tuple[tuple[Owned, int], ...] = ()
    """How many points other agents have under this id, and this agent in other sessions; those that have any."""


def session_points(
    configuration: MemoryConfiguration, agent: str, session: str, question: str = "", others: Sequence[Owned] = ()
) -> SessionPoints:
    """What is kept of a session, or with a `question` what its agent would recall. `others`: whose points the
    isolation may leave out. Stores are opened for the moment and not changed. Raises `HermesTuiError`: what is wrong
    with store or embedder, or `ValidationError` for an agent without long-term memory."""
    components = MemoryComponents(configuration, read_only=True)
    try:
        long_term = components.long_term(agent)
        if long_term is None:
            raise ValidationError(f"the agent {agent!r} has no long-term memory: memory.longterm is not configured")
        stats = long_term.stats(agent, session)
        asked = [one for one in dict.fromkeys(others) if one != (agent, session)][:_MOST_OTHERS]
        counts = tuple((one, count) for one in asked if (count := long_term.stats(*one).points))
        if not question.strip():
            points = tuple(long_term.newest(agent, session, LISTED))
            return SessionPoints(
                store=stats.store, embedder=stats.embedder, total=stats.points, points=points, others=counts
            )
        own, *foreign = long_term.recall_each(
            [(agent, session), *(one for one, _ in counts)], question, max(FOUND, _FOUND_ELSEWHERE)
        )
        apart = sorted((one for found in foreign for one in found), key=lambda one: one.score, reverse=True)
        return SessionPoints(
            store=stats.store,
            embedder=stats.embedder,
            total=stats.points,
            recalled=tuple(own[:FOUND]),
            left_out=tuple(apart[:_FOUND_ELSEWHERE]),
            others=counts,
        )
    finally:
        components.shutdown()
