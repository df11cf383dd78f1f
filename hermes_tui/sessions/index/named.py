"""Messages by the roles, tools and files that they have to do with."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

import apsw

from hermes_tui.sessions.index.names import Names
from hermes_tui.sessions.index.questions import Name

__all__ = ["Named", "Stream"]

Stream = Callable[[int], Iterator[int]]
"""Rows below one, newest first."""
_MERGED = 40
"""Stretches of `called`, each in the order of its messages, that SQLite may merge as they are read."""
_NAMES = 1000
_FEW = 4096
"""Rows that are gathered and put in order, of more names. Where there are more rows, the newest messages are looked
at one by one, since every few of them is among those; and where there are more than `_NAMES` names."""
_STRETCH = "SELECT message FROM called WHERE name = ? AND unit = ? AND message >= ? AND message < ?"


class Named:
    """Answers for one look at the index."""

    def __init__(self, connection: apsw.Connection, names: Names, generation: str) -> None:
        self._connection = connection
        self._names = names
        self._generation = generation

    def stream(self, name: Name, low: int, units: Sequence[int]) -> Stream:
        """The messages from `low` on that have to do with it, and of which there are such units."""
        numbers = self._names.meant(self._connection, self._generation, name)
        stretches = [(number, unit) for number in numbers for unit in units]
        if len(stretches) <= _MERGED:
            return self._merged(stretches, low)
        few = self._few(numbers, low, units)
        if few is not None:
            return lambda before: reversed(few[: bisect_left(few, before)])
        return self._looked_at(frozenset(map(str, numbers)), low, units)

    def _merged(self, stretches: Sequence[tuple[int, int]], low: int) -> Stream:
        sql = " UNION ".join([_STRETCH] * len(stretches)) + " ORDER BY message DESC"

        def rows(before: int) -> Iterator[int]:
            bindings = [value for stretch in stretches for value in (*stretch, low, before)]
            return (row for (row,) in self._connection.execute(sql, bindings)) if stretches else iter(())

        return rows

    def _few(self, numbers: Sequence[int], low: int, units: Sequence[int]) -> list[int] | None:
        """All of them, oldest first; None where there are many."""
        if len(numbers) > _NAMES:
            return None
        which = "name IN (SELECT value FROM json_each(?)) AND unit IN (SELECT value FROM json_each(?))"
        sql = f"SELECT DISTINCT message FROM called WHERE {which} AND message >= ? LIMIT ?"  # noqa: S608
        bindings = (json.dumps(numbers), json.dumps(units), low, _FEW + 1)
        found = [row for (row,) in self._connection.execute(sql, bindings)]
        return sorted(found) if len(found) <= _FEW else None

    def _looked_at(self, numbers: frozenset[str], low: int, units: Sequence[int]) -> Stream:
        unit = "(prose IS NOT NULL) + 2 * (tool IS NOT NULL) IN (SELECT value FROM json_each(?))"
        every = f"SELECT id, names FROM message WHERE id >= ? AND id < ? AND {unit} ORDER BY id DESC"  # noqa: S608

        def rows(before: int) -> Iterator[int]:
            found = self._connection.execute(every, (low, before, json.dumps(units)))
            return (row for row, names in found if names and not numbers.isdisjoint(names.split()))

        return rows
