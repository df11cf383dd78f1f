"""Rows of somebody else's tables: columns found by name, values taken as they are.

A schema is never inferred from its version number: which columns there are is asked, and what is missing reads as
NULL. SQLite does not hold a column to its declared type, nor a text to valid UTF-8, so every value is converted
on its own and one that makes no sense is None rather than the loss of its row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import UnionType
from typing import Any, Generic, TypeVar, get_args

import apsw
import msgspec

from session_adapters.reading.bounds import TOO_LARGE, Stint
from session_adapters.reading.sqlite_limits import DatabaseUnreadable, Ration, tables_of

__all__ = [
    "DAMAGE",
    "LISTED_LIMIT",
    "VALUE_LIMIT",
    "Note",
    "RowReader",
    "as_float",
    "as_int",
    "as_text",
    "columns",
    "each_or_alone",
    "insertion",
    "numbered_columns",
    "select_list",
]

T = TypeVar("T", bound=msgspec.Struct)
K = TypeVar("K")
R = TypeVar("R")

DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.IOError)
"""Errors of a damaged page, beside which other pages may still be read. With any other (locked, out of memory)
nothing is known of the rows, and the list stays as it was."""
VALUE_LIMIT = 32 << 20
"""Bytes of a text or blob that are read at most."""
LISTED_LIMIT = 1 << 20
"""The same in a row of a table of sessions."""
Long = Callable[[str, str], None]
"""Is told of a text that was left out: (column, how long it is)."""
Note = Callable[[str, str], None]
"""Is told of what could not be read: (place, reason)."""


def columns(connection: apsw.Connection, table: str, *, views: bool = False) -> frozenset[str]:
    """The names of a table's columns, but those that are computed; empty when there is no such table. Raises
    `DatabaseUnreadable` for a view or a virtual table; with `views` it has no columns."""
    kind = found.kind if (found := tables_of(connection).get(table.lower())) is not None else "table"
    if kind != "table":
        if views:
            return frozenset()
        raise DatabaseUnreadable(f"«{table}» in it is a {kind} and no plain table")
    # As bytes: in a damaged schema a name may be no text.
    names = connection.execute("SELECT CAST(name AS BLOB) FROM pragma_table_info(?)", (table,))
    return frozenset(name.decode("utf-8", "replace") for (name,) in names)


def numbered_columns(connection: apsw.Connection, table: str) -> frozenset[str]:
    """The same for a reader that finds rows by their ids. Raises `DatabaseUnreadable` for a table without any."""
    if insertion(connection, table) == "NULL":
        raise DatabaseUnreadable(f"«{table}» in it was made without row ids, by which its rows are found")
    return columns(connection, table)


def insertion(connection: apsw.Connection, table: str) -> str:
    """By what rows are put in the order of their insertion: nothing, where a table has no row ids."""
    found = tables_of(connection).get(table.lower())
    return "NULL" if found is not None and found.without_rowid else "rowid"


def select_list(have: Collection[str], wanted: Iterable[str], *, prefix: str = "", limit: int = VALUE_LIMIT) -> str:
    """Expressions for a SELECT, one for each wanted column: text as its bytes, a missing column as NULL. In place of
    a text or blob over `limit` bytes its size stands, as a Python `str`, which nothing else is.

    `wanted` are names from our own code, never from the database. `prefix` is the table's alias with its dot.
    """
    parts: list[str] = []
    for name in wanted:
        column = f'{prefix}"{name}"'
        if name in have:
            short = f"octet_length({column}) <= {limit}"
            long = f"ELSE '(too long: ' || octet_length({column}) || ' bytes)' END"
            parts.append(
                f"CASE typeof({column}) WHEN 'text' THEN CASE WHEN {short} THEN CAST({column} AS BLOB) {long}"
                f" WHEN 'blob' THEN CASE WHEN {short} THEN {column} {long} ELSE {column} END"
            )
        else:
            parts.append("NULL")
    return ", ".join(parts)


def each_or_alone(
    keys: Sequence[K], ask: Callable[[Sequence[K]], Iterable[R]], lost: Callable[[K, Exception], object]
) -> list[R]:
    """The rows that `ask` gives for these keys. Where a page is damaged each key is asked for alone, so that only its
    own rows are lost; `lost` is told of which."""
    try:
        return list(ask(keys))
    except DAMAGE:
        found: list[R] = []
    for key in keys:
        try:
            found += ask([key])
        except DAMAGE as error:
            lost(key, error)
    return found


def as_text(value: Any) -> str | None:
    """Text; bytes that are no UTF-8 are replaced, numbers written out."""
    if value is None or isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def as_float(value: Any) -> float | None:
    """A finite number, also one that stands as text."""
    if value is None:
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def as_int(value: Any) -> int | None:
    """A whole number, also one that stands as text or with a fraction."""
    if isinstance(value, int):
        return value
    number = as_float(value)
    return None if number is None else int(number)


_CONVERT: dict[Any, Callable[[Any], Any]] = {str: as_text, float: as_float, int: as_int}


class RowReader(Generic[T]):
    """Reads rows into a `msgspec.Struct` whose fields are the columns; each may be str, int or float, or None.

    A field that does not allow None gets its default, or the type's empty value, in place of one.
    """

    def __init__(self, kind: type[T], *, limit: int = VALUE_LIMIT) -> None:
        """Texts over `limit` bytes are left out."""
        self._kind = kind
        self._limit = limit
        fields = msgspec.structs.fields(kind)
        self.names = tuple(field.encode_name for field in fields)
        self._fields: list[tuple[str, Callable[[Any], Any], Any]] = []
        for field in fields:
            types = get_args(field.type) if isinstance(field.type, UnionType) else (field.type,)
            plain = next(one for one in types if one is not type(None))
            empty = plain() if field.default is msgspec.NODEFAULT else field.default
            self._fields.append((field.name, _CONVERT[plain], None if type(None) in types else empty))

    def select(self, have: Collection[str], *, prefix: str = "") -> str:
        """The SELECT list that `read` expects, out of the columns that there are."""
        return select_list(have, self.names, prefix=prefix, limit=self._limit)

    def read(self, row: Sequence[Any], long: Long | None = None) -> T:
        """One row as a record; `long` is told of each text that is left out."""
        values: list[Any] = []
        for (name, convert, empty), value in zip(self._fields, row, strict=True):
            if value.__class__ is str:  # a size in place of a long text: see `select_list`
                if long is not None:
                    long(name, value)
                value = None
            converted = None if value is None else convert(value)
            values.append(empty if converted is None else converted)
        return self._kind(*values)

    def read_all(self, rows: Iterable[Sequence[Any]], long: Long | None = None) -> Iterator[T]:
        """Each row as a record."""
        return (self.read(row, long) for row in rows)

    def rationed(
        self, rows: Iterable[Sequence[Any]], table: str, note: Note, stint: Stint | None = None
    ) -> Iterator[Sequence[Any]]:
        """The rows of a table of sessions, as many as a list may hold; `note` is told of the rest."""
        ration = Ration.of_list(stint)
        yield from ration.take(rows)
        if ration.spent:
            note(f"table {table}", f"{TOO_LARGE}: {ration.taken} of its rows are read, the rest is left out")

    def listed(
        self, rows: Iterable[Sequence[Any]], table: str, note: Note, stint: Stint | None = None
    ) -> Iterator[T]:
        """Their records. What is left out of one is told to `note`, too."""
        cut: list[tuple[str, str]] = []
        for row in self.rationed(rows, table, note, stint):
            record = self.read(row, lambda name, size: cut.append((name, size)))
            for name, size in cut:
                note(f"table {table}, row {getattr(record, self._fields[0][0])}", f"its {name} is left out {size}")
            cut.clear()
            yield record
