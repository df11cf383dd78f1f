"""A new SQLite database of the demo's: complete, and without a write-ahead log when the block is left."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import apsw

__all__ = ["Ledger"]


class Ledger:
    """The database at `path` with the tables of `ddl`; everything is written in one transaction.

    Raises `OSError` when the folder cannot be made, `apsw.Error` when the database cannot be written.
    """

    def __init__(self, path: Path, ddl: str, *, journal: str = "WAL", version: int = 0) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = apsw.Connection(str(path))
        self._db.pragma("journal_mode", journal)
        self._db.pragma("synchronous", "OFF")  # a demo that is lost with the machine is no loss
        self._db.execute("BEGIN")
        self._db.execute(ddl)
        self._db.pragma("user_version", version)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.execute("COMMIT" if error is None else "ROLLBACK")
        self._db.pragma("wal_checkpoint(TRUNCATE)")
        self._db.close()

    def insert(self, table: str, row: dict[str, Any]) -> None:
        """A row. The names of table and columns come from the demo's own code."""
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        self._db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))  # noqa: S608

    def update(self, table: str, key: tuple[str, Any], changes: dict[str, Any]) -> None:
        """Change the row whose column `key[0]` is `key[1]`."""
        settings = ", ".join(f"{name} = ?" for name in changes)
        query = f"UPDATE {table} SET {settings} WHERE {key[0]} = ?"  # noqa: S608
        self._db.execute(query, (*changes.values(), key[1]))
