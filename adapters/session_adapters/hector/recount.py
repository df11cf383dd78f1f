"""Counts the sessions of a database, and again only what changed in them.

Rows are only added: of a long session what came since is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from session_adapters.growing.sessions import LONG, OPEN, STEP, KeptSessions, Mark
from session_adapters.hector.counts import HectorFold, shown
from session_adapters.hector.layout import HectorFacts, HectorLayout, Owner
from session_adapters.hector.reader import keys_json
from session_adapters.hector.records import HectorMark
from session_adapters.model import SessionSummary
from session_adapters.reading.sqlite_rows import as_text

__all__ = ["Kept", "Settled", "added_up", "count", "count_on", "fill", "sums_of", "sums_of_first"]


class Settled(NamedTuple):
    """What the first rows of a long session came to."""

    fold: HectorFold
    shared: bool
    """As `HectorFacts.counted_elsewhere`, which is said of each message."""
    rows: int
    mark: Mark
    """Changes with these rows."""


Kept = KeptSessions[SessionSummary, Settled]


def count(
    layout: HectorLayout, facts: HectorFacts, marks: Sequence[HectorMark], *, settles: bool
) -> tuple[HectorFold, Settled | None]:
    """Count a session that has these rows."""
    return _counted(layout, facts, marks, HectorFold(), None, settles=settles)


def count_on(
    layout: HectorLayout, facts: HectorFacts, kept: Kept, number: int
) -> tuple[HectorFold, Settled | None] | None:
    """Count a session that has so many rows by what is known of the first, if they are what they were."""
    settled = kept.settled(facts.id)
    if settled is None or settled.shared != facts.counted_elsewhere or number < settled.rows:
        return None
    if sums_of_first(layout, facts.owner, settled.rows) != settled.mark:
        return None
    more = number - settled.rows
    marks = layout.marks([facts.owner], more)[facts.owner] if more else []
    return _counted(layout, facts, marks, settled.fold.copy(), settled, settles=True)


def _counted(
    layout: HectorLayout,
    facts: HectorFacts,
    marks: Sequence[HectorMark],
    fold: HectorFold,
    settled: Settled | None,
    *,
    settles: bool,
) -> tuple[HectorFold, Settled | None]:
    stop = len(marks) - OPEN
    start = 0
    if settles and stop > (LONG if settled is None else STEP):
        fill(fold, layout, facts, marks, slice(stop))
        rows = stop + (settled.rows if settled is not None else 0)
        sums = sums_of_first(layout, facts.owner, rows)
        settled = Settled(fold.copy(), facts.counted_elsewhere, rows, sums) if sums is not None else None
        start = stop
    fill(fold, layout, facts, marks, slice(start, None))
    return fold, settled


def fill(
    fold: HectorFold,
    layout: HectorLayout,
    facts: HectorFacts,
    marks: Sequence[HectorMark],
    places: slice | None = None,
) -> None:
    """Count these rows of a session, or some of them."""
    for row in layout.read(facts.owner, marks, places):
        if row.lost:
            fold.warnings += 1
        else:
            fold.add(shown(row.messages, facts))


def added_up(layout: HectorLayout, facts: HectorFacts, kept: Kept | None) -> HectorFold:
    """What a session comes to, by what is known of it, if anything is."""
    found = None
    if kept is not None and kept.settled(facts.id) is not None:
        found = count_on(layout, facts, kept, sums_of(layout, [facts.owner]).get(facts.owner, (0,))[0])
    if found is None:
        found = count(layout, facts, layout.marks([facts.owner])[facts.owner], settles=False)
    return found[0]


def sums_of(layout: HectorLayout, owners: Sequence[Owner]) -> dict[Owner, tuple[int, ...]]:
    """By session how many rows it has, and what changes with any of them; nothing where a part is damaged."""
    reader, names = layout.reader, ", ".join(f'"{name}"' for name in layout.owners)
    query = (
        f"SELECT {reader.select(layout.have, layout.owners)}, {_figures(layout, reader.insertion)}"  # noqa: S608
        f" FROM {layout.table} WHERE ({names}) IN ({reader.listed(len(layout.owners))}) GROUP BY {names}"
    )
    width = len(layout.owners)
    found: dict[Owner, tuple[int, ...]] = dict.fromkeys(owners, (0, 0, 0))
    try:
        for row in reader.run(query, keys_json(owners)):
            found[tuple(as_text(part) or "" for part in row[:width])] = tuple(row[width:])
    except reader.damage:
        return {}  # counting says so
    return found


def sums_of_first(layout: HectorLayout, owner: Owner, number: int) -> Mark | None:
    """The same of the first rows of a session; None where one is damaged."""
    reader, same = layout.reader, " AND ".join(f'"{name}" = ?' for name in layout.owners)
    rows = (
        f"SELECT *, {reader.insertion} AS came FROM {layout.table} WHERE {same}"  # noqa: S608
        f" ORDER BY {', '.join(layout.order())} LIMIT ?"
    )
    try:
        (found,) = reader.run(f"SELECT {_figures(layout, 'came')} FROM ({rows})", *owner, number)  # noqa: S608
    except reader.damage:
        return None
    return tuple(found)


def _figures(layout: HectorLayout, inserted: str) -> str:
    texts = [name for name in layout.texts if name in layout.have]
    return f"count(*), sum({layout.reader.size(texts)}), max({inserted})"
