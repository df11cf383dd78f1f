"""How sessions of one store continue in one another.

Format: spec 000, "Session Lineage"; facts on Hermes, section 2.4.

Every walk ends: at a session that is missing, at one that was there before, and after a bounded number of steps.
"""

from __future__ import annotations

from hermes_tui.lifecycle.state_db.connection.rows import Row
from hermes_tui.lifecycle.state_db.connection.store import Store

__all__ = [
    "get_ancestors",
    "get_compression_tip",
    "get_descendants",
    "get_lineage",
    "resolve_resume_session_id",
]

# As many as Hermes follows.
_MAX_PARTS = 100
_MAX_DEPTH = 32

_CONFIG = "CASE WHEN json_valid(c.model_config) THEN c.model_config END"
_OF_THE_CONVERSATION = (
    f"json_extract({_CONFIG}, '$._branched_from') IS NULL AND json_extract({_CONFIG}, '$._delegate_from') IS NULL"
    " AND COALESCE(c.source, '') <> 'tool'"
)
"""A child that is neither a branch nor a helper."""


def get_ancestors(store: Store, session_id: str) -> list[str]:
    """The session and everything before it, the first one first."""
    return _up(store, session_id)[::-1]


def _up(store: Store, session_id: str) -> list[str]:
    found = [session_id]
    while len(found) < _MAX_PARTS:
        parent = store.value("SELECT parent_session_id FROM sessions WHERE id = ?", (found[-1],))
        if not parent or parent in found:
            break
        found.append(parent)
    return found


def get_lineage(store: Store, session_id: str) -> list[Row]:
    """The session and all it descends from, as far as they are there: id, title, started_at, parent_session_id;
    the session itself first."""
    title = store.schema.expression("sessions", "title")
    rows = [
        store.row(
            f"SELECT id, {title} AS title, started_at, parent_session_id"  # noqa: S608 - names of our own
            " FROM sessions WHERE id = ?",
            (id_,),
        )
        for id_ in _up(store, session_id)
    ]
    return [row for row in rows if row is not None]


def get_descendants(store: Store, session_id: str) -> list[Row]:
    """The session and all that descends from it, the earliest first: id, title, started_at."""
    title = store.schema.expression("sessions", "title", "s.")
    return store.rows(
        "WITH RECURSIVE below(id) AS (SELECT ?1 UNION"  # noqa: S608 - names of our own
        " SELECT s.id FROM sessions s JOIN below b ON s.parent_session_id = b.id)"
        f" SELECT s.id, {title} AS title, s.started_at FROM sessions s JOIN below b ON s.id = b.id"
        " ORDER BY s.started_at, s.id",
        (session_id,),
    )


def get_compression_tip(store: Store, session_id: str) -> str:
    """The session in which a compressed conversation goes on now; the same when it was not compressed.

    Of several continuations the one that was compressed again, else one that is not ended, else any; then the
    one spoken in last.
    """
    walked = [session_id]
    while len(walked) <= _MAX_PARTS:
        # A child may have begun before its parent ended: Hermes may insert it first.
        child = store.value(
            "SELECT c.id FROM sessions p JOIN sessions c ON c.parent_session_id = p.id"  # noqa: S608
            f" WHERE p.id = ? AND p.end_reason = 'compression' AND {_OF_THE_CONVERSATION}"
            " ORDER BY CASE WHEN c.end_reason = 'compression' THEN 0 WHEN c.ended_at IS NULL THEN 1 ELSE 2 END,"
            " COALESCE((SELECT max(m.timestamp) FROM messages m WHERE m.session_id = c.id), c.started_at) DESC,"
            " c.started_at DESC, c.id DESC LIMIT 1",
            (walked[-1],),
        )
        if not child or child in walked:
            break
        walked.append(child)
    return walked[-1]


def resolve_resume_session_id(store: Store, session_id: str) -> str:
    """The session to resume in the place of this one: the deepest with messages along its latest children,
    after the tip of its compression."""
    walked = [get_compression_tip(store, session_id)]
    best = ""
    while len(walked) <= _MAX_DEPTH:
        if store.row("SELECT 1 FROM messages WHERE session_id = ? LIMIT 1", (walked[-1],)) is not None:
            best = walked[-1]
        child = store.value(
            f"SELECT c.id FROM sessions c WHERE c.parent_session_id = ? AND {_OF_THE_CONVERSATION}"  # noqa: S608
            " ORDER BY c.started_at DESC, c.id DESC LIMIT 1",
            (walked[-1],),
        )
        if not child or child in walked:
            break
        walked.append(child)
    return best or walked[0]
