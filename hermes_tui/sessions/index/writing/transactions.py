"""The transactions of the index's one writer: the index is right after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import apsw

from hermes_tui.sessions.index.schema import connect, file_of
from hermes_tui.sessions.index.writing.loader import Loader
from hermes_tui.sessions.index.writing.write_buffer import Collected

__all__ = ["Transactions"]


class Transactions:
    """What is `collected` is there for readers after `commit`.

    While a `Loader` is at work on what was collected, the next is collected: what has to be looked up for that is
    looked up beside it, unless it is about a source that was written to in the meantime.
    """

    def __init__(self, connection: apsw.Connection, committed: Callable[[], None]) -> None:
        """`committed` is called after each commit."""
        self.collected = Collected()
        self._connection = connection
        self._file = file_of(connection)  # which cannot be asked for while the loader is at work
        self._beside: apsw.Connection | None = None
        self._told = committed
        self._loader = Loader(connection)
        self._touched: set[int] = set()
        """Sources that were written to since the last commit, and those of which that is not through."""
        self._flying: set[int] = set()

    # Writing -----------------------------------------------------------------------------------------------

    def touch(self, source: int) -> None:
        """Say that a source is written to."""
        self._touched.add(source)

    def run(self, sql: str, bindings: Sequence[Any] = ()) -> apsw.Cursor:
        """A statement in the open transaction, after all that was collected for it; the first one opens it."""
        self._flush()
        return self._connection.execute(sql, bindings)

    def commit(self, *, wait: bool = True) -> None:
        """Write what was collected, and let readers see it: now, or when there is something to be looked up, or to
        be committed, the next time. Raises `apsw.Error`."""
        self.settle()
        if self.committed and not self.collected:
            return
        self._flush()
        self.collected.write_rest(self._connection)
        self._flying, self._touched = self._touched, set()
        self._loader.end(self.collected.take_words())
        if wait or not self._loader.busy:
            self.settle()
        self._told()

    def abandon(self) -> bool:
        """Forget what was not committed; whether that was nothing. Raises `apsw.Error` where something should have
        been committed and could not."""
        nothing = not self.collected
        self.collected.clear()
        self._touched.clear()
        try:
            self.settle()
            return nothing and self.committed
        finally:
            if self._connection.in_transaction:  # SQLite itself has ended one for which there was no room
                self._connection.execute("ROLLBACK")
            if self._beside is not None:
                self._beside.close()
                self._beside = None

    def settle(self) -> None:
        """Wait for the last commit. Raises `apsw.Error`."""
        if self._loader.busy:
            self._loader.wait()
        self._flying.clear()

    @property
    def committed(self) -> bool:
        """Whether all but what is collected is."""
        return not self._loader.busy and not self._connection.in_transaction

    def _flush(self) -> None:
        """Have in the open transaction what was collected of the plain tables."""
        self.settle()
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
        self.collected.write_rows(self._connection)

    # Looking up --------------------------------------------------------------------------------------------

    def about(self, source: int) -> apsw.Connection:
        """Where to look up what there is of a source."""
        if source in self._touched:
            self._flush()
        elif source in self._flying:
            self.settle()
        return self.any()

    def any(self) -> apsw.Connection:
        """Where to look up what was not written lately."""
        if not self._loader.busy:
            return self._connection
        if self._beside is None:
            self._beside = connect(self._file, apsw.SQLITE_OPEN_READONLY)
            self._beside.set_busy_timeout(5000)
        return self._beside
