"""Which Copilot sessions are forks of which (FACTS.md, «Forks»)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from session_adapters.copilot.store import rank
from session_adapters.model import SessionSummary
from session_adapters.reading.lineage import as_fork, first_of_line, once

__all__ = ["relate"]


def relate(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Each session once, forks with their parent and the first of their line.

    A fork copies its parent's events with their ids, and only a notice in the middle names the parent: where that was
    not read, the earliest of those that begin with the same event stands for it.
    """
    kept = once(summaries, lambda one: rank(str(one.raw["layout"]), one.size, one.path))
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
            if copy.session_id not in parents and first_of_line(origin.session_id, parents) != copy.session_id:
                parents[copy.session_id] = origin.session_id
    return [as_fork(one, parents) for one in kept.values()]
