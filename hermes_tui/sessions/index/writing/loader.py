"""Puts words into the FTS5 tables, many of them on a thread of its own.

SQLite works without the interpreter's lock, so that the next are read meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import apsw

__all__ = ["Loader"]

_FEW = 256 << 10
"""Bytes up to which a thread is not worth it."""
_DIGITS = 15
"""Of a row's number before its text."""
_PUT = (
    "INSERT INTO {table}(rowid, text) "
    "SELECT CAST(substr(value, 1, {digits}) AS INTEGER), substr(value, {digits} + 1) FROM carray(?)"
)
"""One statement for all: between two of them the interpreter's lock would be waited for."""


class Loader:
    """Ends the transactions of one connection, which nobody else may use while this is `busy`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether it has to be waited for."""
        return self._thread is not None

    def end(self, words: Mapping[str, Mapping[int, bytes]]) -> None:
        """Put in words, by table and row, and commit. Raises `apsw.Error`, here or from `wait`."""
        size = sum(len(text) for rows in words.values() for text in rows.values())
        batches = {table: _batch(rows) for table, rows in words.items() if rows}
        if size <= _FEW:
            self._load(batches)
            return
        self._thread = threading.Thread(target=self._try, args=(batches,), name="words")
        self._thread.start()

    def wait(self) -> None:
        """Until the last transaction is committed."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _try(self, batches: Mapping[str, tuple[bytes, ...]]) -> None:
        try:
            self._load(batches)
        except BaseException as error:  # told to whom waits
            self._error = error

    def _load(self, batches: Mapping[str, tuple[bytes, ...]]) -> None:
        for table, rows in batches.items():
            self._connection.execute(_PUT.format(table=table, digits=_DIGITS), (apsw.carray(rows),))
        self._connection.execute("UPDATE meta SET value=value+1 WHERE key='commits'; COMMIT")


def _batch(rows: Mapping[int, bytes]) -> tuple[bytes, ...]:
    """In the order of their numbers, which FTS5 wants; each with its number before it."""
    return tuple(b"%0*d%b" % (_DIGITS, row, rows[row]) for row in sorted(rows))
