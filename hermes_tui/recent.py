"""Recent searches: a file of the user's own, one query a line, the newest last.

In the state directory, for the owner's eyes alone: what somebody looks for may say as much as what is found.
"""

from __future__ import annotations

from pathlib import Path

from hermes_tui import paths
from hermes_tui.replacing import replacing

__all__ = ["MOST", "Recent", "RecentUnreadable"]

MOST = 100
_LONGEST = 1_000
"""Characters of a query that is kept."""


class RecentUnreadable(OSError):
    """There is a file, and what is in it cannot be known: it is left as it is. The text is one sentence."""


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
        """The newest first. Raises `RecentUnreadable` as long as none could be read or remembered."""
        if self._queries is None:
            self._queries = self._read()
        return list(self._queries)

    def add(self, query: str) -> None:
        """Remember a query as the newest, and write the file. Raises `OSError`; it is remembered all the same."""
        query = " ".join(query.split())
        if not query or len(query) > _LONGEST or (self._queries or [])[:1] == [query]:
            return
        self._queries = _with(query, self._queries or [])
        # What another program has written since is kept, and what cannot be read is not replaced.
        self._queries = _with(query, self._read())
        self._write(self._queries)

    def _read(self) -> list[str]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            reason = error.strerror or str(error)
            raise RecentUnreadable(
                f"Recent searches cannot be read from {self.path} ({reason}), so none is added to them;"
                " make the file readable or move it away."
            ) from error
        text = data.decode("utf-8", "surrogateescape")  # what is no UTF-8 is written back as it was
        known = [line.strip()[:_LONGEST] for line in text.splitlines() if line.strip()]
        return list(dict.fromkeys(reversed(known)))[:MOST]

    def _write(self, queries: list[str]) -> None:
        paths.private_dir(self.path.parent)
        with replacing(self.path) as file:
            file.writelines(_line(one) for one in reversed(queries))


def _with(query: str, others: list[str]) -> list[str]:
    return [query, *(one for one in others if one != query)][:MOST]


def _line(query: str) -> bytes:
    try:
        return f"{query}\n".encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character that was typed
        return f"{query}\n".encode("utf-8", "replace")
