"""Which Claude Code sessions came from which: seen only when they are compared."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from session_adapters.model import SessionSummary
from session_adapters.reading.lineage import as_forks, first_of_line, once

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
            own = _by_reply(copies)
            first: str | None = None
            for copy in copies:
                # The latest session that it holds something of which is not itself copied.
                before: list[tuple[str, int, SessionSummary]] = []
                for reply in copy.raw.get("copiedReplies", ()):
                    same = own.get(reply, [])
                    at = bisect_left(same, _began(copy)[1], key=lambda one: one[0])
                    before += same[max(0, at - 1) : at]
                found: SessionSummary | None = max(before, key=lambda one: one[:2], default=(None,))[-1]
                if found is not None:
                    parents[copy.session_id] = found.session_id
                    first = None
                elif copy.session_id not in parents:
                    first = first or first_of_line(origin.session_id, parents)
                    if first != copy.session_id:
                        parents[copy.session_id] = origin.session_id
    return as_forks(kept.values(), parents)


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


_Own = dict[str, list[tuple[str, int, SessionSummary]]]
"""Sessions by their first own reply, in the order in which they began; of those that began together the first."""


def _by_reply(copies: Sequence[SessionSummary]) -> _Own:
    found: _Own = {}
    for began, number, one in sorted((_began(one)[1], number, one) for number, one in enumerate(copies)):
        reply = one.raw.get("ownReply")
        if isinstance(reply, str):
            same = found.setdefault(reply, [])
            if not same or same[-1][0] != began:
                same.append((began, -number, one))
    return found
