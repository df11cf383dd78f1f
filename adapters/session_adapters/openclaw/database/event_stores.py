"""Stores of one session's events, and the one in a database.

Each hands them out by number, as the JSON that Pi's records are.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from session_adapters.openclaw.database.events import (
    CHUNK,
    EVENT_LIMIT,
    Archive,
    ClawColumns,
    Marks,
    archive_of,
    marks_of,
    read_events,
)
from session_adapters.openclaw.database.tables import ClawFacts, sessions_of
from session_adapters.openclaw.rules import ClawShape
from session_adapters.openclaw.zstd import ZstdError, decompress
from session_adapters.reading.bounds import excess
from session_adapters.reading.files import read_small
from session_adapters.reading.sqlite import DatabaseMissing, DatabaseUnreadable, database_stamp, read_database
from session_adapters.reading.sqlite_limits import SESSION_ROWS, Ration, first_of_newest
from session_adapters.tree.file import Shown, Spot, TreeStore
from session_adapters.tree.records import ENTRIES, SHAPES

__all__ = [
    "ARCHIVE_LIMIT",
    "ClawDatabaseStore",
    "ClawEvent",
    "ClawStore",
    "Look",
    "RowStore",
    "marks_of_lines",
    "numbered_lines",
    "split_lines",
    "unpacked_archive",
    "unpacked_event",
]

T = TypeVar("T")
ARCHIVE_LIMIT = 128 << 20
"""Bytes of an unpacked transcript that are held in memory, whatever the database says of its size."""
_LINES, _STORED_LINE = 50_000, 100
"""Lines of an unpacked transcript, and one more for so many bytes that are stored: a thousand alike take one."""
_AHEAD = 64
"""Events that are fetched together when one is shown; each time twice as many, if one after the other is."""


class ClawEvent(NamedTuple):
    """One event."""

    number: int
    data: bytes = b""
    reason: str = ""
    """Why it cannot be had; empty when it can."""


class Look(NamedTuple):
    """What a shelf has of the session now."""

    identity: Any
    """Another one when the events were written anew."""
    marks: Marks
    leaf: str | None = None
    forked_at: float | None = None
    earlier: int = 0
    """Events before these."""


class ClawStore(ABC):
    """See the module. All raise `OSError`; `FileNotFoundError` where the session is not there (any more)."""

    path: str
    place = "event"
    """What a number is of, for a `Problem`."""

    @abstractmethod
    def stamp(self) -> tuple[int, ...]:
        """Changes when something may have changed."""

    @abstractmethod
    def look(self) -> Look:
        """Which events there are."""

    @abstractmethod
    def rows(self, start: int, count: int) -> list[ClawEvent]:
        """Up to `count` events from number `start` on."""


class RowStore(ClawShape, TreeStore):
    """The structure of a session whose events are on a shelf."""

    def __init__(self, shelf: ClawStore, *, first: int = 0) -> None:
        """`first`: number of the first event that is wanted."""
        super().__init__([shelf.path])
        self.unit = shelf.place
        self._shelf = shelf
        self._stamp: tuple[int, ...] = ()
        self._look: Look | None = None
        self._settled = False
        self.left = 0
        """Events for which there was no room."""
        self._first = first
        """Number of the first that is read."""
        self._late = 0
        """Of those so many come after the ones that were read."""
        self._cut: tuple[int, str] = (0, "")

    def read(self) -> bool:
        """See `TreeStore.read`."""
        if self._settled:
            return False
        stamp, look = self._shelf.stamp(), self._from_first(self._shelf.look())
        if self._look is None and (at := first_of_newest(look.marks.sizes)) + look.earlier:
            numbers = look.marks.numbers
            self.left, self._first = look.earlier + at, numbers[at] if at < len(numbers) else sys.maxsize
            self.damaged[0].add(0, excess(self.left))
            self.is_end = True
        look = self._from_first(look)
        done = len(self._look.marks) if self._look is not None else 0
        wanted = look.marks.numbers[done:]
        self.known_leaf, self.forked_at = None, look.forked_at
        ration = Ration()
        while ration.taken < len(wanted) and not ration.spent:
            rows = self._shelf.rows(wanted[ration.taken], CHUNK)
            if not rows:
                break
            for row in ration.take(row for row in rows if row.number <= wanted[-1]):
                if row.reason:
                    self.damaged[0].add(row.number, row.reason)
                    continue
                records, lost = SHAPES.all(row.data)
                if lost:
                    self.damaged[0].add(row.number, f"the {self._shelf.place} is damaged")
                for nth, shape in enumerate(records):
                    self.note(shape, Spot(0, row.number, len(row.data), nth))
            # Where the next rows cannot be read, it goes on behind these.
            self._stamp, self._look = (), look._replace(marks=look.marks.part(stop=done + ration.taken))
        self.damaged[0].discard(*self._cut)
        late = len(wanted) - ration.taken if ration.spent else 0
        if late:  # they are read when something is written, as far as there is room then
            look = look._replace(marks=look.marks.part(stop=done + ration.taken))
            self._cut = wanted[ration.taken], excess(late, "last")
            self.damaged[0].add(*self._cut)
        self.left += late - self._late
        self._late = late
        self._stamp, self._look = stamp, look
        self.known_leaf = look.leaf if not late else None
        return bool(wanted)

    def _from_first(self, look: Look) -> Look:
        return look._replace(marks=look.marks.part(bisect_left(look.marks.numbers, self._first)))

    def unchanged_so_far(self) -> bool:
        """See `TreeStore.unchanged_so_far`."""
        self._settled = False
        if self._look is None:
            return False
        if self._shelf.stamp() == self._stamp:
            self._settled = True
            return True
        now = self._from_first(self._shelf.look())
        return now.identity == self._look.identity and now.marks.part(stop=len(self._look.marks)) == self._look.marks

    @contextmanager
    def reading(self) -> Iterator[Callable[[int], Shown]]:
        """See `TreeStore.reading`."""
        held: dict[int, ClawEvent] = {}
        ahead = _AHEAD

        def read(index: int) -> Shown:
            nonlocal ahead
            if not self.tree.nodes.spoken[index]:
                return Shown()
            number = self.spots[index].offset
            if number not in held:
                ahead = min(2 * ahead, CHUNK) if held and 0 < number - max(held) <= _AHEAD else _AHEAD
                held.clear()
                held.update((row.number, row) for row in self._shelf.rows(number, ahead))
            row = held.get(number)
            if row is None or row.reason:
                return Shown()
            return self.shown(index, ENTRIES.all(row.data)[0])

        yield read


# In a database -----------------------------------------------------------------------------------------------


class ClawDatabaseStore(ClawStore):
    """The current window of a key, or an older one by its own id."""

    def __init__(self, path: str, session_id: str, most: int = SESSION_ROWS) -> None:
        """`most`: events that are wanted, the last ones."""
        self.path = path
        self._wanted = session_id
        self._most = most
        self._window = ""
        self._packed: tuple[Archive, list[bytes]] | None = None

    def stamp(self) -> tuple[int, ...]:
        """See `ClawStore.stamp`."""
        return database_stamp(self.path)

    def _visit(self, work: Callable[[apsw.Connection, ClawColumns], T]) -> T:
        try:
            return read_database(self.path, lambda connection: work(connection, ClawColumns.of(connection)))
        except DatabaseMissing as error:
            raise FileNotFoundError(str(error)) from error
        except DatabaseUnreadable as error:
            raise OSError(str(error)) from error

    def look(self) -> Look:
        """See `ClawStore.look`."""

        def work(
            connection: apsw.Connection, schema: ClawColumns
        ) -> tuple[ClawFacts | None, Any, Marks, Archive | None]:
            found = list(sessions_of(connection, schema, lambda place, reason: None, self._wanted))
            facts = next((one for one in found if self._wanted in (one.id, one.session_id)), None)
            if facts is None:
                return None, None, Marks(), None
            generation, marks = marks_of(connection, schema, facts.session_id, self._most)
            return facts, generation, marks, None if marks else archive_of(connection, schema, facts.session_id)

        facts, generation, marks, archive = self._visit(work)
        if facts is None:
            raise FileNotFoundError(f"{self._wanted} is not in {self.path}")
        self._window = facts.session_id
        self._packed = None
        if archive is not None:
            lines = unpacked_archive(archive, self.path)
            self._packed = archive, lines
            marks = marks_of_lines(lines)
        earlier = max(0, facts.events - len(marks)) if archive is None and marks else 0
        return Look((facts.session_id, generation), marks, facts.leaf, facts.forked_at, earlier)

    def rows(self, start: int, count: int) -> list[ClawEvent]:
        """See `ClawStore.rows`."""
        if self._packed is not None:
            return numbered_lines(self._packed[1], start, count)
        window = self._window

        def work(connection: apsw.Connection, schema: ClawColumns) -> list[Any]:
            return read_events(connection, schema, window, start, count)

        return [unpacked_event(*row) for row in self._visit(work)]


def unpacked_event(number: int, text: bytes | None, packed: bytes | None, size: int | None) -> ClawEvent:
    """An event as it stands in the table."""
    if text is not None:
        return ClawEvent(number, text)
    if packed is None:
        return ClawEvent(number, reason="the event is too long to be read, empty or damaged")
    try:
        return ClawEvent(number, decompress(packed, EVENT_LIMIT))
    except ZstdError as error:
        return ClawEvent(number, reason=f"the event cannot be read: {error}")


def unpacked_archive(archive: Archive, database: str) -> list[bytes]:
    """The events of a transcript that was put away."""
    data = archive.blob
    if data is None:
        name = archive.name
        if not name or "/" in name or name in (".", ".."):
            raise FileNotFoundError("the transcript was put away, and its archive has no name")
        data = read_small(Path(database).parent.parent / "sessions" / "cold" / name, ARCHIVE_LIMIT)
    stored = len(data)
    if archive.encoding == "zstd":
        try:
            data = decompress(data, ARCHIVE_LIMIT)
        except ZstdError as error:
            raise OSError(f"its transcript was put away and cannot be read: {error}") from error
    return split_lines(data, stored)


def split_lines(data: bytes, stored: int) -> list[bytes]:
    """The events of an unpacked transcript, of which so many bytes are stored. Raises `OSError` of too many."""
    most = _LINES + stored // _STORED_LINE
    if data.count(b"\n") > most:
        raise OSError(f"it has more than {most:,} lines in {stored:,} bytes")
    return [line for line in data.split(b"\n") if line.strip()]


def marks_of_lines(lines: list[bytes]) -> Marks:
    """What `Look` has of events that are there as a whole."""
    return Marks((number, len(line), hash(line)) for number, line in enumerate(lines))


def numbered_lines(lines: list[bytes], start: int, count: int) -> list[ClawEvent]:
    """Some of them, by number."""
    return [ClawEvent(start + at, line) for at, line in enumerate(lines[start : start + count])]
