"""What Hector's generations of tables have in common.

Sessions, each with rows that become messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from sys import intern
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from session_adapters.hector import ids
from session_adapters.hector.reader import HectorReader, keys_json
from session_adapters.hector.records import HectorMark, HectorMarks
from session_adapters.model import Message
from session_adapters.reading.bounds import TOO_LARGE, Stint, excess
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.sqlite_limits import MOST_ROWS, SESSION_LIMIT, SESSION_ROWS, Ration, first_of_newest
from session_adapters.reading.sqlite_rows import LISTED_LIMIT, RowReader, as_int, as_text

__all__ = ["CONTENT_LIMIT", "HectorFacts", "HectorLayout", "HectorRow", "Owner"]

CONTENT_LIMIT = 32 << 20
"""Bytes. A larger row is named and never held in memory."""
_PART = 500
"""Rows read in one statement."""
_BESIDE = 256
"""Bytes of a row beside its large texts, more than it has."""

Owner = tuple[str, ...]
"""What rows say of the session they belong to: its id, in v2 with app and user."""


class HectorFacts(NamedTuple):
    """A session without its messages."""

    parts: ids.Parts
    """What its id is made of."""
    owner: Owner
    layout: str
    source: str
    """The agent, or in v2 the app."""
    created: datetime | None = None
    updated: datetime | None = None
    counted_elsewhere: bool = False
    """Its rows belong to a session of the same id that was there first."""
    beside: Mapping[str, Any] = MappingProxyType({})
    """What its own row keeps beside the messages. Only of a session that was looked for."""
    damaged: str = ""
    """What of its own row could not be read."""
    raw: Mapping[str, Any] = MappingProxyType({})

    @property
    def id(self) -> str:
        """Within its database."""
        return ids.encode(self.parts)


class HectorRow(NamedTuple):
    """A row that was read."""

    mark: HectorMark
    messages: Sequence[Message] = ()
    lost: str = ""
    """Why there are none."""


class HectorLayout(ABC):
    """One generation of tables in a database that is open for a moment."""

    table: ClassVar[str]
    """Where the rows are."""
    owners: tuple[str, ...]
    """Its columns that say which session a row belongs to."""
    texts: ClassVar[tuple[str, ...]]
    """Its columns that may be large."""

    def __init__(self, reader: HectorReader, have: frozenset[str]) -> None:
        self.reader = reader
        self.have = have
        """Columns of `table`."""
        self.lost = Damage()
        """What could not be read so far."""
        self.left = 0
        """Rows for which there was no room."""
        self.stint: Stint | None = None
        """The time that a list may take; what is read of one session has none."""

    @abstractmethod
    def sessions(self) -> Iterator[HectorFacts]:
        """All of them, also those that only left rows behind."""

    @abstractmethod
    def find(self, parts: ids.Parts) -> HectorFacts | None:
        """The session of that id, without reading others."""

    def beside(self, facts: HectorFacts) -> Mapping[str, Any]:
        """What the store keeps beside the messages of a session that was looked for, by name."""
        return facts.beside

    @abstractmethod
    def order(self) -> Sequence[str]:
        """Expressions by which a session's rows are in conversation order."""

    @abstractmethod
    def messages(self, values: Sequence[Any], mark: HectorMark) -> list[Message]:
        """The messages in the columns `wanted`. Raises `ValueError`."""

    @property
    @abstractmethod
    def wanted(self) -> Sequence[str]:
        """The columns that `messages` takes."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The column that tells the rows of a session apart."""

    @property
    def has_roles(self) -> bool:
        """Who speaks can be told without reading what is said."""
        return "role" in self.have

    # Rows without their text ---------------------------------------------------------------------------------

    def marks(self, owners: Sequence[Owner], most: int = SESSION_ROWS) -> dict[Owner, HectorMarks]:
        """The rows of these sessions, in conversation order; the last `most` of them."""
        ration = Ration(stint=self.stint)
        try:
            found = self._last(owners, ration, most)
            # One query for all sessions is quickest; where they hold too much, each gets an equal share, lest the
            # first of them take all the room.
            if ration.spent and len(owners) > 1:
                shares = {owner: Ration(SESSION_LIMIT // len(owners), stint=self.stint) for owner in owners}
                found = {owner: self._last([owner], ration)[owner] for owner, ration in shares.items()}
            elif ration.spent:
                shares = {owners[0]: ration}
            else:
                return found
            for owner, ration in shares.items():
                if ration.spent:
                    same = " AND ".join(f'"{name}" = ?' for name in self.owners)
                    ((number,),) = self.reader.run(f"SELECT count(*) FROM {self.table} WHERE {same}", *owner)  # noqa: S608
                    self._leave(owner, int(number) - len(found[owner]))
        except self.reader.damage as error:
            self.lost.add(f"table {self.table}", f"a part of it is damaged, messages are missing ({error})")
            return {owner: self._salvaged(owner) for owner in owners}
        return found

    def _last(self, owners: Sequence[Owner], ration: Ration, most: int = SESSION_ROWS) -> dict[Owner, HectorMarks]:
        """The last rows of these sessions, as many as there is room for."""
        found = {owner: HectorMarks() for owner in owners}
        order = ", ".join(f"{one} DESC" for one in self.order())
        columns = ", ".join(f'"{name}"' for name in self.owners)
        query = self._marks_query() + f" WHERE ({columns}) IN ({self.reader.listed(len(self.owners))})"
        rows = self.reader.run(f"{query} ORDER BY {order} LIMIT {most}", keys_json(owners))
        for row in ration.take(rows):
            owner, mark = self._mark(row)
            if owner in found:
                found[owner].put_before(mark)
        return found

    def _leave(self, owner: Owner, number: int) -> None:
        self.left += number
        self.lost.add(f"session {owner[-1]}", excess(number), number)

    def _marks_query(self) -> str:
        reader = self.reader
        texts = [name for name in self.texts if name in self.have]
        named = reader.select(self.have, (*self.owners, self.key, "role", "author", "created_at"))
        return f"SELECT {reader.place(self.key)}, {reader.size(texts)}, {named} FROM {self.table}"  # noqa: S608

    def _mark(self, row: Sequence[Any]) -> tuple[Owner, HectorMark]:
        width = len(self.owners)
        place, size, *rest = row
        texts = list(map(as_text, rest))
        key, role, author, time = texts[width:]
        if isinstance(place, bytes):
            place = as_text(place)
        return tuple(text or "" for text in texts[:width]), HectorMark(
            place=place,
            id=self._id(key, place),
            role=intern(role or ""),  # of thousands of rows a handful are different
            author=intern(author or ""),
            size=as_int(size) or 0,
            time=time,
        )

    def _salvaged(self, owner: Owner) -> HectorMarks:
        """The rows of a session in a damaged table, one by one, as an index names them."""
        same = " AND ".join(f'"{name}" = ?' for name in self.owners)
        places: list[Any] = []
        try:
            for (place,) in self.reader.run(f"SELECT rowid FROM {self.table} WHERE {same}", *owner):  # noqa: S608
                places.append(place)
        except self.reader.damage:
            pass  # those so far
        found: list[HectorMark] = []
        for place in sorted(set(places)):
            try:
                found += [
                    self._mark(row)[1] for row in self.reader.run(f"{self._marks_query()} WHERE rowid = ?", place)
                ]
            except self.reader.damage:
                found.append(HectorMark(place, f"row-{place}"))  # `read` says what is wrong with it
        return HectorMarks(reversed(found))

    # Rows with their text ------------------------------------------------------------------------------------

    def read(self, owner: Owner, marks: Sequence[HectorMark], places: slice | None = None) -> Iterator[HectorRow]:
        """What these rows of a session say, or some of them, in their order."""
        ration = Ration(stint=self.stint)
        start, stop, _ = (places or slice(None)).indices(len(marks))
        for at in range(start, stop, _PART):
            part = marks[at : min(at + _PART, stop)]
            small = [mark for mark in part if mark.size <= CONTENT_LIMIT]
            try:
                values = self._values(owner, small, ration)
            except self.reader.damage:
                values = {}
                for mark in small:
                    try:
                        values |= self._values(owner, [mark], ration)
                    except self.reader.damage as error:
                        values[mark.place] = error
            if ration.spent:
                part = [mark for mark in part if mark.place in values]
            yield from (self._found(mark, values.get(mark.place)) for mark in part)
            if ration.spent:
                self._leave(owner, stop - at - len(part))
                return

    def newest(self, owner: Owner, marks: Sequence[HectorMark]) -> list[HectorRow]:
        """The same, read from the last on: what there is no room for are the first."""
        return list(self.read(owner, self.within(owner, marks)[::-1]))[::-1]

    def within(self, owner: Owner, marks: Sequence[HectorMark]) -> Sequence[HectorMark]:
        """The last rows, as far as there is room for what they say; none of it is read."""
        at = first_of_newest([_BESIDE + (mark.size if mark.size <= CONTENT_LIMIT else 0) for mark in marks])
        if at:
            self._leave(owner, at)
        return marks[at:] if at else marks

    def _values(self, owner: Owner, marks: Sequence[HectorMark], ration: Ration) -> dict[Any, Any]:
        if not marks:
            return {}
        place = self.reader.place(self.key)
        same = "" if place == "rowid" else "".join(f' AND "{name}" = ?' for name in self.owners)
        query = (
            f"SELECT {place}, {self.reader.select(self.have, (self.key, *self.wanted))} FROM {self.table}"  # noqa: S608
            f" WHERE {place} IN ({self.reader.listed(1)}){same}"
        )
        ids = {mark.place: mark.id for mark in marks}
        found: dict[Any, Any] = {}
        rows = self.reader.run(query, keys_json((mark.place,) for mark in marks), *owner if same else ())
        for key, own, *values in ration.take(rows):
            where = as_text(key) if isinstance(key, bytes) else key
            if ids.get(where) == self._id(own, where):  # the place may be another row's since it was listed
                found[where] = values
        return found

    @staticmethod
    def _id(key: Any, place: Any) -> str:
        return as_text(key) or f"row-{place}"

    def _found(self, mark: HectorMark, values: Any) -> HectorRow:
        if mark.size > CONTENT_LIMIT:
            return HectorRow(mark, lost=f"its text is too large to be read ({mark.size} bytes)")
        if isinstance(values, Exception):
            return HectorRow(mark, lost=f"the row is damaged ({values})")
        if values is None:
            return HectorRow(mark, lost="the row went while it was read")
        try:
            return HectorRow(mark, self.messages(values, mark))
        except ValueError as error:
            return HectorRow(mark, lost=str(error))

    def can_tell(self, have: frozenset[str], *wanted: str) -> bool:
        """Whether these are all columns by which a session is told apart; it is noted where not."""
        if not have.issuperset(wanted):
            self.lost.add("table sessions", f"it is missing or lacks columns ({', '.join(wanted)}): none is read")
        return have.issuperset(wanted)

    def _newest(self, record: RowReader[Any], have: Collection[str]) -> Iterator[Any]:
        """The sessions that a list may hold, those that came last first."""
        chosen = self.reader.select(have, record.names, LISTED_LIMIT)
        query = f"SELECT {chosen} FROM sessions ORDER BY {self.reader.insertion} DESC LIMIT {MOST_ROWS}"  # noqa: S608
        return record.listed(self.reader.run(query), "sessions", self.lost.add, self.stint)

    def owners_of_rows(self) -> Iterator[tuple[Any, ...]]:
        """Which sessions rows belong to, as many as a list may hold."""
        query = f"SELECT DISTINCT {self.reader.select(self.have, self.owners)} FROM {self.table}"  # noqa: S608
        ration = Ration.of_list(self.stint)
        yield from ration.take(self.reader.run(query))
        if ration.spent:
            reason = f"{TOO_LARGE}: the rows of {ration.taken} sessions are looked at, the rest is left out"
            self.lost.add(f"table {self.table}", reason)

    def _noted(self, run: Callable[[], Iterator[Any]], table: str, missing: str) -> Iterator[Any]:
        """Rows of a table, up to where it is damaged."""
        try:
            yield from run()
        except self.reader.damage as error:
            self.lost.add(f"table {table}", f"a part of it is damaged, {missing} are missing ({error})")
