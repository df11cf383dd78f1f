"""Rows and words that wait to be written into the index."""

from __future__ import annotations

from typing import Any

import apsw

from hermes_tui.sessions.index.schema import TABLES
from hermes_tui.sessions.index.source_state import IndexedMessage, Key, Standing

__all__ = ["Collected"]

_SOURCE = (
    "INSERT INTO source SELECT ?, ?, ?, ?, ?, ?, ?, value + 1 FROM meta WHERE key='commits' "
    "ON CONFLICT(id) DO UPDATE SET stamp=excluded.stamp, level=excluded.level, again=excluded.again, "
    "changed=excluded.changed"
)


class Collected:
    """Written by `write_rows`, then `write_rest`, then whoever takes the words."""

    def __init__(self) -> None:
        self.sources: dict[Key, Standing] = {}
        """Those that are new, or stand otherwise now."""
        self.names: list[tuple[int, int, str]] = []
        """Number, kind and text of those that are new."""
        self.size = 0
        """Bytes of words."""
        self._words: dict[str, dict[int, bytes]] = {table: {} for table in TABLES}
        self._out: dict[str, set[int]] = {table: set() for table in TABLES}
        """Rows whose words are to be taken out."""
        self._called: dict[tuple[int, int, int], bool] = {}
        """Name, unit and message → whether it is to be there."""
        self._sessions: list[tuple[Any, ...]] = []
        self._remarked: list[tuple[Any, ...]] = []
        self._messages: list[tuple[Any, ...]] = []
        self._changed: list[tuple[Any, ...]] = []
        self._plain = (
            ("INSERT INTO session(id, source, native) VALUES(?,?,?)", self._sessions),
            ("UPDATE session SET mark=? WHERE id=?", self._remarked),
            ("INSERT INTO name VALUES(?,?,?)", self.names),
            ("INSERT INTO message VALUES(?,?,?,?,?,?,?,?,?)", self._messages),
            ("UPDATE message SET visibility=?, prose=?, tool=?, names=? WHERE id=?", self._changed),
        )

    def __bool__(self) -> bool:
        if self.sources or self._called or any(rows for _, rows in self._plain):
            return True
        return any(self._words.values()) or any(self._out.values())

    def clear(self) -> None:
        """Forget all of it."""
        for _, rows in self._plain:
            rows.clear()
        for table in TABLES:
            self._words[table].clear()
            self._out[table].clear()
        self.sources.clear()
        self._called.clear()
        self.size = 0

    # Taking in ---------------------------------------------------------------------------------------------

    def session(self, number: int, source: int, native: str) -> None:
        """One that is new."""
        self._sessions.append((number, source, native))

    def mark(self, session: int, mark: str) -> None:
        """Up to where a session is there."""
        self._remarked.append((mark, session))

    def message(self, session: int, key: str, role: str, row: IndexedMessage) -> None:
        """One that is new."""
        facts = (session, key, row.at, role, row.visibility, row.prose, row.tool, row.names)
        self._messages.append((row.id, *facts))

    def changed(self, row: IndexedMessage) -> None:
        """A message about which something is different now."""
        self._changed.append((row.visibility, row.prose, row.tool, row.names, row.id))

    def call(self, row: IndexedMessage, before: str | None, unit: int) -> None:
        """The names of a message, which had others `before`, and was of that `unit`."""
        if (row.names, row.unit) == (before, unit):
            return
        old = {(int(name), unit) for name in (before or "").split()}
        new = {(int(name), row.unit) for name in (row.names or "").split()}
        for one in old ^ new:
            self._called[*one, row.id] = one in new

    def words(self, table: str, row: int, text: bytes, before: int | None) -> None:
        """The words of a row in a table; `before` is a mark of those it had, None where it had none."""
        put = self._words[table]
        waiting = put.pop(row, None)
        if waiting is not None:
            self.size -= len(waiting)
        elif before is not None:
            self._out[table].add(row)
        if text:
            put[row] = text
            self.size += len(text)

    # Writing -----------------------------------------------------------------------------------------------

    def write_rows(self, connection: apsw.Connection) -> None:
        """What others may ask for: all but the words and who calls what."""
        if self.sources:
            standing = [
                (one.number, *key, " ".join(map(str, one.stamp)), int(one.level), one.again)
                for key, one in self.sources.items()
            ]
            connection.executemany(_SOURCE, standing)
            self.sources.clear()
        for sql, rows in self._plain:
            if rows:
                connection.executemany(sql, rows)
                rows.clear()

    def write_rest(self, connection: apsw.Connection) -> None:
        """Who calls what, and which words go."""
        for table, rows in self._out.items():
            if rows:
                connection.executemany(f"DELETE FROM {table} WHERE rowid=?", ((row,) for row in sorted(rows)))  # noqa: S608
                rows.clear()
        there = sorted(pair for pair, put in self._called.items() if put)
        gone = [pair for pair, put in self._called.items() if not put]
        connection.executemany("DELETE FROM called WHERE name=? AND unit=? AND message=?", gone)
        connection.executemany("INSERT OR IGNORE INTO called VALUES(?,?,?)", there)
        self._called.clear()

    def take_words(self) -> dict[str, dict[int, bytes]]:
        """The words that come, by table and row; they are another's now."""
        words, self._words = self._words, {table: {} for table in TABLES}
        self.size = 0
        return words
