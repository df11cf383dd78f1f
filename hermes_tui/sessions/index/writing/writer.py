"""Writes new and changed texts into the index, in transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import apsw

from hermes_tui.sessions.index.rowids import Numbers
from hermes_tui.sessions.index.source_state import IndexedMessage, Key, Level, Standing
from hermes_tui.sessions.index.writing.ledger import SourceLedger
from hermes_tui.sessions.index.writing.transactions import Transactions
from session_adapters.base import Source

__all__ = ["IndexWriter"]

_FIRST_BATCH = 1 << 20
_BATCH = 4 << 20
"""Bytes that are collected before they are written: sorted, they make one segment of each FTS5 table."""


class IndexWriter:
    """The one writer of an index. What is put in is there for readers after `commit`."""

    def __init__(self, connection: apsw.Connection, committed: Callable[[], None] = lambda: None) -> None:
        """`committed` is called after each commit."""
        self._transactions = Transactions(connection, committed)
        self._collected = self._transactions.collected
        self._ledger = SourceLedger(self._transactions)
        self._numbers = Numbers(self._transactions.any)
        self._limit = _FIRST_BATCH

    # Transactions ------------------------------------------------------------------------------------------

    def run(self, sql: str, bindings: Sequence[Any] = ()) -> apsw.Cursor:
        """See `Transactions.run`."""
        return self._transactions.run(sql, bindings)

    def commit(self, *, wait: bool = True) -> None:
        """See `Transactions.commit`."""
        self._transactions.settle()
        self._ledger.trim()
        self._transactions.commit(wait=wait)
        if self._transactions.committed:
            self._numbers.trim()

    def commit_when_full(self) -> bool:
        """`commit` when enough was collected; whether it did."""
        if self._collected.size < self._limit:
            return False
        self.commit(wait=False)
        self._limit = _BATCH
        return True

    def abandon(self) -> None:
        """Forget what was not committed. Raises `apsw.Error` where that should have been and could not."""
        nothing = False
        try:
            nothing = self._transactions.abandon()
        finally:
            if not nothing:
                self._ledger.forget()
                self._numbers.forget()

    # Sources -----------------------------------------------------------------------------------------------

    def sources(self) -> Mapping[Key, Standing]:
        """See `SourceLedger.sources`."""
        return self._ledger.sources

    def source(self, source: Source) -> tuple[int, bool]:
        """See `SourceLedger.source`."""
        return self._ledger.source(source)

    def touch(self, source: int) -> None:
        """See `Transactions.touch`."""
        self._transactions.touch(source)

    def mark(self, source: Source, level: Level) -> None:
        """Say that a source is in the index as its stamp says, or what was tried with it."""
        one = self._ledger.change(source)
        one.stamp, one.level = source.stamp, level

    def rest(self, source: Source, until: int) -> None:
        """Say up to which second, since the epoch, a source is to be left alone."""
        self._ledger.change(source).again = until

    def forget(self, key: Key) -> None:
        """Take a source and all its messages out."""
        number = self._ledger.strike(key)
        for session in self.sessions(number).values():
            self.forget_session(number, session)

    # Sessions ----------------------------------------------------------------------------------------------

    def sessions(self, source: int) -> dict[str, int]:
        """See `SourceLedger.sessions`."""
        return self._ledger.sessions(source)

    def session(self, source: int, native: str) -> int:
        """See `SourceLedger.session`."""
        return self._ledger.session(source, native)

    def marks(self, source: int) -> dict[str, str]:
        """See `SourceLedger.marks`."""
        return self._ledger.marks(source)

    def remark(self, session: int, mark: str) -> None:
        """Say up to where a session is in the index."""
        self._collected.mark(session, mark)

    def forget_session(self, source: int, session: int) -> None:
        """Take a session out."""
        for row in self.rows(source, session).values():
            self.remove(row)
        self.run("DELETE FROM session WHERE id=?", (session,))

    # Messages ----------------------------------------------------------------------------------------------

    def rows(self, source: int, session: int) -> dict[str, IndexedMessage]:
        """What there is of a session that is to be written to, by the messages' keys."""
        sql = "SELECT key, id, at, visibility, prose, tool, names FROM message WHERE session=?"
        there = self._transactions.about(source).execute(sql, (session,))
        found = {key: IndexedMessage(*rest) for key, *rest in there}
        self.touch(source)
        return found

    def add(self, session: int, key: str, second: int, role: str, row: IndexedMessage) -> None:
        """Put in a row, which gets its number here."""
        row.id = self._numbers.next(second)
        self._collected.message(session, key, role, row)
        if row.names is not None:
            self._collected.call(row, None, row.unit)

    def change(self, row: IndexedMessage, names: str | None, unit: int) -> None:
        """Write down what became of a row, which had those names and was of that `unit` before."""
        self._collected.changed(row)
        self._collected.call(row, names, unit)

    def remove(self, row: IndexedMessage) -> None:
        """Take a message out."""
        self.words("prose", row.id, b"", row.prose)
        self.words("tool", row.id, b"", row.tool)
        self.run("DELETE FROM message WHERE id=?", (row.id,))
        names, row.names = row.names, None
        self._collected.call(row, names, row.unit)

    def words(self, table: str, row: int, text: bytes, before: int | None = None) -> None:
        """The words of a row in a table, which had others if there is a mark of what was there `before`."""
        self._collected.words(table, row, text, before)

    def names(self, wanted: Iterable[tuple[int, str]]) -> str:
        """See `SourceLedger.names`."""
        return self._ledger.names(wanted)
