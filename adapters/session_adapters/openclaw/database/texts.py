"""Search texts of the sessions in a database, and which of them are new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import apsw

from session_adapters.openclaw.database.counting import batches
from session_adapters.openclaw.database.event_stores import ClawDatabaseStore, RowStore
from session_adapters.openclaw.database.events import ClawColumns, archive_of, marks_of
from session_adapters.openclaw.database.tables import ClawFacts
from session_adapters.openclaw.listing import database_facts
from session_adapters.openclaw.places import StateDir
from session_adapters.reading.searchable import SessionTexts, Text, mark_of, news_of, texts_of, unchanged
from session_adapters.reading.sqlite import read_database
from session_adapters.tree.builder import TreeBuilder
from session_adapters.tree.follower import goes_on

__all__ = ["LOOK_BACK", "new_texts"]

LOOK_BACK = 64
"""Events before the new ones that are read with them: results there are linked to their calls."""


class _Looked(NamedTuple):
    """What is known of a session without its texts."""

    name: str
    """As the list has it."""
    id: str
    """As the database has it."""
    mark: str
    known: int | None
    """Number of the first event that is new; None where something before it is different."""
    back: int = 0
    """Number of the first event that is read."""
    same: bool = False
    """Nothing is new."""


def new_texts(
    path: str, state: StateDir, marks: Mapping[str, str], whole: Callable[[str], Iterable[Text]]
) -> Iterator[SessionTexts] | None:
    """See `Adapter.new_texts`; None where a part of the list is damaged or missing. `whole` reads all of a session.
    Raises as `read_database` does, but only before it returns."""
    lost: list[str] = []
    found = database_facts(path, lambda place, reason: lost.append(reason))
    if lost:
        return None
    looked: list[_Looked] = []
    for batch in batches(found):
        looked += read_database(path, partial(_looks, batch, state, marks))
    return (news_of(one.name, one.mark, _added(path, one), whole) for one in looked)


def _looks(
    batch: Sequence[ClawFacts], state: StateDir, marks: Mapping[str, str], connection: apsw.Connection
) -> list[_Looked]:
    schema = ClawColumns.of(connection)
    looked: list[_Looked] = []
    for one in batch:
        name = state.tagged(one.id)
        generation, events = marks_of(connection, schema, one.session_id)
        packed = None if events else archive_of(connection, schema, one.session_id, data=False)
        before = [(one.session_id, generation, one.forked_at, packed)]
        mark = mark_of(chain(before, events))  # not put together: of 7,000 events that is a megabyte
        number = len(before) + len(events)
        known = unchanged(marks.get(name, ""), chain(before, events), number) - len(before)
        if known == len(events):
            looked.append(_Looked(name, one.id, mark, None, same=True))
        elif known <= 0:
            looked.append(_Looked(name, one.id, mark, None))
        else:
            first, back = events.numbers[known], events.numbers[max(0, known - LOOK_BACK)]
            looked.append(_Looked(name, one.id, mark, first, back))
    return looked


def _added(path: str, looked: _Looked) -> Sequence[Text] | None:
    """The texts of the new events, where they go on with the branch that the agent was on."""
    if looked.same:
        return ()
    if looked.known is None:
        return None
    store = RowStore(ClawDatabaseStore(path, looked.id), first=looked.back)
    builder = TreeBuilder()
    try:
        store.read()
        if not goes_on(store, 1) or store.damaged[0]:
            return None
        first = 0
        with store.reading() as shown:
            for index in range(len(store.spots)):
                if store.spots[index].offset < looked.known:
                    first += len(shown(index).messages)
                builder.take(*shown(index))
    except OSError:
        return None  # reading all of it says why
    return list(texts_of(looked.name, builder.messages, first))
