"""Writes texts into the index: what is new or different, in transactions after each of which the index is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any

import apsw
import msgspec

from hermes_tui.sessions.index.numbers import Numbers
from hermes_tui.sessions.index.schema import TABLES, TOOL_TABLES
from session_adapters.base import Source

__all__ = ["VISIBILITY", "Level", "Report", "Row", "Writer", "key_of", "stamp_text"]

_FIRST_BATCH = 1 << 20
_BATCH = 4 << 20
"""Characters that are collected before they are written: sorted, they make one segment of each FTS5 table."""
_NAMES = 20_000
"""Numbers of names that are kept in mind."""
VISIBILITY = ("live", "rewound", "compacted")
"""As the index numbers them."""


class Level(IntEnum):
    """How much of a source is in the index."""

    NOTHING = 0
    PROSE = 1
    ALL = 2


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an indexer has to do, as it last said."""

    pid: int = 0
    sources: int = -1
    """All there are; -1 before it has looked."""
    failed: int = 0
    """Those that could not be read; searching them is left to the scan."""


class Row:
    """What the index has of a message: what tells its words in each table from others, None where it has none."""

    __slots__ = ("at", "id", "names", "prose", "short", "tool", "visibility")

    def __init__(
        self,
        id: int,  # noqa: A002
        at: int | None,
        visibility: int,
        prose: int | None = None,
        short: int | None = None,
        tool: int | None = None,
        names: str | None = None,
    ) -> None:
        self.id, self.at, self.visibility = id, at, visibility
        self.prose, self.short, self.tool = prose, short, tool
        self.names = names
        """Numbers of names, with blanks between them; None where they were not looked at yet."""

    @property
    def unit(self) -> int:
        """Which kinds of words it has: 1 for prose, 2 for tool text, 3 for both."""
        return (self.prose is not None) | (self.tool is not None) << 1


