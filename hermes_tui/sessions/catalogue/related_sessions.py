"""One agent's sessions as its adapter compared them, and those that are gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.read_source import failure
from session_adapters.base import GROWS, Adapter, Liveness
from session_adapters.model import Problem, SessionSummary

__all__ = ["GONE_KEPT", "RelatedSessions"]

GONE_KEPT = 100
"""Sessions of an agent that are gone and still listed, the last ones: over weeks thousands come and go."""
_STAYS = tuple(set(SessionSummary.__struct_fields__) - GROWS)
"""What a session that grows keeps, or its relations may be others."""


class RelatedSessions:
    """Not thread-safe: the catalogue holds its lock around every call."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self.present: tuple[SessionSummary, ...] = ()
        """Those there are, each once."""
        self.problems: tuple[Problem, ...] = ()
        """Why they could not be compared."""
        self._gone: Mapping[str, SessionSummary] = {}
        self._grows_alone = False
        """See `Adapter.grows_alone`; of the adapter that compared them last."""
        self._copied: frozenset[str] = frozenset()
        """Native ids that several sources have."""
        self._shown: tuple[Mapping[str, Liveness], tuple[SessionSummary, ...]] | None = None

    def relate(self, adapter: Adapter, entries: Iterable[CachedSource], left_out: Collection[str] | None) -> None:
        """Let the adapter compare all sessions. Those that are missing now are listed as gone, but for those
        `left_out`; none where that is None."""
        from session_adapters.reading.lineage import once  # not in the first frame

        # Copies too: the adapter knows which of them is the session; of what it leaves, the longest is.
        read_now = [summary for entry in entries for summary in entry.summaries]
        before, self._shown, self.problems, self._grows_alone = self.present, None, (), adapter.grows_alone
        try:
            self.present = tuple(once(adapter.relate(read_now), _length).values())
        except Exception as error:
            self.present = tuple(once(read_now, _length).values())
            self.problems = (failure(self._agent, "", "comparing its sessions", error),)
        ids = {summary.session_id for summary in read_now}
        self._copied = frozenset()
        if len(ids) < len(read_now):
            count = Counter(summary.session_id for summary in read_now)
            self._copied = frozenset(one for one in ids if count[one] > 1)
        ids.update(left_out or ())
        gone = {key: summary for key, summary in self._gone.items() if key not in ids}
        if left_out is not None:
            for summary in before:
                if summary.session_id not in ids:
                    gone[summary.session_id] = replace(summary, gone=True, live=False, status=None)
        self._gone = dict(islice(gone.items(), max(0, len(gone) - GONE_KEPT), None))

    def grow(self, changed: Sequence[tuple[CachedSource, CachedSource]]) -> bool:
        """Put what is in sources now in the place of what was, each with the relations that it has. False, and
        nothing is different, where these may be others now, or sessions are new or gone."""
        if self.problems or not self._grows_alone:
            return False
        grown: dict[str, tuple[SessionSummary, SessionSummary]] = {}
        for before, now in changed:
            if len(before.summaries) != len(now.summaries):
                return False
            for old, new in zip(before.summaries, now.summaries, strict=True):
                if old is new or old == new:
                    continue
                if new.session_id in self._copied or any(getattr(old, one) != getattr(new, one) for one in _STAYS):
                    return False
                grown[new.session_id] = (old, new)
        places = [(at, one) for at, one in enumerate(self.present) if one.session_id in grown]
        if len(places) != len(grown):
            return False
        present = list(self.present)
        for at, related in places:
            old, new = grown[related.session_id]
            told = {name: getattr(related, name) for name in _STAYS if getattr(related, name) != getattr(old, name)}
            if any(getattr(related, name) != getattr(old, name) for name in GROWS):
                return False
            present[at] = replace(new, **told) if told else new
        if self._shown is not None:
            live, before_shown = self._shown
            shown = list(before_shown)
            for at, _ in places:
                shown[at] = _with_process(present[at], live)
            self._shown = live, tuple(shown)
        self.present = tuple(present)
        return True

    def clear(self) -> None:
        """List none."""
        self.present, self._shown = (), None

    def shown(self, live: Mapping[str, Liveness]) -> tuple[SessionSummary, ...]:
        """Those there are, with their processes (by native id), then those that are gone."""
        if self._shown is None or self._shown[0] != live:
            there = [_with_process(summary, live) for summary in self.present]
            self._shown = live, (*there, *self._gone.values())
        return self._shown[1]


def _with_process(summary: SessionSummary, live: Mapping[str, Liveness]) -> SessionSummary:
    now = live.get(summary.session_id)
    status = now.status if now else None
    if summary.live == (now is not None) and summary.status == status:
        return summary
    return replace(summary, live=now is not None, status=status)


def _length(summary: SessionSummary) -> tuple[float, int, int]:
    """Each session is there once (checklist L-11): of copies the one that goes on longest."""
    return (summary.updated_at.timestamp(), summary.message_count, summary.size)
