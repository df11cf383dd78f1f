"""Reads Hector's tables from PostgreSQL, in short read-only transactions.

Imported only when an address was given: psycopg is an optional dependency (`pip install 'hermes-tui[postgres]'`). No
word of psycopg's own messages is passed on: an address with its password could be in one.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import tzinfo
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.adapt import Dumper, Loader

from session_adapters.hector.configuration.dsn import Dsn
from session_adapters.hector.reader import HectorReader
from session_adapters.reading.sqlite import DatabaseUnreadable
from session_adapters.reading.sqlite_rows import VALUE_LIMIT

__all__ = ["CONNECT_TIMEOUT", "ServerReader", "failure_reason", "look", "read_server"]

T = TypeVar("T")

CONNECT_TIMEOUT = 4
"""Seconds."""
READ_TIMEOUT = 20.0
"""Seconds that one reading may take in all, whatever the server says or does not say."""
STATEMENT_TIMEOUT = 15_000
"""Milliseconds, as in the next two."""
LOCK_TIMEOUT = 1_000  # ms; a table that is being changed must not hold up a list
IDLE_TIMEOUT = 60_000  # ms; a reader that was stopped would keep rows from being vacuumed


class _Bytes(Loader):
    """Text as its bytes: a database without an encoding may hold any."""

    def load(self, data: bytes | bytearray | memoryview) -> bytes:
        return bytes(data)


class _Text(Dumper):
    """Text for a server that keeps bytes and no encoding."""

    def dump(self, obj: str) -> bytes:
        data = obj.encode()
        if b"\0" in data:
            raise psycopg.DataError("NUL")
        return data


class ServerReader(HectorReader):
    """A database on a server, in a transaction that sees one state of it."""

    insertion = "ctid"

    def __init__(self, connection: psycopg.Connection[Any], zone: tzinfo | None) -> None:
        self._connection = connection
        self.zone = zone

    def run(self, query: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        """See `HectorReader.run`."""
        text = query.replace("?", "%s").encode()
        return iter(self._connection.execute(text, parameters).fetchall())

    def columns(self, table: str) -> frozenset[str]:
        """See `HectorReader.columns`."""
        query = (
            "SELECT attname::text FROM pg_catalog.pg_attribute"
            " WHERE attrelid = pg_catalog.to_regclass(?) AND attnum > 0 AND NOT attisdropped"
        )
        return frozenset(name.decode() for (name,) in self.run(query, table))

    def keys(self, table: str) -> frozenset[str]:
        """See `HectorReader.keys`."""
        query = (
            "SELECT a.attname::text FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a"
            " ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
            " WHERE i.indisprimary AND i.indrelid = pg_catalog.to_regclass(?)"
        )
        return frozenset(name.decode() for (name,) in self.run(query, table))

    def select(self, have: Collection[str], wanted: Iterable[str], limit: int = VALUE_LIMIT) -> str:
        """See `HectorReader.select`. Left out is left out: to tell of it takes another type than text."""
        short = (
            f'CASE WHEN octet_length("{name}"::text) <= {limit} THEN "{name}"::text END' if name in have else "NULL"
            for name in wanted
        )
        return ", ".join(short)

    def listed(self, width: int) -> str:
        """See `HectorReader.listed`."""
        parts = ", ".join(f"listed ->> {number}" for number in range(width))
        return f"SELECT {parts} FROM json_array_elements(?::json) AS listed"  # noqa: S608 - numbers of our own

    def place(self, key: str) -> str:
        """See `HectorReader.place`."""
        return f'"{key}"::text'

    def size(self, columns: Sequence[str]) -> str:
        """See `HectorReader.size`."""
        return " + ".join(f'coalesce(octet_length("{name}"::text), 0)' for name in columns) or "0"

    def since(self, column: str) -> str:
        """See `HectorReader.since`."""
        return f'"{column}"'


def read_server(dsn: Dsn, zone: tzinfo | None, work: Callable[[HectorReader], T]) -> T:
    """What `work` returns. `zone` is that of the writer, whose wall time the server keeps; None is this machine's.
    Raises `DatabaseUnreadable`."""
    settings: dict[str, Any] = {"fallback_application_name": "hermes-tui", "client_encoding": "UTF8"}
    if "connect_timeout=" not in dsn.text:
        settings["connect_timeout"] = CONNECT_TIMEOUT
    late = threading.Event()
    try:
        with (
            psycopg.connect(dsn.text, autocommit=False, prepare_threshold=None, **settings) as connection,
            _deadline(connection, late),
        ):
            try:
                connection.read_only = True
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                connection.adapters.register_loader("text", _Bytes)
                if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
                    connection.adapters.register_dumper(str, _Text)
                    connection.execute("SET LOCAL client_encoding = 'SQL_ASCII'")  # or it refuses what is not valid
                # In the transaction and not as options of the connection, which poolers refuse.
                connection.execute(f"SET LOCAL statement_timeout = {STATEMENT_TIMEOUT}".encode())
                connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT}".encode())
                connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_TIMEOUT}".encode())
                return work(ServerReader(connection, zone))
            finally:
                if not connection.closed:
                    connection.rollback()
    except psycopg.Error as error:
        reason = "reading it took too long" if late.is_set() else failure_reason(error)
        raise DatabaseUnreadable(reason) from None


@contextmanager
def _deadline(connection: psycopg.Connection[Any], late: threading.Event) -> Iterator[None]:
    """Hangs up after `READ_TIMEOUT` and sets `late`: that ends whatever waits for the server."""

    def hang_up() -> None:
        late.set()
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(READ_TIMEOUT, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # it must not use the number of a file that is closed


_REASONS: tuple[tuple[type[psycopg.Error], str], ...] = (
    (errors.QueryCanceled, "reading it took too long"),
    (errors.LockNotAvailable, "its tables are locked"),
    (errors.InsufficientPrivilege, "this user may not read its tables"),
    (errors.InvalidPassword, "the server refuses the user or the password"),
    (errors.InvalidAuthorizationSpecification, "the server refuses the user or the password"),
    (errors.InvalidCatalogName, "the server has no database of that name"),
    (errors.TooManyConnections, "the server takes no more connections"),
    (errors.ConnectionTimeout, "the server does not answer"),
    (psycopg.DataError, "the database cannot take what it was asked"),
)
_WORDS = (
    ("no password supplied", "the server asks for a password"),
    ("authentication failed", "the server refuses the user or the password"),
    ("no pg_hba.conf entry", "the server refuses connections from here"),
    ("does not exist", "the server has no such database or user"),
    ("too many clients", "the server takes no more connections"),
    ("starting up", "the server is starting up"),
    ("shutting down", "the server is shutting down"),
    ("refused", "nothing answers there"),
    ("No such file", "nothing answers there"),
    ("timeout", "the server does not answer"),
    ("resolve", "its host is not known"),
    ("translate host name", "its host is not known"),
    ("SSL", "no secure connection could be made"),
)
"""What libpq says in words alone."""


def failure_reason(error: psycopg.Error) -> str:
    """Why it failed, in a clause of ours."""
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return reason
    said = str(error)
    if error.sqlstate is None:
        found = next((reason for word, reason in _WORDS if word in said), None)
        return found or "no connection to the server could be made, or it broke"
    return f"the server reports error {error.sqlstate}"


# Whether anything changed ------------------------------------------------------------------------------------

_TABLES = ("sessions", "session_messages", "session_events")


def look(reader: HectorReader) -> tuple[tuple[int, ...], int]:
    """A stamp that changes with the content, and the bytes of Hector's tables. Nothing is counted but sessions: every
    append moves one of them, and what is changed by hand shows in the server's own counters, a few seconds later."""
    parts: list[Any] = []
    size = 0
    for table in _TABLES:
        have = reader.columns(table)
        if not have:
            continue
        row = next(
            reader.run(
                "SELECT c.oid::text, pg_relation_filenode(c.oid)::text, pg_total_relation_size(c.oid)::text,"
                " pg_stat_get_tuples_inserted(c.oid)::text, pg_stat_get_tuples_updated(c.oid)::text,"
                " pg_stat_get_tuples_deleted(c.oid)::text"
                " FROM pg_catalog.pg_class c WHERE c.oid = pg_catalog.to_regclass(?)",
                table,
            )
        )
        parts += (table, *row[:2], *row[3:])
        size += int(row[2] or 0)
        if table == "sessions" and "updated_at" in have:
            parts += next(reader.run("SELECT count(*)::text, max(updated_at)::text FROM sessions"))
        if table == "session_messages" and "id" in have:
            parts += next(reader.run("SELECT max(id)::text FROM session_messages"))
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=7).digest()
    return (int.from_bytes(digest),), size
