"""Searches saved by key, in a file of ours, beside those of the settings.

The settings file is the user's alone and is never written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from hermes_tui.platform.locks import take
from hermes_tui.tui.state.query_file import QueryFile, tidy

__all__ = ["PATIENCE", "Saved"]

PATIENCE = 1.0
"""Seconds. Another program has the file for the moment that a change takes."""


class Saved:
    """The queries. Every change is made to the file as it is then: several programs may have it open."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` None: `saved-searches` in the user's state directory."""
        self._file = QueryFile("Saved searches", "saved-searches", path)

    @property
    def path(self) -> Path:
        """Where they are kept."""
        return self._file.path

    @property
    def queries(self) -> list[str]:
        """As they are now, the oldest first. Raises `SearchesUnreadable`."""
        return list(dict.fromkeys(self._file.read()))

    def add(self, query: str) -> None:
        """Save a query; one that is saved already stays where it is. Raises `OSError`."""
        query = tidy(query)
        self._change(lambda known: known if not query or query in known else [*known, query])

    def remove(self, query: str) -> None:
        """Remove the saved search; nothing happens where it is not saved. Raises `OSError`."""
        query = tidy(query)
        self._change(lambda known: [one for one in known if one != query])

    def _change(self, changed: Callable[[list[str]], list[str]]) -> None:
        # The lock is a file of its own: the other one is replaced with every change.
        lock = take(self.path.with_name(f"{self.path.name}.lock"), PATIENCE)
        if lock is None:
            raise TimeoutError(f"{self.path} is being changed by another program; try again")
        try:
            known = self.queries
            new = changed(known)
            if new != known:
                self._file.write(new)
        finally:
            os.close(lock)
