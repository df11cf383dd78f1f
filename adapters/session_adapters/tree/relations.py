"""How sessions of Pi and omp descend from each other, by their headers.

Format: pi/FACTS.md, Fork; omp/FACTS.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from msgspec.structs import replace

from session_adapters.model import SessionSummary

__all__ = ["relate_files"]


def relate_files(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Every session once, with parents as ids: `parentSession` is a path or, after `omp --fork`, an id; stores
    are moved, so that a path counts by its file name when nothing stands at it."""
    kept = _distinct(summaries)
    by_path = {summary.path: summary.session_id for summary in kept}
    by_name = {summary.path.rpartition("/")[2]: summary.session_id for summary in kept}
    ids = {summary.session_id for summary in kept}
    found = []
    for summary in kept:
        named = summary.raw.get("parentSession")
        parent = None
        if isinstance(named, str) and named:
            parent = by_path.get(named) or by_name.get(PurePath(named).name)
            if parent is None:
                parent = named if named in ids or "/" not in named else _id_in(named)
        if parent == summary.session_id:
            parent = None
        fork = parent if summary.kind == "fork" else None
        changed = (summary.parent_id, summary.forked_from) != (parent, fork)
        found.append(replace(summary, parent_id=parent, forked_from=fork) if changed else summary)
    return found


def _id_in(path: str) -> str:
    """The id in the name of a session file that is gone."""
    stem = PurePath(path.replace("\\", "/")).stem
    return stem.partition("_")[2] or stem


def _distinct(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Copies of a file are one session, the longest; two sessions that were given the same id (ids are unique per
    directory only, pi/FACTS.md) are told apart by their file names."""
    groups: dict[str, list[SessionSummary]] = {}
    for summary in summaries:
        groups.setdefault(summary.session_id, []).append(summary)
    found: list[SessionSummary] = []
    for group in groups.values():
        originals: dict[tuple[object, ...], SessionSummary] = {}
        for summary in sorted(group, key=lambda one: (-one.size, one.path)):
            originals.setdefault((summary.created_at, summary.cwd), summary)
        first, *others = sorted(originals.values(), key=lambda one: (one.created_at, one.path))
        found.append(first)
        found.extend(replace(other, session_id=PurePath(other.path).stem) for other in others)
    return found
