"""Writes texts into the index: what is new or different, in transactions after each of which the index is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import apsw

from hermes_tui.sessions.index.loader import Loader
from hermes_tui.sessions.index.numbers import Numbers
from hermes_tui.sessions.index.schema import TABLES, TOOL_TABLES
from hermes_tui.sessions.index.standing import Key, Level, Row, Standing, key_of
from session_adapters.base import Source

__all__ = ["Writer"]

_FIRST_BATCH = 1 << 20
_BATCH = 4 << 20
"""Bytes that are collected before they are written: sorted, they make one segment of each FTS5 table."""
_NAMES = 20_000
"""Numbers of names that are kept in mind."""
_SOURCE = (
    "INSERT INTO source(id, agent, path, native, stamp, level, again) VALUES(?,?,?,?,?,?,?) "
    "ON CONFLICT(id) DO UPDATE SET stamp=excluded.stamp, level=excluded.level, again=excluded.again"
)


class Writer:
    """The one writer of an index. What is put in is there for readers after `commit`.

    While a `Loader` is at work on what was collected, the next is collected: what has to be looked up for that is
    looked up beside it, unless it is about a source that was written to in the meantime.
    """

    def __init__(self, connection: apsw.Connection, committed: Callable[[], None] = lambda: None) -> None:
        """`committed` is called after each commit."""
        self._connection = connection
        self._file = connection.filename
        self._beside: apsw.Connection | None = None
        self._committed = committed
        self._loader = Loader(connection)
        self._numbers = Numbers(self._last)
        self._put: dict[str, dict[int, bytes]] = {table: {} for table in TABLES}
        self._dead: dict[str, set[int]] = {table: set() for table in TABLES}
        self._held = 0
        self._limit = _FIRST_BATCH
        self._sources: dict[Key, Standing] | None = None
        self._next = dict[str, int]()
        """Table → number of its next row."""
        self._touched: set[int] = set()
        """Sources that were written to since the last commit, and those of which that is not through."""
        self._flying: set[int] = set()
        self._named: dict[tuple[int, str], int] = {}
        """Numbers of names."""
        # What is still to be written down:
        self._marked: dict[Key, Standing] = {}
        self._sessions: list[tuple[Any, ...]] = []
        self._remarked: list[tuple[Any, ...]] = []
        self._names: list[tuple[Any, ...]] = []
        self._messages: list[tuple[Any, ...]] = []
        self._changed: list[tuple[Any, ...]] = []
        self._plain = (
            ("INSERT INTO session(id, source, native) VALUES(?,?,?)", self._sessions),
            ("UPDATE session SET mark=? WHERE id=?", self._remarked),
            ("INSERT INTO name VALUES(?,?,?)", self._names),
            ("INSERT INTO message VALUES(?,?,?,?,?,?,?,?,?,?)", self._messages),
            ("UPDATE message SET visibility=?, prose=?, short=?, tool=?, names=? WHERE id=?", self._changed),
        )
        self._called: dict[tuple[int, int, int], bool] = {}
        """Name, unit and message → whether it is to be there."""

    # Transactions ------------------------------------------------------------------------------------------

    def run(self, sql: str, bindings: Sequence[Any] = ()) -> apsw.Cursor:
        """A statement in the open transaction, after all that was collected for it; the first one opens it."""
        self._flush()
        return self._connection.execute(sql, bindings)

    def commit(self, *, wait: bool = True) -> None:
        """Write what was collected, and let readers see it: now, or when there is something to be looked up, or to
        be committed, the next time. Raises `apsw.Error`."""
        self._settle()
        if not self._connection.in_transaction:
            if not self._collected():
                return
            if len(self._named) >= _NAMES:
                self._named = {(kind, text): number for number, kind, text in self._names}
        self._flush()
        for table, dead in self._dead.items():
            if dead:
                self._connection.executemany(f"DELETE FROM {table} WHERE rowid=?", ((row,) for row in sorted(dead)))  # noqa: S608
                dead.clear()
        self._write_called()
        self._flying, self._touched = self._touched, set()
        self._loader.end(self._put)
        self._put = {table: {} for table in TABLES}
        self._held = 0
        if wait or not self._loader.busy:
            self._settle()
        self._committed()

    def commit_when_full(self) -> bool:
        """`commit` when enough was collected; whether it did."""
        if self._held < self._limit:
            return False
        self.commit(wait=False)
        self._limit = _BATCH
        return True

    def abandon(self) -> None:
        """Forget what was not committed. Raises `apsw.Error` where that should have been and could not."""
        known = not self._collected()
        for table in TABLES:
            self._put[table].clear()
            self._dead[table].clear()
        self._held = 0
        for _, rows in self._plain:
            rows.clear()
        self._marked.clear()
        self._called.clear()
        self._touched.clear()
        try:
            self._settle()
            known = known and not self._connection.in_transaction
        except BaseException:
            known = False
            raise
        finally:
            if not known:
                self._sources = None
                self._next.clear()
                self._named.clear()
                self._numbers.forget()
            if self._connection.in_transaction:  # SQLite itself has ended one for which there was no room
                self._connection.execute("ROLLBACK")
            if self._beside is not None:
                self._beside.close()
                self._beside = None

    def _settle(self) -> None:
        if self._loader.busy:
            self._loader.wait()
        self._flying.clear()

    def _collected(self) -> bool:
        words = any(self._put.values()) or any(self._dead.values())
        return words or bool(self._marked or self._called) or any(rows for _, rows in self._plain)

    def _flush(self) -> None:
        """Have in the open transaction what was collected of the plain tables."""
        self._settle()
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
        if self._marked:
            rows = [
                (one.number, *key, " ".join(map(str, one.stamp)), int(one.level), one.again)
                for key, one in self._marked.items()
            ]
            self._connection.executemany(_SOURCE, rows)
            self._marked.clear()
        for sql, rows in self._plain:
            if rows:
                self._connection.executemany(sql, rows)
                rows.clear()

    # Looking up --------------------------------------------------------------------------------------------

    def _about(self, source: int) -> apsw.Connection:
        """Where to look up what there is of a source."""
        if source in self._touched:
            self._flush()
        elif source in self._flying:
            self._settle()
        return self._any()

    def _any(self) -> apsw.Connection:
        """Where to look up what was not written lately."""
        if not self._loader.busy:
            return self._connection
        if self._beside is None:
            self._beside = apsw.Connection(self._file, flags=apsw.SQLITE_OPEN_READONLY)
            self._beside.set_busy_timeout(5000)
        return self._beside

    def _last(self, first: int, stop: int) -> int | None:
        sql = "SELECT max(id) FROM message WHERE id >= ? AND id < ?"
        found = self._any().execute(sql, (first, stop)).get
        return None if found is None else int(found)

    def _new(self, table: str) -> int:
        """The number of a new row."""
        number = self._next.get(table)
        if number is None:
            number = int(self._any().execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").get)  # noqa: S608
        self._next[table] = number + 1
        return number

    # Sources -----------------------------------------------------------------------------------------------

    def sources(self) -> Mapping[Key, Standing]:
        """Every source there is, as it stands also after what is written later."""
        return self._known()

    def _known(self) -> dict[Key, Standing]:
        if self._sources is None:
            rows = self._any().execute("SELECT agent, path, native, id, stamp, level, again FROM source")
            self._sources = {
                (agent, path, native): Standing(number, tuple(map(int, stamp.split())), Level(level), again)
                for agent, path, native, number, stamp, level, again in rows
            }
        return self._sources

    def source(self, source: Source) -> tuple[int, bool]:
        """The number of a source, and whether it was put in because it was not there yet."""
        key = key_of(source)
        known = self._known()
        if key in known:
            return known[key].number, False
        number = self._new("source")
        known[key] = self._marked[key] = Standing(number)
        return number, True

    def mark(self, source: Source, level: Level) -> None:
        """Say that a source is in the index as its stamp says, or what was tried with it."""
        self.source(source)
        key = key_of(source)
        one = self._marked[key] = self.sources()[key]
        one.stamp, one.level = source.stamp, level

    def rest(self, source: Source, until: int) -> None:
        """Say up to which second, since the epoch, a source is to be left alone."""
        self.source(source)
        key = key_of(source)
        one = self._marked[key] = self.sources()[key]
        one.again = until

    def forget(self, key: Key) -> None:
        """Take a source and all its messages out."""
        number = self._known().pop(key).number
        self._marked.pop(key, None)
        for session in self.sessions(number).values():
            self.forget_session(number, session)
        self.run("DELETE FROM source WHERE id=?", (number,))

    def touch(self, source: int) -> None:
        """Say that a source is written to."""
        self._touched.add(source)

    def sessions(self, source: int) -> dict[str, int]:
        """Native id → number, of the sessions of a source."""
        return dict(self._about(source).execute("SELECT native, id FROM session WHERE source=?", (source,)))

    def marks(self, source: int) -> dict[str, str]:
        """Native id → `SessionTexts.mark`, of the sessions that have one."""
        sql = "SELECT native, mark FROM session WHERE source=? AND mark <> ''"
        return dict(self._about(source).execute(sql, (source,)))

    def remark(self, session: int, mark: str) -> None:
        """Say up to where a session is in the index."""
        self._remarked.append((mark, session))

    def session(self, source: int, native: str) -> int:
        """The number of a session that is put in."""
        self.touch(source)
        number = self._new("session")
        self._sessions.append((number, source, native))
        return number

    def forget_session(self, source: int, session: int) -> None:
        """Take a session out."""
        for row in self.rows(source, session).values():
            self.remove(row)
        self.run("DELETE FROM session WHERE id=?", (session,))

    # Messages ----------------------------------------------------------------------------------------------

    def rows(self, source: int, session: int) -> dict[str, Row]:
        """What there is of a session that is to be written to, by the messages' keys."""
        sql = "SELECT key, id, at, visibility, prose, short, tool, names FROM message WHERE session=?"
        found = {key: Row(*rest) for key, *rest in self._about(source).execute(sql, (session,))}
        self.touch(source)
        return found

    def add(self, session: int, key: str, second: int, role: str, row: Row) -> None:
        """Put in a row, which gets its number here."""
        row.id = self._numbers.next(second)
        facts = (session, key, row.at, role, row.visibility, row.prose, row.short, row.tool, row.names)
        self._messages.append((row.id, *facts))
        if row.names is not None:
            self._call(row, None, row.unit)

    def change(self, row: Row, names: str | None, unit: int) -> None:
        """Write down what became of a row, which had those names and was of that `unit` before."""
        self._changed.append((row.visibility, row.prose, row.short, row.tool, row.names, row.id))
        self._call(row, names, unit)

    def remove(self, row: Row) -> None:
        """Take a message out."""
        for table, mark in (
            ("prose", row.prose),
            ("short", row.short),
            *((table, row.tool) for table in TOOL_TABLES),
        ):
            self.words(table, row.id, b"", mark)
        self.run("DELETE FROM message WHERE id=?", (row.id,))
        names, row.names = row.names, None
        self._call(row, names, row.unit)

    def words(self, table: str, row: int, text: bytes, before: int | None = None) -> None:
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
            number = self._any().execute("SELECT id FROM name WHERE kind=? AND text=?", one).get
            if number is None:
                number = self._new("name")
                self._names.append((number, *one))
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
        there = sorted(pair for pair, put in self._called.items() if put)
        gone = [pair for pair, put in self._called.items() if not put]
        self._connection.executemany("DELETE FROM called WHERE name=? AND unit=? AND message=?", gone)
        self._connection.executemany("INSERT OR IGNORE INTO called VALUES(?,?,?)", there)
        self._called.clear()
