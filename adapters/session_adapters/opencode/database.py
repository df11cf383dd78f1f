"""OpenCode's database as a store of sessions, opened for each visit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import apsw

from session_adapters.model import Message
from session_adapters.opencode.schema import sessions_of
from session_adapters.opencode.tables import OpenCodeRows
from session_adapters.opencode.units import (
    OpenCodeFacts,
    OpenCodeReader,
    OpenCodeStore,
    OpenCodeUnit,
    OpenCodeUnits,
    SessionGone,
)
from session_adapters.reading.sqlite import read_database, stamp_or_empty
from session_adapters.reading.sqlite_limits import SESSION_ROWS

__all__ = ["DatabaseReader", "OpenCodeDatabase"]

T = TypeVar("T")


class DatabaseReader(OpenCodeReader):
    """One session of an open database."""

    def __init__(self, rows: OpenCodeRows, facts: OpenCodeFacts) -> None:
        super().__init__(facts)
        self._rows = rows
        self.ration = rows.ration

    def units(self, most: int = SESSION_ROWS) -> OpenCodeUnits:
        """See `OpenCodeReader.units`. What the user took back begins anywhere."""
        whole = most >= SESSION_ROWS or bool(self.facts.revert)
        found = self._rows.units([self.facts], most=SESSION_ROWS if whole else most)[self.facts.id]
        self._take_lost()
        return found

    def contents(self, units: Sequence[OpenCodeUnit]) -> dict[str, list[Message]]:
        """See `OpenCodeReader.contents`."""
        found = self._rows.contents(units, self.facts.id)
        self._take_lost()
        return found

    def _take_lost(self) -> None:
        # Moved and not copied: the same rows are asked again for the next page.
        for damage in self._rows.lost.values():
            self.lost.extend(damage)
        self.left += self._rows.left.total()
        self._rows.lost.clear()
        self._rows.left.clear()


class OpenCodeDatabase(OpenCodeStore):
    """A database of sessions."""

    def __init__(self, path: str) -> None:
        self.path = path

    def stamp(self) -> tuple[Any, ...]:
        """See `OpenCodeStore.stamp`. Reading says why there is none."""
        return stamp_or_empty(self.path)

    def visit(self, session_id: str, work: Callable[[OpenCodeReader], T]) -> T:
        """See `OpenCodeStore.visit`."""

        def read(connection: apsw.Connection) -> T:
            rows = OpenCodeRows(connection)
            facts = next(sessions_of(connection, rows.schema, lambda lost: None, session_id), None)
            if facts is None:
                raise SessionGone(session_id)
            return work(DatabaseReader(rows, facts))

        return read_database(self.path, read)
