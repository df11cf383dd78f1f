"""Queries for the editor's `state.vscdb`: only the keys that are wanted.

These files reach tens of gigabytes and hold access tokens beside the conversations. Format: FACTS.md «Four separate
stores» 3.

Not read: `agentKv:blob:*`, messages of which nothing says to which conversation and where in it they belong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import apsw

from session_adapters.cursor.facts import CONTENT_LIMIT
from session_adapters.growing.sessions import Mark
from session_adapters.reading.sqlite import DatabaseUnreadable
from session_adapters.reading.sqlite_limits import Ration, held
from session_adapters.reading.sqlite_rows import DAMAGE, as_text, columns

__all__ = ["BUBBLES", "COMPOSERS", "EditorState", "Note", "StoredValue"]

BUBBLES = "bubbleId:"
COMPOSERS = "composerData:"
_PAGE = 50
"""Conversations asked for at once."""
_CHUNK = 200
"""Bubbles asked for at once."""
_SIZE = "octet_length(cursorDiskKV.value)"
_VALUE = f"CASE WHEN {_SIZE} <= {CONTENT_LIMIT} THEN CAST(cursorDiskKV.value AS BLOB) END"

Note = Callable[[str, str], None]


class StoredValue(NamedTuple):
    """A value: None where there is none or it is too large."""

    data: bytes | None
    size: int


def _row(data: Any, size: Any) -> StoredValue:
    return StoredValue(data if isinstance(data, bytes) else None, size if isinstance(size, int) else 0)


class EditorState:
    """An open `state.vscdb`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        disk = columns(connection, "cursorDiskKV")
        self._disk = {"key", "value"} <= disk
        self._is_foreign = bool(disk) and not self._disk
        self._items = {"key", "value"} <= columns(connection, "ItemTable")
        if not self._disk and not self._items:
            raise DatabaseUnreadable("it has no table of keys and values: it is not the editor's")

    def composers(self, note: Note) -> Iterator[tuple[str, StoredValue]]:
        """(id, row) of every conversation, a page at a time."""
        query = (
            f"SELECT CAST(key AS BLOB), {_VALUE}, {_SIZE} FROM cursorDiskKV"  # noqa: S608
            " WHERE key > ?1 AND key < 'composerData;' ORDER BY key LIMIT ?2"
        )
        if self._is_foreign:
            note("table cursorDiskKV", "it has no columns key and value, and no conversation is read from it")
        after = COMPOSERS
        while self._disk:
            try:
                rows = held(self._connection.execute(query, (after, _PAGE)))
            except DAMAGE as error:
                note("table cursorDiskKV", f"a part of it is damaged, conversations are missing ({error})")
                return
            for key, data, size in rows:
                yield (as_text(key) or "").removeprefix(COMPOSERS), _row(data, size)
            if not rows:
                return
            after = as_text(rows[-1][0]) or ""

    def mark(self, session_id: str, row: StoredValue, *more: object) -> Mark | None:
        """Changes with a conversation and with each of its bubbles: a key that is written again gets a new row. The
        index tells, of gigabytes beside it nothing is read. None where it cannot tell. `more` belongs to it."""
        query = "SELECT count(*), total(rowid) FROM cursorDiskKV WHERE key > ?1 || ':' AND key < ?1 || ';'"
        try:
            found = self._connection.execute(query, (f"{BUBBLES}{session_id}",)).fetchone()
        except (*DAMAGE, apsw.SQLError):  # a table without numbers of rows is not the editor's
            return None
        return (crc32(row.data or b""), row.size, *(found or ()), *more)

    def disk(self, keys: Sequence[str], note: Note, ration: Ration | None = None) -> dict[str, StoredValue]:
        """The values of these keys, in their order, as far as there is room."""
        rows = (ration or Ration()).take(self._each(keys, _VALUE, note))
        return {key: _row(data, size) for key, data, size in rows}

    def sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """How long the values of these keys are; none is read for it."""
        return {key: size for key, _, size in self._each(keys, "NULL", lambda place, reason: None)}

    def _each(self, keys: Sequence[str], value: str, note: Note) -> Iterator[tuple[str, Any, Any]]:
        # A CROSS JOIN, for SQLite keeps its order: with gigabytes beside them only the wanted keys are looked up.
        query = (
            f"SELECT CAST(cursorDiskKV.key AS BLOB), {value}, {_SIZE}"  # noqa: S608
            " FROM json_each(?1) AS wanted CROSS JOIN cursorDiskKV ON cursorDiskKV.key = wanted.value"
        )
        for at in range(0, len(keys) if self._disk else 0, _CHUNK):
            chunk = keys[at : at + _CHUNK]
            given: set[str] = set()
            try:
                for key, data, size in self._connection.execute(query, (json.dumps(chunk),)):
                    given.add(as_text(key) or "")
                    yield as_text(key) or "", data, size
            except DAMAGE:
                for one in chunk:
                    try:
                        if one not in given:
                            for _, data, size in self._connection.execute(query, (json.dumps([one]),)):
                                yield one, data, size
                    except DAMAGE as error:
                        note(one, f"it is damaged ({error})")
                        yield one, None, None

    def item(self, key: str, note: Note) -> bytes | None:
        """A value of the table of settings, by its exact name: tokens are beside it."""
        if not self._items:
            return None
        query = f"SELECT {_VALUE.replace('cursorDiskKV', 'ItemTable')} FROM ItemTable WHERE key = ?1"  # noqa: S608
        try:
            row = self._connection.execute(query, (key,)).fetchone()
        except DAMAGE as error:
            note(key, f"it is damaged ({error})")
            return None
        return row[0] if row and isinstance(row[0], bytes) else None