class Writer:
    """The one writer of an index. What is put in is there for readers after `commit`."""

    def __init__(self, connection: apsw.Connection, committed: Callable[[], None] = lambda: None) -> None:
        """`committed` is called after each commit."""
        self._connection = connection
        self._committed = committed
        self._put: dict[str, dict[int, str]] = {table: {} for table in TABLES}
        self._dead: dict[str, set[int]] = {table: set() for table in TABLES}
        self._held = 0
        self._limit = _FIRST_BATCH
        self._numbers = Numbers(connection)
        self._messages: list[tuple[Any, ...]] = []
        """Rows of `message` that are still to be put in."""
        self._named: dict[tuple[int, str], int] = {}
        """Numbers of names."""
        self._called: dict[tuple[int, int, int], bool] = {}
        """Name, unit and message → whether it is to be there."""
        self._open = False

    # Transactions ------------------------------------------------------------------------------------------

    def run(self, sql: str, bindings: Sequence[Any] = ()) -> apsw.Cursor:
        """A statement in the open transaction; the first one opens it."""
        if not self._open:
            self._connection.execute("BEGIN IMMEDIATE")
            self._open = True
        return self._connection.execute(sql, bindings)

    def commit(self) -> None:
        """Write what was collected, and let readers see it."""
        if not self._open:
            return
        self._flush()
        for table in TABLES:
            dead, put = self._dead[table], self._put[table]
            if dead:
                self._connection.executemany(f"DELETE FROM {table} WHERE rowid=?", ((row,) for row in sorted(dead)))  # noqa: S608
            if put:
                rows = ((row, put[row]) for row in sorted(put))
                self._connection.executemany(f"INSERT INTO {table}(rowid, text) VALUES(?,?)", rows)
            dead.clear()
            put.clear()
        self._write_called()
        self._connection.execute("UPDATE meta SET value=value+1 WHERE key='commits'; COMMIT")
        self._open = False
        self._held = 0
        self._committed()

    def commit_when_full(self) -> bool:
        """`commit` when enough was collected; whether it did."""
        if self._held < self._limit:
            return False
        self.commit()
        self._limit = _BATCH
        return True

    def abandon(self) -> None:
        """Forget what was not committed."""
        for table in TABLES:
            self._put[table].clear()
            self._dead[table].clear()
        self._held = 0
        self._messages.clear()
        self._named.clear()
        self._called.clear()
        self._numbers.forget()
        self._open = False
        if self._connection.in_transaction:  # SQLite itself has ended one for which there was no room
            self._connection.execute("ROLLBACK")

    # Sources -----------------------------------------------------------------------------------------------

    def sources(self) -> Iterator[tuple[int, tuple[str, str, str], str, Level, int]]:
        """Every source there is: number, key, stamp, level, and the second before which it is left alone."""
        for number, agent, path, native, stamp, level, again in self._connection.execute(
            "SELECT id, agent, path, native, stamp, level, again FROM source"
        ):
            yield number, (agent, path, native), stamp, Level(level), again

    def source(self, source: Source) -> int:
        """The number of a source, which is put in where it is not there yet."""
        key = key_of(source)
        where = "agent=? AND path=? AND native=?"
        found = self.run(f"SELECT id FROM source WHERE {where}", key).get  # noqa: S608
        if found is None:
            self.run("INSERT INTO source(agent, path, native, stamp, level) VALUES(?,?,?,'',0)", key)
            found = self._connection.last_insert_rowid()
        return int(found)

    def mark(self, number: int, stamp: str, level: Level) -> None:
        """Say up to where a source is in the index."""
        self.run("UPDATE source SET stamp=?, level=? WHERE id=?", (stamp, int(level), number))

    def rest(self, number: int, until: int) -> None:
        """Say up to which second, since the epoch, a source is to be left alone."""
        self.run("UPDATE source SET again=? WHERE id=?", (until, number))

    def forget(self, number: int) -> None:
        """Take a source and all its messages out."""
        for session, _ in self.sessions(number):
            self.forget_session(session)
        self.run("DELETE FROM source WHERE id=?", (number,))

    def sessions(self, source: int) -> list[tuple[int, str]]:
        """Number and native id of the sessions of a source."""
        return list(self.run("SELECT id, native FROM session WHERE source=?", (source,)))

    def marks(self, source: int) -> dict[str, str]:
        """Native id → `SessionTexts.mark`, of the sessions that have one."""
        return dict(self.run("SELECT native, mark FROM session WHERE source=? AND mark <> ''", (source,)))

    def remark(self, session: int, mark: str) -> None:
        """Say up to where a session is in the index."""
        self.run("UPDATE session SET mark=? WHERE id=?", (mark, session))

    def session(self, source: int, native: str) -> tuple[int, bool]:
        """The number of a session, and whether it was put in because it was not there yet."""
        found = self.run("SELECT id FROM session WHERE source=? AND native=?", (source, native)).get
        if found is not None:
            return int(found), False
        self.run("INSERT INTO session(source, native) VALUES(?,?)", (source, native))
        return self._connection.last_insert_rowid(), True

    def forget_session(self, session: int) -> None:
        """Take a session out."""
        for row in self.rows(session).values():
            self.remove(row)
        self.run("DELETE FROM session WHERE id=?", (session,))

    # Messages ----------------------------------------------------------------------------------------------

    def rows(self, session: int) -> dict[str, Row]:
        """What there is of a session, by the messages' keys."""
        self._flush()
        sql = "SELECT key, id, at, visibility, prose, short, tool, names FROM message WHERE session=?"
        return {key: Row(*rest) for key, *rest in self.run(sql, (session,))}

    def add(self, session: int, key: str, second: int, role: str, row: Row) -> None:
        """Put in a row, which gets its number here."""
        row.id = self._numbers.next(second)
        facts = (session, key, row.at, role, row.visibility, row.prose, row.short, row.tool, row.names)
        self._messages.append((row.id, *facts))
        self._call(row, None, row.unit)

    def change(self, row: Row, names: str | None, unit: int) -> None:
        """Write down what became of a row, which had those names and that unit before."""
        self._flush()
        sql = "UPDATE message SET visibility=?, prose=?, short=?, tool=?, names=? WHERE id=?"
        self.run(sql, (row.visibility, row.prose, row.short, row.tool, row.names, row.id))
        self._call(row, names, unit)

    def remove(self, row: Row) -> None:
        """Take a message out."""
        self._flush()
        for table, mark in (
            ("prose", row.prose),
            ("short", row.short),
            *((table, row.tool) for table in TOOL_TABLES),
        ):
            self.words(table, row.id, "", mark)
        self.run("DELETE FROM message WHERE id=?", (row.id,))
        names, row.names = row.names, None
        self._call(row, names, row.unit)

    def _flush(self) -> None:
        if self._messages:
            self.run("SELECT 1")
            self._connection.executemany("INSERT INTO message VALUES(?,?,?,?,?,?,?,?,?,?)", self._messages)
            self._messages.clear()

    def words(self, table: str, row: int, text: str, before: int | None) -> None:
        """The words of a row in a table, which had others if there is a mark of what was there `before`."""
        put = self._put[table]
        waiting = put.pop(row, None)
        if waiting is not None:
            self._held -= len(waiting)
        elif before is not None:
            self._dead[table].add(row)
        if text:
            put[row] = text
            self._held += len(text)

    # Names -------------------------------------------------------------------------------------------------

    def names(self, wanted: Iterable[tuple[int, str]]) -> str:
        """Kinds and names as `Row.names` has them."""
        return " ".join(map(str, sorted({self._name(one) for one in wanted})))

    def _name(self, one: tuple[int, str]) -> int:
        number = self._named.get(one)
        if number is None:
            number = self.run("SELECT id FROM name WHERE kind=? AND text=?", one).get
            if number is None:
                self.run("INSERT INTO name(kind, text) VALUES(?,?)", one)
                number = self._connection.last_insert_rowid()
            if len(self._named) >= _NAMES:
                self._named.clear()
            self._named[one] = number
        return number

    def _call(self, row: Row, before: str | None, unit: int) -> None:
        if (row.names, row.unit) == (before, unit):
            return
        old = {(int(name), unit) for name in (before or "").split()}
        new = {(int(name), row.unit) for name in (row.names or "").split()}
        for one in old ^ new:
            self._called[*one, row.id] = one in new

    def _write_called(self) -> None:
        there = sorted(one for one, put in self._called.items() if put)
        gone = [one for one, put in self._called.items() if not put]
        self._connection.executemany("DELETE FROM called WHERE name=? AND unit=? AND message=?", gone)
        self._connection.executemany("INSERT OR IGNORE INTO called VALUES(?,?,?)", there)
        self._called.clear()


def key_of(source: Source) -> tuple[str, str, str]:
    """What a source is known by."""
    return source.agent, source.path, source.session_id


def stamp_text(stamp: Iterable[int]) -> str:
    """A stamp as the index keeps it."""
    return " ".join(map(str, stamp))
