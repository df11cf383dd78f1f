"""The connection to a store: who may use it when, and what becomes of a write.

Several processes share one database. Every write is one `BEGIN IMMEDIATE` transaction; a lock is waited for a second
by SQLite and then, after a pause of random length, asked for again, so that waiting writers do not march in step
(spec 000, "Write Contention Handling").
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.state_db.connection.access import create_file, examine
from hermes_tui.lifecycle.state_db.connection.contention import (
    BUSY,
    BUSY_TIMEOUT,
    CHECKPOINT_EVERY,
    MAX_TRIES,
    patiently,
    pause,
)
from hermes_tui.lifecycle.state_db.connection.failures import told
from hermes_tui.lifecycle.state_db.connection.holders import holder
from hermes_tui.lifecycle.state_db.connection.migrations import bring_up, needs_work
from hermes_tui.lifecycle.state_db.connection.rows import Row, clean, fetch
from hermes_tui.lifecycle.state_db.connection.schema import StoreSchema
from session_adapters.reading.copying.side_files import database_uri
from session_adapters.reading.sqlite import DatabaseUnreadable, hold_locks, read_database

__all__ = ["Store"]

_WRITES = (apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE)


class Store:
    """An open store. Threads may share it. Everything else of `SessionDB` is built on these few methods."""

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool,
        clock: Callable[[], float],
        waiting: Callable[[str], None] = lambda holder: None,
    ) -> None:
        """`waiting` is told, once, which process is in the way when the first try was in vain and more will follow:
        they take `PATIENCE` seconds. Raises `StoreError`."""
        self.path = path
        self.read_only = read_only
        self.clock = clock
        self._waiting = waiting
        self._waits = False
        self._lock = threading.RLock()
        self._depth = 0
        self._writes = 0
        self._closing = ExitStack()
        self._connection: apsw.Connection | None = None
        self._cookie: object = None
        self._real = Path(os.path.realpath(path))
        if read_only:
            self._schema = examine(self._real, writing=False)
        else:
            self._open()

    # Opening and closing -------------------------------------------------------------------------------------

    def _open(self) -> None:
        create_file(self._real)
        # What may not be written is refused before a connection could leave files beside it.
        self._schema = examine(self._real, writing=True)
        with ExitStack() as stack, told(self.path, "opened"):
            try:
                stack.enter_context(hold_locks(self._real))
                self._inode = self._real.stat().st_ino
            except OSError as error:
                raise StoreError(f"The session store {self.path} cannot be reached: {error.strerror}.") from error
            uri = database_uri(os.fspath(self._real))  # a home may have a name that is no UTF-8
            connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
            stack.callback(connection.close, True)
            self._connection = connection
            connection.set_busy_timeout(BUSY_TIMEOUT)
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)  # no statement can damage the file itself
            connection.authorizer = self._without_triggers
            # Side files that a gateway has open are never removed from under it, whoever closes last.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.execute("PRAGMA foreign_keys = 1")  # SQLite minds them only where it is told to
            connection.execute("PRAGMA temp_store = 2")
            if self._schema.is_empty:
                # One that is in use has the mode that its file system allows: Hermes has tried.
                patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall(), self._wait)
            # `hold_locks` wants a first read, so that the shared memory is there before others of this process read.
            patiently(lambda: connection.execute("SELECT count(*) FROM sqlite_master").fetchall(), self._wait)
            if needs_work(self._schema):
                with self.transaction():
                    bring_up(connection)
            self._closing = stack.pop_all()

    def _without_triggers(self, what: int, table: str | None, _: str | None, __: str | None, by: str | None) -> int:
        """Let triggers write to the full-text index alone, as Hermes' own do: what else one would change is in no
        plan, and nobody could take it back."""
        if by is not None and what in _WRITES and not (table or "").startswith("messages_fts"):
            raise StoreError(
                f"The session store {self.path} has a trigger {by!r}, which would change {table} beside what is"
                " wanted: nothing was written; drop that trigger first."
            )
        return apsw.SQLITE_OK

    def close(self) -> None:
        """Give everything back. What is in the log is brought into the database as far as nobody is in the way."""
        with self._lock:
            if self._connection is not None:
                self._checkpoint()
            self._connection = None
            self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Reading -------------------------------------------------------------------------------------------------

    @property
    def schema(self) -> StoreSchema:
        """What the store has now: another process may have brought it further since it was opened."""
        if self._connection is not None:
            with self._lock, told(self.path, "read"):
                connection = self._connection
                cookie = patiently(lambda: connection.execute("PRAGMA schema_version").fetchall(), self._wait)[0][0]
                if self._cookie != cookie:
                    self._schema = patiently(lambda: StoreSchema.of(connection), self._wait)
                    self._cookie = cookie
        return self._schema

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        """What a SELECT finds. Within a transaction, as that has left it. Raises `StoreError`."""
        bound = clean(values)
        try:
            if self.read_only:
                return read_database(self._real, lambda connection: fetch(connection, query, bound))
            with self._lock, told(self.path, "read"):
                connection = self._writer()
                return patiently(lambda: fetch(connection, query, bound), self._wait)
        except DatabaseUnreadable as error:
            raise StoreError(f"The session store {self.path} cannot be read: {error}.") from error
        except UnicodeDecodeError as error:
            raise StoreError(
                f"The session store {self.path} holds text that is no UTF-8 where it was read."
            ) from error

    def row(self, query: str, values: Sequence[object] = ()) -> Row | None:
        """The first row that a SELECT finds."""
        return next(iter(self.rows(query, values)), None)

    def value(self, query: str, values: Sequence[object] = ()) -> Any:
        """The first column of the first row; None when there is none."""
        return next(iter((self.row(query, values) or {}).values()), None)

    # Writing -------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes within are one: done when the block ends, undone when it raises. One within another is undone
        alone when it raises. Raises `StoreBusy` when the lock could not be had, before anything was written."""
        with self._lock:  # whoever gets it within a transaction is the thread that began it
            within = self._depth > 0
        with told(self.path, "written"), self._nested() if within else self._outermost():
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    @contextmanager
    def _outermost(self) -> Iterator[None]:
        connection = self._begin()
        try:
            yield
            patiently(lambda: connection.execute("COMMIT"), self._wait)
        except BaseException:
            if connection.in_transaction:  # SQLite itself may have rolled it back
                connection.execute("ROLLBACK")
            raise
        finally:
            self._lock.release()
        self._writes += 1
        if self._writes % CHECKPOINT_EVERY == 0:
            self._checkpoint()

    def _begin(self) -> apsw.Connection:
        """Begin a transaction and keep the lock of this object; while waiting, other threads may use it."""
        for tried in range(1, MAX_TRIES + 1):
            self._lock.acquire()
            try:
                connection = self._writer()
                connection.execute("BEGIN IMMEDIATE")
                return connection
            except BUSY:
                self._lock.release()
                if tried == MAX_TRIES:
                    raise
            except BaseException:
                self._lock.release()
                raise
            self._wait()
        raise AssertionError("not reached")

    def _wait(self) -> None:
        """Between two tries."""
        if not self._waits:
            self._waits = True
            self._waiting(holder(self._real))
        pause()

    @contextmanager
    def _nested(self) -> Iterator[None]:
        connection = self._writer()
        name = f"nested_{self._depth}"
        connection.execute(f"SAVEPOINT {name}")
        try:
            yield
        except BaseException:
            if connection.in_transaction:
                # A savepoint that was gone back to is still open.
                connection.execute(f"ROLLBACK TO {name}")
                connection.execute(f"RELEASE {name}")
            raise
        connection.execute(f"RELEASE {name}")

    def execute(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement within a transaction; how many rows it changed."""
        with self._lock:
            if not self._depth:
                raise RuntimeError("a statement that writes belongs into a transaction")
            connection = self._writer()
            connection.execute(statement, clean(values))
            return connection.changes()

    def insert(self, table: str, row: Row, *, otherwise: str = "") -> int:
        """Insert a row within a transaction, leaving out what the store has no column for; its rowid. `otherwise` is
        the clause ON CONFLICT."""
        names = self.schema.only(table, row)
        columns, marks = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
        statement = f'INSERT INTO "{table}" ({columns}) VALUES ({marks}) {otherwise}'  # noqa: S608 - names of our own
        self.execute(statement, [row[name] for name in names])
        return self._writer().last_insert_rowid()

    def _writer(self) -> apsw.Connection:
        if self.read_only:
            raise StoreError(f"The session store {self.path} was opened for reading only.")
        if self._connection is None:
            raise StoreError(f"The session store {self.path} was closed.")
        if not self._depth:
            try:
                is_same = self._real.stat().st_ino == self._inode
            except OSError:  # gone, and what would be written now would have no name
                is_same = False
            if not is_same:
                raise StoreError(f"The session store {self.path} was replaced or removed meanwhile: open it again.")
        return self._connection

    def _checkpoint(self) -> None:
        """Bring what is in the log into the database, as far as that keeps nobody waiting. A failure loses nothing:
        what was committed stands in the log, and the next checkpoint takes it along."""
        try:
            with self._lock:
                if self._connection is not None:
                    self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except (apsw.Error, StoreError):
            return
