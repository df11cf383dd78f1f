"""Which sessions are the same one, and which came from which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from session_adapters.model import SessionSummary

__all__ = ["as_fork", "first_of_line", "once"]


def once(
    summaries: Iterable[SessionSummary], rank: Callable[[SessionSummary], Any] = lambda one: 0
) -> dict[str, SessionSummary]:
    """By id; of several copies of one session the one of the highest rank, of equals the first."""
    # Migrations, archives and backups leave copies behind, which must not be counted or charged twice.
    kept: dict[str, SessionSummary] = {}
    for one in summaries:
        known = kept.get(one.session_id)
        if known is None or rank(known) < rank(one):
            kept[one.session_id] = one
    return kept


def first_of_line(session_id: str, parents: Mapping[str, str]) -> str:
    """The first session of a line of forks, whether it is still there or not."""
    seen = {session_id}
    # Stores are only files: a record may name a parent that descends from it.
    while (parent := parents.get(session_id)) is not None and parent not in seen:
        seen.add(parent)
        session_id = parent
    return session_id


def as_fork(summary: SessionSummary, parents: Mapping[str, str]) -> SessionSummary:
    """The session with its parent and the first of its line, if it has a parent and is no helper's."""
    parent = parents.get(summary.session_id)
    if parent is None or summary.kind == "subagent":
        return summary
    first = first_of_line(summary.session_id, parents)
    return replace(
        summary,
        kind="fork",
        forked_from=parent,
        parent_id=parent,
        lineage_id=first if first != summary.session_id else None,
    )
