"""Which sessions are the same one, and which came from which."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from session_adapters.model import SessionSummary

__all__ = ["as_forks", "first_of_line", "firsts_of_lines", "once"]


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
    return firsts_of_lines(parents, (session_id,))[session_id]


def firsts_of_lines(parents: Mapping[str, str], sessions: Iterable[str]) -> dict[str, str]:
    """The same of each session; a long line is climbed once for all that are on it."""
    firsts: dict[str, str] = {}
    for one in sessions:
        line: dict[str, int] = {}
        while one not in firsts and one not in line and one in parents:
            line[one] = len(line)
            one = parents[one]
        if one in line:  # stores are only files: a record may name a parent that descends from it
            circle = list(line)[line[one] :]
            firsts.update(zip(circle, (circle[-1], *circle), strict=False))
        first = firsts.setdefault(one, one)
        firsts.update({each: first for each in line if each not in firsts})
    return firsts


def as_forks(summaries: Collection[SessionSummary], parents: Mapping[str, str]) -> list[SessionSummary]:
    """The sessions, those that have a parent and are no helper's with it and with the first of their line."""
    firsts = firsts_of_lines(parents, parents)
    return [
        replace(
            one,
            kind="fork",
            forked_from=parent,
            parent_id=parent,
            lineage_id=first if (first := firsts[one.session_id]) != one.session_id else None,
        )
        if (parent := parents.get(one.session_id)) is not None and one.kind != "subagent"
        else one
        for one in summaries
    ]
