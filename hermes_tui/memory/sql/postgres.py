"""Sessions on a PostgreSQL server, by a pool of connections.

Imported when an address is given: psycopg is an extra (`hermes-tui[postgres]`). No word of psycopg's
own messages is passed on: an address with its password could be in one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from hermes_tui.errors import StoreBusy, StoreError
from hermes_tui.memory.sql.database import Rows, SqlDatabase, Statements
from session_adapters.hector.configuration.dsn import Dsn
from session_adapters.hector.postgres import CONNECT_TIMEOUT, failure_reason

__all__ = ["PostgresDatabase"]

T = TypeVar("T")
LIFETIME = 300.0
"""Seconds after which a connection is replaced, as in the document."""
_WAIT = 10.0
"""Seconds that a connection is waited for."""
_BUSY = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected, PoolTimeout, TooManyRequests)


class _PostgresStatements(Statements):
    """A transaction of one connection."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def run(self, query: str, *parameters: object) -> Rows:
        """See `Statements.run`."""
        cursor = self._connection.execute(query.replace("?", "%s").encode(), parameters)
        rows: Rows = cursor.fetchall() if cursor.description is not None else []
        self.rows_read += len(rows)
        return rows

    def run_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """See `Statements.run_many`."""
        with self._connection.cursor() as cursor:
            cursor.executemany(query.replace("?", "%s").encode(), rows)

    def columns(self, table: str) -> frozenset[str]:
        """See `Statements.columns`."""
        query = (
            "SELECT attname::text FROM pg_catalog.pg_attribute"
            " WHERE attrelid = pg_catalog.to_regclass(?) AND attnum > 0 AND NOT attisdropped"
        )
        return frozenset(name for (name,) in self.run(query, table))

    def keys(self, table: str) -> frozenset[str]:
        """See `Statements.keys`."""
        query = (
            "SELECT a.attname::text FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a"
            " ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
            " WHERE i.indisprimary AND i.indrelid = pg_catalog.to_regclass(?)"
        )
        return frozenset(name for (name,) in self.run(query, table))


class PostgresDatabase(SqlDatabase):
    """A database on a server. Connected to when it is first used."""

    dialect = "postgres"

    def __init__(
        self,
        dsn: Dsn,
        *,
        max_conns: int = 10,
        max_idle: int = 2,
        lifetime: float = LIFETIME,
        read_only: bool = False,
    ) -> None:
        """At most `max_conns` connections are open, `max_idle` are kept while nobody needs them, and each is
        replaced after `lifetime` seconds."""
        super().__init__()
        self.label = dsn.label
        self.is_read_only = read_only
        settings: dict[str, Any] = {"fallback_application_name": "hermes-tui", "client_encoding": "UTF8"}
        if "connect_timeout=" not in dsn.text:
            settings["connect_timeout"] = CONNECT_TIMEOUT
        self._pool = ConnectionPool(
            dsn.text,
            kwargs=settings,
            min_size=min(max_idle, max(1, max_conns)),
            max_size=max(1, max_conns),
            max_lifetime=lifetime,
            timeout=_WAIT,
            open=False,
            name="memory",
            num_workers=1,
            reconnect_timeout=_WAIT,
        )

    def read(self, work: Callable[[Statements], T]) -> T:
        """See `SqlDatabase.read`."""
        return self._transaction(work, writes=False)

    def write(self, work: Callable[[Statements], T]) -> T:
        """See `SqlDatabase.write`."""
        if self.is_read_only:
            raise StoreError(f"The sessions in {self.label} were opened for reading alone: nothing was written.")
        return self._transaction(work, writes=True)

    def close(self) -> None:
        """See `SqlDatabase.close`."""
        self._pool.close()

    def _transaction(self, work: Callable[[Statements], T], *, writes: bool) -> T:
        try:
            self._pool.open()
            with self._pool.connection() as connection, connection.transaction():
                if not writes:  # all statements of a reading see one state
                    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                statements = _PostgresStatements(connection)
                found = work(statements)
            self.count(statements)
            return found
        except _BUSY as error:
            raise StoreBusy(
                f"The sessions in {self.label} could not be had in time and nothing was changed; try again."
            ) from error
        except PoolClosed as error:
            raise StoreError(f"The sessions in {self.label} are closed.") from error
        except psycopg.Error as error:  # without its words: the address with its password may be among them
            raise StoreError(f"The sessions in {self.label} were not changed: {failure_reason(error)}.") from None
