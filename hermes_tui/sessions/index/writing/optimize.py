"""Merges the parts of the FTS5 tables when there are many.

FTS5 looks into each of them for every word, and would merge them some day while a single line is added.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from hermes_tui.sessions.index.schema import TABLES

__all__ = ["tidy"]

_PAGES = 256
"""Of FTS5's, 4 KB each, that are written in one step: the time of a few keys."""
_NOTHING = 2
"""Fewer changes than this are none; see FTS5 on `merge`."""


def tidy(connection: apsw.Connection, stop: Callable[[], bool]) -> bool:
    """Put the parts together wherever there are as many of a size as `schema` says, in steps between which others may
    write; whether it got to the end before `stop` said so. What is found stays the same. Raises `apsw.Error`."""
    for table in TABLES:
        changed = _NOTHING
        while changed >= _NOTHING:
            if stop():
                return False
            before = connection.total_changes()
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES('merge', ?)", (_PAGES,))
            changed = connection.total_changes() - before
    return True
