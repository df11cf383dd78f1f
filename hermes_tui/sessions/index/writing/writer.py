"""Writes what is new or changed of sources into the index, in transactions."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import apsw

from hermes_tui.sessions.index.rowids import Numbers
from hermes_tui.sessions.index.schema import TABLES
from hermes_tui.sessions.index.source_state import IndexedMessage, Key, Level, Standing, key_of
from session_adapters.base import Source

__all__ = ["BATCH", "FIRST_BATCH", "IndexWriter", "tidy"]

FIRST_BATCH = 1 << 20
"""Bytes of the first batch: something is found sooner."""
BATCH = 4 << 20
"""Bytes that are collected before they are written: sorted, they make one segment of each FTS5 table."""
_NAMES = 20_000
"""Numbers of names that are kept in mind."""
_MERGED = 256
"""Pages of FTS5's, 4 KB each, that are written in one step of `tidy`: the time of a few keys."""
_NOTHING = 2
"""Fewer changes than this are none; see FTS5 on `merge`."""
_SOURCE = (
    "INSERT INTO source SELECT ?, ?, ?, ?, ?, ?, ?, ?, value + 1 FROM meta WHERE key='commits' "
    "ON CONFLICT(id) DO UPDATE SET stamp=excluded.stamp, level=excluded.level, again=excluded.again, "
    "lost=excluded.lost, changed=excluded.changed"
)
_STRUCK = "UPDATE meta SET value=(SELECT value + 1 FROM meta WHERE key='commits') WHERE key='struck'"
_SESSION = "INSERT INTO session(id, source, native) VALUES(?,?,?)"
_MARK = "UPDATE session SET mark=? WHERE id=?"
_NAME = "INSERT INTO name VALUES(?,?,?)"
_MESSAGE = "INSERT INTO message VALUES(?,?,?,?,?,?,?,?,?,?)"
_CHANGED = "UPDATE message SET visibility=?, prose=?, tool=?, names=?, thought=? WHERE id=?"
_ROWS = "SELECT key, id, at, visibility, prose, tool, names, thought FROM message WHERE session=?1"
_PUT = "INSERT INTO {table}(rowid, text) VALUES(?,?)"
_TAKE_OUT = "DELETE FROM {table} WHERE rowid=?"


