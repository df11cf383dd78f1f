"""A file of searches in the state directory, one query a line.

For the owner's eyes alone: what a user looks for may say as much as what is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hermes_tui.platform import paths
from hermes_tui.platform.atomic_write import replacing
from hermes_tui.platform.own_files import read_own

__all__ = ["QueryFile", "SearchesUnreadable", "tidy"]

_LONGEST = 1_000
"""Characters of a query that is kept."""


class SearchesUnreadable(OSError):
    """There is a file, and what is in it cannot be known: it is left as it is. The text is one sentence."""


class QueryFile:
    """Queries, the newest last. Bytes that are no UTF-8 are written back as they were."""

    def __init__(self, what: str, name: str, path: Path | None = None) -> None:
        """`what`: its queries, to begin a sentence with. `path` None: `name` in the user's state directory."""
        self._what = what
        self._name = name
        self._path = path

    @property
    def path(self) -> Path:
        """Where they are kept."""
        return self._path or paths.state_dir() / self._name

    def read(self) -> list[str]:
        """As they stand there; none without a file. Raises `SearchesUnreadable`."""
        try:
            data = read_own(self.path)
        except FileNotFoundError:
            return []
        except OSError as error:
            reason = error.strerror or str(error)
            raise SearchesUnreadable(
                f"{self._what} cannot be read from {self.path} ({reason}), so none is added to them;"
                " make the file readable or move it away."
            ) from error
        lines = data.decode("utf-8", "surrogateescape").splitlines()
        return [line.strip()[:_LONGEST] for line in lines if line.strip()]

    def write(self, queries: Iterable[str]) -> None:
        """Replace the file by these, which are tidy. Raises `OSError`."""
        paths.private_dir(self.path.parent)
        with replacing(self.path) as file:
            file.writelines(f"{one}\n".encode("utf-8", "surrogateescape") for one in queries)


def tidy(query: str) -> str:
    """The query as one line that can be written; empty for one that is too long to be kept."""
    query = " ".join(query.split())
    if len(query) > _LONGEST:
        return ""
    try:
        query.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character that was typed
        return query.encode("utf-8", "replace").decode()
    return query
