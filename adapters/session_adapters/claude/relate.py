"""Which Claude Code sessions came from which: seen only when they are compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from session_adapters.model import SessionSummary

__all__ = ["relate"]


def relate(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Forks, parents and lineages filled in; the same session in two places once.

    `/branch` names the parent on every copied record. `claude -p --fork-session` does not, but copies the records
    with their uuids; a `--resume` of 1.0.x gives them new uuids and keeps the ids of the model's replies. Of the
    sessions that begin alike the earliest is the origin. The parent of another is the one with which it shares most:
    the latest of those whose first own reply it copied, else the one that it names, else the origin.
    """
    kept = _once(summaries)
    parents = {s.session_id: s.forked_from for s in kept.values() if s.forked_from and s.kind != "subagent"}
    for key in ("firstUuid", "firstMessageId"):
        for alike in _alike(kept.values(), key):
            origin, *copies = sorted(alike, key=_began)
            for copy in copies:
                found = _nearest(copy, copies)
                if found is not None:
                    parents[copy.session_id] = found.session_id
                else:
                    parents.setdefault(copy.session_id, _parent(origin.session_id, parents, copy.session_id))
    related = []
    for summary in kept.values():
        parent = parents.get(summary.session_id)
        if parent and summary.kind != "subagent":
            root = _root(summary.session_id, parents)
            summary = replace(
                summary,
                kind="fork",
                forked_from=parent,
                parent_id=parent,
                lineage_id=root if root != summary.session_id else None,
            )
        related.append(summary)
    return related


def _once(summaries: Iterable[SessionSummary]) -> dict[str, SessionSummary]:
    """By id; of several copies of one session the largest file, as `ClaudeAdapter.find` takes it."""
    kept: dict[str, SessionSummary] = {}
    for summary in summaries:
        known = kept.get(summary.session_id)
        if known is None or (known.size, known.path) < (summary.size, summary.path):
            kept[summary.session_id] = summary
    return kept


def _alike(summaries: Iterable[SessionSummary], key: str) -> Iterable[list[SessionSummary]]:
    groups: dict[str, list[SessionSummary]] = defaultdict(list)
    for summary in summaries:
        value = summary.raw.get(key)
        if summary.kind != "subagent" and isinstance(value, str):
            groups[value].append(summary)
    return [group for group in groups.values() if len(group) > 1]


def _began(summary: SessionSummary) -> tuple[bool, str, str]:
    """When the session itself began, not the records it holds. One that names its parent is never the origin."""
    queued = summary.raw.get("queuedAt")
    began = queued if isinstance(queued, str) else summary.created_at.isoformat()
    return summary.forked_from is not None, began.replace("Z", "+00:00"), summary.session_id


def _nearest(copy: SessionSummary, others: Iterable[SessionSummary]) -> SessionSummary | None:
    """The latest of `others` that `copy` holds something of which is not itself copied."""
    held = copy.raw.get("copiedReplies", ())
    found = [one for one in others if one.raw.get("ownReply") in held and _began(one)[1] < _began(copy)[1]]
    return max(found, key=lambda one: _began(one)[1], default=None)


def _parent(origin: str, parents: dict[str, str], child: str) -> str:
    return origin if _root(origin, parents) != child else child


def _root(session_id: str, parents: dict[str, str]) -> str:
    """The first session of the lineage, whether it is still there or not. Records may claim a circle."""
    seen = {session_id}
    while (parent := parents.get(session_id)) is not None and parent not in seen:
        seen.add(parent)
        session_id = parent
    return session_id
