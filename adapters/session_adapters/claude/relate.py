"""Which Claude Code sessions came from which: seen only when they are compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from session_adapters.model import SessionSummary
from session_adapters.reading.lineage import as_fork, first_of_line, once

__all__ = ["relate"]


def relate(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Forks, parents and lineages filled in; the same session in two places once.

    `/branch` names the parent on every copied record. `claude -p --fork-session` does not, but copies the records
    with their uuids; a `--resume` of 1.0.x gives them new uuids and keeps the ids of the model's replies. Of the
    sessions that begin alike the earliest is the origin. The parent of another is the one with which it shares most:
    the latest of those whose first own reply it copied, else the one that it names, else the origin.
    """
    # Of several copies of one session the largest file counts, as for `ClaudeAdapter.find`.
    kept = once(summaries, lambda one: (one.size, one.path))
    parents = {s.session_id: s.forked_from for s in kept.values() if s.forked_from and s.kind != "subagent"}
    for key in ("firstUuid", "firstMessageId"):
        for alike in _alike(kept.values(), key):
            origin, *copies = sorted(alike, key=_began)
            for copy in copies:
                found = _nearest(copy, copies)
                if found is not None:
                    parents[copy.session_id] = found.session_id
                elif first_of_line(origin.session_id, parents) != copy.session_id:
                    parents.setdefault(copy.session_id, origin.session_id)
    return [as_fork(one, parents) for one in kept.values()]


def _alike(summaries: Iterable[SessionSummary], key: str) -> Iterable[list[SessionSummary]]:
    first: dict[str, SessionSummary] = {}
    groups: dict[str, list[SessionSummary]] = {}
    for summary in summaries:
        value = summary.raw.get(key)
        if summary.kind != "subagent" and isinstance(value, str):
            other = first.setdefault(value, summary)
            if other is not summary:  # of thousands hardly any
                groups.setdefault(value, [other]).append(summary)
    return [groups[value] for value in first if value in groups] if groups else ()


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
