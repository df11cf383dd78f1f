"""Search texts of the sessions in a database, and which of them are new.

Rows are only ever added: of a session whose first rows are what they were, those behind are read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from session_adapters.hector.detect import layout_of, visit
from session_adapters.hector.ids import Parts
from session_adapters.hector.layout import HectorFacts, HectorLayout
from session_adapters.hector.messages import HectorConversation
from session_adapters.hector.reader import Database, File, HectorReader
from session_adapters.hector.records import HectorMark
from session_adapters.hector.recount import sums_of, sums_of_first
from session_adapters.hector.summary import database_facts
from session_adapters.model import Message, SessionUnreadable
from session_adapters.reading.bounds import excess, unread
from session_adapters.reading.searchable import (
    PagedTexts,
    SessionTexts,
    Text,
    mark_of,
    news_of,
    pages,
    texts_of,
    unchanged,
)
from session_adapters.reading.sqlite import DatabaseUnreadable, SessionGone, reading_stored
from session_adapters.reading.sqlite_limits import first_of_newest

__all__ = ["LONG", "LOOK_BACK", "new_texts", "session_texts"]

LOOK_BACK = 64
"""Rows before the new ones that are read with them: results there are linked to their calls."""
LONG = 256
"""Rows of a session from which on the first are summed up by SQL, and not looked at one by one."""
_MOST = 16 << 20
"""Bytes of a session for which there is room in any case."""
_BATCH = 50
"""Sessions that are looked at while a database is open once."""


class _Looked(NamedTuple):
    """What is known of a session without its texts."""

    facts: HectorFacts
    mark: str
    same: bool = False
    """Nothing is new."""
    first: str = ""
    """Id of the row behind those that are what they were; empty where one of them is different."""
    new: int = 0
    """Rows from that one on."""


def new_texts(
    path: str, named: Callable[[str], str], marks: Mapping[str, str], whole: Callable[[str], Iterable[Text]]
) -> Iterator[SessionTexts] | None:
    """See `Adapter.new_texts`, of a file; None where a part of it cannot be read, or rows of a session have the same
    id. `named` gives the id that is shown for one within the database, `whole` reads all of a session."""
    database, lost, looked = File(path), list[str](), list[_Looked]()
    try:
        found, _ = database_facts(database, lambda place, reason: lost.append(reason))
        own = [facts for facts in found if not facts.counted_elsewhere]
        for at in range(0, len(own), _BATCH):
            batch = database.read(partial(_looks, own[at : at + _BATCH], named, marks))
            if batch is None or lost:
                return None
            looked += batch
    except (DatabaseUnreadable, OSError):
        return None  # reading it session by session reports it
    names = ((named(one.facts.id), one) for one in looked)
    return (news_of(name, one.mark, _new(database, name, one), whole) for name, one in names)


def _looks(
    batch: Sequence[HectorFacts], named: Callable[[str], str], marks: Mapping[str, str], reader: HectorReader
) -> list[_Looked] | None:
    sums = sums_of(layout_of(reader), [facts.owner for facts in batch])
    if not sums:
        return None
    found: list[_Looked] = []
    for facts in batch:
        before, said = marks.get(named(facts.id), ""), " ".join(map(str, sums[facts.owner]))
        known, _, told = before.rpartition(" of ")
        if told == said:
            found.append(_Looked(facts, before, same=True))
            continue
        number, size, _ = sums[facts.owner]
        looked = None
        if number >= LONG and (size or 0) <= _MOST:
            looked = _look_at_end(layout_of(reader), facts, number, said, told)
        looked = looked or _look_at_all(layout_of(reader), facts, said, known)
        if looked is None:
            return None
        found.append(looked)
    return found


def _look_at_all(layout: HectorLayout, facts: HectorFacts, said: str, known: str) -> _Looked | None:
    """None where two rows have the same id."""
    rows = layout.marks([facts.owner])[facts.owner]
    if len({mark.id for mark in rows}) < len(rows):
        return None
    whole = not layout.lost and not first_of_newest([mark.size for mark in rows])
    at = unchanged(known, (mark.kept for mark in rows), len(rows)) if whole else 0
    first = rows[at].id if 0 < at < len(rows) else ""
    mark = f"{mark_of(mark.kept for mark in rows)} of {said}"
    return _Looked(facts, mark, 0 < at == len(rows), first, len(rows) - at)


def _look_at_end(layout: HectorLayout, facts: HectorFacts, number: int, said: str, told: str) -> _Looked | None:
    """The same of a session of so many rows; `told` is what was said of it the last time. None where that does not
    tell."""
    reader, same = layout.reader, " AND ".join(f'"{name}" = ?' for name in layout.owners)
    try:
        ((ids,),) = reader.run(
            f'SELECT count(DISTINCT "{layout.key}") FROM {layout.table} WHERE {same}',  # noqa: S608
            *facts.owner,
        )
    except reader.damage:
        return None
    if ids != number:  # two rows have the same one, or one has none
        return None
    looked = _Looked(facts, f"sums of {said}")
    before = int(told.partition(" ")[0] or 0)
    first = sums_of_first(layout, facts.owner, before) if 0 < before < number else None
    if first is None or " ".join(map(str, first)) != told:
        return looked
    rows = layout.marks([facts.owner], number - before)[facts.owner]
    if layout.lost or len(rows) != number - before:
        return None
    return looked._replace(first=rows[0].id, new=len(rows))


def _new(database: Database, name: str, looked: _Looked) -> Sequence[Text] | None:
    """The texts of the rows that are new, and of what these change; None where that cannot be told."""
    if looked.same:
        return ()
    if not looked.first:
        return None

    def read(layout: HectorLayout, facts: HectorFacts) -> list[Text] | None:
        marks = layout.marks([facts.owner], looked.new + LOOK_BACK)[facts.owner]
        start = next((at for at, mark in enumerate(marks) if mark.id == looked.first), 0)
        conversation, first = HectorConversation(), 0
        for at, row in enumerate(layout.read(facts.owner, marks)):
            if at == start:
                conversation.take_change()
                first = len(conversation.messages)
            if row.lost:
                return None
            conversation.take(row.messages)
        change, messages = conversation.take_change(), conversation.messages
        results = (one.tool_result for one in messages[first:] if one.tool_result is not None)
        # The call of a result that is not linked may be further up than `LOOK_BACK`.
        if not start or change is None or layout.lost or layout.left or not all(one.linked for one in results):
            return None
        return list(texts_of(name, messages, min(first, change)))

    try:
        return visit(database, looked.facts.parts, read)
    except (SessionGone, DatabaseUnreadable, OSError):
        return None  # reading all of it says why


# All of a session --------------------------------------------------------------------------------------------


class _Read(NamedTuple):
    messages: Sequence[Message]
    lost: int
    left: int


class _Listed(NamedTuple):
    """A session before anything in it is read."""

    marks: Sequence[HectorMark]
    left: int
    damaged: bool


def session_texts(database: Database, session_id: str, parts: Parts) -> Iterator[Text]:
    """See `Adapter.session_texts`."""
    texts = PagedTexts(session_id)

    def listed(layout: HectorLayout, facts: HectorFacts) -> _Listed:
        marks = layout.within(facts.owner, layout.marks([facts.owner])[facts.owner])
        return _Listed(marks, layout.left, bool(facts.damaged))

    def read(marks: Sequence[HectorMark], layout: HectorLayout, facts: HectorFacts) -> _Read:
        conversation = HectorConversation()
        lost = 0
        for row in layout.read(facts.owner, marks):
            lost += bool(row.lost)
            conversation.take(row.messages)
        return _Read(conversation.messages, lost, layout.left)

    with reading_stored("hector", session_id, database.path):
        marks, left, damaged = visit(database, parts, listed)
    lost = int(damaged)
    for span in pages(array("q", (mark.size for mark in marks))):
        with reading_stored("hector", session_id, database.path):
            page = visit(database, parts, partial(read, marks[span]))
        lost, left = lost + page.lost, left + page.left
        yield from texts.of(page.messages)
    if left:
        raise SessionUnreadable(excess(left))
    if lost:
        raise SessionUnreadable(unread(lost))
