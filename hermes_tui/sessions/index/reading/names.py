"""The numbers that roles, tools and files have in the index."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterator

import apsw

from hermes_tui.sessions.index.reading.questions import Name
from hermes_tui.sessions.index.schema import FILE, ROLE

__all__ = ["IndexNames"]


class IndexNames:
    """The names of one index at a time. Any thread may ask.

    There are a few roles and tools, which the index is asked for. Paths of files are many, and a filter may mean any
    part of them: they are kept in memory once they were asked for, in one text that is looked through as a whole.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = ""
        self._paths = b""
        self._starts = array("q")
        self._numbers = array("q")

    def meant(self, connection: apsw.Connection, generation: str, name: Name) -> list[int]:
        """The numbers of those that begin with the role, or have the tool or file in them."""
        if name.kind == FILE:
            with self._lock:
                self._learn(connection, generation)
                return list(self._holding(name.value.encode("utf-8", "replace")))
        held = "substr(text, 1, length(?2)) = ?2" if name.kind == ROLE else "instr(text, ?2) > 0"
        sql = f"SELECT id FROM name WHERE kind = ?1 AND {held}"  # noqa: S608
        return [number for (number,) in connection.execute(sql, (name.kind, name.value))]

    def _learn(self, connection: apsw.Connection, generation: str) -> None:
        """Take in the paths that are new: no name is ever taken out of an index."""
        if generation != self._generation:
            self._generation, self._paths, self._starts, self._numbers = generation, b"", array("q"), array("q")
        last = self._numbers[-1] if self._numbers else 0
        at, new = len(self._paths), list[bytes]()
        # The plus keeps SQLite to the order of the numbers.
        for number, path in connection.execute("SELECT id, text FROM name WHERE +kind=? AND id>?", (FILE, last)):
            new.append(path.encode("utf-8", "replace"))
            self._starts.append(at)
            self._numbers.append(number)
            at += len(new[-1])
        if new:
            self._paths = b"".join((self._paths, *new))

    def _holding(self, part: bytes) -> Iterator[int]:
        paths, starts = self._paths, self._starts
        at = paths.find(part)
        while 0 <= at < len(paths):
            place = bisect_right(starts, at) - 1
            end = starts[place + 1] if place + 1 < len(starts) else len(paths)
            inside = at + len(part) <= end
            if inside:
                yield self._numbers[place]
            at = paths.find(part, end if inside else at + 1)
