"""Which Copilot sessions are forks of which (FACTS.md, «Forks»)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from session_adapters.copilot.store import rank
from session_adapters.model import SessionSummary

__all__ = ["relate"]


def relate(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Each session once, forks with their parent and the first of their line.

    A fork copies its parent's events with their ids, and only a notice in the middle names the parent: where that was
    not read, the earliest of those that begin with the same event stands for it.
    """
    kept = _once(summaries)
    alike: dict[object, list[SessionSummary]] = defaultdict(list)
    for one in kept.values():
        if one.kind != "subagent" and one.raw.get("firstEvent"):
            alike[one.raw["firstEvent"]].append(one)
    parents: dict[str, str] = {}
    for one in kept.values():
        if one.forked_from and one.forked_from != one.session_id:
            parents[one.session_id] = one.forked_from
    for family in alike.values():
        origin, *copies = sorted(family, key=lambda one: (one.kind == "fork", one.created_at, one.session_id))
        for copy in copies:
            if copy.session_id not in parents and _root(origin.session_id, parents) != copy.session_id:
                parents[copy.session_id] = origin.session_id
    return [_related(one, parents) for one in kept.values()]


def _related(summary: SessionSummary, parents: Mapping[str, str]) -> SessionSummary:
    parent = parents.get(summary.session_id)
    if parent is None or summary.kind == "subagent":
        return summary
    root = _root(summary.session_id, parents)
    return replace(
        summary,
        kind="fork",
        forked_from=parent,
        parent_id=parent,
        lineage_id=root if root != summary.session_id else None,
    )


def _once(summaries: Iterable[SessionSummary]) -> dict[str, SessionSummary]:
    kept: dict[str, SessionSummary] = {}
    for summary in summaries:
        other = kept.get(summary.session_id)
        if other is None or _rank(other) < _rank(summary):
            kept[summary.session_id] = summary
    return kept


def _rank(summary: SessionSummary) -> tuple[int, int, str]:
    return rank(str(summary.raw["layout"]), summary.size, summary.path)


def _root(session_id: str, parents: Mapping[str, str]) -> str:
    """The first session of the line, whether it is still there or not. Notices may claim a circle."""
    seen = {session_id}
    while (parent := parents.get(session_id)) is not None and parent not in seen:
        seen.add(parent)
        session_id = parent
    return session_id
