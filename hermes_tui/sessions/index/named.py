"""Messages by the roles, tools and files that they have to do with."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator

import apsw

from hermes_tui.sessions.index.questions import Name
from hermes_tui.sessions.index.schema import ROLE

__all__ = ["Known", "Named", "Stream"]

Stream = Callable[[int], Iterator[int]]
"""Rows below one, newest first."""
Known = dict[Name, frozenset[str]]
"""Name → its numbers, as messages have them."""
_NAMES = 1000
_FEW = 4096
"""Rows that are gathered and put in order. Where there are more, the newest messages are looked at one by one, since
every few of them is among those; and where there are more than `_NAMES` names."""


class Named:
    """Answers for one look at the index."""

    def __init__(self, connection: apsw.Connection, known: Known) -> None:
        self._connection = connection
        self._known = known

    def stream(self, name: Name, low: int, unit: str = "TRUE") -> Stream:
        """The messages from `low` on that have to do with it, and of which the SQL `unit` is true."""
        few = self._few(name, low, unit)
        if few is not None:
            return lambda before: reversed(few[: bisect_left(few, before)])
        ids = self._ids(name)
        every = f"SELECT id, names FROM message WHERE id >= ? AND id < ? AND {unit} ORDER BY id DESC"  # noqa: S608

        def rows(before: int) -> Iterator[int]:
            found = self._connection.execute(every, (low, before))
            return (row for row, names in found if names and not ids.isdisjoint(names.split()))

        return rows

    def _few(self, name: Name, low: int, unit: str) -> list[int] | None:
        """All of them, oldest first; None where there are many."""
        ids = self._ids(name)
        if len(ids) > _NAMES:
            return None
        which = "name IN (SELECT value FROM json_each(?)) AND message >= ?"
        sql = f"SELECT DISTINCT message FROM called WHERE {which} LIMIT ?"  # noqa: S608
        found = [row for (row,) in self._connection.execute(sql, (f"[{','.join(ids)}]", low, _FEW + 1))]
        if len(found) > _FEW:
            return None
        if unit == "TRUE":
            return sorted(found)
        sql = f"SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?)) AND {unit} ORDER BY id"  # noqa: S608
        return [row for (row,) in self._connection.execute(sql, (json.dumps(found),))]

    def _ids(self, name: Name) -> frozenset[str]:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._looked_up(name)
        return found

    def _looked_up(self, name: Name) -> frozenset[str]:
        held = "substr(text, 1, length(?2)) = ?2" if name.kind == ROLE else "instr(text, ?2) > 0"
        sql = f"SELECT id FROM name WHERE kind = ?1 AND {held}"  # noqa: S608
        return frozenset(str(id_) for (id_,) in self._connection.execute(sql, (name.kind, name.value)))
