"""One set of queries for both of Hector's databases, SQLite and PostgreSQL."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Any, TypeVar

import apsw

from session_adapters.reading.sqlite import database_stamp, read_database
from session_adapters.reading.sqlite_rows import DAMAGE, VALUE_LIMIT, numbered_columns, select_list
from session_adapters.times import from_iso

__all__ = ["Database", "File", "FileReader", "HectorReader", "keys_json", "moment"]

T = TypeVar("T")
_ZONED = re.compile(r"(?:[+-]\d\d(?::?\d\d){0,2}|Z)$")


class HectorReader(ABC):
    """A database, open for a moment. `?` stands for a parameter."""

    damage: tuple[type[Exception], ...] = ()
    """Errors of one damaged place, beside which others may still be read."""
    insertion: str
    """Expression for the order in which rows came."""
    zone: tzinfo | None = UTC
    """Of times without one; None for this machine's own."""

    @abstractmethod
    def run(self, query: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        """The rows. Text comes as its bytes."""

    @abstractmethod
    def columns(self, table: str) -> frozenset[str]:
        """The names of a table's columns; empty when there is none."""

    @abstractmethod
    def keys(self, table: str) -> frozenset[str]:
        """The columns of its primary key."""

    @abstractmethod
    def select(self, have: Collection[str], wanted: Iterable[str], limit: int = VALUE_LIMIT) -> str:
        """Expressions for a SELECT, one for each wanted column: NULL for a missing one, and for a text over `limit`
        bytes a word about it, as `select_list` has it."""

    @abstractmethod
    def listed(self, width: int) -> str:
        """A SELECT that gives a parameter made by `keys_json` as rows of so many texts."""

    @abstractmethod
    def place(self, key: str) -> str:
        """Expression for what finds a row of a table again, at once, whose key within a session is `key`."""

    @abstractmethod
    def size(self, columns: Sequence[str]) -> str:
        """Expression for the bytes of text in these columns together."""

    @abstractmethod
    def since(self, column: str) -> str:
        """Expression by which times can be put in order."""


def keys_json(keys: Iterable[tuple[Any, ...]]) -> str:
    """Keys as one parameter for `HectorReader.listed`."""
    return json.dumps(list(keys), ensure_ascii=False)


def moment(text: str | None, zone: tzinfo | None) -> datetime | None:
    """A time as Hector's drivers write it; one without a zone is in `zone`, or in this machine's. Year 1 is none."""
    found, bare = _parsed(text) if text else (None, False)
    if found is None or not bare:
        return found
    local = found.replace(tzinfo=None)
    try:
        return (local if zone is None else local.replace(tzinfo=zone)).astimezone(UTC)
    except (OverflowError, ValueError, OSError):  # at the ends of the calendar a zone leads out of it
        return None


@lru_cache(maxsize=64)  # the rows of a turn share one
def _parsed(text: str) -> tuple[datetime | None, bool]:
    """The time, as if it were UTC where no zone stands behind it; and whether none does."""
    return from_iso(text), _ZONED.search(text.strip()) is None


class Database(ABC):
    """Where sessions are."""

    path: str
    """What a user is shown; never with a password."""

    @abstractmethod
    def read(self, work: Callable[[HectorReader], T]) -> T:
        """What `work` returns; it may be called several times. Raises `DatabaseMissing` and `DatabaseUnreadable`."""

    @abstractmethod
    def stamp(self) -> tuple[int, ...]:
        """Changes when the content may have. Raises `OSError` and `DatabaseUnreadable`."""

    def last_stamp(self) -> tuple[int, ...]:
        """The same as it was last known, without waiting for anything."""
        return self.stamp()

    def replaced(self, before: tuple[int, ...], now: tuple[int, ...]) -> bool:
        """Whether another database is there now, by the stamps."""
        return False


class File(Database):
    """An SQLite file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self, work: Callable[[HectorReader], T]) -> T:
        """See `Database.read`."""
        return read_database(self.path, lambda connection: work(FileReader(connection)))

    def stamp(self) -> tuple[int, ...]:
        """See `Database.stamp`."""
        return database_stamp(self.path)

    def replaced(self, before: tuple[int, ...], now: tuple[int, ...]) -> bool:
        """See `Database.replaced`."""
        return before[:2] not in ((), now[:2])


class FileReader(HectorReader):
    """An SQLite file."""

    damage = DAMAGE
    insertion = "rowid"

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def run(self, query: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        """See `HectorReader.run`."""
        return iter(self._connection.execute(query, parameters))

    def columns(self, table: str) -> frozenset[str]:
        """See `HectorReader.columns`."""
        return numbered_columns(self._connection, table)

    def keys(self, table: str) -> frozenset[str]:
        """See `HectorReader.keys`."""
        found = self.run("SELECT CAST(name AS BLOB) FROM pragma_table_info(?) WHERE pk > 0", table)
        return frozenset(name.decode("utf-8", "replace") for (name,) in found)

    def select(self, have: Collection[str], wanted: Iterable[str], limit: int = VALUE_LIMIT) -> str:
        """See `HectorReader.select`."""
        return select_list(have, wanted, limit=limit)

    def listed(self, width: int) -> str:
        """See `HectorReader.listed`."""
        parts = ", ".join(f"json_extract(value, '$[{number}]')" for number in range(width))
        return f"SELECT {parts} FROM json_each(?)"  # noqa: S608 - numbers of our own

    def place(self, key: str) -> str:
        """See `HectorReader.place`."""
        return "rowid"

    def size(self, columns: Sequence[str]) -> str:
        """See `HectorReader.size`."""
        return " + ".join(f'coalesce(octet_length("{name}"), 0)' for name in columns) or "0"

    def since(self, column: str) -> str:
        """See `HectorReader.since`. As text, times with two offsets would be out of order."""
        return f'julianday("{column}")'
