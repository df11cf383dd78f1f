"""Messages by the roles, tools and files that they have to do with."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator

import apsw

from hermes_tui.sessions.index.questions import Name
from hermes_tui.sessions.index.schema import ROLE

__all__ = ["Named", "Stream"]

Stream = Callable[[int], Iterator[int]]
"""Rows below one, newest first."""
_FEW = 4096
"""Rows that are gathered and put in order. Where there are more, the newest messages are looked at one by one, since
every few of them is among those."""


class Named:
    """Answers for one look at the index."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def stream(self, name: Name, low: int) -> Stream:
        """The messages from `low` on that have to do with it."""
        ids = self._ids(name)
        which = "name IN (SELECT value FROM json_each(?)) AND message >= ?"
        sql = f"SELECT DISTINCT message FROM called WHERE {which} LIMIT ?"  # noqa: S608
        few = [row for (row,) in self._connection.execute(sql, (json.dumps(ids), low, _FEW + 1))]
        if len(few) <= _FEW:
            few.sort()
            return lambda before: reversed(few[: bisect_left(few, before)])
        kept = frozenset(map(str, ids))
        every = "SELECT id, names FROM message WHERE id >= ? AND id < ? ORDER BY id DESC"

        def rows(before: int) -> Iterator[int]:
            found = self._connection.execute(every, (low, before))
            return (row for row, names in found if names and not kept.isdisjoint(names.split()))

        return rows

    def without(self, name: Name, rows: Iterator[int]) -> Iterator[int]:
        """Those of some rows that have nothing to do with it."""
        left_out = frozenset(map(str, self._ids(name)))
        for row in rows:
            names = self._connection.execute("SELECT names FROM message WHERE id=?", (row,)).get or ""
            if left_out.isdisjoint(names.split()):
                yield row

    def _ids(self, name: Name) -> list[int]:
        held = "substr(text, 1, length(?2)) = ?2" if name.kind == ROLE else "instr(text, ?2) > 0"
        sql = f"SELECT id FROM name WHERE kind = ?1 AND {held}"  # noqa: S608
        return [id_ for (id_,) in self._connection.execute(sql, (name.kind, name.value))]
