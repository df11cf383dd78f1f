"""Recent searches: a file of the user's own, one query a line, the newest last.

In the state directory, for the owner's eyes alone: what somebody looks for may say as much as what is found.
"""

from __future__ import annotations

from pathlib import Path

from hermes_tui import paths
from hermes_tui.replacing import replacing

__all__ = ["MOST", "Recent"]

MOST = 100
_LONGEST = 1_000
"""Characters of a query that is kept."""


class Recent:
    """The queries of the last searches, the newest first."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` None: `searches` in the user's state directory. It is read when it is asked for."""
        self._path = path
        self._queries: list[str] | None = None

    @property
    def path(self) -> Path:
        """Where they are kept."""
        return self._path or paths.state_dir() / "searches"

    @property
    def queries(self) -> list[str]:
        """The newest first; none where the file cannot be read."""
        if self._queries is None:
            try:
                text = self.path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""
            known = [line.strip()[:_LONGEST] for line in text.splitlines() if line.strip()]
            self._queries = list(dict.fromkeys(reversed(known)))[:MOST]
        return list(self._queries)

    def add(self, query: str) -> None:
        """Remember a query as the newest, and write the file. Raises `OSError`; it is remembered all the same."""
        query = " ".join(query.split())
        if not query or len(query) > _LONGEST or self.queries[:1] == [query]:
            return
        self._queries = [query, *(one for one in self.queries if one != query)][:MOST]
        self._write(self._queries)

    def _write(self, queries: list[str]) -> None:
        paths.private_dir(self.path.parent)
        with replacing(self.path) as file:
            file.writelines(f"{one}\n".encode("utf-8", "replace") for one in reversed(queries))
