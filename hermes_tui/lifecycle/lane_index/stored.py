"""Loads and saves the whole lane index as a gateway does.

The table first, the file beside it.

Hermes' own saving drops what it did not understand when it loaded. This one keeps it: entries that cannot be read,
members of an entry that it does not know, notes in the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from hermes_tui.errors import EntryError, StoreError
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.index_file import README, encode_member, read_index, replace_index
from hermes_tui.lifecycle.state_db.database import SessionDB

__all__ = ["StoredIndex"]


class StoredIndex:
    """Where one sessions directory has its lanes."""

    def __init__(self, sessions_dir: Path, db: SessionDB, write_file: bool = True) -> None:
        """`write_file` is the setting `gateway.write_sessions_json`; without a routing table the file is written
        whatever it says."""
        self._dir = sessions_dir
        self._db = db
        self._write_file = write_file
        self._not_understood: dict[str, Any] = {}
        self._notes: dict[str, Any] = {}
        self._encoded: dict[str, _Encoded] = {}
        self._in_rows: dict[str, str] | None = None
        """What the table held after the last save; None: nobody knows."""
        self.problems: list[str] = []
        """Entries that were passed over when loading, with the reason."""

    @property
    def path(self) -> Path:
        """`sessions.json`."""
        return self._dir / "sessions.json"

    @property
    def _in_table(self) -> SessionDB | None:
        return self._db if self._db.has_routing else None

    @property
    def _scope(self) -> str:
        return str(self._dir.resolve())

    def load(self) -> dict[str, SessionEntry]:
        """Every lane: the table's, and those that only the file has. Raises `StoreError`, for a file that is torn
        too where it is the only index: it would be overwritten otherwise."""
        self._dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        found: dict[str, SessionEntry] = {}
        table = self._in_table
        if table is not None:
            for key, text in table.load_gateway_routing_entries(scope=self._scope).items():
                self._take(found, key, text)
        file = read_index(self.path)
        if file.fault and table is None:
            raise StoreError(f"The index {self.path} cannot be used: {file.fault}; repair it or move it away.")
        if file.fault:
            self.problems.append(f"{self.path}: {file.fault}")
        self._notes = {key: value for key, value in file.members.items() if key.startswith("_")}
        # The file only fills in what the table lacks: also an entry of the table that is not understood stays.
        for key, value in file.entries.items():
            if key not in found and key not in self._not_understood:
                self._take(found, key, value)
        return found

    def _take(self, found: dict[str, SessionEntry], key: str, value: Any) -> None:
        try:
            found[key] = SessionEntry.from_json(value) if isinstance(value, str) else SessionEntry.from_dict(value)
        except EntryError as error:
            self._not_understood[key] = value
            self.problems.append(f"lane {key}: {error}")

    def save(self, entries: Mapping[str, SessionEntry]) -> None:
        """Write all of them, at once in each place. Raises `StoreError`."""
        before = self._encoded
        # An entry is never changed, only replaced: most of the texts are those of the last time.
        self._encoded = {
            key: known if (known := before.get(key)) is not None and known.entry is entry else _Encoded(entry)
            for key, entry in entries.items()
        }
        kept = {key: value for key, value in self._not_understood.items() if key not in entries}
        table = self._in_table
        if table is not None:
            rows = {key: one.row for key, one in self._encoded.items()}
            rows |= {key: value if isinstance(value, str) else json.dumps(value) for key, value in kept.items()}
            self._save_rows(table, rows)
        if table is None or self._write_file:
            # The note says that the table is what counts: there is none in the document's store.
            noted = table is None or "_README" in self._notes
            notes = self._notes if noted else {"_README": README, **self._notes}
            members = {key: encode_member(value) for key, value in notes.items()}
            members |= {key: one.member for key, one in self._encoded.items()}
            members |= {key: encode_member(_decoded(value)) for key, value in kept.items()}
            try:
                replace_index(self.path, members)
            except OSError as error:
                raise StoreError(f"The index {self.path} cannot be written: {error.strerror or error}.") from error

    def _save_rows(self, table: SessionDB, rows: dict[str, str]) -> None:
        """All at first; afterwards those that are others than the last time: a turn changes one lane of hundreds."""
        before, self._in_rows = self._in_rows, None  # until all is written: after a failure nobody knows
        if before is None:
            table.replace_gateway_routing_entries(rows, scope=self._scope)
        else:
            with table.transaction():
                for key, text in rows.items():
                    if before.get(key) != text:
                        table.save_gateway_routing_entry(key, text, scope=self._scope)
                table.delete_gateway_routing_entries(before.keys() - rows.keys(), scope=self._scope)
        self._in_rows = rows


class _Encoded:
    """An entry as it is written."""

    def __init__(self, entry: SessionEntry) -> None:
        self.entry = entry

    @cached_property
    def row(self) -> str:
        """In the table."""
        return json.dumps(self.entry.to_dict())

    @cached_property
    def member(self) -> str:
        """In the file."""
        return encode_member(self.entry.to_dict())


def _decoded(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
