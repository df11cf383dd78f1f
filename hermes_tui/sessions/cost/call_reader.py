"""Reads what the model calls in sources used, also in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from math import inf

import msgspec
from msgspec.structs import replace

from hermes_tui.config import Price
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.helper_call import HelperCall
from hermes_tui.sessions.adapters import AdapterBroken, Adapters
from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.catalogue.snapshot import newest_first
from hermes_tui.sessions.catalogue.source_listing import MANY
from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.rates import Rate
from session_adapters.base import Adapter, Environment
from session_adapters.model import Problem
from session_adapters.reading.bounds import Stint, is_cut
from session_adapters.usage import CallPack, Usage, in_packs, unpacked

__all__ = ["TOGETHER", "CallsAnswer", "CallsQuestion", "ask_helper", "read_calls"]

TOGETHER = 10_000
"""Sources that one process is asked for: with 50,000 small ones it had 313 MB, with these 96."""

_PATIENCE = 600.0
"""Seconds after which a process is given up."""


class CallsQuestion(msgspec.Struct, frozen=True):
    """What is to be read."""

    environment: Environment
    entries: Sequence[CachedSource]
    prices: Mapping[str, Price]


class CallsAnswer(msgspec.Struct, frozen=True):
    """What was read, in the order of the question, each without its sessions."""

    entries: Sequence[CachedSource]
    tariffs: Mapping[str, tuple[Rate, ...] | None]
    """What was found out about the prices of the models that were called (`Prices.found`)."""


def read_calls(
    entries: Sequence[CachedSource],
    adapters: Adapters,
    seconds: float | None = None,
    is_due: Callable[[CachedSource], bool] = lambda entry: True,
) -> list[CachedSource]:
    """The same with the calls of all their sessions; of those that did not change, or are not `is_due`, nothing is
    read. Of more than `MANY` that were not read the newest come first, where `seconds` of the processor are given:
    when those are over the others come back as they are. A sum that lacks something is worth waiting for where
    nobody waits long."""
    adapter = cache(adapters.get)  # which looks at the whole environment each time
    found = list(entries)
    todo = [number for number, entry in enumerate(found) if not entry.is_counted and is_due(entry)]
    stint = Stint(inf)
    if seconds is not None and len(todo) > MANY:
        todo.sort(key=lambda number: -found[number].source.modified)
        stint = Stint(seconds)
    for number in todo:
        found[number] = _counted(found[number], adapter)
        if stint.over:
            break
    return found


def ask_helper(question: CallsQuestion) -> CallsAnswer | None:
    """What another process reads, of very many sources one after the other; waits. None when it could not be done
    that way."""
    entries: list[CachedSource] = []
    tariffs: dict[str, tuple[Rate, ...] | None] = {}
    for first in range(0, max(len(question.entries), 1), TOGETHER):
        part = replace(question, entries=question.entries[first : first + TOGETHER])
        try:
            answer = HelperCall(_answer, part).result(_PATIENCE)
        except (OSError, HermesTuiError):  # whoever asks reads it itself
            return None
        entries += answer.entries
        tariffs.update(answer.tariffs)
    return CallsAnswer(entries, tariffs)


def _counted(entry: CachedSource, adapter: Callable[[str], Adapter]) -> CachedSource:
    """With the calls of all its sessions; trouble of any kind is one of its problems."""
    kept: Sequence[CallPack] = ()
    ids: Collection[str] | None = None
    if entry.calls is not None and not entry.call_problems:
        old = set(entry.uncounted)
        kept = [one for one in entry.calls if one.session_id not in old]
        ids = old.intersection(one.session_id for one in entry.summaries)
    problems: list[Problem] = []
    try:
        return entry.with_calls(chain(kept, in_packs(_ask(adapter, entry, ids, problems.append))), problems)
    except AdapterBroken as error:
        reason = str(error)
    except Exception as error:
        reason = f"the adapter failed while reading what it cost ({type(error).__name__}: {error})"
    problems.append(Problem(agent=entry.source.agent, path=entry.source.path, reason=reason))
    return entry.with_calls(kept, problems)


def _ask(
    adapter: Callable[[str], Adapter],
    entry: CachedSource,
    ids: Collection[str] | None,
    report: Callable[[Problem], None],
) -> Iterator[Usage]:
    """What the adapter finds in a source, of all sessions if `ids` is None."""
    if entry.summaries and (ids is None or ids):
        reader = adapter(entry.source.agent)
        if not is_cut(entry.problems) or reader.sums_at_once:
            yield from reader.usage(entry.source, report, ids)
            return
        # Of a source with more sessions than can be listed the newest come first, as far as the time goes.
        wanted = [
            one.session_id
            for one in sorted(entry.summaries, key=newest_first)
            if ids is None or one.session_id in ids
        ]
        stint = Stint()
        for number, session_id in enumerate(wanted):
            if stint.over:
                done = f"{number:,} of the {len(wanted):,} in the list are, no more"
                reason = f"there are too many sessions to add up: {done}"
                report(Problem(agent=reader.name, path=entry.source.path, reason=reason))
                break
            yield from reader.usage(entry.source, report, (session_id,))


def _answer(question: CallsQuestion) -> CallsAnswer:
    os.nice(10)
    entries = read_calls(question.entries, Adapters(lambda: question.environment))
    prices = Prices(question.prices)
    for model, provider in {(call.model, call.provider) for entry in entries for call in unpacked(entry.calls)}:
        prices.of(model, provider)
    return CallsAnswer([replace(entry, summaries=(), problems=()) for entry in entries], prices.found)
