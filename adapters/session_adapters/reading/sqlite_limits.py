"""Limits on reading a foreign database: time, memory, real tables only.

Everything raised here is `DatabaseUnreadable`, also out of the middle of a statement, so that no reader takes it for
a damaged page and goes on with the next one.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import apsw

from session_adapters.reading.bounds import Stint
from session_adapters.text import one_line

__all__ = [
    "MOST_ROWS",
    "NEW_ROWS",
    "SESSION_LIMIT",
    "SESSION_ROWS",
    "DatabaseRefused",
    "DatabaseUnreadable",
    "Ration",
    "Table",
    "first_of_newest",
    "guard",
    "held",
    "refusal_in",
    "tables_of",
]

R = TypeVar("R", bound=Sequence[Any])

VALUE_LIMIT = 64 << 20
"""Bytes of a single value or row that SQLite touches; above what any reader asks for."""
HEAP_LIMIT = 256 << 20
"""Bytes that SQLite may hold in this process, for sorting and the like."""
PAGES = 256
"""KiB of pages that a connection holds. SQLite's own 2 MB are no faster, for the system has them all, and what lies
between them when they are freed keeps the heap of a program that looks every second for weeks as large as then."""
GROWTH_LIMIT = 160 << 20
"""Bytes by which the process may grow in one read."""
LIST_LIMIT = 36 << 20
"""Bytes that a list of sessions may take from one table, `_ROW` for each row included."""
SESSION_LIMIT = 56 << 20
"""The same of what is read of one session at once. With 64 MB it takes over five seconds to index a database of which
each session has as much, in words of one letter."""

READ_SECONDS = 3.0
"""Seconds that the processor may work for one read: a slow disk is nobody's fault."""
ROW_SECONDS = 0.00003
"""Seconds more for each row that it gives: what is large may take longer, and the most that is read of a session at
once (`SESSION_ROWS`) five seconds in all."""

_ROW = 1024
"""Bytes that a row takes besides its texts, once it is a session or a message."""
MOST_ROWS = LIST_LIMIT // _ROW + 1
"""Rows of which a list shows one too few, and says so."""
SESSION_ROWS = (64 << 10) + 1
"""The same of one session."""
NEW_ROWS = 500
"""Rows behind those on the screen that are looked for among the last of a session, before all are listed."""
SMALL = 16 << 20
"""Bytes. What is in a smaller database fits into memory."""
_BETWEEN = 4 << 20
"""Bytes handed out between two looks at the memory."""
_HELD = 1 << 20
"""Bytes of rows that are held at a time, and one row more."""
_LOOK = 256 << 10
"""Bytes taken between two looks at the clock."""
_STEPS = 20_000
"""Virtual machine steps between two looks at the clock."""
_LONG = frozenset((bytes, str))
"""Types of values that may be long; asked for each value of each row."""
_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in what `getrusage` counts."""


class DatabaseUnreadable(ValueError):
    """Nothing can be had from the database now. The text is one sentence without a full stop: why."""


class DatabaseRefused(DatabaseUnreadable):
    """The same of every session in it, until it changes."""


def refusal_in(error: BaseException | None) -> DatabaseRefused | None:
    """What of an error is said of all sessions in a database."""
    while error is not None and not isinstance(error, DatabaseRefused):
        error = error.__cause__
    return error


def guard(connection: apsw.Connection, deadline: float, size: int) -> None:
    """Bound what statements of this connection may take; `size` are the bytes of the file, `deadline` is a reading of
    the monotonic clock."""
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, VALUE_LIMIT)
    apsw.hard_heap_limit(HEAP_LIMIT)
    connection.execute(f"PRAGMA cache_size = -{PAGES}")
    # A view can be endless, and makes texts of gigabytes out of nothing.
    views = frozenset(table.name for table in tables_of(connection).values() if table.kind == "view")

    def authorize(
        action: int, first: str | None, second: str | None, database: str | None, within: str | None
    ) -> int:
        if within in views:
            raise DatabaseUnreadable(f"«{one_line(str(within), 60)}» in it is a view, and only tables are read")
        return apsw.SQLITE_OK

    if views:
        connection.authorizer = authorize
    clock = _Clock(deadline) if size <= SMALL else _Memory(deadline)
    connection.set_progress_handler(clock.check, _STEPS)
    connection.row_trace = clock.row


class Table(NamedTuple):
    """What stands under a name in a schema."""

    name: str
    kind: str
    """table, view, virtual …"""
    without_rowid: bool


_tables: WeakKeyDictionary[apsw.Connection, Mapping[str, Table]] = WeakKeyDictionary()


def tables_of(connection: apsw.Connection) -> Mapping[str, Table]:
    """By name in small letters. Kept for the connection: it is good for a moment, and asked about many of them."""
    found = _tables.get(connection)
    if found is None:
        # As bytes: in a damaged schema a name may be no text.
        rows = connection.execute("SELECT CAST(name AS BLOB), type, wr FROM pragma_table_list WHERE schema = 'main'")
        every = (Table(name.decode("utf-8", "replace"), kind, bool(without)) for name, kind, without in rows)
        found = _tables[connection] = {table.name.lower(): table for table in every}
    return found


class _Clock:
    """Ends a read that takes too long for the rows that it gives."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._processor = time.thread_time() + READ_SECONDS

    def check(self) -> bool:
        """Called every now and then, also where no row is found."""
        if time.thread_time() > self._processor or time.monotonic() > self._deadline:
            raise DatabaseUnreadable("reading it took too long")
        return False

    def row(self, cursor: apsw.Cursor, row: R) -> R:
        """Called for each row."""
        self._processor += ROW_SECONDS
        return row


