"""Messages by the roles, tools and files that they have to do with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice

import apsw
import msgspec

from hermes_tui.sessions.index.reading.names import IndexNames
from hermes_tui.sessions.index.reading.postings import Stream, kept
from hermes_tui.sessions.index.reading.questions import Name

__all__ = ["Named"]

_FIRST = 64
"""Rows that are read first."""
_MERGED = 40
"""Stretches of `called`, each in the order of its messages, that SQLite may merge as they are read."""
_NAMES = 8192
_FEW = 1 << 15
"""Rows that are gathered and put in order, of more names. Where there are more rows, the newest messages are looked
at one by one, since every few of them is among those; and where there are more than `_NAMES` names."""
_ROWS = msgspec.json.Decoder(list[int])
_STRETCH = "SELECT message FROM called WHERE name = ? AND unit = ? AND message >= ? AND message < ?"

Units = tuple[int, ...]


class Named:
    """Answers for one search; of what is gathered, the same for all its pages."""

    def __init__(self, names: IndexNames, generation: str) -> None:
        self._names = names
        self._generation = generation
        self._meant: dict[Name, list[int]] = {}
        self._gathered: dict[tuple[Name, Units, int], list[int] | None] = {}

    def stream(self, connection: apsw.Connection, name: Name, low: int, units: Units) -> Stream:
        """The messages from `low` on that have to do with it, and of which there are such units."""
        if name not in self._meant:
            self._meant[name] = self._names.meant(connection, self._generation, name)
        numbers = self._meant[name]
        if len(numbers) * len(units) <= _MERGED:
            return _merged(connection, [(number, unit) for number in numbers for unit in units], low)
        key = name, units, low
        if key not in self._gathered:
            self._gathered[key] = _few(connection, numbers, low, units)
        few = self._gathered[key]
        if few is not None:
            return Stream(kept(few), _FIRST)
        return _looked_at(connection, frozenset(map(str, numbers)), low, units)


def _merged(connection: apsw.Connection, stretches: Sequence[tuple[int, int]], low: int) -> Stream:
    every = " UNION ".join([_STRETCH] * len(stretches))
    # One value, because this thread would have to wait for the others at each row that SQLite gives.
    sql = f"SELECT json_group_array(message) FROM ({every} ORDER BY message DESC LIMIT ?)"  # noqa: S608

    def read(below: int, most: int) -> list[int]:
        bindings = [value for stretch in stretches for value in (*stretch, low, below)]
        return _ROWS.decode(connection.execute(sql, (*bindings, most)).get)

    return Stream(read if stretches else kept(()), _FIRST)


def _few(connection: apsw.Connection, numbers: Sequence[int], low: int, units: Units) -> list[int] | None:
    """All of them, oldest first; None where there are many."""
    if len(numbers) > _NAMES:
        return None
    which = f"name IN (SELECT value FROM json_each(?)) AND unit IN {_listed(units)}"  # noqa: S608
    sql = f"SELECT message FROM called WHERE {which} AND message >= ? LIMIT ?"  # noqa: S608
    found = [row for (row,) in connection.execute(sql, (json.dumps(numbers), low, _FEW + 1))]
    return sorted(set(found)) if len(found) <= _FEW else None


def _looked_at(connection: apsw.Connection, numbers: frozenset[str], low: int, units: Units) -> Stream:
    unit = f"(prose IS NOT NULL) + 2 * (tool IS NOT NULL) IN {_listed(units)}"
    every = f"SELECT id, names FROM message WHERE id >= ? AND id < ? AND {unit} ORDER BY id DESC"  # noqa: S608

    def read(below: int, most: int) -> list[int]:
        found = connection.execute(every, (low, below))
        meant = (row for row, names in found if names and not numbers.isdisjoint(names.split()))
        return list(islice(meant, most))

    return Stream(read, _FIRST)


def _listed(units: Units) -> str:
    return f"({', '.join(map(str, units))})"
