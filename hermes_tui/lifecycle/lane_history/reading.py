"""Reads the sessions that a lane was in, with what their rows and messages tell.

Format: facts on Hermes, sections 2.2 and 2.3; columns that are missing in an older schema tell nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow, StoredLanes
from session_adapters.times import from_epoch

__all__ = ["LONG", "LaneRows", "SessionFigures", "read_lane_rows"]

LONG = 300.0
"""Seconds without anything after a message, from which on it counts as one that had to wait; as `stuck` elsewhere."""
_MOST_WAITED = 100
"""Of a session, that are told one by one."""
_COSTS = ("actual_cost_usd", "estimated_cost_usd")

_SAID = """
SELECT session_id, COUNT(*), MAX(timestamp) FROM messages
WHERE session_id IN (SELECT value FROM json_each(?)) GROUP BY session_id
"""
# By their ids: clocks go backwards.
_WAITED = """
SELECT session_id, timestamp, following FROM (
    SELECT session_id, id, role, timestamp, LEAD(role) OVER one AS next_role, LEAD(timestamp) OVER one AS following
    FROM messages WHERE session_id IN (SELECT value FROM json_each(?))
    WINDOW one AS (PARTITION BY session_id ORDER BY id))
WHERE role = 'user' AND (next_role IS NULL AND timestamp < ?2 OR next_role <> 'user' AND following - timestamp > ?3)
ORDER BY id
"""


class SessionFigures(NamedTuple):
    """What is counted of a session."""

    messages: int = 0
    """All that are in the store, as the lane's own count has them."""
    last: float | None = None
    """The newest of them; seconds since the epoch."""
    cost: float | None = None
    """US dollars, by Hermes' own account."""
    estimated: bool = False
    waited: Sequence[tuple[float, float | None]] = ()
    """When a message came, and when anything followed."""


class LaneRows(NamedTuple):
    """What one look at the database gives."""

    rows: Sequence[LaneSessionRow]
    """Newest begun first."""
    figures: Mapping[str, SessionFigures]
    continued: Mapping[str, Sequence[str]]
    """Session that was compressed → those in which it goes on."""


def read_lane_rows(connection: apsw.Connection, key: str, named: Iterable[str], now: float) -> LaneRows:
    """The sessions recorded as the lane's, those `named` besides, and what they go on in. `now`: seconds since the
    epoch. Raises what the connection raises."""
    stored = StoredLanes.of(connection)
    found = {row.id: row for row in stored.of_lane(key)}
    found |= stored.sessions(one for one in named if one and one not in found)
    continued = {row.id: stored.continuations(row.id) for row in found.values() if row.end_reason == "compression"}
    found |= stored.sessions(one for chain in continued.values() for one in chain if one not in found)
    rows = sorted(found.values(), key=lambda row: (row.started_at or 0.0, row.id), reverse=True)
    wanted = json.dumps([row.id for row in rows])
    figures = {row.id: SessionFigures() for row in rows}
    have = [name for name in _COSTS if name in stored.columns]
    if have:
        query = f"SELECT id, {', '.join(have)} FROM sessions WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608 - ours
        for name, *costs in connection.execute(query, (wanted,)):
            # The first that is known: what was billed goes before the estimate.
            told = ((cost, column) for column, cost in zip(have, costs, strict=True) if isinstance(cost, int | float))
            cost, column = next(told, (None, ""))
            figures[name] = SessionFigures(cost=cost, estimated=column == "estimated_cost_usd")
    if {"session_id", "role", "timestamp", "id"} <= stored.columns_of("messages"):
        for name, number, last in connection.execute(_SAID, (wanted,)):
            figures[name] = figures[name]._replace(messages=number, last=last if _is_time(last) else None)
        waits: dict[str, list[tuple[float, float | None]]] = {}
        for name, at, following in connection.execute(_WAITED, (wanted, now - LONG, LONG)):
            if _is_time(at) and len(of_one := waits.setdefault(name, [])) < _MOST_WAITED:
                of_one.append((at, following if _is_time(following) else None))
        figures = {name: one._replace(waited=waits.get(name, ())) for name, one in figures.items()}
    return LaneRows(rows, figures, continued)


def _is_time(value: Any) -> bool:
    """SQLite keeps any type in any column."""
    return isinstance(value, int | float) and from_epoch(value) is not None
