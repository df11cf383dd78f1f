"""A Hector database on a PostgreSQL server; its driver is imported when needed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import TypeVar

from session_adapters.hector.dsn import Dsn
from session_adapters.hector.reader import Database, HectorReader
from session_adapters.reading.sqlite import DatabaseUnreadable

__all__ = ["Server"]

T = TypeVar("T")


class Server(Database):
    """A database on a PostgreSQL server."""

    def __init__(self, dsn: Dsn, zone: tzinfo | None) -> None:
        self.path = dsn.label
        self._dsn = dsn
        self._zone = zone

    def read(self, work: Callable[[HectorReader], T]) -> T:
        """See `Database.read`."""
        try:
            from session_adapters.hector.postgres import read_server
        except ImportError as error:
            raise DatabaseUnreadable(
                "reading PostgreSQL needs psycopg, which is not installed: pip install 'hermes-tui[postgres]'"
            ) from error
        return read_server(self._dsn, self._zone, work)

    def look(self) -> tuple[tuple[int, ...], int]:
        """The stamp, and bytes. Raises `DatabaseUnreadable`."""

        def read(reader: HectorReader) -> tuple[tuple[int, ...], int]:
            from session_adapters.hector.postgres import look

            return look(reader)

        return self.read(read)

    def stamp(self) -> tuple[int, ...]:
        """See `Database.stamp`."""
        return self.look()[0]
