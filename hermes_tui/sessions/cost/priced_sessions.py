"""Sessions with what they cost; what is as it was stays the same object."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import Lock

from msgspec.structs import replace

from hermes_tui.changes import alike_ends
from session_adapters.model import Cost, SessionSummary

__all__ = ["PricedSessions", "priced"]

Costs = Mapping[str, Cost | None]
"""What the calls of sessions come to, by unified id."""


def priced(sessions: Iterable[SessionSummary], own: Costs) -> list[SessionSummary]:
    """The sessions, each with its cost."""
    return [_priced(one, own) for one in sessions]


class PricedSessions:
    """Of tens of thousands those are gone through that changed. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sessions: tuple[SessionSummary, ...] = ()
        self._own: Costs = {}
        self._shown: tuple[SessionSummary, ...] = ()

    def take(self, sessions: tuple[SessionSummary, ...], own: Costs) -> tuple[SessionSummary, ...]:
        """The sessions, each with its cost."""
        with self._lock:
            return self._take(sessions, own)

    def _take(self, sessions: tuple[SessionSummary, ...], own: Costs) -> tuple[SessionSummary, ...]:
        names = _changed(self._own, own)
        start, end = alike_ends(self._sessions, sessions) if names is not None else (0, 0)
        there = slice(start, len(self._sessions) - end)
        known = dict(zip(map(id, self._sessions[there]), self._shown[there], strict=True))
        new = [_priced(one, own, known.get(id(one))) for one in sessions[start : len(sessions) - end]]
        shown = [*self._shown[:start], *new, *self._shown[there.stop :]]
        if names:
            for at, one in enumerate(sessions):
                if one.unified_id in names:
                    shown[at] = _priced(one, own, shown[at])
        self._sessions, self._own, self._shown = sessions, own, tuple(shown)
        return self._shown


def _priced(one: SessionSummary, own: Costs, before: SessionSummary | None = None) -> SessionSummary:
    """With its cost; `before` is the same session with the cost that it had."""
    cost = one.cost
    # What a list counted itself counts, unless it read the ends of a file alone.
    if (cost is None or one.partial) and (added_up := own.get(one.unified_id)) is not None:
        cost = added_up
    if cost == one.cost:
        return one
    return before if before is not None and before.cost == cost else replace(one, cost=cost)


def _changed(before: Costs, now: Costs) -> Collection[str] | None:
    """The sessions that cost something else; None where others were added up."""
    if before is now:
        return ()
    names: Sequence[str] = list(now)
    if names != list(before):
        return None
    return {name for name, one, other in zip(names, before.values(), now.values(), strict=True) if one is not other}
