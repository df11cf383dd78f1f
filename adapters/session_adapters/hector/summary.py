"""What a list shows of Hector's sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from session_adapters.growing.sessions import Recounted
from session_adapters.hector.counts import HectorFold, is_waiting
from session_adapters.hector.detect import layout_of
from session_adapters.hector.layout import HectorFacts, Owner
from session_adapters.hector.reader import Database, HectorReader
from session_adapters.hector.recount import Kept, Settled, count, count_on, fill, sums_of
from session_adapters.model import SessionSummary
from session_adapters.reading.bounds import TOO_MANY, Stint
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.sqlite import DatabaseUnreadable
from session_adapters.reading.sqlite_rows import Note

__all__ = ["FULL_SIZE", "database_facts", "database_summaries"]

FULL_SIZE = 4 << 20
"""Bytes. A smaller database is read in full at once, of a larger one only what is no text, and the first prompts."""
_BATCH = 200
"""Sessions asked for at once, so that no connection stays open for long."""
_PROMPT = 4000


def database_facts(database: Database, note: Note, stint: Stint | None = None) -> tuple[list[HectorFacts], bool]:
    """The sessions of a database, uncounted, and whether its rows say who speaks. Raises `DatabaseUnreadable`."""

    def read(reader: HectorReader) -> tuple[list[HectorFacts], Damage, bool]:
        layout = layout_of(reader)
        layout.stint = stint
        return list(layout.sessions()), layout.lost, layout.has_roles

    sessions, lost, has_roles = database.read(read)
    for place, reason in lost.places():
        note(place, reason)
    return sessions, has_roles


def database_summaries(
    database: Database,
    named: Callable[[str], str],
    note: Note,
    *,
    size: int,
    exact: bool,
    kept: Kept | None = None,
) -> list[SessionSummary]:
    """All sessions of a database. `named` gives the id that is shown for one within the database. With `exact`,
    `kept` has what they came to before, and will have it. Raises `DatabaseUnreadable` where it cannot be read at
    all."""

    stint = Stint()
    sessions, has_roles = database_facts(database, note, stint)
    full = exact or size <= FULL_SIZE or not has_roles
    said = Damage()
    summaries: dict[str, SessionSummary] = {}

    def summary(fold: HectorFold, facts: HectorFacts) -> SessionSummary:
        return fold.summary(facts, database.path, named(facts.id))

    for at in range(0, len(sessions), _BATCH):
        batch = sessions[at : at + _BATCH]
        complete = full
        try:
            if stint.over and not exact:
                raise DatabaseUnreadable(TOO_MANY)
            if exact:
                found, lost = database.read(_counted(batch, kept, named, summary))
            else:
                found, lost = database.read(_glanced(batch, stint, summary, full=full))
        except DatabaseUnreadable as error:
            found, lost = {facts.id: Recounted(summary(HectorFold(), facts)) for facts in batch}, Damage()
            lost.add("", f"sessions could not be counted: {error}")
        complete = complete and not lost
        said.extend(lost)
        if kept is not None and complete:
            kept.keep(found, ())
        for key, one in found.items():
            summaries[key] = one.counted if complete else replace(one.counted, partial=True)
    if kept is not None:
        kept.forget_others(summaries)
    for place, reason in said.places():
        note(place, reason)
    return list(summaries.values())


_Summary = Callable[[HectorFold, HectorFacts], SessionSummary]
_Found = tuple[dict[str, Recounted[SessionSummary, Settled]], Damage]


def _counted(
    batch: Sequence[HectorFacts], kept: Kept | None, named: Callable[[str], str], summary: _Summary
) -> Callable[[HectorReader], _Found]:
    """Each session in full, but those that are what they were."""

    def read(reader: HectorReader) -> _Found:
        layout = layout_of(reader)
        found: dict[str, Recounted[SessionSummary, Settled]] = {}
        known = sums_of(layout, _owners(batch)) if kept is not None else {}
        marks = {one.id: (one, named(one.id), *known[one.owner]) for one in batch if one.owner in known}
        for facts in batch:
            mark = marks.get(facts.id)
            if kept is None or mark is None:
                continue
            if (before := kept.same(facts.id, mark)) is not None:
                found[facts.id] = before
            elif (on := count_on(layout, facts, kept, known[facts.owner][0])) is not None:
                found[facts.id] = Recounted(summary(on[0], facts), mark, on[1])
        rest = [facts for facts in batch if facts.id not in found]
        rows = layout.marks(_owners(rest)) if rest else {}
        for facts in rest:
            mark = marks.get(facts.id)
            fold, settled = count(layout, facts, rows[facts.owner], settles=mark is not None and not layout.lost)
            found[facts.id] = Recounted(summary(fold, facts), mark, settled)
        return {facts.id: found[facts.id] for facts in batch}, layout.lost

    return read


def _owners(batch: Sequence[HectorFacts]) -> list[Owner]:
    return list(dict.fromkeys(facts.owner for facts in batch))


def _glanced(
    batch: Sequence[HectorFacts], stint: Stint, summary: _Summary, *, full: bool
) -> Callable[[HectorReader], _Found]:
    """As much as there is time for."""

    def read(reader: HectorReader) -> _Found:
        layout = layout_of(reader)
        layout.stint = stint
        marks = layout.marks(_owners(batch))
        found: dict[str, Recounted[SessionSummary, Settled]] = {}
        for facts in batch:
            fold, prompt = HectorFold(), None
            if full:
                fill(fold, layout, facts, marks[facts.owner])
            else:
                prompt = fold.glance(marks[facts.owner], layout.reader, shared=facts.counted_elsewhere)
            last = marks[facts.owner][-1] if marks[facts.owner] and not full else None
            ends = [one for one in dict.fromkeys((prompt, last)) if one is not None and one.size <= FULL_SIZE]
            for row in layout.read(facts.owner, ends):
                if row.mark == prompt:
                    said = [one for one in row.messages if one.is_prompt]
                    fold.first_prompt = said[0].content[:_PROMPT] if said else ""
                if row.mark == last:
                    fold.waits = any(map(is_waiting, row.messages[-1:]))
            found[facts.id] = Recounted(summary(fold, facts))
        return found, layout.lost

    return read