class IndexWriter:
    """The one writer of an index.

    What is taken in waits here; `commit` writes all of it in one transaction, so that readers see it together: the
    rows in the order of `_rows`, then who calls what, then the words. Rows are in the open transaction sooner where
    something is to be looked up among them.
    """

    def __init__(self, connection: apsw.Connection, committed: Callable[[], None] = lambda: None) -> None:
        """`committed` is called after each commit."""
        self._connection = connection
        self._told = committed
        self._numbers = Numbers(connection)
        self._limit = FIRST_BATCH
        self._forget()
        self._empty()

    def _forget(self) -> None:
        """Look up again what was known of the index."""
        self._sources: dict[Key, Standing] | None = None
        self._names: dict[tuple[int, str], int] = {}
        self._next: dict[str, int] = {}
        """Table → number of its next row."""
        self._numbers.forget()

    def _empty(self) -> None:
        """Drop all that waits."""
        self._standing: dict[Key, Standing] = {}
        """Sources that are new, or stand otherwise now."""
        self._rows: dict[str, list[tuple[Any, ...]]] = {
            sql: [] for sql in (_SESSION, _MARK, _NAME, _MESSAGE, _CHANGED)
        }
        self._called: dict[tuple[int, int], bool] = {}
        """Name and message → whether it is to be there."""
        self._words: dict[str, dict[int, bytes]] = {table: {} for table in TABLES}
        self._out: dict[str, set[int]] = {table: set() for table in TABLES}
        """Rows whose words are to be taken out."""
        self._size = 0
        """Bytes of words."""
        self._begun = False
        """Some of it is in the open transaction, or was in one that SQLite itself has ended for want of room."""

    # Transactions ------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Write all that waits, and let readers see it. Raises `apsw.Error`."""
        if self._is_written():
            return
        self._flush()
        run = self._connection.executemany
        run("DELETE FROM called WHERE name=? AND message=?", self._calls(there=False))
        run("INSERT OR IGNORE INTO called VALUES(?,?)", self._calls(there=True))
        for table in TABLES:
            run(_TAKE_OUT.format(table=table), ((row,) for row in sorted(self._out[table])))
            run(_PUT.format(table=table), sorted(self._words[table].items()))  # FTS5 wants them in order
        self._connection.execute("UPDATE meta SET value=value+1 WHERE key='commits'; COMMIT")
        self._empty()
        self._numbers.trim()
        if len(self._names) >= _NAMES:
            self._names.clear()
        self._told()

    def commit_when_full(self) -> None:
        """`commit` when enough was collected."""
        if self._size >= self._limit:
            self.commit()
            self._limit = BATCH

    def abandon(self) -> None:
        """Forget what was not committed."""
        if self._is_written():
            return
        self._empty()
        self._forget()
        if self._connection.in_transaction:  # SQLite ends it by itself where the disk is full
            self._connection.execute("ROLLBACK")

    def run(self, sql: str, bindings: Sequence[Any] = ()) -> None:
        """A statement in the open transaction, behind all rows that waited; the first one opens it."""
        self._flush()
        self._connection.execute(sql, bindings)

    def _is_written(self) -> bool:
        words = any((self._called, *self._words.values(), *self._out.values()))
        return not (words or self._wait() or self._begun)

    def _wait(self) -> bool:
        """Whether rows wait."""
        return bool(self._standing) or any(self._rows.values())

    def _flush(self) -> None:
        """Have the rows that wait in the open transaction."""
        if not self._begun:
            self._connection.execute("BEGIN IMMEDIATE")
            self._begun = True
        standing = [
            (one.number, *key, " ".join(map(str, one.stamp)), int(one.level), one.again, one.lost)
            for key, one in self._standing.items()
        ]
        self._connection.executemany(_SOURCE, standing)
        self._standing.clear()
        for sql, rows in self._rows.items():
            if rows:
                self._connection.executemany(sql, rows)
                rows.clear()

    def _look(self, sql: str, bindings: Sequence[Any]) -> apsw.Cursor:
        """What there is, with the rows that waited."""
        if self._wait():
            self._flush()
        return self._connection.execute(sql, bindings)

    def _new(self, table: str) -> int:
        """The number of a new row."""
        number = self._next.get(table)
        if number is None:
            number = int(self._connection.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").get)  # noqa: S608
        self._next[table] = number + 1
        return number

    # Sources -----------------------------------------------------------------------------------------------

    def sources(self) -> Mapping[Key, Standing]:
        """Every source there is, as it stands also after what is written later."""
        return self._known()

    def _known(self) -> dict[Key, Standing]:
        if self._sources is None:
            rows = self._connection.execute("SELECT agent, path, native, id, stamp, level, again, lost FROM source")
            self._sources = {
                (agent, path, native): Standing(number, tuple(map(int, stamp.split())), Level(level), again, lost)
                for agent, path, native, number, stamp, level, again, lost in rows
            }
        return self._sources

    def source(self, source: Source) -> tuple[int, bool]:
        """The number of a source, and whether it was put in because it was not there yet."""
        key, known = key_of(source), self._known()
        if key in known:
            return known[key].number, False
        known[key] = self._standing[key] = Standing(self._new("source"))
        return known[key].number, True

    def mark(self, source: Source, level: Level, lost: str = "") -> None:
        """Say that a source is in the index as its stamp says, or what was tried with it; and what of it could not be
        read."""
        one = self._change(source)
        one.stamp, one.level, one.lost, one.again = source.stamp, level, lost, 0

    def rest(self, source: Source, until: int) -> None:
        """Say up to which second, since the epoch, a source is to be left alone."""
        self._change(source).again = until

    def _change(self, source: Source) -> Standing:
        """How a source stands, to be changed and written down; put in if it was not there yet."""
        self.source(source)
        key = key_of(source)
        one = self._standing[key] = self._known()[key]
        return one

    def forget(self, key: Key) -> None:
        """Take a source and all its messages out."""
        number = self._known().pop(key).number
        self._standing.pop(key, None)
        self.run("DELETE FROM source WHERE id=?", (number,))
        self.run(_STRUCK)
        for session in self.sessions(number).values():
            self.forget_session(session)

    # Sessions ----------------------------------------------------------------------------------------------

    def sessions(self, source: int) -> dict[str, int]:
        """Native id → number, of the sessions of a source."""
        return dict(self._look("SELECT native, id FROM session WHERE source=?", (source,)))

    def session(self, source: int, native: str) -> int:
        """The number of a session that is put in."""
        number = self._new("session")
        self._rows[_SESSION].append((number, source, native))
        return number

    def marks(self, source: int) -> dict[str, str]:
        """Native id → `SessionTexts.mark`, of the sessions that have one."""
        return dict(self._look("SELECT native, mark FROM session WHERE source=? AND mark <> ''", (source,)))

    def remark(self, session: int, mark: str) -> None:
        """Say up to where a session is in the index."""
        self._rows[_MARK].append((mark, session))

    def forget_session(self, session: int) -> None:
        """Take a session out."""
        for row in self.rows(session).values():
            self.remove(row)
        self.run("DELETE FROM session WHERE id=?", (session,))

    # Messages ----------------------------------------------------------------------------------------------

    def rows(self, session: int, keys: Collection[str] | None = None) -> dict[str, IndexedMessage]:
        """What there is of a session, or of its messages with these keys, by the messages' keys."""
        sql = _ROWS
        if keys is not None:
            sql += " AND key IN (SELECT value FROM json_each(?2))"
        wanted = () if keys is None else (json.dumps(list(keys)),)
        return {key: IndexedMessage(*rest) for key, *rest in self._look(sql, (session, *wanted))}

    def rows_after(self, session: int, row: int, count: int) -> list[tuple[str, IndexedMessage]]:
        """What there is of a session behind the row of that number, in order: at most `count`, with their keys."""
        found = self._look(f"{_ROWS} AND id > ?2 ORDER BY id LIMIT ?3", (session, row, count))
        return [(key, IndexedMessage(*rest)) for key, *rest in found]

    def add(self, session: int, key: str, second: int, role: str, row: IndexedMessage) -> None:
        """Put in a row, which gets its number here."""
        row.id = self._numbers.next(second)
        facts = (session, key, row.at, role, row.visibility, row.prose, row.tool, row.names, row.thought)
        self._rows[_MESSAGE].append((row.id, *facts))
        self._call(row, None)

    def change(self, row: IndexedMessage, names: str | None) -> None:
        """Write down what became of a row, which had those names before."""
        self._rows[_CHANGED].append((row.visibility, row.prose, row.tool, row.names, row.thought, row.id))
        self._call(row, names)

    def remove(self, row: IndexedMessage) -> None:
        """Take a message out."""
        self.words("prose", row.id, b"", row.prose)
        self.words("tool", row.id, b"", row.tool)
        self.run("DELETE FROM message WHERE id=?", (row.id,))
        names, row.names = row.names, None
        self._call(row, names)

    def words(self, table: str, row: int, text: bytes, before: int | None = None) -> None:
        """The words of a row in a table, which had others if there is a mark of what was there `before`."""
        # Words that wait are not in the table yet, and those that were there before them are to be taken out already.
        waiting = self._words[table].pop(row, None)
        if waiting is not None:
            self._size -= len(waiting)
        elif before is not None:
            self._out[table].add(row)
        if text:
            self._words[table][row] = text
            self._size += len(text)

    # Names -------------------------------------------------------------------------------------------------

    def names(self, wanted: Iterable[tuple[int, str]]) -> str:
        """Kinds and names as `IndexedMessage.names` has them."""
        numbers: set[int] = set()
        for one in wanted:
            number = self._names.get(one)
            if number is None:
                number = self._connection.execute("SELECT id FROM name WHERE kind=? AND text=?", one).get
                if number is None:
                    number = self._new("name")
                    self._rows[_NAME].append((number, *one))
                self._names[one] = number
            numbers.add(number)
        return " ".join(map(str, sorted(numbers)))

    def _call(self, row: IndexedMessage, before: str | None) -> None:
        """The names of a message, which had others `before`."""
        old, new = set((before or "").split()), set((row.names or "").split())
        for name in old ^ new:
            self._called[int(name), row.id] = name in new

    def _calls(self, *, there: bool) -> list[tuple[int, int]]:
        return sorted(pair for pair, put in self._called.items() if put is there)


def tidy(connection: apsw.Connection, stop: Callable[[], bool]) -> bool:
    """Put the parts of the FTS5 tables together wherever there are as many of a size as `schema` says, in steps
    between which others may write; whether it got to the end before `stop` said so. What is found stays the same:
    FTS5 looks into each part for every word, and would merge them some day while a single line is added. Raises
    `apsw.Error`."""
    for table in TABLES:
        changed = _NOTHING
        while changed >= _NOTHING:
            if stop():
                return False
            before = connection.total_changes()
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES('merge', ?)", (_MERGED,))
            changed = connection.total_changes() - before
    return True
