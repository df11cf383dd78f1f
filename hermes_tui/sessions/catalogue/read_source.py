"""Reads what one source lists, whatever its adapter does wrong."""

from __future__ import annotations

import time

from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.growing_sessions import WarmCounters
from session_adapters.base import Adapter, Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.lines import PATIENCE, is_unfinished
from session_adapters.usage import Packed, packed

__all__ = ["failure", "is_left", "is_torn", "read_source"]


def read_source(adapter: Adapter, source: Source, warm: WarmCounters, *, exact: bool = False) -> CachedSource:
    """The summaries in `source`, exact too where only what is new has to be read for that; whatever an adapter does
    wrong becomes a problem in the entry."""
    problems: list[Problem] = []
    failed = False
    summaries: list[SessionSummary] = []
    calls: Packed | None = None
    counter = warm.take(source)
    exact = exact or counter is not None
    try:
        if exact and counter is None:
            counter = adapter.counter(source)
        whole = counter(source, problems.append) if counter is not None else None
        calls = None if whole is None or whole[1] is None else packed(whole[1])
        for summary in whole[0] if whole is not None else adapter.summaries(source, problems.append, exact=exact):
            if summary.agent == adapter.name:
                summaries.append(summary)
            else:
                reason = f"the adapter gave a session of another agent ({summary.agent})"
                problems.append(Problem(agent=adapter.name, path=source.path, reason=reason))
        if counter is None and summaries and not any(one.partial for one in summaries):
            counter = adapter.counter(source)  # it was read in full: the next time only what is new is
    except Exception as error:
        failed = True
        problems.append(failure(adapter.name, source.path, "reading it", error))
    if counter is not None and not failed:
        warm.keep(source, counter)
    entry = CachedSource(
        source=source,
        summaries=tuple(summaries),
        problems=tuple(problems),
        exact=exact,
        waits=source.path.endswith(".jsonl") and not is_left(source),
    )
    return entry if calls is None else entry.with_calls(calls)


def is_torn(source: Source) -> bool:
    """Whether half a line stands at its end."""
    try:
        return is_unfinished(source.path)
    except OSError:
        return False  # when it is written to again its reader says so


def is_left(source: Source) -> bool:
    """Whether nobody has written to it for a while."""
    return time.time() - source.modified > PATIENCE


def failure(agent: str, path: str, doing: str, error: Exception) -> Problem:
    """What is said of an adapter that raised what it may not."""
    return Problem(
        agent=agent, path=path, reason=f"the adapter failed while {doing} ({type(error).__name__}: {error})"
    )