class _Memory(_Clock):
    """Ends a read that fills the memory, too."""

    def __init__(self, deadline: float) -> None:
        super().__init__(deadline)
        self._start = _peak()
        self._left = _BETWEEN

    def row(self, cursor: apsw.Cursor, row: R) -> R:
        """Called for each row."""
        self._left -= sum([len(value) for value in row if value.__class__ in _LONG])
        if self._left < 0:
            self._left = _BETWEEN
            if _peak() - self._start > GROWTH_LIMIT:
                raise DatabaseUnreadable("there is more in it than fits into memory at once")
        return super().row(cursor, row)


def held(rows: Iterable[R]) -> list[R]:
    """As many of the rows as are held at a time, one at least."""
    found: list[R] = []
    left = _HELD
    for row in rows:
        found.append(row)
        left -= sum([len(value) for value in row if value.__class__ is bytes])
        if left < 0:
            break
    return found


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


def first_of_newest(sizes: Sequence[int]) -> int:
    """Of the rows of a session, each with so many bytes, from which on there is room for all."""
    left = SESSION_LIMIT
    for at in range(len(sizes) - 1, -1, -1):
        left -= _ROW + sizes[at]
        if left < 0:
            return at + 1
    return 0


class Ration:
    """How much is taken of one list or one session: rows, their bytes, and of a list time of the processor."""

    def __init__(self, limit: int | None = None, *, stint: Stint | None = None) -> None:
        """Of a session, unless a limit in bytes is given; with what is left of a time, if one is given. What is shown
        of one session does not depend on how fast the machine is: bytes and rows alone bound it."""
        self._left = SESSION_LIMIT if limit is None else limit
        self._next_look = self._left
        self.stint = stint
        self.taken = 0
        """Rows."""
        self.spent = False
        """There were more."""

    @classmethod
    def of_list(cls, stint: Stint | None = None) -> Ration:
        """For a table of sessions; with what is left of the time for their list."""
        return cls(LIST_LIMIT, stint=stint or Stint())

    def take(self, rows: Iterable[R]) -> Iterator[R]:
        """As many of the rows as there is room for, besides those taken before."""
        for row in rows:
            self._left -= _ROW + sum([len(value) for value in row if value.__class__ is bytes])
            if self._left <= self._next_look:
                self._next_look = self._left - _LOOK
                self.spent = self.spent or (self.stint is not None and self.stint.over)
            self.spent = self.spent or self._left < 0
            if self.spent:
                return
            self.taken += 1
            yield row
