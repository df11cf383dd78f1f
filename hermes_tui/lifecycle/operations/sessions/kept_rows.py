"""Copies of what an operation deletes, kept beside the log of operations.

One file for each operation, readable by its owner alone: a line for each session, its row with its `messages`, as
`hermes sessions export` writes it, and the rows of other tables under their names. It is on the disk before the first
row is deleted, and is what an undo puts back.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hermes_tui.errors import OperationRefused, StoreError
from hermes_tui.lifecycle.operations.plan import Cell, Removal
from hermes_tui.lifecycle.operations.sessions.tables import SessionTables, quoted
from hermes_tui.lifecycle.state_db.connection.rows import Row
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.platform import paths
from hermes_tui.platform.own_files import open_own

__all__ = ["KeptRows"]

_BYTES = "$bytes"


class KeptRows:
    """The copies of one log."""

    def __init__(self, log: Path) -> None:
        self._folder = log.parent / "deleted"

    def path(self, operation: str) -> Path:
        """Where an operation's copy is."""
        return self._folder / f"{operation}.jsonl"

    def keep(self, store: Store, operation: str, removed: Sequence[Removal], tables: SessionTables) -> None:
        """Copy the rows, within the caller's transaction. Raises `StoreError`: nothing may be deleted then."""
        path, columns = self.path(operation), tables.columns
        try:
            paths.private_dir(self._folder)
            with os.fdopen(open_own(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
                for one in removed:
                    session = store.row("SELECT * FROM sessions WHERE id = ?", (one.session_id,)) or {}
                    kept: dict[str, Any] = {name: _coded(value) for name, value in session.items()}
                    for table in one.tables:
                        if table != "sessions":
                            its = f"{quoted(table)} WHERE {quoted(columns[table])} = ?"  # names found there
                            rows = store.rows(f"SELECT * FROM {its} ORDER BY 1", (one.session_id,))  # noqa: S608
                            kept[table] = [{name: _coded(value) for name, value in row.items()} for row in rows]
                    file.write(json.dumps(kept) + "\n")
                # It is on the disk before the first row is deleted.
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            if not isinstance(error, FileExistsError):  # a copy that was there before is whole
                path.unlink(missing_ok=True)  # half a copy is none
            raise StoreError(
                f"What is to be deleted cannot be copied to {path}: {error.strerror or error}; nothing was deleted."
            ) from error

    def restore(self, store: Store, operation: str, removed: Sequence[Removal], tables: SessionTables) -> None:
        """Put the rows back, within the caller's transaction. Raises `OperationRefused` where the copy is not that of
        the operation, or does not fit the store; the caller then rolls back."""
        columns = tables.columns
        store.execute("PRAGMA defer_foreign_keys = 1")  # parents may come after their children
        found = {str(kept.get("id")): kept for kept in self._read(operation)}
        for one in removed:
            kept = found.get(one.session_id)
            if kept is None:
                raise OperationRefused(f"{self.path(operation)} has no copy of session {one.session_id}")
            if "sessions" in one.tables:
                _insert(store, "sessions", {name: value for name, value in kept.items() if name not in columns})
            for table in one.tables:
                rows = kept.get(table, []) if table != "sessions" else []
                if table != "sessions" and (table not in columns or len(rows) != one.tables[table]):
                    raise OperationRefused(
                        f"{self.path(operation)} is not the copy that was made of {one.session_id}"
                    )
                for row in rows:
                    if row.get(columns[table]) != one.session_id:
                        raise OperationRefused(f"{self.path(operation)} has rows of another session")
                    _insert(store, table, row)

    def titles(self, operation: str) -> dict[str, str]:
        """Session → its title, of those that have one. Raises `OperationRefused`."""
        return {str(kept["id"]): str(kept["title"]) for kept in self._read(operation) if kept.get("title")}

    def sessions(self, operation: str) -> dict[str, dict[str, Cell]]:
        """Session → its row, of texts and numbers alone. Raises `OperationRefused`."""
        return {
            str(kept["id"]): {name: value for name, value in kept.items() if not isinstance(value, (list, dict))}
            for kept in self._read(operation)
        }

    def _read(self, operation: str) -> Iterator[Row]:
        path = self.path(operation)
        try:
            with os.fdopen(open_own(path), encoding="utf-8") as file:
                for line in file:
                    found = json.loads(line)
                    if not isinstance(found, dict):
                        raise ValueError("a line is no object")
                    yield found
        except OSError as error:
            raise OperationRefused(f"the copy {path} cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise OperationRefused(f"the copy {path} cannot be understood: {error}") from error


def _coded(value: Any) -> Any:
    return {_BYTES: base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _insert(store: Store, table: str, row: Row) -> None:
    if len(store.schema.only(table, row)) != len(row):
        raise OperationRefused(f"the table {table} has no such columns any more as the copy has")
    store.insert(
        table,
        {
            name: base64.b64decode(value[_BYTES]) if isinstance(value, dict) and _BYTES in value else value
            for name, value in row.items()
        },
    )
