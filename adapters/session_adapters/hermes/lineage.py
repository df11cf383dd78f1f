"""How Hermes' sessions come from one another (facts: hermes.md 2.4).

`parent_session_id` means four things. In this order:

* a tag `_delegate_from` in `model_config`, or the source `subagent`, or the source `tool` with a parent: a helper;
* a tag `_branched_from`, or a parent that ended as `branched` before the child began: a fork;
* a parent that ended by `compression`: the next part of the same conversation, also when the child was inserted
  first, and also for one of several children, of which only one is the tip;
* anything else (0.20 and later point a `/new` at the session before it): a session of its own, with its parent
  named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from session_adapters.hermes.records import HermesKin, HermesSessionRow
from session_adapters.model import SessionKind

__all__ = ["HermesRelation", "Relations"]

_ORPHANED = "__orphaned__"
"""Hermes' value for the parent of a helper whose parent was deleted."""


_Row = HermesSessionRow | HermesKin


class HermesRelation(NamedTuple):
    """How one session came to be."""

    kind: SessionKind
    parent_id: str | None
    forked_from: str | None = None


class Relations:
    """The relations between the sessions of one database. Cycles and missing parents end every walk."""

    def __init__(
        self, rows: Mapping[str, HermesSessionRow] | Mapping[str, HermesKin], last: Mapping[str, float]
    ) -> None:
        """`last` is the time of each session's newest message."""
        self._rows = rows
        self._last = last
        self._relations = {row.id: self._relation(row) for row in rows.values()}
        self._parts: dict[str, list[_Row]] = {}
        """compression-ended session → its continuations"""
        self._roots: dict[str, str | None] = {}
        self._tips: dict[str, str] = {}
        """Both of the walks so far: each session of a long chain is walked over once, not once per session."""
        for row in rows.values():
            relation = self._relations[row.id]
            if relation.kind == "continuation" and relation.parent_id:
                self._parts.setdefault(relation.parent_id, []).append(row)

    def __getitem__(self, session_id: str) -> HermesRelation:
        return self._relations[session_id]

    def _relation(self, row: _Row) -> HermesRelation:
        parent_id = row.parent_session_id or None
        delegate, branched = _tags(row.model_config)
        if delegate is not None or row.source == "subagent" or (row.source == "tool" and parent_id):
            origin = delegate if delegate and delegate != _ORPHANED else None
            return HermesRelation("subagent", parent_id or origin)
        if branched:
            return HermesRelation("fork", parent_id or branched, branched)
        parent = self._rows.get(parent_id) if parent_id else None
        if parent is not None and parent.id != row.id:
            if parent.end_reason == "branched" and (parent.ended_at or 0) <= (row.started_at or 0):
                return HermesRelation("fork", parent_id, parent_id)
            if parent.end_reason == "compression":
                return HermesRelation("continuation", parent_id)
        return HermesRelation("session", parent_id)

    def root(self, session_id: str) -> str | None:
        """The first session of the same conversation; None when it is this one, or lost in a cycle."""
        climbed: list[str] = []
        at = session_id
        while at not in self._roots:
            self._roots[at] = None  # what a cycle comes back to
            climbed.append(at)
            relation = self._relations.get(at)
            if relation is None or relation.kind != "continuation" or not relation.parent_id:
                self._roots[at] = at
                break
            at = relation.parent_id
        root = self._roots[at]
        self._roots.update(dict.fromkeys(climbed, root))
        return root if root != session_id else None

    def tip(self, session_id: str) -> str:
        """The last session of the same conversation, as Hermes itself picks it: of several continuations the one
        that was compressed again, else one that is not ended, else any; then the one spoken in last."""
        walked = [session_id]
        seen = {session_id}
        cycle = False
        while walked[-1] not in self._tips:
            parts = self._parts.get(walked[-1], ())
            ahead = [row for row in parts if row.id not in seen]
            cycle = cycle or len(ahead) < len(parts)
            if not ahead:
                break
            walked.append(max(ahead, key=self._rank).id)
            seen.add(walked[-1])
        tip = self._tips.get(walked[-1], walked[-1])
        if not cycle:  # in a cycle the tip depends on where one begins
            self._tips.update(dict.fromkeys(walked, tip))
        return tip

    def _rank(self, row: _Row) -> tuple[int, float, float, str]:
        state = 2 if row.end_reason == "compression" else 1 if row.ended_at is None else 0
        started = row.started_at or 0.0
        return (state, self._last.get(row.id, started), started, row.id)


def _tags(config: str | None) -> tuple[str | None, str | None]:
    """`_delegate_from` and `_branched_from` out of a session's `model_config`."""
    if not config or "_from" not in config:
        return None, None
    try:
        value = json.loads(config)
    except (ValueError, RecursionError):  # damaged: the row's own column still names the parent
        return None, None
    if not isinstance(value, dict):
        return None, None
    found = (value.get("_delegate_from"), value.get("_branched_from"))
    return (found[0] if isinstance(found[0], str) else None, found[1] if isinstance(found[1], str) else None)
