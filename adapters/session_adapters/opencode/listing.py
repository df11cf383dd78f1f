"""Summaries of the sessions in an OpenCode database or tree.

In full where that is little, else from what is cheap to have, without the parts, which hold nearly all of the text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import Any

import apsw
from msgspec.structs import replace

from session_adapters.growing.sessions import Recounted
from session_adapters.model import SessionSummary
from session_adapters.opencode.recount import CountedSession, Recount, RecountedSession, batches
from session_adapters.opencode.schema import OpenCodeSchema, sessions_of
from session_adapters.opencode.summary import OpenCodeFold
from session_adapters.opencode.tables import OpenCodeRows
from session_adapters.opencode.trees import TreeReader
from session_adapters.opencode.units import Lost, OpenCodeFacts, OpenCodeUnit, OpenCodeUnits, marked
from session_adapters.reading.bounds import TOO_MANY, Stint
from session_adapters.reading.sqlite import DatabaseUnreadable, read_database
from session_adapters.reading.sqlite_limits import Ration

__all__ = ["Note", "database_facts", "database_summaries", "tree_summary"]

FULL_SIZE = 4 << 20
"""Bytes. A smaller database is read in full at once."""
ROW_LIMIT = 64 << 10
"""Bytes of a row that are read for a quick look."""
FULL_SECONDS = 60.0
"""After so long the rest of a database stays at its quick look."""
FIRST_FILES, LAST_FILES = 2, 6
"""Message files of a tree that are read for a quick look."""
_BATCH = 200
"""Sessions asked for at once, so that no connection stays open for long."""
_PAGE = 200

Note = Callable[[Lost], None]


def database_facts(path: str, note: Note, stint: Stint | None = None) -> list[OpenCodeFacts]:
    """The sessions of a database, uncounted. Raises `DatabaseUnreadable`."""

    def read(connection: apsw.Connection) -> tuple[list[OpenCodeFacts], list[Lost]]:
        lost: list[Lost] = []
        return list(sessions_of(connection, OpenCodeSchema.of(connection), lost.append, stint=stint)), lost

    sessions, lost = read_database(path, read)
    for one in lost:
        note(one)
    return sessions


def database_summaries(
    path: str, size: int, note: Note, *, exact: bool, recount: Recount | None = None
) -> list[SessionSummary]:
    """All sessions of a database. With `exact`, `recount` has what they came to before. Raises `DatabaseUnreadable`
    where it cannot be read at all."""

    stint = Stint()
    sessions = database_facts(path, note, stint)
    full = exact or size <= FULL_SIZE
    recount = recount or Recount(path)
    deadline = time.monotonic() + FULL_SECONDS
    counted: dict[str, CountedSession] = {}
    partial: set[str] = set()
    said: set[Lost] = set()
    for batch in batches(sessions, _BATCH):
        whole = full and time.monotonic() < deadline
        try:
            if stint.over and not exact:
                raise DatabaseUnreadable(TOO_MANY)
            found, lost_of = read_database(
                path, _work(path, batch, recount if whole else None, None if exact else stint)
            )
        except DatabaseUnreadable as error:
            whole = False
            found = {facts.id: Recounted(CountedSession.of(OpenCodeFold(), facts, path)) for facts in batch}
            lost_of = [
                (facts.id, Lost("table session", f"sessions could not be counted: {error}")) for facts in batch
            ]
        counted |= {key: one.counted for key, one in found.items()}
        damaged = {owner for owner, _ in lost_of}
        partial |= damaged if whole else {facts.id for facts in batch} | damaged
        if whole and "" not in damaged:
            recount.kept.keep(found, damaged)
        for _, one in lost_of:
            if one.place.startswith(("table ", "session ")) and one not in said:
                said.add(one)
                note(one)
    recount.kept.forget_others(counted)
    return _related({facts.id: counted[facts.id] for facts in sessions}, partial)


def _work(
    path: str, batch: Sequence[OpenCodeFacts], recount: Recount | None, stint: Stint | None
) -> Callable[[apsw.Connection], tuple[dict[str, RecountedSession], list[Any]]]:
    def read(connection: apsw.Connection) -> tuple[dict[str, RecountedSession], list[Any]]:
        rows = OpenCodeRows(connection, stint=stint)
        if recount is not None:
            found = recount.count(rows, batch)
        else:
            folds = {facts.id: OpenCodeFold() for facts in batch}
            _glance(rows, rows.units(batch, parts=False), folds)
            found = {facts.id: Recounted(CountedSession.of(folds[facts.id], facts, path)) for facts in batch}
        return found, rows.problems()

    return read


def _glance(rows: OpenCodeRows, units: Mapping[str, OpenCodeUnits], found: dict[str, OpenCodeFold]) -> None:
    """Count messages without their parts, a page at a time; only the first prompts are read with them."""
    prompts = Ration(stint=rows.stint)
    asked: set[str] = set()
    every = ((key, unit) for key, some in units.items() for unit in some)
    while page := list(islice(every, _PAGE)):
        light = rows.contents([unit for _, unit in page], parts=False, limit=ROW_LIMIT)
        if rows.ration.spent:  # those for which there is no room
            for key, unit in page:
                found[key].messages += unit.id not in light
        first: dict[str, OpenCodeUnit] = {}
        for key, unit in page:
            if key not in asked and light.get(unit.id) and light[unit.id][0].is_prompt:
                asked.add(key)
                first[key] = unit
        rows.ration, prompts = prompts, rows.ration
        whole = rows.contents(list(first.values()))
        rows.ration, prompts = prompts, rows.ration
        for key, unit in page:
            found[key].add(marked(unit, whole.get(unit.id) or light.get(unit.id, [])))


def tree_summary(reader: TreeReader, path: str, size: int, *, exact: bool) -> SessionSummary:
    """The session of a tree of files; without `exact` from its first and last messages."""
    fold = OpenCodeFold()
    if exact:
        reader.count(reader.units(), fold)
    else:
        names = reader.names()
        ends = names if len(names) <= FIRST_FILES + LAST_FILES else [*names[:FIRST_FILES], *names[-LAST_FILES:]]
        units = [unit for name in ends if (unit := reader.unit(name)) is not None]
        asked = False
        for unit in units:
            messages = reader.light(unit)
            # Of the first prompt alone the parts are read, for its words.
            if not asked and messages and messages[0].is_prompt:
                asked, messages = True, reader.read([unit])[0]
            fold.add(messages)
        fold.messages += len(names) - len(ends)
    fold.warnings = len(reader.lost)
    return fold.summary(reader.facts, path, size=size, partial=not exact)


# Forks -------------------------------------------------------------------------------------------------------


def _related(counted: Mapping[str, CountedSession], partial: Collection[str]) -> list[SessionSummary]:
    """The summaries, with the parents of forks and with whether something of them was left out."""
    # A fork of 1.x keeps no other link than its copied messages: the session in which the last of them was said is
    # its parent (FACTS.md «Semantics»).
    copies = {key: one for key, one in counted.items() if one.last_copied is not None}
    firsts = {one.first for one in copies.values()}
    owners: dict[tuple[Any, int], str] = {}
    if copies:
        for key, one in counted.items():
            if one.first in firsts:
                for moment in one.own_times:
                    owners.setdefault((one.first, moment), key)
    named = {key: owners.get((one.first, one.last_copied or 0)) for key, one in copies.items()}
    parents = {key: parent for key, parent in named.items() if parent is not None and parent != key}
    found: list[SessionSummary] = []
    for key, one in counted.items():
        summary = replace(one.summary, partial=True) if key in partial else one.summary
        if key in parents and not summary.parent_id:
            summary = replace(summary, kind="fork", forked_from=parents[key], parent_id=parents[key])
        found.append(summary)
    return found
