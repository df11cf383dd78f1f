"""Recent searches: a file of the user's own, the newest last."""

from __future__ import annotations

from pathlib import Path

from hermes_tui.tui.state.query_file import QueryFile, tidy

__all__ = ["MOST", "Recent"]

MOST = 100


class Recent:
    """The queries of the last searches, the newest first."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` None: `searches` in the user's state directory. It is read when it is asked for."""
        self._file = QueryFile("Recent searches", "searches", path)
        self._queries: list[str] | None = None

    @property
    def path(self) -> Path:
        """Where they are kept."""
        return self._file.path

    @property
    def queries(self) -> list[str]:
        """The newest first. Raises `SearchesUnreadable` as long as none could be read or remembered."""
        if self._queries is None:
            self._queries = self._read()
        return list(self._queries)

    def add(self, query: str) -> None:
        """Remember a query as the newest, and write the file. Raises `OSError`; it is remembered all the same."""
        query = tidy(query)
        if not query or (self._queries or [])[:1] == [query]:
            return
        self._queries = _with(query, self._queries or [])
        # What another program has written since is kept, and what cannot be read is not replaced.
        self._queries = _with(query, self._read())
        self._file.write(reversed(self._queries))

    def _read(self) -> list[str]:
        return list(dict.fromkeys(reversed(self._file.read())))[:MOST]


def _with(query: str, others: list[str]) -> list[str]:
    return [query, *(one for one in others if one != query)][:MOST]
