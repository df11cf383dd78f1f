"""Sessions in an SQLite file, by a few connections that threads take in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import apsw

from hermes_tui.errors import StoreBusy, StoreError
from hermes_tui.memory.sql.database import Rows, SqlDatabase, Statements
from hermes_tui.platform.paths import private_file
from session_adapters.reading.copying.side_files import database_uri
from session_adapters.reading.sqlite import DatabaseUnreadable, hold_locks, read_database

__all__ = ["DEFAULT_PATH", "SqliteDatabase"]

T = TypeVar("T")
DEFAULT_PATH = Path("data", "sessions.db")
"""Where Hector keeps sessions without any configuration, below the directory that it runs in."""
BUSY_SECONDS = 10.0
"""How long another process's transaction is waited for."""
_BUSY = (apsw.BusyError, apsw.LockedError)


class _SqliteStatements(Statements):
    """A transaction of one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def run(self, query: str, *parameters: object) -> Rows:
        """See `Statements.run`."""
        rows = list(self._connection.execute(query, parameters))
        self.rows_read += len(rows)
        return rows

    def run_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """See `Statements.run_many`."""
        self._connection.executemany(query, rows)

    def columns(self, table: str) -> frozenset[str]:
        """See `Statements.columns`."""
        return frozenset(str(name) for (name,) in self.run("SELECT name FROM pragma_table_info(?)", table))

    def keys(self, table: str) -> frozenset[str]:
        """See `Statements.keys`."""
        found = self.run("SELECT name FROM pragma_table_info(?) WHERE pk > 0", table)
        return frozenset(str(name) for (name,) in found)


class _Open(NamedTuple):
    """A connection, and what closes it: while it is open, no reader of this process may drop its locks."""

    connection: apsw.Connection
    closing: ExitStack


class SqliteDatabase(SqlDatabase):
    """An SQLite file, made for its owner alone when it is first written to.

    With `read_only` it belongs to somebody else: nothing of it or beside it is created or changed.
    """

    dialect = "sqlite"

    def __init__(
        self, path: Path | str = DEFAULT_PATH, *, max_conns: int = 10, max_idle: int = 2, read_only: bool = False
    ) -> None:
        """At most `max_conns` connections are open, and `max_idle` kept while nobody needs them."""
        super().__init__()
        self._path = Path(path)
        self.label = str(path)
        self.is_read_only = read_only
        self._max_idle = max_idle
        self._free = threading.BoundedSemaphore(max(1, max_conns))
        self._idle: list[_Open] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._is_closed = False

    def read(self, work: Callable[[Statements], T]) -> T:
        """See `SqlDatabase.read`."""
        if not self.is_read_only:
            return self._transaction("BEGIN", work)

        def run(connection: apsw.Connection) -> T:
            statements = _SqliteStatements(connection)
            found = work(statements)
            self.count(statements)
            return found

        try:
            return read_database(self._path, run)
        except (DatabaseUnreadable, OSError) as error:
            raise StoreError(f"The sessions in {self.label} cannot be read: {error}.") from error

    def write(self, work: Callable[[Statements], T]) -> T:
        """See `SqlDatabase.write`."""
        if self.is_read_only:
            raise StoreError(f"The sessions in {self.label} were opened for reading alone: nothing was written.")
        with self._writing:  # threads of ours wait here, where it is fair, and not for SQLite's lock
            return self._transaction("BEGIN IMMEDIATE", work)

    def close(self) -> None:
        """See `SqlDatabase.close`."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for one in idle:
            one.closing.close()

    def _transaction(self, begin: str, work: Callable[[Statements], T]) -> T:
        with self._told(), self._connected() as connection:
            connection.execute(begin)
            statements = _SqliteStatements(connection)
            try:
                found = work(statements)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            self.count(statements)
            return found

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except _BUSY as error:
            raise StoreBusy(
                f"The sessions in {self.label} are locked by another process and nothing was changed; try again."
            ) from error
        except apsw.Error as error:
            raise StoreError(f"The sessions in {self.label} were not changed: SQLite says: {error}.") from error

    @contextmanager
    def _connected(self) -> Iterator[apsw.Connection]:
        """A connection that nobody else uses meanwhile."""
        with self._free:
            with self._lock:
                if self._is_closed:
                    raise StoreError(f"The sessions in {self.label} are closed.")
                one = self._idle.pop() if self._idle else None
            one = one or self._opened()
            try:
                yield one.connection
            finally:
                with self._lock:
                    is_kept = len(self._idle) < self._max_idle and not self._is_closed
                    if is_kept:
                        self._idle.append(one)
                if not is_kept:
                    one.closing.close()

    def _opened(self) -> _Open:
        with ExitStack() as closing:
            try:
                private_file(self._path)
                closing.enter_context(hold_locks(self._path))
            except OSError as error:
                reason = error.strerror or error
                raise StoreError(f"The sessions in {self.label} cannot be opened: {reason}.") from error
            connection = apsw.Connection(
                database_uri(str(self._path.absolute())), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
            )
            closing.callback(connection.close)
            connection.setbusytimeout(int(BUSY_SECONDS * 1000))
            # NORMAL: a killed process loses no commit; a power cut may take the last turns, never a part of one.
            # One by one: of several in one text, those after the first would wait until its rows are fetched.
            for setting in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
                connection.execute(f"PRAGMA {setting}").fetchall()
            return _Open(connection, closing.pop_all())
