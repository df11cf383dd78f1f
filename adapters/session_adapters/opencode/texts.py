"""Search texts of the sessions in a database, and which of them are new."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

import apsw

from session_adapters.model import Message, SessionUnreadable
from session_adapters.opencode.database import OpenCodeDatabase
from session_adapters.opencode.listing import database_facts
from session_adapters.opencode.recount import said_of_all, sums_until, tells_changes
from session_adapters.opencode.schema import OpenCodeSchema
from session_adapters.opencode.tables import MESSAGE_ROW, OpenCodeRows
from session_adapters.opencode.units import (
    Lost,
    OpenCodeFacts,
    OpenCodeReader,
    OpenCodeStamp,
    OpenCodeUnit,
    SessionGone,
)
from session_adapters.reading.bounds import excess, unread
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.searchable import SessionTexts, Text, mark_of, news_of, pages, texts_of, unchanged
from session_adapters.reading.sqlite import DatabaseUnreadable, read_database, reading_stored
from session_adapters.reading.sqlite_limits import SESSION_ROWS, first_of_newest

__all__ = ["OPEN", "TAIL", "new_texts", "session_texts"]

OPEN = 2
"""The last messages of a session, which are written again while an answer comes in."""
_PART = 1200
"""Bytes of a ration that a row takes besides its content, at most."""
_BATCH = 50
"""Sessions that are looked at while a database is open once."""
TAIL = 256
"""Messages at the end of a session that are looked at one by one; those before are summed up by SQL."""
_LONG = "until "
"""Begins the mark of a session of which only the end was looked at."""


class _Looked(NamedTuple):
    """What is known of a session without its texts."""

    id: str
    mark: str
    same: bool = False
    """Nothing is new."""
    first: str = ""
    """Id of the first message that is new or was still written; empty where others are different."""
    new: int = 0
    """Messages from that one on."""


def new_texts(
    path: str, marks: Mapping[str, str], whole: Callable[[str], Iterable[Text]]
) -> Iterator[SessionTexts] | None:
    """See `Adapter.new_texts`; None where a part of the list is damaged or missing. `whole` reads all of a session.
    Raises as `read_database` does, but only before it returns."""
    lost: list[Lost] = []
    found = database_facts(path, lost.append)
    if lost:
        return None
    looked: list[_Looked] = []
    for at in range(0, len(found), _BATCH):
        looked += read_database(path, partial(_looks, found[at : at + _BATCH], marks))
    return (news_of(one.id, one.mark, _added(path, one), whole) for one in looked)


def _looks(batch: Sequence[OpenCodeFacts], marks: Mapping[str, str], connection: apsw.Connection) -> list[_Looked]:
    found: list[_Looked] = []
    schema = OpenCodeSchema.of(connection)
    for facts in batch:
        rows, before = OpenCodeRows(connection, schema), marks.get(facts.id, "")
        most = TAIL if tells_changes(rows) and not facts.revert else SESSION_ROWS
        units = rows.units([facts], most=most)[facts.id]
        is_end, looked = len(units) == most == TAIL, None
        if is_end and units.are_all(MESSAGE_ROW):
            looked = _look_at_end(rows, facts, units, before)
        if looked is None or (before and not before.startswith(_LONG)):  # it was looked at as a whole the last time
            if is_end:
                rows = OpenCodeRows(connection, schema)
                units = rows.units([facts])[facts.id]
            whole = _look_at_all(rows, facts, units, before)
            looked = whole if looked is None else whole._replace(mark=looked.mark)
        found.append(looked)
    return found


def _look_at_all(rows: OpenCodeRows, facts: OpenCodeFacts, units: Sequence[OpenCodeUnit], before: str) -> _Looked:
    """What is known of a session that has these units."""
    if rows.lost or rows.left or before.startswith(_LONG):
        before = ""
    settled = max(0, len(units) - OPEN)
    mark = f"{mark_of(islice(_parts(facts, units), settled + 1))} {json.dumps(_figures(units[settled:]))}"
    if mark == before:
        return _Looked(facts.id, mark, same=True)
    *numbers, last = before.split(" ", 2) if before else ("",)
    known = unchanged(" ".join(numbers), _parts(facts, units), len(units) + 1) - 1
    if known < 0 or not _grew(json.loads(last), _figures(units[known:])):
        return _Looked(facts.id, mark)
    return _Looked(facts.id, mark, first=units[known].id, new=len(units) - known)


def _parts(facts: OpenCodeFacts, units: Sequence[OpenCodeUnit]) -> Iterator[object]:
    return chain([(facts.generation,)], units)


def _look_at_end(
    rows: OpenCodeRows, facts: OpenCodeFacts, units: Sequence[OpenCodeUnit], before: str
) -> _Looked | None:
    """The same of a long session, which has these units at its end; None where that does not tell."""
    last = units[-OPEN - 1]
    sums = sums_until(rows, facts, last)
    if sums is None or rows.lost or rows.left:
        return None
    mark = _LONG + json.dumps([last.id, repr((said_of_all(facts), sums)), _figures(units[-OPEN:])])
    if mark == before or not before.startswith(_LONG):
        return _Looked(facts.id, mark, same=mark == before)
    id_, told, figures = json.loads(before.removeprefix(_LONG))
    at = next((at for at, unit in enumerate(units) if unit.id == id_), len(units))
    new = units[at + 1 :]
    if not new or told != repr((said_of_all(facts), sums_until(rows, facts, units[at]))):
        return _Looked(facts.id, mark)
    if not _grew(figures, _figures(new)):
        return _Looked(facts.id, mark)
    return _Looked(facts.id, mark, first=new[0].id, new=len(new))


def _figures(units: Iterable[OpenCodeUnit]) -> list[tuple[str, list[float]]]:
    """What is known of messages from outside: id, and numbers that grow while they are written."""
    return [(one.id, [*(number or 0 for number in one.stamp), int(one.rewound), int(one.inherited)]) for one in units]


def _grew(before: Sequence[tuple[str, list[float]]], now: Sequence[tuple[str, list[float]]]) -> bool:
    """Whether the messages are still there, and nothing was taken out of them."""
    if len(now) < max(1, len(before)):
        return False
    return all(
        one == other and len(less) <= len(more) and all(a <= b for a, b in zip(less, more, strict=False))
        for (one, less), (other, more) in zip(before, now, strict=False)
    )


def _added(path: str, looked: _Looked) -> Sequence[Text] | None:
    """The texts of the messages that are new or were still written, if they are where they were."""
    if looked.same:
        return ()
    if not looked.first:
        return None

    def read(reader: OpenCodeReader) -> list[Text] | None:
        units = reader.units(looked.new + TAIL)  # what came since is there, too
        at = next((at for at, unit in enumerate(units) if unit.id == looked.first), -1)
        if at < 0:
            return None
        messages = list(chain.from_iterable(reader.newest(units[at:])))
        return None if reader.damage else list(texts_of(looked.id, messages))

    try:
        return OpenCodeDatabase(path).visit(looked.id, read)
    except (DatabaseUnreadable, OSError, SessionGone):
        return None  # reading all of it says why


# All of a session --------------------------------------------------------------------------------------------


class _Listed(NamedTuple):
    """A session before anything in it is read."""

    units: Sequence[OpenCodeUnit]
    damage: Damage
    left: int


def session_texts(path: str, session_id: str) -> Iterator[Text]:
    """See `Adapter.session_texts`."""
    database = OpenCodeDatabase(path)

    def listed(reader: OpenCodeReader) -> _Listed:
        units: Sequence[OpenCodeUnit] = reader.units()
        damage = reader.damage
        if first_of_newest([_size(unit) for unit in units]):
            units = reader.within(units)
        return _Listed(units, damage, reader.left)

    def page(units: Sequence[OpenCodeUnit], reader: OpenCodeReader) -> tuple[list[Message], Damage, int]:
        return list(chain.from_iterable(reader.read(units))), reader.damage, reader.left

    with reading_stored("opencode", session_id, path):
        units, damage, left = database.visit(session_id, listed)
    for span in pages(array("q", map(_size, units))):
        with reading_stored("opencode", session_id, path):
            messages, lost, more = database.visit(session_id, partial(page, units[span]))
        damage.extend(lost)
        left += more
        yield from texts_of(session_id, messages)
    if left:
        raise SessionUnreadable(excess(left))
    if damage:
        raise SessionUnreadable(unread(len(damage)))


def _size(unit: OpenCodeUnit) -> int:
    """Bytes of a ration that a message takes besides its own row, as far as they are known without reading it: the
    row that told of its parts took some."""
    stamp = OpenCodeStamp(*unit.stamp)
    return int((stamp.size or 0) + (stamp.inside or 0) + (stamp.parts + 1 if stamp.parts else 0) * _PART)
